use super::part::measures;
use super::plan::Wanted;
use super::rule::Level;
use super::*;

#[test]
fn every_paper_can_be_read_and_names_what_there_is() {
    for files in papers::built_in() {
        let paper = files.paper().unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(paper.id, files.id);
        let studies: Vec<&str> = paper.studies.iter().map(|s| s.id.as_str()).collect();
        for claim in &paper.claims {
            for check in &claim.checks {
                let study = check.study.as_str();
                assert!(studies.contains(&study), "{}: {study}", claim.id);
            }
            if let Some(figure) = &claim.figure {
                assert!(
                    paper.figures.iter().any(|f| f.id == *figure),
                    "{}: figure {figure}",
                    claim.id
                );
            }
        }
        for study in &paper.studies {
            files.ns2(&study.id).unwrap_or_else(|e| panic!("{e}"));
            for effort in [Effort::Quick, Effort::Full] {
                let wanted = Wanted {
                    paper: &paper.id,
                    study,
                    effort,
                    base: files.scenario(study).unwrap_or_else(|e| panic!("{e}")),
                    ablation: None,
                    at: &cells::Place::new(),
                    seeds: study.look(effort, 0, 1),
                    measures: measures(&paper, &study.id),
                };
                let plan = wanted.plan(&crate::reproduce::measure::known());
                let plan = plan.unwrap_or_else(|e| panic!("{e}")).plan;
                assert!(plan.runs() > 0, "{}", study.id);
            }
        }
        for figure in &paper.figures {
            assert!(studies.contains(&figure.study.as_str()), "{}", figure.id);
        }
    }
}

fn asked(what: &str, at: &[(&str, &str)]) -> Result<Report, ReproduceError> {
    let at = at.iter().map(|(axis, value)| {
        let value = cells::Value::Text((*value).to_owned());
        ((*axis).to_owned(), value)
    });
    let request = Request {
        raw: None,
        what: vec![what.to_owned()],
        effort: Effort::Quick,
        experiments: None,
        runs: None,
        ablations: Vec::new(),
        at: at.collect(),
        looks: 1,
        first_seed: 1,
        program: String::new(),
    };
    let watch = Watch {
        progress: &|_, _| {},
        resumed: &|_| {},
        cancel: None,
    };
    reproduce(&request, &watch)
}

#[test]
fn what_is_not_there_is_named_with_what_is() {
    let error = asked("A99", &[]).unwrap_err();
    assert!(matches!(error, ReproduceError::Unknown(_)));
    let text = error.to_string();
    assert!(text.contains("\"A99\"") && text.contains("A1,"), "{text}");
    let text = asked("caro-2006/8-3", &[("los", "1")])
        .unwrap_err()
        .to_string();
    assert!(
        text.contains("\"los\"") && text.contains("loss1,"),
        "{text}"
    );
}

/// caro-2006 figure 8, scenario 3: PMR 1 sends TSN 2 to the primary and waits.
#[test]
fn a_timeline_has_the_packets_of_its_runs_and_at_chooses_among_them() {
    let report = asked("caro-2006/8-3", &[("policy", "PMR 1")]).unwrap_or_else(|e| panic!("{e}"));
    let figure = &report.papers[0].figures[0];
    assert_eq!(figure.panels.len(), 1, "PMR 1 alone");
    let ladder = figure.panels[0].ladder.as_ref().unwrap();
    let drawn: Vec<String> = (ladder.hops.iter())
        .filter(|hop| !hop.label.starts_with(['H', 'h']))
        .map(|hop| {
            let fate = if hop.lost { " lost" } else { "" };
            format!("{} {}{fate}", ladder.paths[hop.path], hop.label)
        })
        .collect();
    let expected = [
        "primary D1 lost",
        "alternate D1",
        "alternate S1",
        "primary D2 lost",
    ];
    assert_eq!(drawn, expected);
    assert_eq!(ladder.timeouts.len(), 1);
    assert!(figure.csv().starts_with("panel,path,direction,packet,"));
}

/// Each check that counts has a control, each fitted or trend claim is one of a paper, and a change
/// has its day.
#[test]
fn every_check_of_a_paper_has_a_control() {
    let cells = crate::reproduce::cells::Cells::default();
    for files in papers::built_in() {
        let paper = files.paper().unwrap_or_else(|e| panic!("{e}"));
        for claim in paper.claims.iter().filter(|c| c.answers.is_none()) {
            for check in claim.checks.iter().filter(|c| c.kind.counts()) {
                let controls = check.kind.controls(&cells, Level::default());
                assert!(!controls.is_empty(), "{} {}", claim.id, check.what);
                for change in &check.changed {
                    assert_eq!(change.on.len(), "2026-11-23".len(), "{}", claim.id);
                }
            }
        }
    }
}

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
                    base: files.scenario(study).unwrap_or_else(|e| panic!("{e}")),
                    ablation: None,
                    seeds: study.look(effort, 0),
                    measures: measures(&paper, &study.id),
                };
                let plan = wanted.plan(effort, &crate::reproduce::measure::known());
                let plan = plan.unwrap_or_else(|e| panic!("{e}")).plan;
                assert!(plan.runs() > 0, "{}", study.id);
            }
        }
        for figure in &paper.figures {
            assert!(studies.contains(&figure.study.as_str()), "{}", figure.id);
        }
    }
}

#[test]
fn what_is_not_there_is_named_with_what_is() {
    let request = Request {
        what: vec!["A99".to_owned()],
        effort: Effort::Quick,
        experiments: None,
        runs: None,
        ablations: Vec::new(),
        looks: 1,
        program: String::new(),
    };
    let watch = Watch {
        progress: &|_, _| {},
        resumed: &|_| {},
        cancel: None,
    };
    let error = reproduce(&request, &watch).unwrap_err();
    assert!(matches!(error, ReproduceError::Unknown(_)));
    let text = error.to_string();
    assert!(text.contains("\"A99\"") && text.contains("A1,"), "{text}");
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
                if let Some(change) = &check.changed {
                    assert_eq!(change.on.len(), "2026-11-23".len(), "{}", claim.id);
                }
            }
        }
    }
}

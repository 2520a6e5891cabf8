use super::part::measures;
use super::plan::Wanted;
use super::*;
use std::collections::{BTreeMap, BTreeSet};

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

/// Cells of a study at all its places, with some runs of each measure that checks ask for. The
/// values are no results. A measured axis has the values that filters name.
fn some_cells(paper: &Paper, study: &study::StudySpec, effort: Effort) -> cells::Cells {
    let sample = |at: usize| {
        let values = (1..=4).map(|seed| (seed, 10.0 + at as f64 + 0.1 * seed as f64));
        sample::Sample::of(values.collect(), sample::Kind::Quantity)
    };
    let measures = measures(paper, &study.id);
    let mut places = study.places(effort);
    if !study.bins.is_empty() {
        // Measured axes are seen at one place of those that are set.
        let mut seen = BTreeSet::new();
        places.retain(|p| seen.insert(p.get("policy").map(cells::Value::to_string)));
    }
    for axis in study.bins.keys() {
        let values = (0..=10).map(f64::from).map(cells::Value::Number);
        let with = |place: &cells::Place, value| {
            let mut place = place.clone();
            place.insert(axis.clone(), value);
            place
        };
        let wider = places
            .iter()
            .flat_map(|p| values.clone().map(move |v| with(p, v)));
        places = wider.collect();
    }
    let cell = |(at, place)| cells::Cell {
        place,
        samples: (measures.iter().cloned().map(|m| (m, sample(at)))).collect(),
    };
    cells::Cells(places.into_iter().enumerate().map(cell).collect())
}

/// Each check that counts has a control, and each control has runs, with little effort and with all: a
/// name that no cell has would leave it without, and nothing would be shown. A change has its day.
#[test]
fn every_check_of_a_paper_has_controls_with_runs() {
    for files in papers::built_in() {
        let paper = files.paper().unwrap_or_else(|e| panic!("{e}"));
        for effort in [Effort::Quick, Effort::Full] {
            let of = |s: &study::StudySpec| (s.id.clone(), some_cells(&paper, s, effort));
            let cells: BTreeMap<_, _> = paper.studies.iter().map(of).collect();
            for claim in paper.claims.iter().filter(|c| c.answers.is_none()) {
                for check in claim.checks.iter().filter(|c| c.kind.counts()) {
                    let place = format!("{} {}", claim.id, check.what);
                    let cells = &cells[&check.study];
                    if check.kind.evaluate(cells, rule::Level::default()).is_none() {
                        assert_eq!(effort, Effort::Quick, "{place}: no runs at all");
                        continue;
                    }
                    let cases = check.kind.cases_with_cells(cells);
                    // What can only be refuted has none.
                    assert_eq!(cases.is_empty(), !check.kind.can_hold(), "{place}");
                    for (name, has_cells) in cases {
                        assert!(has_cells, "{place}: no runs of \"{name}\"");
                    }
                    for change in &check.changed {
                        assert_eq!(change.on.len(), "2026-11-23".len(), "{}", claim.id);
                    }
                }
            }
        }
    }
}

/// A figure in the words around a claim is the paper's, one of its settings, or filled in from the
/// runs: what was written by hand from a run stays when the runs change.
#[test]
fn no_text_of_a_claim_has_a_figure_of_a_run() {
    let figures = |text: &str| -> BTreeSet<String> {
        let of = |word: &str| word.trim_matches('.').to_owned();
        let words = text.split(|c: char| !(c.is_ascii_digit() || c == '.'));
        words.map(of).filter(|w| !w.is_empty()).collect()
    };
    // Names, sections, equations, and the delay of a SACK.
    let names = ["2960", "9260", "2.35", "7.2.4", "2009", "1.5", "200"];
    for files in papers::built_in().into_iter() {
        let paper = files.paper().unwrap_or_else(|e| panic!("{e}"));
        let table: toml::Table = files.claims().parse().unwrap_or_else(|e| panic!("{e}"));
        let of_parameters = figures(
            &table
                .get("parameter")
                .map_or(String::new(), |p| p.to_string()),
        );
        let claims = table["claim"].as_array().unwrap();
        for claim in claims.iter().filter_map(toml::Value::as_table) {
            if claim.contains_key("answers") {
                continue;
            }
            let mut own = claim.clone();
            let words = ["reason", "undecided", "remark", "fitted"];
            let texts: Vec<String> = (words.iter())
                .filter_map(|word| Some(own.remove(*word)?.as_str()?.to_owned()))
                .collect();
            let mut known = figures(&own.values().map(toml::Value::to_string).collect::<String>());
            known.extend(of_parameters.iter().cloned());
            known.extend(names.map(str::to_owned));
            for text in texts {
                let plain = text
                    .split('{')
                    .map(|p| p.split_once('}').map_or(p, |q| q.1));
                let found = figures(&plain.collect::<String>());
                let hand: Vec<&String> = found.difference(&known).collect();
                assert!(
                    hand.is_empty(),
                    "{} {}: {hand:?} in {text}",
                    paper.id,
                    claim["id"]
                );
            }
        }
    }
}

/// What of a check decides, without its words: as `checks.txt` has it.
fn deciding(check: &toml::Table) -> serde_json::Value {
    fn plain(value: &toml::Value) -> serde_json::Value {
        match value {
            toml::Value::Integer(n) => serde_json::json!(*n as f64),
            toml::Value::Array(all) => all.iter().map(plain).collect(),
            toml::Value::Table(all) => (all.iter()).map(|(k, v)| (k.clone(), plain(v))).collect(),
            other => serde_json::json!(other),
        }
    }
    let words = [
        "what",
        "paper",
        "ns2",
        "changed",
        "off",
        "ordered",
        "off_across",
        "unit",
        "study",
    ];
    let decides = check.iter().filter(|(k, _)| !words.contains(&k.as_str()));
    decides.map(|(k, v)| (k.clone(), plain(v))).collect()
}

/// Each check is as it was in the first version, of 2026-11-22, or tells of each change of what decides.
/// `checks.txt` has a line for each version of each check: its claim, how many changes were told before,
/// and what decides. Two measures have other names since (`failovers`, `detect_s`), which is no change.
#[test]
fn no_band_moves_without_a_dated_change() {
    let known: BTreeSet<(String, usize, String)> = include_str!("tests/checks.txt")
        .lines()
        .map(|line| {
            let mut words = line.splitn(3, ' ');
            let mut next = || words.next().unwrap_or_else(|| panic!("{line}"));
            let (claim, changes) = (next().to_owned(), next().parse().unwrap());
            let decides: serde_json::Value = serde_json::from_str(next()).unwrap();
            (claim, changes, decides.to_string())
        })
        .collect();
    let mut unknown = Vec::new();
    for files in papers::built_in() {
        let paper: toml::Table = files.claims().parse().unwrap_or_else(|e| panic!("{e}"));
        if paper.contains_key("questions") {
            continue;
        }
        for claim in paper["claim"].as_array().unwrap() {
            let id = claim["id"].as_str().unwrap().to_owned();
            for check in claim["check"].as_array().unwrap() {
                let check = check.as_table().unwrap();
                let changes = match check.get("changed") {
                    None => 0,
                    Some(toml::Value::Array(all)) => all.len(),
                    Some(_) => 1,
                };
                // A figure that is shown decides nothing.
                let shown =
                    check["kind"].as_str() == Some("mean") && !check.contains_key("between");
                let decides = deciding(check).to_string();
                if !shown && !known.contains(&(id.clone(), changes, decides.clone())) {
                    unknown.push(format!("{id} {changes} {decides}"));
                }
            }
        }
    }
    assert!(
        unknown.is_empty(),
        "changed without a dated change; with one, add to checks.txt:\n{}",
        unknown.join("\n")
    );
}

/// A check that is no more is a change, too: a claim has as many checks as in the first version, or says
/// what became of them.
#[test]
fn no_check_goes_without_a_dated_change() {
    let mut first: BTreeMap<&str, usize> = BTreeMap::new();
    for line in include_str!("tests/checks.txt").lines() {
        let mut words = line.split(' ');
        let (claim, changes) = (words.next().unwrap(), words.next().unwrap());
        if changes == "0" {
            *first.entry(claim).or_default() += 1;
        }
    }
    let mut seen = BTreeSet::new();
    for files in papers::built_in() {
        let paper = files.paper().unwrap_or_else(|e| panic!("{e}"));
        for claim in paper.claims.iter().filter(|_| !paper.questions) {
            let then = first.get(claim.id.as_str()).copied().unwrap_or_default();
            assert!(
                claim.checks.len() >= then || !claim.changed.is_empty(),
                "{}: {} checks, {then} at first",
                claim.id,
                claim.checks.len()
            );
            seen.insert(claim.id.clone());
        }
    }
    let gone: Vec<_> = first.keys().filter(|id| !seen.contains(**id)).collect();
    assert!(gone.is_empty(), "claims that are no more: {gone:?}");
}

/// A fitted claim must hold on other runs by the very checks that it holds by on its own: an easier
/// validation would show nothing.
#[test]
fn a_validation_asks_what_the_claim_asks() {
    for files in papers::built_in() {
        let paper: toml::Table = files.claims().parse().unwrap_or_else(|e| panic!("{e}"));
        for claim in paper["claim"].as_array().unwrap() {
            let asks = |of: &str| -> BTreeSet<String> {
                let checks = claim.get(of).and_then(toml::Value::as_array);
                let checks = checks.into_iter().flatten().filter_map(|c| c.as_table());
                let counts = |c: &&toml::Table| {
                    c["kind"].as_str() != Some("mean") || c.contains_key("between")
                };
                checks
                    .filter(counts)
                    .map(|c| deciding(c).to_string())
                    .collect()
            };
            if claim.get("validation").is_some() {
                assert_eq!(asks("validation"), asks("check"), "{}", claim["id"]);
            }
        }
    }
}

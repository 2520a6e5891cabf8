//! Sweep files that are right and wrong, and rows that do not depend on threads.

use super::*;
use crate::engine::{
    Done, EngineError, Header, Options, Row, Status, StopRule, Store, Wording, run_row,
};
use crate::metrics::{Metric, Metrics};
use crate::source::Problems;
use crate::trouble::Trouble;
use crate::units::Share;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

/// A scenario that takes a few milliseconds.
pub(super) const SCENARIO: &str = r#"
limit = "60 s"
[[path]]
name = "left"
rate = "10 Mbit/s"
delay = "20 ms"
[[path]]
name = "right"
rate = "10 Mbit/s"
delay = "20 ms"
[[event]]
at = "100 ms"
path = "left"
do = "down"
[traffic]
kind = "bulk"
size = "200 kB"
[[policy]]
name = "today"
[[policy]]
name = "papers"
preset = "rfc2960"
rto.min = "500 ms"
"#;

pub(super) fn parse(text: &str) -> Result<Plan, Problems> {
    parse_with(text, &Metrics::standard())
}

fn parse_with(text: &str, metrics: &Metrics) -> Result<Plan, Problems> {
    let load = |path: &str| match path {
        "scenario.toml" => Ok((path.to_owned(), SCENARIO.to_owned())),
        _ => Err(format!("cannot read {path}: not found")),
    };
    super::parse("sweep.toml", text, &load, metrics)
}

/// The rows of a plan.
fn run(plan: &Plan, options: &Options<'_>) -> Result<Vec<Row>, EngineError> {
    let done: Result<Done, EngineError> = crate::engine::run(&[plan], options);
    done.map(|done| done.rows.into_iter().flatten().collect())
}

pub(super) fn plan(text: &str) -> Plan {
    parse(text).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

fn problems(text: &str) -> Vec<(String, usize, String)> {
    match parse(text) {
        Ok(_) => panic!("this should have been refused:\n{text}"),
        Err(problems) => {
            let problems = problems.0.into_iter();
            problems.map(|p| (p.file, p.line, p.message)).collect()
        }
    }
}

pub(super) const GRID: &str = r#"
name = "grid"
scenario = "scenario.toml"
seeds = 3
[[axis]]
key = "path.*.loss"
values = ["0 %", "5 %"]
[[axis]]
name = "timers"
[[axis.values]]
name = "as they are"
[[axis.values]]
name = "short"
rto.min = "100 ms"
sack.delay = "20 ms"
path.right.delay = "10 ms"
"#;

#[test]
fn a_grid_has_a_cell_for_every_combination() {
    let plan = plan(GRID);
    let axes: Vec<&str> = plan.axes.iter().map(|a| a.name.as_str()).collect();
    assert_eq!(axes, ["path.*.loss", "timers", "policy"]);
    assert_eq!((plan.cells.len(), plan.runs()), (8, 24));
    assert_eq!(plan.cells[1].values, ["0 %", "as they are", "papers"]);
    // The axis goes before the policy's own setting, and leaves its others.
    let cell = &plan.cells[7];
    assert_eq!(cell.values, ["5 %", "short", "papers"]);
    assert_eq!(cell.scenario.policies.len(), 1);
    let config = &cell.scenario.policies[0].config;
    assert_eq!(config.rto.min.as_millis(), 100);
    assert_eq!(config.rto.initial.as_secs(), 3, "the preset's");
    for path in &cell.scenario.paths {
        assert_eq!(
            path.forward.loss,
            crate::scenario::LossSpec::Random(Share(0.05))
        );
    }
    assert_eq!(cell.scenario.paths[1].forward.delay.as_millis(), 10);
    assert_eq!(cell.scenario.paths[0].forward.delay.as_millis(), 20);
    assert_eq!(
        plan.cells[5].scenario.policies[0]
            .config
            .rto
            .min
            .as_millis(),
        500
    );
    assert!(plan.metric("failure1_inactive_s").is_some());
    assert!(plan.metric("path2_bytes").is_some() && plan.metric("path3_bytes").is_none());
}

#[test]
fn axes_take_keys_presets_tables_and_choices_of_policies() {
    let plan = plan(
        r#"
scenario = "scenario.toml"
seeds = { from = 7, count = 2 }
policies = ["papers"]
metrics = ["delivered_s", "path1_timeouts"]
stop = { within = "20 %", confidence = "95 %", least = 4 }
[[axis]]
key = "preset"
values = ["rfc9260", "rfc2960"]
[[axis]]
name = "pmr"
keys = ["failure.path_max_retrans", "failure.association_max_retrans"]
values = [3, 5]
[[axis]]
key = "path.1.loss"
values = [{ to_bad = "1 %", to_good = "30 %" }, "1 %"]
[[skip]]
preset = "rfc9260"
pmr = [5]
"#,
    );
    assert_eq!(plan.cells.len(), 6);
    assert_eq!(plan.seeds, [7, 8]);
    assert_eq!(
        plan.cells[0].values,
        [
            "rfc9260",
            "3",
            "{ to_bad = \"1 %\", to_good = \"30 %\" }",
            "papers"
        ]
    );
    let config = &plan.cells[0].scenario.policies[0].config;
    assert_eq!(config.rto.initial.as_secs(), 1, "the axis' preset");
    assert_eq!(config.rto.min.as_millis(), 500, "the policy's own setting");
    assert_eq!(config.failure.association_max_retrans, 3);
    let stop = plan.stop.unwrap();
    assert_eq!((stop.least, stop.step), (4, 5));
    assert!((stop.confidence - 0.95).abs() < 1e-9);
    assert_eq!(stop.metrics, [plan.shown[0]]);
}

#[test]
fn a_scenario_may_stand_in_the_sweep_itself() {
    let text = format!(
        "seeds = [5]\n[scenario]\n{}",
        SCENARIO
            .replace("[[", "[[scenario.")
            .replace("[traffic]", "[scenario.traffic]")
    );
    let plan = plan(&text);
    assert_eq!(plan.cells.len(), 2);
    assert_eq!(plan.cells[0].scenario.paths[0].name, "left");
    assert_eq!(self::plan("scenario = \"built-in\"").cells.len(), 8);
}

/// Line of the problem, a part of what is said, and the file, with ; for a
/// new line. A file that begins with ; has the scenario in its first line.
const MISTAKES: &str = r#"
0 | there is no scenario                 | name = "x"
1 | cannot read no.toml                  | scenario = "no.toml"
2 | a whole number, 1 to                 | ;seeds = 0
2 | each once                            | ;seeds = [1, 1]
2 | did you mean "seeds"?                | ;sedes = 3
2 | did you mean "transfer_s"?           | ;metrics = ["transfer"]
2 | today and papers                     | ;policies = ["tomorrow"]
2 | more than 0 %                        | ;stop = { within = "0 %" }
2 | neither key nor name                 | ;[[axis]];values = [1]
2 | values is missing                    | ;[[axis]];key = "rto.min"
4 | leaves no cell                       | ;[[axis]];key = "rto.min";values = []
3 | did you mean "min"?                  | ;[[axis]];key = "rto.mn";values = ["1 s"]
4 | 'fast' is not a duration             | ;[[axis]];key = "rto.min";values = ["1 s", "fast"]
4 | is there twice                       | ;[[axis]];key = "rto.min";values = ["1 s", "1 s"]
4 | rto                                  | ;[[axis]];key = "rto.min";values = ["1 s", "90 s"]
3 | there are 1 ("left") and 2 ("right") | ;[[axis]];key = "path.3.loss";values = ["1 %"]
3 | did you mean "loss"?                 | ;[[axis]];key = "path.1.los";values = ["1 %"]
4 | has no unit                          | ;[[axis]];key = "path.1.loss";values = ["1"]
3 | no [[cross]]                         | ;[[axis]];key = "cross.1.rate";values = ["1 Mbit/s"]
3 | write seeds = 30                     | ;[[axis]];key = "seed";values = [1]
2 | is a column of every result          | ;[[axis]];name = "status";key = "rto.min";values = ["1 s"]
2 | policies make an axis                | ;[[axis]];name = "policy";key = "rto.min";values = ["1 s"]
4 | there is no key                      | ;[[axis]];name = "x";values = ["1 s"]
3 | is not an axis                       | ;[[skip]];colour = "red"
"#;

#[test]
fn every_mistake_is_named_with_its_file_and_line() {
    for row in MISTAKES.trim().lines() {
        let mut columns = row.splitn(3, " | ").map(str::trim);
        let mut next = || columns.next().unwrap();
        let (line, part, text) = (next().parse::<usize>().unwrap(), next(), next());
        let text = match text.strip_prefix(';') {
            Some(rest) => format!("scenario = \"scenario.toml\";{rest}"),
            None => text.to_owned(),
        };
        let found = problems(&text.replace(';', "\n"));
        assert!(
            found
                .iter()
                .any(|(f, l, m)| f == "sweep.toml" && *l == line && m.contains(part)),
            "{row}\nfound {found:?}"
        );
        assert!(found.len() <= 2, "said once: {found:?}");
    }
}

#[test]
fn a_mistake_in_the_scenario_is_named_there_and_once() {
    let text =
        "scenario = \"bad.toml\"\n[[axis]]\nkey = \"rto.min\"\nvalues = [\"1 s\", \"900 ms\"]";
    let bad = SCENARIO.replace("\"20 ms\"", "\"20\"");
    let load = |_: &str| Ok(("bad.toml".to_owned(), bad.clone()));
    let problems = super::parse("sweep.toml", text, &load, &Metrics::standard())
        .unwrap_err()
        .0;
    let places: Vec<(&str, usize)> = problems.iter().map(|p| (p.file.as_str(), p.line)).collect();
    assert_eq!(places, [("bad.toml", 6), ("bad.toml", 10)]);
}

#[test]
fn too_large_a_grid_is_refused() {
    let values: Vec<String> = (1..=400).map(|n| format!("\"{n} ms\"")).collect();
    let axis = |key: &str| {
        format!(
            "[[axis]]\nkey = \"{key}\"\nvalues = [{}]\n",
            values.join(", ")
        )
    };
    let text = format!(
        "scenario = \"scenario.toml\"\n{}{}",
        axis("rto.min"),
        axis("sack.delay")
    );
    assert!(
        problems(&text)[0].2.contains("320000 cells"),
        "{:?}",
        problems(&text)
    );
}

#[test]
fn rows_do_not_depend_on_the_number_of_threads() {
    let mut plan = plan(GRID);
    plan.stop = Some(StopRule {
        metrics: vec![0],
        within: 0.05,
        confidence: 0.9,
        least: 3,
        step: 2,
    });
    plan.seeds = (1..=9).collect();
    let rows = |threads| {
        let options = Options {
            threads,
            ..Options::default()
        };
        run(&plan, &options).unwrap()
    };
    let one = rows(1);
    assert_eq!(one, rows(2));
    assert_eq!(one, rows(7));
    let runs = |cell| one.iter().filter(|r| r.cell == cell).count();
    assert_eq!(runs(0), 3, "without chance the first check is enough");
    assert!(runs(4) > 3, "with loss it is not");
    assert!(one.is_sorted_by_key(|r| (r.cell, r.run)));
}

#[test]
fn a_run_alone_gives_the_row_of_the_sweep() {
    let plan = plan(GRID);
    let rows = run(&plan, &Options::default()).unwrap();
    assert_eq!(rows.len(), 24);
    for row in rows.iter().step_by(5) {
        assert_eq!(run_row(&plan, row.cell, row.run, None).as_ref(), Some(row));
    }
    // All policies meet the same chances, and different seeds others.
    let transfer = |cell, run| {
        rows.iter()
            .find(|r| (r.cell, r.run) == (cell, run))
            .unwrap()
            .values[0]
    };
    assert_ne!(transfer(4, 0), transfer(4, 1));
    assert_eq!(transfer(0, 0), transfer(0, 1), "nothing to chance here");
}

/// A store in a new file.
fn store(name: &str) -> (Store, std::path::PathBuf) {
    const WORDING: Wording = Wording {
        foreign: "foreign",
        damaged: "damaged",
        busy: "busy",
    };
    let file = format!("byway-known-{}-{name}", std::process::id());
    let path = std::env::temp_dir().join(file);
    let store = match path.exists() {
        true => Store::open(&path, &WORDING, |_| Ok(())).unwrap().0,
        false => Store::begin(&path, &WORDING, &Header::default()).unwrap(),
    };
    (store, path)
}

#[test]
fn known_rows_are_not_run_again_and_change_nothing() {
    let mut plan = plan(GRID);
    let whole = run(&plan, &Options::default()).unwrap();
    let (first, path) = store("rows");
    // One seed of each cell is known.
    plan.seeds = vec![2];
    let options = Options {
        store: Some(&first),
        ..Options::default()
    };
    run(&plan, &options).unwrap();
    drop(first);
    plan.seeds = vec![1, 2, 3];
    let last = Mutex::new((0, 0));
    let progress = |done, most| *last.lock().unwrap() = (done, most);
    let (known, _) = store("rows");
    let options = Options {
        store: Some(&known),
        progress: Some(&progress),
        threads: 1,
        ..Options::default()
    };
    let done = crate::engine::run(&[&plan], &options).unwrap();
    assert_eq!(done.rows, [whole]);
    assert_eq!((done.simulated, done.from_store), (16, 8));
    assert_eq!(*last.lock().unwrap(), (24, 24));
    assert_eq!(known.runs(), 24);
    std::fs::remove_file(path).unwrap();
}

#[test]
fn two_plans_share_their_runs() {
    let plan = plan(GRID);
    let alone = run(&plan, &Options::default()).unwrap();
    let mut other = plan.clone();
    // Other metrics in another order, and other seeds.
    let metrics = ["stall_s", "originals", "transfer_s"];
    let find = |name: &&str| Metrics::standard().find(name).unwrap();
    other.metrics = metrics.iter().map(find).collect();
    other.cells[0].seeds = Some(vec![2, 0]);
    let done = crate::engine::run(&[&plan, &other], &Options::default()).unwrap();
    assert_eq!((done.asked, done.simulated), (47, 24));
    assert_eq!(done.rows[0], alone);
    assert_eq!(done.rows[1].len(), 23);
    let stall = plan.metric("stall_s").unwrap();
    for row in &done.rows[1] {
        let mut same = alone
            .iter()
            .filter(|r| (r.cell, r.run) == (row.cell, row.run));
        let same = same.next().unwrap();
        assert_eq!(row.value(0), same.value(stall));
        assert_eq!(row.value(2), same.value(0));
        assert!(row.values.len() == 3 && row.value(1).is_some());
    }
}

#[test]
fn a_metric_of_ones_own_is_a_column_and_may_be_shown() {
    let metrics = Metrics::standard().with(Metric::new("twice_s", "s", |run| {
        Some(2.0 * run.transfer_s?)
    }));
    let text = GRID.replace(
        "seeds = 3",
        "seeds = 1\nmetrics = [\"twice_s\", \"done@2\"]",
    );
    let plan = parse_with(&text, &metrics).unwrap();
    let rows = run(&plan, &Options::default()).unwrap();
    let [twice, done] = plan.shown.as_slice() else {
        panic!("{:?}", plan.shown);
    };
    for row in &rows {
        let single = row.value(plan.metric("transfer_s").unwrap());
        assert_eq!(row.value(*twice), single.map(|s| 2.0 * s));
        assert!(row.value(*done).is_some());
    }
    assert!(schema(Some(&plan)).contains("done@2"));
}

#[test]
fn short_names_are_keys_like_any_other() {
    let text = |key: &str, values: &str| {
        GRID.replace("\"path.*.loss\"", key)
            .replace("[\"0 %\", \"5 %\"]", values)
    };
    let long = plan(&text("\"path.1.loss\"", "[\"0 %\", \"5 %\"]"));
    let short = plan(&text("\"loss1\"", "[0, 5]"));
    assert_eq!(short.cells[4].values, ["5", "as they are", "today"]);
    for (a, b) in long.cells.iter().zip(&short.cells).skip(4) {
        assert_eq!(a.scenario, b.scenario);
    }
    let found = problems(&text("\"loss3\"", "[0, 5]"));
    assert!(found[0].2.contains("no such path"), "{found:?}");
}

#[test]
fn a_metric_of_a_path_or_failure_that_no_cell_has_is_refused() {
    let text = |name: &str| {
        format!("{GRID}\n").replacen("seeds", &format!("metrics = [\"{name}\"]\nseeds"), 1)
    };
    for (name, words) in [
        (
            "path3_packets",
            "there is no path 3; there are paths 1 to 2",
        ),
        ("path1.5_rto_s", "there is no path 1.5"),
        ("path0_chunks", "there is no path 0"),
        ("failure9_suspect_s", "there is no scripted failure 9"),
    ] {
        let found = problems(&text(name));
        assert!(found[0].2.contains(words), "{name}: {found:?}");
    }
    assert_eq!(plan(&text("path2_packets")).shown.len(), 1);
}

#[test]
fn many_seeds_by_name_are_read_in_a_moment() {
    let seeds: Vec<String> = (0..250_000).map(|s| s.to_string()).collect();
    let text = GRID.replace("seeds = 3", &format!("seeds = [{}]", seeds.join(",")));
    assert_eq!(plan(&text).seeds.len(), 250_000);
}

#[test]
fn a_run_that_gets_nowhere_is_a_row_and_not_a_hang() {
    let text = r#"
scenario = "scenario.toml"
seeds = 1
policies = ["today"]
[[axis]]
name = "bound"
[[axis.values]]
name = "time"
limit = "50 ms"
[[axis.values]]
name = "events"
max_events = 40
[[axis.values]]
name = "lost"
event.1.at = "0 s"
path.right.loss = "100 %"
setup.max_init_retransmits = 1
"#;
    let rows = run(&plan(text), &Options::default()).unwrap();
    let statuses: Vec<Status> = rows.iter().map(|r| r.status).collect();
    assert_eq!(
        statuses,
        [Status::OutOfTime, Status::OutOfEvents, Status::Lost]
    );
    assert!(
        rows.iter()
            .all(|r| r.value(0).is_none() && !r.reason.is_empty())
    );
}

#[test]
fn an_error_or_a_wish_ends_the_sweep() {
    let mut plan = plan(GRID);
    let cancel = AtomicBool::new(false);
    let stop = |done, _| cancel.store(done > 0, Ordering::Relaxed);
    let options = Options {
        progress: Some(&stop),
        cancel: Some(&cancel),
        ..Options::default()
    };
    assert!(matches!(
        run(&plan, &options),
        Err(EngineError::Interrupted)
    ));
    // A run that the protocol refuses: a row, or an error.
    plan.cells[0].scenario.policies[0].config.pmtu.0 = 1;
    let rows = run(&plan, &Options::default()).unwrap();
    assert_eq!(rows[0].status, Status::Refused);
    assert!(rows[0].values.iter().all(|v| v.is_nan()));
    let strict = Options {
        strict: true,
        ..Options::default()
    };
    let error = run(&plan, &strict).unwrap_err();
    assert!(error.to_string().starts_with("grid: "), "{error}");
    assert!(matches!(error, EngineError::Refused { .. }), "{error}");
}

#[cfg(unix)]
#[test]
fn a_file_that_cannot_be_written_ends_the_sweep() {
    let full = std::path::Path::new("/dev/full");
    if !full.exists() {
        return;
    }
    let plan = plan(GRID);
    let (kept, path) = store("full");
    kept.redirect(full);
    let options = Options {
        store: Some(&kept),
        ..Options::default()
    };
    assert!(matches!(
        run(&plan, &options),
        Err(EngineError::File(Trouble::File { .. }))
    ));
    std::fs::remove_file(path).unwrap();
}

#[test]
fn the_hash_knows_what_rows_depend_on() {
    let one = plan(GRID);
    assert_eq!(
        one.hash(),
        plan(&GRID.replace("\"grid\"", "\"other name\"")).hash()
    );
    for (from, to) in [
        ("seeds = 3", "seeds = 4"),
        ("100 ms", "101 ms"),
        ("\"5 %\"", "\"6 %\""),
        ("\"short\"", "\"brief\""),
    ] {
        assert_ne!(one.hash(), plan(&GRID.replace(from, to)).hash(), "{to}");
    }
}

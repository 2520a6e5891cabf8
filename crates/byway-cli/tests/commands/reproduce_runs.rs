//! `byway reproduce --runs` from outside: killed, out of room, resumed, and in
//! front of files that are not its own.

use crate::hands;
use crate::peers::text;
use crate::small_paper::{self, REPRODUCE, SCENARIO, byway, run};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

const CLAIMS: &str = r#"
id = "small"
title = "A small one"
citation = "nobody"
setting = "two paths"
[[study]]
id = "transfer"
what = "A file over two paths."
scenario = "transfer"
seeds = { quick = 150, full = 150 }
[study.axes]
loss1 = [2, 5]
loss2 = [1]
pmr = [0, 1]
[[claim]]
id = "S1"
section = "section I"
says = "It takes a while."
[[claim.check]]
kind = "mean"
what = "transfer"
paper = "a second and more"
study = "transfer"
measure = "transfer_s"
unit = "s"
between = [1, 1000]
[[claim.check]]
kind = "mean"
what = "failovers"
paper = "some"
study = "transfer"
measure = "failovers"
"#;

const RUNS: u64 = 600;

/// A new folder for one test, with its own paper.
fn folder(name: &str) -> PathBuf {
    small_paper::folder(&format!("runs-{name}"), CLAIMS)
}

fn json(dir: &Path, more: &[&str]) -> Value {
    let out = run(dir, &[more, &["--json"]].concat());
    assert!(out.status.success(), "{}", text(&out.stderr));
    assert!(out.stderr.is_empty(), "{}", text(&out.stderr));
    serde_json::from_slice(&out.stdout).unwrap()
}

/// Simulated, from the file, shared.
fn counts(report: &Value) -> [u64; 3] {
    let counts = ["simulated", "from_file", "shared"].map(|name| report[name].as_u64().unwrap());
    assert_eq!(report["runs"], RUNS);
    assert_eq!(counts.iter().sum::<u64>(), RUNS);
    counts
}

#[test]
fn a_killed_command_goes_on_and_reports_the_same() {
    let dir = folder("killed");
    let whole = json(&dir, &[]);
    assert_eq!(counts(&whole), [RUNS, 0, 0]);
    let file = dir.join("kept");
    hands::kill_thrice(|| byway(&dir, &["--runs", "kept"]), &file);
    let out = run(&dir, &["--runs", "kept"]);
    hands::assert_resumed(&out);
    let said = text(&out.stdout);
    assert!(
        said.contains("by 600 runs") && said.contains("from the file of kept runs"),
        "{said}"
    );
    let again = json(&dir, &["--runs", "kept"]);
    assert_eq!(counts(&again), [0, RUNS, 0]);
    assert_eq!(again["papers"], whole["papers"]);
}

#[test]
fn simulated_kept_and_shared_runs_are_told_apart() {
    let dir = folder("counts");
    let whole = json(&dir, &[]);
    // Runs that never fail over are the same with the higher PMR.
    let claims = CLAIMS.replace(
        "[study.axes]",
        "threshold = { axis = \"pmr\", reached = \"failures\" }\n[study.axes]",
    );
    std::fs::write(dir.join("papers/small/claims.toml"), claims).unwrap();
    let first = json(&dir, &["--runs", "kept"]);
    let [simulated, from_file, shared] = counts(&first);
    assert!(simulated < RUNS && from_file == 0 && shared > 0, "{first}");
    let again = json(&dir, &["--runs", "kept"]);
    assert_eq!(counts(&again), [0, simulated, shared]);
    // The digest is that of the claims file, which is another one.
    let without_digest = |mut report: Value| {
        let digest = report["papers"][0]["digest"].take();
        assert!(digest.is_string(), "{digest}");
        report["papers"].take()
    };
    let whole = without_digest(whole);
    for report in [first, again] {
        assert_eq!(without_digest(report), whole);
    }
}

/// A report of a commit must not hide that its runs are another build's.
#[test]
fn runs_of_another_build_are_told() {
    let dir = folder("build");
    let first = json(&dir, &["--runs", "kept"]);
    assert_eq!(first["other_build"], false);
    let own = json(&dir, &["--runs", "kept"]);
    assert_eq!(
        (counts(&own)[1], &own["other_build"]),
        (RUNS, &false.into())
    );
    // The same program, made at another time.
    let other = dir.join("other-byway");
    std::fs::copy(env!("CARGO_BIN_EXE_byway"), &other).unwrap();
    let mut command = Command::new(&other);
    command.current_dir(&dir).args(REPRODUCE);
    let out = command.args(["--runs", "kept"]).output().unwrap();
    assert!(out.status.success(), "{}", text(&out.stderr));
    let read = |name: &str| std::fs::read_to_string(dir.join("out").join(name)).unwrap();
    let report: Value = serde_json::from_str(&read("reproduce.json")).unwrap();
    assert_eq!(report["other_build"], true);
    let told = "600 from a file of kept runs that another build began";
    assert!(
        read("reproduce.md").contains(told),
        "{}",
        read("reproduce.md")
    );
    assert_eq!(report["papers"], first["papers"]);
}

#[cfg(unix)]
#[test]
fn a_full_disk_loses_nothing() {
    let dir = folder("full");
    // A limit on the size of files acts as a full disk.
    let words = format!("{} --runs kept", REPRODUCE.join(" "));
    let out = hands::without_room(&dir, 8, &words);
    let said = text(&out.stderr);
    assert_eq!(out.status.code(), Some(1), "{said}");
    assert!(said.contains("cannot write kept: File too large"), "{said}");
    assert!(said.contains("runs that it holds are not lost"), "{said}");
    let report = json(&dir, &["--runs", "kept"]);
    let [_, from_file, _] = counts(&report);
    assert!(from_file > 10, "{report}");
    let held = format!("the {from_file} runs that it holds");
    assert!(said.contains(&held), "{said}");
    assert_eq!(report["papers"], json(&dir, &[])["papers"]);
}

#[test]
fn files_of_others_are_refused_and_left_alone() {
    let dir = folder("foreign");
    let refused = |file: &str, parts: &[&str]| {
        let before = std::fs::read(dir.join(file)).unwrap();
        let out = run(&dir, &["--runs", file]);
        let said = text(&out.stderr);
        assert_eq!(out.status.code(), Some(2), "{said}");
        for part in parts {
            assert!(said.contains(part), "{said}");
        }
        assert!(std::fs::read(dir.join(file)).unwrap() == before);
    };
    std::fs::write(dir.join("diary"), "dear diary").unwrap();
    refused(
        "diary",
        &["diary: this is no file of kept runs", "name another one"],
    );
    // Another process has it.
    json(&dir, &["--runs", "kept"]);
    let held = std::fs::File::open(dir.join("kept")).unwrap();
    held.lock().unwrap();
    refused(
        "kept",
        &["kept: another byway reproduce", "wait for its end"],
    );
    held.unlock().unwrap();
    // What is run is part of what a run is called.
    let scenario = SCENARIO.replace("400 kB", "40 kB");
    std::fs::write(dir.join("papers/small/transfer.toml"), scenario).unwrap();
    assert_eq!(counts(&json(&dir, &["--runs", "kept"])), [RUNS, 0, 0]);
}

#[test]
fn raw_runs_are_whole_and_the_same_again() {
    let dir = folder("raw");
    let first = json(&dir, &["--runs", "kept", "--raw", "first"]);
    let again = json(&dir, &["--runs", "kept", "--raw", "a/folder"]);
    assert_eq!(first["raw"], again["raw"]);
    let file = &first["raw"][0];
    assert_eq!(file["file"], "small-transfer.parquet");
    assert_eq!(file["runs"], RUNS);
    let sum = Command::new("sha256sum")
        .arg("first/small-transfer.parquet")
        .current_dir(&dir)
        .output()
        .unwrap();
    let sum = text(&sum.stdout)[..64].to_owned();
    assert_eq!(file["sha256"], sum);
    let summary = std::fs::read_to_string(dir.join("out/reproduce.md")).unwrap();
    assert!(summary.contains(&sum), "{summary}");
    // The rows give the figure of the claim: the mean of the distinct runs.
    let results = byway_lab::sweep::Results::read(&dir.join("a/folder/small-transfer.parquet"));
    let results = results.unwrap();
    assert_eq!(results.rows.len() as u64, RUNS);
    let metric = results.metric("transfer_s").unwrap();
    let rows = results.rows.iter();
    let distinct: BTreeSet<(u64, u64)> = rows
        .map(|r| (r.seed, r.value(metric).unwrap().to_bits()))
        .collect();
    let sum: f64 = distinct.iter().map(|(_, time)| f64::from_bits(*time)).sum();
    let count = distinct.len();
    let mean = format!("{:.2} s", sum / count as f64);
    let said = first["papers"][0]["claims"][0]["checks"][0]["byway"].as_str();
    let said = said.unwrap();
    assert!(said.starts_with(&mean), "{said}, {mean}");
    assert!(
        said.contains(&format!("{count} distinct")),
        "{said}, {count}"
    );
}

#[test]
fn raw_runs_that_cannot_be_written_say_where() {
    let dir = folder("raw-nowhere");
    std::fs::write(dir.join("notes"), "mine").unwrap();
    let out = run(&dir, &["--raw", "notes"]);
    let said = text(&out.stderr);
    assert!(!out.status.success());
    assert!(
        said.contains("cannot make the folder") && said.contains("notes"),
        "{said}"
    );
    assert_eq!(std::fs::read_to_string(dir.join("notes")).unwrap(), "mine");
}

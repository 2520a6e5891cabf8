//! Sweeps from outside: killed, interrupted, out of room, compared, one row again.

use crate::hands::{self, wait_for};
use crate::peers::text;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

fn byway() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_byway"));
    command.env_remove("NO_COLOR");
    command
}

/// A new folder for one test, with a sweep file in it.
fn folder(name: &str, seeds: u32) -> PathBuf {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("sweep-{name}"));
    let _ = std::fs::remove_dir_all(&dir);
    std::fs::create_dir_all(&dir).unwrap();
    let sweep = SWEEP.replace("seeds = 3", &format!("seeds = {seeds}"));
    std::fs::write(dir.join("grid.toml"), sweep).unwrap();
    std::fs::write(dir.join("scenario.toml"), SCENARIO).unwrap();
    dir
}

const SCENARIO: &str = r#"
limit = "60 s"
[[path]]
rate = "10 Mbit/s"
delay = "20 ms"
[[path]]
rate = "10 Mbit/s"
delay = "20 ms"
[[event]]
at = "500 ms"
path = 1
do = "down"
[traffic]
kind = "bulk"
size = "1 MB"
[[policy]]
name = "default"
[[policy]]
name = "fast"
rto.min = "100 ms"
rto.initial = "500 ms"
sack.delay = "20 ms"
"#;

const SWEEP: &str = r#"
name = "grid"
description = "A small one."
scenario = "scenario.toml"
seeds = 3
[[axis]]
name = "loss"
key = "path.*.loss"
values = ["0 %", "2 %"]
"#;

/// Runs `byway sweep grid.toml` in a folder.
fn sweep(dir: &Path, more: &[&str]) -> Output {
    let mut command = byway();
    command
        .current_dir(dir)
        .args(["sweep", "grid.toml"])
        .args(more);
    command.output().unwrap()
}

/// The bytes of an uninterrupted sweep of the same file.
fn whole(dir: &Path) -> Vec<u8> {
    let out = sweep(dir, &["--out", "whole.parquet", "--threads", "1"]);
    assert!(out.status.success(), "{}", text(&out.stderr));
    std::fs::read(dir.join("whole.parquet")).unwrap()
}

#[test]
fn a_sweep_prints_a_table_and_writes_its_rows() {
    let dir = folder("table", 3);
    let out = sweep(&dir, &[]);
    assert!(out.status.success(), "{}", text(&out.stderr));
    let table = text(&out.stdout);
    assert!(
        table.contains("4 cells, 12 runs in out/grid.parquet"),
        "{table}"
    );
    assert!(table.lines().all(|l| l.chars().count() <= 80), "{table}");
    assert!(table.contains("±"), "{table}");
    assert!(!dir.join("out/grid.parquet.journal").exists());
    // Again: nothing to run, the same table.
    let again = sweep(&dir, &[]);
    assert!(text(&again.stderr).contains("has the results already"));
    assert_eq!(text(&again.stdout), table);
    let json = sweep(&dir, &["--json"]);
    let summary: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!(summary["cells"].as_array().unwrap().len(), 4);
    assert_eq!(summary["cells"][3]["axes"]["policy"], "fast");
    assert!(json.stderr.is_empty(), "{}", text(&json.stderr));
    let cells = sweep(&dir, &["--cells"]);
    assert!(text(&cells.stdout).contains("4 cells, 3 runs each: 12 runs"));
}

#[test]
fn a_killed_sweep_goes_on_and_gives_the_same_bytes() {
    let dir = folder("killed", 60);
    let journal = dir.join("out/grid.parquet.journal");
    let command = || {
        let mut command = byway();
        command.current_dir(&dir).args(["sweep", "grid.toml"]);
        command
    };
    hands::kill_thrice(command, &journal);
    let out = sweep(&dir, &[]);
    hands::assert_resumed(&out);
    let resumed = std::fs::read(dir.join("out/grid.parquet")).unwrap();
    assert!(resumed == whole(&dir), "the same bytes as without a kill");
}

#[cfg(unix)]
#[test]
fn an_interrupted_sweep_says_what_is_kept() {
    let dir = folder("interrupted", 200);
    let journal = dir.join("out/grid.parquet.journal");
    let child = byway()
        .current_dir(&dir)
        .args(["sweep", "grid.toml"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    wait_for(|| std::fs::metadata(&journal).is_ok_and(|m| m.len() > 4000));
    let killed = Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status();
    assert!(killed.unwrap().success());
    let out = child.wait_with_output().unwrap();
    assert_eq!(out.status.code(), Some(130), "{}", text(&out.stderr));
    let said = text(&out.stderr);
    assert!(
        said.contains("of 800 runs are kept in out/grid.parquet.journal"),
        "{said}"
    );
    assert!(journal.exists() && !dir.join("out/grid.parquet").exists());
}

#[cfg(unix)]
#[test]
fn a_full_disk_loses_nothing() {
    let dir = folder("full", 12);
    // A limit on the size of files acts as a full disk; the first
    // stops the journal, the second the results.
    for (blocks, file) in [(8, "out/grid.parquet.journal"), (20, "out/grid.parquet")] {
        let out = hands::without_room(&dir, blocks, "sweep grid.toml");
        let said = text(&out.stderr);
        assert_eq!(out.status.code(), Some(1), "{said}");
        assert!(
            said.contains(&format!("cannot write {file}: File too large")),
            "{said}"
        );
        assert!(
            said.contains("runs are kept in out/grid.parquet.journal"),
            "{said}"
        );
        assert!(!dir.join("out/grid.parquet").exists());
    }
    let out = sweep(&dir, &[]);
    assert!(
        text(&out.stderr).contains("going on after 48 runs"),
        "{}",
        text(&out.stderr)
    );
    assert!(std::fs::read(dir.join("out/grid.parquet")).unwrap() == whole(&dir));
}

#[test]
fn foreign_and_damaged_files_are_refused() {
    let dir = folder("foreign", 2);
    whole(&dir);
    let refused = |args: &[&str], part: &str| {
        let out = byway().current_dir(&dir).args(args).output().unwrap();
        let said = text(&out.stderr);
        assert_eq!(out.status.code(), Some(2), "{said}");
        assert!(said.contains(part), "{said}");
    };
    let bytes = std::fs::read(dir.join("whole.parquet")).unwrap();
    std::fs::write(dir.join("cut.parquet"), &bytes[..bytes.len() / 2]).unwrap();
    std::fs::write(dir.join("diary.parquet"), "dear diary").unwrap();
    let to = |out| ["sweep", "grid.toml", "--out", out];
    refused(&to("cut.parquet"), "cut.parquet: it was cut off");
    refused(
        &to("diary.parquet"),
        "diary.parquet: this is not a results file",
    );
    refused(
        &["compare", "cut.parquet", "whole.parquet"],
        "cut.parquet: it was cut off",
    );
    refused(&["run", "--row", "diary.parquet:1"], "not a results file");
    refused(&["run", "--row", "whole.parquet:99"], "from 1 to 8");
    refused(&["run", "--row", "whole.parquet"], "write FILE:N");
    // The same file name, another sweep.
    std::fs::write(dir.join("grid.toml"), SWEEP.replace("\"2 %\"", "\"3 %\"")).unwrap();
    refused(&to("whole.parquet"), "another sweep");
    assert!(
        std::fs::read(dir.join("whole.parquet")).unwrap() == bytes,
        "left alone"
    );
    std::fs::write(dir.join("grid.toml"), SWEEP.replace("\"2 %\"", "\"2\"")).unwrap();
    refused(&to("x.parquet"), "grid.toml:9: ");
}

#[test]
fn any_row_runs_again_alone() {
    let dir = folder("row", 2);
    whole(&dir);
    for row in ["whole.parquet:1", "whole.parquet:6", "whole.parquet:8"] {
        let out = byway()
            .current_dir(&dir)
            .args(["run", "--row", row])
            .output()
            .unwrap();
        assert!(out.status.success(), "{}", text(&out.stderr));
        let said = text(&out.stdout);
        assert!(
            said.contains(&format!("the same numbers as row {}", &row[14..])),
            "{said}"
        );
    }
}

#[test]
fn policies_and_files_are_compared() {
    let dir = folder("compare", 8);
    whole(&dir);
    let compare = |args: &[&str]| {
        let out = byway()
            .current_dir(&dir)
            .arg("compare")
            .args(args)
            .output()
            .unwrap();
        assert!(out.status.success(), "{}", text(&out.stderr));
        text(&out.stdout)
    };
    let by = compare(&["whole.parquet", "--by", "policy"]);
    assert!(by.contains("A: default") && by.contains("B: fast"), "{by}");
    assert!(
        by.contains("4 of 4 differ") && by.contains("one by one"),
        "{by}"
    );
    assert!(by.lines().all(|l| l.chars().count() <= 80), "{by}");
    let same = compare(&["whole.parquet", "whole.parquet", "--metric", "timeouts"]);
    assert!(same.contains("0 of 4 differ"), "{same}");
    let json = compare(&["whole.parquet", "--by", "loss", "0 %", "2 %", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json[0]["pairs"][0]["paired"], 8);
}

#[test]
fn the_help_has_an_example_that_works() {
    let out = byway().args(["sweep", "--help"]).output().unwrap();
    let help = text(&out.stdout);
    assert!(
        help.contains("A sweep file:") && help.contains("[[axis]]"),
        "{help}"
    );
    let example = "experiments/example-sweep/loss.toml";
    assert!(help.contains(example), "{help}");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let cells = byway()
        .current_dir(root)
        .args(["sweep", example, "--cells"])
        .output()
        .unwrap();
    assert!(cells.status.success(), "{}", text(&cells.stderr));
    assert!(text(&cells.stdout).contains("12 cells, at most 40 runs each"));
    let schema = byway().args(["sweep", "--schema"]).output().unwrap();
    assert!(text(&schema.stdout).contains("transfer_s"));
}

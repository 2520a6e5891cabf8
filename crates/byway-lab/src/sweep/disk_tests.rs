//! Sweeps that are interrupted, resumed, damaged and compared.

use super::tests::{GRID, plan};
use super::*;
use crate::engine::{EngineError, Store, testing};
use crate::metrics::Metrics;
use crate::terminal::Terminal;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// A folder that is gone after the test.
pub(super) struct Folder(PathBuf);

impl Folder {
    pub(super) fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("byway-sweep-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

pub(super) fn session(file: &Path) -> Session<'_> {
    Session {
        file,
        program: "test",
        restart: false,
        threads: 2,
        cancel: None,
        progress: None,
        found: None,
    }
}

#[test]
fn results_come_back_as_they_were_and_byte_for_byte_the_same() {
    let folder = Folder::new("same");
    let plan = plan(GRID);
    let (a, b) = (folder.file("a.parquet"), folder.file("b.parquet"));
    let results = sweep(&plan, &session(&a)).unwrap();
    let mut alone = session(&b);
    alone.threads = 1;
    sweep(&plan, &alone).unwrap();
    assert_eq!(std::fs::read(&a).unwrap(), std::fs::read(&b).unwrap());
    assert_eq!(Results::read(&a).unwrap(), results);
    assert!(!journal_path(&a).exists(), "all is in the results");
    // Nothing is left to run.
    let (news, runs) = (Mutex::new(None), AtomicUsize::new(0));
    let tell = |found| *news.lock().unwrap() = Some(found);
    let count = |_, _| {
        runs.fetch_add(1, Ordering::Relaxed);
    };
    let again = Session {
        found: Some(&tell),
        progress: Some(&count),
        ..session(&a)
    };
    assert_eq!(sweep(&plan, &again).unwrap(), results);
    assert_eq!(*news.lock().unwrap(), Some(Found::Finished));
    assert_eq!(runs.load(Ordering::Relaxed), 0);
}

#[test]
fn any_row_can_be_run_again_alone() {
    let folder = Folder::new("again");
    let path = folder.file("x.parquet");
    sweep(&plan(GRID), &session(&path)).unwrap();
    let results = Results::read(&path).unwrap();
    for n in [0, 7, 16, 23] {
        let scenario = results.scenario_of(n).unwrap();
        let options = crate::run::RunOptions::default();
        let again = crate::run::run(&scenario, options)
            .unwrap()
            .results
            .remove(0);
        assert_eq!(
            results.differences(n, &again, &Metrics::standard()),
            [""; 0]
        );
        // Another seed makes a difference.
        let other = results.scenario_of(if n == 16 { 17 } else { 16 }).unwrap();
        let other = crate::run::run(&other, options).unwrap().results.remove(0);
        assert!(
            !results
                .differences(n, &other, &Metrics::standard())
                .is_empty()
        );
    }
    assert!(
        results
            .scenario_of(24)
            .unwrap_err()
            .contains("from 1 to 24")
    );
}

#[test]
fn an_interrupted_sweep_goes_on_without_repeating_a_run() {
    let folder = Folder::new("resume");
    let plan = plan(GRID);
    let (whole, cut) = (folder.file("whole.parquet"), folder.file("cut.parquet"));
    sweep(&plan, &session(&whole)).unwrap();
    let mut runs = 0;
    let mut rounds = 0;
    loop {
        let cancel = AtomicBool::new(false);
        let (first, last) = (Mutex::new(None), AtomicUsize::new(0));
        let progress = |done: usize, _| {
            let first = *first.lock().unwrap().get_or_insert(done);
            last.store(done, Ordering::Relaxed);
            if done >= first + 7 {
                cancel.store(true, Ordering::Relaxed);
            }
        };
        let part = Session {
            cancel: Some(&cancel),
            progress: Some(&progress),
            threads: 1,
            ..session(&cut)
        };
        let ended = sweep(&plan, &part);
        runs += last.load(Ordering::Relaxed) - first.lock().unwrap().unwrap();
        rounds += 1;
        match ended {
            Ok(_) => break,
            Err(e) => assert!(matches!(e, EngineError::Interrupted), "{e}"),
        }
        // A kill leaves half a record.
        let journal = journal_path(&cut);
        let mut bytes = std::fs::read(&journal).unwrap();
        bytes.extend([9; 21]);
        std::fs::write(&journal, bytes).unwrap();
    }
    assert_eq!((runs, rounds), (24, 4));
    assert_eq!(std::fs::read(&whole).unwrap(), std::fs::read(&cut).unwrap());
}

#[test]
fn another_program_goes_on_only_with_the_same_numbers() {
    let folder = Folder::new("program");
    let file = folder.file("x.parquet");
    let plan = plan(GRID);
    let whole = folder.file("whole.parquet");
    let rows = sweep(&plan, &session(&whole)).unwrap().rows;
    let begin = |change: f64| {
        let _ = std::fs::remove_file(journal_path(&file));
        let header = super::session::header(&plan, "older");
        let store = Store::begin(&journal_path(&file), &super::session::WORDING, &header).unwrap();
        let mut row = rows[0].clone();
        row.values[0] += change;
        testing::keep(&store, &plan, &row);
    };
    begin(1.0);
    let refused = sweep(&plan, &session(&file)).unwrap_err().to_string();
    assert!(refused.contains("another version of byway"), "{refused}");
    begin(0.0);
    assert_eq!(sweep(&plan, &session(&file)).unwrap().rows, rows);
}

#[test]
fn what_is_not_its_own_is_left_alone() {
    let folder = Folder::new("foreign");
    let file = folder.file("x.parquet");
    let plan = plan(GRID);
    let refused = |part: &str| {
        let error = sweep(&plan, &session(&file)).unwrap_err().to_string();
        assert!(
            error.contains(part) && error.contains("x.parquet"),
            "{error}"
        );
    };
    std::fs::write(&file, "my diary").unwrap();
    refused("not a results file");
    std::fs::remove_file(&file).unwrap();
    std::fs::write(journal_path(&file), "my diary").unwrap();
    refused("not a journal");
    std::fs::remove_file(journal_path(&file)).unwrap();
    let other = super::tests::plan(&GRID.replace("seeds = 3", "seeds = 2"));
    sweep(&other, &session(&file)).unwrap();
    refused("another sweep");
    let again = Session {
        restart: true,
        ..session(&file)
    };
    assert_eq!(sweep(&plan, &again).unwrap().rows.len(), 24);
    // A folder that is not there is made; where it cannot be made, the error has its place.
    let made = folder.file("made/x.parquet");
    assert_eq!(sweep(&plan, &session(&made)).unwrap().rows.len(), 24);
    std::fs::write(folder.file("no"), "a file").unwrap();
    let nowhere = folder.file("no/x.parquet");
    let error = sweep(&plan, &session(&nowhere)).unwrap_err().to_string();
    assert!(
        error.starts_with("cannot make the folder ") && error.contains("/no"),
        "{error}"
    );
}

#[test]
fn what_is_no_file_is_neither_read_nor_replaced() {
    let folder = Folder::new("no-file");
    let plan = plan(GRID);
    let socket = folder.file("socket.parquet");
    let _bound = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    let inner = folder.file("folder.parquet");
    std::fs::create_dir(&inner).unwrap();
    let journal = folder.file("x.parquet");
    std::fs::create_dir(journal_path(&journal)).unwrap();
    for (file, part) in [
        (&socket, "socket.parquet: this is a device or a pipe"),
        (&inner, "folder.parquet: this is a folder"),
        (&journal, "x.parquet.journal: this is a folder"),
        (&PathBuf::new(), ": this is no file's name"),
        (&folder.file(".."), "this is no file's name"),
        (
            &PathBuf::from("s3://bucket/x.parquet"),
            "x.parquet: this is a URL",
        ),
    ] {
        for restart in [false, true] {
            let session = Session {
                restart,
                ..session(file)
            };
            let error = sweep(&plan, &session).unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
    }
    assert!(socket.exists(), "it was not removed");
    // This one has no end.
    for device in ["/dev/zero", "/dev/full"] {
        let error = Results::read(Path::new(device)).unwrap_err().to_string();
        assert_eq!(error, format!("{device}: this is no file"));
    }
}

#[test]
fn damage_is_found_before_anything_is_decoded() {
    let folder = Folder::new("damage");
    let file = folder.file("x.parquet");
    sweep(&plan(GRID), &session(&file)).unwrap();
    let whole = std::fs::read(&file).unwrap();
    let broken = folder.file("broken.parquet");
    let read = |bytes: &[u8]| {
        std::fs::write(&broken, bytes).unwrap();
        Results::read(&broken)
    };
    for len in (0..whole.len()).step_by(whole.len() / 60) {
        let error = read(&whole[..len]).unwrap_err().to_string();
        assert!(
            error.contains("cut off") || error.contains("not a results file"),
            "{error}"
        );
    }
    for at in (0..whole.len()).step_by(whole.len() / 700) {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x55;
        let error = read(&bytes).unwrap_err().to_string();
        assert!(error.contains("broken.parquet: "), "{error}");
    }
    read(&whole).unwrap();
}

#[test]
fn values_of_an_axis_are_compared_run_by_run() {
    let folder = Folder::new("compare");
    let file = folder.file("x.parquet");
    let plan = plan(&GRID.replace("seeds = 3", "seeds = 12"));
    let results = sweep(&plan, &session(&file)).unwrap();
    let question = Question {
        metrics: vec!["end_s".into(), "timeouts".into()],
        ..Question::default()
    };
    let found = compare_values(&results, "policy", ("today", "papers"), &question).unwrap();
    assert_eq!(found.axes, ["path.*.loss", "timers"]);
    assert_eq!((found.pairs.len(), found.unmatched), (8, 0));
    assert!(found.pairs.iter().all(|p| p.paired == Some(12)));
    // Nothing is left to chance here: a minute against two seconds.
    let first = &found.pairs[0];
    assert!(
        first.significant && first.difference.unwrap().mean > 10.0,
        "{first:?}"
    );
    let table = found.table(Terminal {
        width: 80,
        colour: false,
    });
    assert!(table.lines().all(|l| l.chars().count() <= 80), "{table}");
    assert!(table.contains("of 8 differ"), "{table}");
    for (axis, values, part) in [
        ("colour", ("a", "b"), "not an axis"),
        ("policy", ("today", "b"), "there are today and papers"),
    ] {
        let error = compare_values(&results, axis, values, &question).unwrap_err();
        assert!(error.contains(part), "{error}");
    }
}

#[test]
fn files_are_compared_cell_by_cell() {
    let folder = Folder::new("files");
    let text = GRID.replace("seeds = 3", "seeds = 6");
    let of = |name: &str, text: &str| sweep(&plan(text), &session(&folder.file(name))).unwrap();
    let a = of("a.parquet", &text);
    let b = of("b.parquet", &text.replace("\"5 %\"", "\"7 %\""));
    let question = Question {
        metrics: vec!["stall_s".into()],
        ..Question::default()
    };
    let same = compare_files(("a", &a), ("a again", &a), &question).unwrap();
    assert_eq!((same.pairs.len(), same.unmatched), (8, 0));
    assert!(same.pairs.iter().all(|p| !p.significant));
    let found = compare_files(("a", &a), ("b", &b), &question).unwrap();
    assert_eq!(
        (found.pairs.len(), found.unmatched),
        (4, 8),
        "the cells without loss"
    );
    // Other seeds: Welch.
    let c = of(
        "c.parquet",
        &text.replace("seeds = 6", "seeds = { from = 100, count = 6 }"),
    );
    let found = compare_files(("a", &a), ("c", &c), &question).unwrap();
    assert!(
        found
            .pairs
            .iter()
            .all(|p| p.paired.is_none() && p.difference.is_some())
    );
    // An axis that only one has.
    let one = of(
        "d.parquet",
        &text.replace("[\"0 %\", \"5 %\"]", "[\"0 %\"]"),
    );
    assert_eq!(
        compare_files(("a", &a), ("d", &one), &question)
            .unwrap()
            .unmatched,
        4
    );
    let without = text.replace("key = \"path.*.loss\"", "key = \"path.1.loss\"");
    let e = of("e.parquet", &without);
    let error = compare_files(("a", &a), ("e", &e), &question)
        .map(drop)
        .unwrap_err();
    assert!(error.contains("a varies path.*.loss"), "{error}");
}

#[test]
fn the_table_fits_and_says_what_did_not_complete() {
    let folder = Folder::new("table");
    let file = folder.file("x.parquet");
    let text = GRID
        .replace(
            "seeds = 3",
            "seeds = 4\nmetrics = [\"transfer_s\", \"stall_s\", \"path1_bytes\", \"timeouts\"]",
        )
        .replace("path.right.delay = \"10 ms\"", "limit = \"3 s\"");
    let results = sweep(&plan(&text), &session(&file)).unwrap();
    for width in [60, 80, 160] {
        let table = results.table(Terminal {
            width,
            colour: false,
        });
        assert!(table.lines().all(|l| l.chars().count() <= width), "{table}");
    }
    insta::assert_snapshot!(results.table(Terminal {
        width: 80,
        colour: false
    }));
    let summary = results.summary();
    assert_eq!(summary.cells.len(), 8);
    assert_eq!(summary.cells[3].completed, 0);
    assert!(summary.cells[3].completed_interval.1 < 0.6);
}

#[test]
fn the_schema_names_every_column() {
    let text = schema(Some(&plan(GRID)));
    for part in [
        "path.*.loss",
        "failure1_suspect_s",
        "path2_heartbeats",
        "scenario",
        "int64?",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    assert!(schema(None).contains("AXIS..."));
}

//! `ATTACKS.md` is true: every test that it names exists, and no row is missing.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Findings that must have a row.
const FINDINGS: [&str; 17] = [
    "R3", "R5", "R8", "R9", "R10", "R11", "R12", "R13", "R14", "R15", "R17", "R18", "R19", "R20",
    "R21", "R22", "R23",
];

/// All Rust files below a folder, but those that were built.
fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let path = entry.path();
        match path.extension() {
            None if path.is_dir() && !path.ends_with("target") => sources(&path, found),
            Some(end) if end == "rs" => found.push(path),
            _ => {}
        }
    }
}

/// The names of all tests of a file: functions behind an attribute that ends in `test`, and
/// those inside of `proptest!`.
fn tests(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut marked = false;
    for line in text.lines().map(str::trim) {
        if line.starts_with("#[") {
            let name = line.trim_start_matches("#[").trim_end_matches(']');
            marked |= name.split('(').next().is_some_and(|n| n.ends_with("test"));
        } else if let Some(rest) = line.split("fn ").nth(1).filter(|_| marked) {
            marked = false;
            found.extend(rest.split('(').next().map(str::to_owned));
        }
    }
    found
}

/// The cells of a row.
fn cells(line: &str) -> Vec<&str> {
    line.trim_matches('|').split('|').map(str::trim).collect()
}

/// What stands between backquotes and looks like the name of a test.
fn named(cell: &str) -> Vec<&str> {
    let quoted = cell.split('`').skip(1).step_by(2);
    let is_name = |n: &&str| {
        n.chars()
            .all(|c| c.is_ascii_lowercase() || "_0123456789".contains(c))
    };
    quoted.filter(is_name).collect()
}

#[test]
fn every_test_of_the_table_exists() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let crates = here.parent().unwrap();
    if !crates.join("byway-cli").exists() {
        eprintln!("skipped: a packed crate has not the tests of the others");
        return;
    }
    let (mut files, mut all) = (Vec::new(), BTreeSet::new());
    sources(crates, &mut files);
    for file in files {
        all.extend(tests(&std::fs::read_to_string(file).unwrap()));
    }
    let table = std::fs::read_to_string(here.join("tests/ATTACKS.md")).unwrap();
    let rows: Vec<Vec<&str>> = table
        .lines()
        .filter(|l| l.starts_with('|'))
        .skip(2)
        .map(cells)
        .collect();
    let mut missing = Vec::new();
    for row in &rows {
        let [number, _, core, process] = row[..] else {
            panic!("a row of four cells: {row:?}");
        };
        let names = [named(core), named(process)];
        for name in names.iter().flatten().filter(|n| !all.contains(**n)) {
            missing.push(format!("{number}: {name}"));
        }
        for (cell, names) in [core, process].iter().zip(&names) {
            let says_why = cell.starts_with("not shown: ");
            if names.is_empty() != says_why {
                missing.push(format!("{number}: a test, or why there is none: {cell}"));
            }
        }
        if names.iter().all(Vec::is_empty) {
            missing.push(format!("{number}: no test at all"));
        }
    }
    let numbers: BTreeSet<&str> = rows.iter().map(|r| r[0]).collect();
    assert_eq!(numbers.len(), rows.len(), "a number stands twice");
    let attacks = (1..=41).map(|n| n.to_string());
    let attacked = (1..=17).map(|n| format!("D{n}"));
    let read = FINDINGS.iter().map(|f| (*f).to_owned());
    for number in attacks.chain(attacked).chain(read) {
        if !numbers.contains(number.as_str()) {
            missing.push(format!("{number}: no row"));
        }
    }
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}

/// The check above finds what it is there for.
#[test]
fn a_test_is_known_by_its_attribute() {
    let text = "#[test]\nfn one() {}\nfn helper() {}\n#[tokio::test]\nasync fn two() {}\n\
                #[cfg(unix)]\n#[test]\n#[ignore]\npub fn three() {}";
    let expected = ["one", "three", "two"].map(str::to_owned);
    assert_eq!(tests(text), BTreeSet::from(expected));
    assert_eq!(named("`attack_one` in `a/file.rs`, `Two`"), ["attack_one"]);
}

//! `ATTACKS.md` and `NETWORKS.md` are true: every test and drill that they name exists, and no
//! row is missing.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Findings that must have a row in `ATTACKS.md`.
const FINDINGS: [&str; 17] = [
    "R3", "R5", "R8", "R9", "R10", "R11", "R12", "R13", "R14", "R15", "R17", "R18", "R19", "R20",
    "R21", "R22", "R23",
];

/// What was tried and held, H1 to this, and what the second review found, S1 to this: at least so many rows.
const HELD: u32 = 10;
const FOUND: u32 = 50;

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
/// those inside of `proptest!`. What is ignored runs in no continuous integration, so it is none.
fn tests(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let (mut marked, mut ignored) = (false, false);
    for line in text.lines().map(str::trim) {
        if line.starts_with("#[") {
            let words = line.trim_start_matches("#[");
            let name = words.split(['(', ']', ' ', '=']).next().unwrap_or_default();
            marked |= name.ends_with("test");
            // `#[cfg_attr(unix, ignore)]`, too.
            let mut all = words.split(|c: char| !c.is_alphanumeric() && c != '_');
            ignored |= name == "ignore" || name == "cfg_attr" && all.any(|w| w == "ignore");
        } else if let Some(rest) = line.split("fn ").nth(1).filter(|_| marked) {
            if !ignored {
                found.extend(rest.split('(').next().map(str::to_owned));
            }
            (marked, ignored) = (false, false);
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

/// A file with a table: its rows, in cells, without the head.
fn rows(table: &str) -> Vec<Vec<&str>> {
    let lines = table.lines().filter(|l| l.starts_with('|'));
    lines.skip(2).map(cells).collect()
}

/// The names of all tests of the repository; none in a packed crate, which has not those of the
/// others.
fn all_tests() -> Option<BTreeSet<String>> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    if !crates.join("byway-cli").exists() {
        eprintln!("skipped: a packed crate has not the tests of the others");
        return None;
    }
    let (mut files, mut all) = (Vec::new(), BTreeSet::new());
    sources(crates, &mut files);
    for file in files {
        all.extend(tests(&std::fs::read_to_string(file).unwrap()));
    }
    Some(all)
}

/// What is wrong with a row of so many cells, of which `known` gives the names that may stand
/// in each cell after the second.
fn wrong_in(row: &[&str], known: &[&BTreeSet<String>]) -> Vec<String> {
    let number = row[0];
    if row.len() != known.len() + 2 {
        return vec![format!("{number}: {} cells", row.len())];
    }
    let (mut wrong, mut any) = (Vec::new(), false);
    for (cell, known) in row[2..].iter().zip(known) {
        let names = named(cell);
        let missing = names.iter().filter(|n| !known.contains(**n));
        wrong.extend(missing.map(|name| format!("{number}: there is no {name}")));
        any |= !names.is_empty();
        let says_why = cell.starts_with("not shown: ");
        if names.is_empty() != says_why {
            wrong.push(format!("{number}: a test, or why there is none: {cell}"));
        }
    }
    if !any {
        wrong.push(format!("{number}: no test at all"));
    }
    wrong
}

/// What is wrong with a table that must have these rows.
fn wrong(table: &str, numbers: &[String], known: &[&BTreeSet<String>]) -> Vec<String> {
    let rows = rows(table);
    let mut wrong: Vec<String> = rows.iter().flat_map(|r| wrong_in(r, known)).collect();
    let found: BTreeSet<&str> = rows.iter().map(|r| r[0]).collect();
    if found.len() != rows.len() {
        wrong.push("a number stands twice".to_owned());
    }
    let missing = numbers.iter().filter(|n| !found.contains(n.as_str()));
    wrong.extend(missing.map(|n| format!("{n}: no row")));
    wrong
}

fn table(name: &str) -> String {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(here.join("tests").join(name)).unwrap()
}

#[test]
fn every_test_of_the_table_exists() {
    let Some(all) = all_tests() else { return };
    let attacks = (1..=41).map(|n| n.to_string());
    let attacked = (1..=17).map(|n| format!("D{n}"));
    let read = FINDINGS.iter().map(|f| (*f).to_owned());
    let table = table("ATTACKS.md");
    // Each new row moves its end: an old one that vanished would leave a gap.
    let held = (1..=last("H", &table).max(HELD)).map(|n| format!("H{n}"));
    let found = (1..=last("S", &table).max(FOUND)).map(|n| format!("S{n}"));
    let all_of = attacks.chain(attacked).chain(read).chain(held).chain(found);
    let numbers: Vec<String> = all_of.collect();
    let wrong = wrong(&table, &numbers, &[&all, &all]);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The highest number of the rows with this letter; 0 without one.
fn last(letter: &str, table: &str) -> u32 {
    let rows = rows(table);
    let numbers = rows.iter().filter_map(|r| r[0].strip_prefix(letter));
    numbers.filter_map(|n| n.parse().ok()).max().unwrap_or(0)
}

#[test]
fn the_last_row_of_a_letter_is_known() {
    let table = "|#|W|A|B|\n|-|-|-|-|\n|S1|x|y|z|\n|S12|x|y|z|\n|H3|x|y|z|\n|7|x|y|z|";
    assert_eq!(
        [last("S", table), last("H", table), last("R", table)],
        [12, 3, 0]
    );
}

/// The drills that `interop/drills` lists and that have a function: `script` is that file, and
/// `all` is it and the files that it reads.
fn drills(script: &str, all: &str) -> BTreeSet<String> {
    // Each line has a name and how many verdicts the drill gives.
    let list = script.split_once("VERDICTS[$drill]=$count; done << END\n");
    let list = list.and_then(|(_, rest)| rest.split("\nEND\n").next());
    let lines = list.unwrap_or_default().lines();
    let names = lines.filter_map(|line| line.split_whitespace().next());
    let has_function = |n: &&str| all.contains(&format!("\ndrill_{n}() {{"));
    names.filter(has_function).map(str::to_owned).collect()
}

#[test]
fn every_test_of_the_networks_exists() {
    let Some(all) = all_tests() else { return };
    let interop = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../interop");
    let script = std::fs::read_to_string(interop.join("drills")).unwrap();
    let mut with_rooms = script.clone();
    if let Ok(rooms) = std::fs::read_dir(interop.join("drill_rooms")) {
        for room in rooms {
            with_rooms.push_str(&std::fs::read_to_string(room.unwrap().path()).unwrap());
        }
    }
    let drills = drills(&script, &with_rooms);
    assert!(drills.len() > 10, "drills that were found: {drills:?}");
    let read = [1, 2, 4, 6, 7, 16].map(|n| format!("R{n}"));
    let drilled = (1..=16).map(|n| format!("N{n}"));
    let numbers: Vec<String> = read.into_iter().chain(drilled).collect();
    let wrong = wrong(&table("NETWORKS.md"), &numbers, &[&all, &all, &drills]);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A name without a function is no drill.
#[test]
fn drills_are_known_by_the_list_and_their_functions() {
    let script = "x\nwhile read; do VERDICTS[$drill]=$count; done << END\nmtu $((2 + 2))\ngone 1\nnat 2\nEND\nwords 3\n";
    let all = format!("{script}\ndrill_mtu() {{\n\ndrill_nat() {{\n\ndrill_words() {{\n");
    let expected = BTreeSet::from(["mtu", "nat"].map(str::to_owned));
    assert_eq!(drills(script, &all), expected);
}

#[test]
fn what_is_wrong_with_a_table_is_found() {
    let known = BTreeSet::from(["one".to_owned(), "two".to_owned()]);
    let check = |rows: &str| {
        let table = format!("|#|W|A|B|\n|-|-|-|-|\n{rows}");
        wrong(&table, &["R1".to_owned()], &[&known, &known])
    };
    assert!(check("|R1|x|`one`, `two`|not shown: why|").is_empty());
    for (rows, said) in [
        ("|R1|x|`one`|`three`|", "R1: there is no three"),
        (
            "|R1|x|`one`|nothing|",
            "R1: a test, or why there is none: nothing",
        ),
        (
            "|R1|x|`one`|not shown: `two` does|",
            "R1: a test, or why there is none: not shown: `two` does",
        ),
        ("|R1|x|not shown: a|not shown: b|", "R1: no test at all"),
        ("|R1|x|`one`|", "R1: 3 cells"),
        (
            "|R1|x|`one`|`two`|\n|R1|x|`one`|`two`|",
            "a number stands twice",
        ),
        ("|R2|x|`one`|`two`|", "R1: no row"),
    ] {
        assert_eq!(check(rows), [said], "{rows}");
    }
}

/// The checks above find what they are there for.
#[test]
fn a_test_is_known_by_its_attribute() {
    let text = "#[test]\nfn one() {}\nfn helper() {}\n#[tokio::test]\nasync fn two() {}\n\
                #[cfg(unix)]\n#[test]\n#[expect(dead_code)]\npub fn three() {}";
    let expected = ["one", "three", "two"].map(str::to_owned);
    assert_eq!(tests(text), BTreeSet::from(expected));
    assert_eq!(named("`attack_one` in `a/file.rs`, `Two`"), ["attack_one"]);
}

#[test]
fn an_ignored_test_is_none() {
    for ignored in [
        "#[test]\n#[ignore]",
        "#[ignore]\n#[test]",
        "#[tokio::test(flavor = \"x\")]\n#[ignore = \"a reason\"]",
        "#[test]\n#[cfg_attr(not(feature = \"slow\"), ignore)]",
    ] {
        let text = format!("{ignored}\nfn one() {{}}\n#[test]\nfn two() {{}}");
        let expected = BTreeSet::from(["two".to_owned()]);
        assert_eq!(tests(&text), expected, "{ignored}");
    }
}

//! What `byway reproduce` writes beside its verdicts: other settings, other seeds, a second report, the
//! figures' data, and what becomes of a check that cannot fail.

use crate::small_paper::{folder, run};
use serde_json::Value;
use std::borrow::Cow;
use std::path::Path;

/// A claim with a printed number, which holds; one that few seeds leave undecided; one whose check also
/// holds where it must not.
const CLAIMS: &str = r#"
id = "small"
title = "A small one"
citation = "nobody"
setting = "two paths"
[[study]]
id = "transfer"
what = "A file over two paths."
scenario = "transfer"
axes = { loss1 = [0, 5, 15], loss2 = [0] }
seeds = { quick = 3, full = 12 }
[[claim]]
id = "S1"
section = "section I"
says = "It takes a second without loss, and more with it."
figure = "1"
[[claim.check]]
kind = "mean"
what = "transfer without loss"
paper = "about a second"
study = "transfer"
where = { loss1 = 0 }
measure = "transfer_s"
unit = "s"
between = [0.5, 3]
off = { loss1 = 15 }
[[claim]]
id = "S2"
section = "section I"
says = "With 5 % loss it takes four seconds."
[[claim.check]]
kind = "mean"
what = "transfer with loss"
paper = "4 s"
study = "transfer"
where = { loss1 = 5 }
measure = "transfer_s"
unit = "s"
between = [3.6, 4.4]
off = { loss1 = 0 }
[[figure]]
id = "1"
title = "transfer time"
kind = "curves"
study = "transfer"
measure = "transfer_s"
unit = "s"
lines = "loss2"
line_name = "file"
x = "loss1"
x_title = "loss (%)"
y_title = "time (s)"
"#;

/// A claim of one check: the mean time of a transfer without loss. `rest` is what else the check has.
fn claim_of_time(id: &str, fitted: &str, (what, paper): (&str, &str), rest: &str) -> String {
    format!(
        r#"
[[claim]]
id = "{id}"
section = "section I"
says = "It takes {paper} without loss."
{fitted}
[[claim.check]]
kind = "mean"
what = "{what}"
paper = "{paper}"
study = "transfer"
where = {{ loss1 = 0 }}
measure = "transfer_s"
unit = "s"
{rest}
"#
    )
}

/// A claim whose only figure is shown: nothing is tested.
fn shown() -> String {
    claim_of_time("S4", "", ("transfer", "as long as it takes"), "")
}

/// What the paper says of a second, by a check that holds.
const SECOND: (&str, &str) = ("transfer without loss", "about a second");

/// A fitted claim with nothing else to test it on.
fn fitted() -> String {
    let fitted = r#"fitted = "The size of the file was chosen by it.""#;
    let rest = "between = [0.5, 3]\noff = { loss1 = 15 }";
    claim_of_time("S5", fitted, SECOND, rest)
}

/// A claim that holds, with a control of which few runs do not tell whether it holds there, too.
fn open(id: &str) -> String {
    let rest = "between = [0.5, 3]\noff = { loss1 = 5 }";
    claim_of_time(id, "", SECOND, rest)
}

/// A claim whose check also holds where it must not.
fn vacuous() -> String {
    let rest = "between = [0, 1000]\noff = { loss1 = 5 }";
    claim_of_time("S3", "", ("transfer", "some time"), rest)
}

fn text(bytes: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(bytes)
}

fn json(dir: &Path, more: &[&str]) -> Value {
    let out = run(dir, &[more, &["--json"]].concat());
    assert!(out.status.success(), "{}", text(&out.stderr));
    serde_json::from_slice(&out.stdout).unwrap()
}

fn claim<'a>(report: &'a Value, id: &str) -> &'a Value {
    let claims = report["papers"][0]["claims"].as_array().unwrap();
    claims.iter().find(|c| c["id"] == id).unwrap()
}

#[test]
fn an_undecided_claim_gets_twice_and_four_times_the_seeds_and_no_other_one_does() {
    let dir = folder("results-looks", CLAIMS);
    let runs = |report: &Value, id| claim(report, id)["checks"][0]["runs"]["all"].clone();
    let once = json(&dir, &[]);
    assert_eq!(claim(&once, "S2")["verdict"], "undecided");
    assert_eq!((&runs(&once, "S2"), &once["looks"]), (&3.into(), &1.into()));
    // Three looks: 3, 6 and 12 seeds of three cells, as one study has all.
    let looked = json(&dir, &["--until-decided", "--raw", "raw"]);
    assert_eq!(looked["looks"], 3);
    assert_eq!(runs(&looked, "S2"), 12);
    assert_eq!(looked["runs"], 3 * 12);
    // The cap, and what it leaves undecided, stand in the report and on the page.
    assert_eq!(claim(&looked, "S2")["verdict"], "undecided");
    let cap = "undecided claims looked at up to 3 times, with up to 4 times the seeds, which is the cap \
               (1 undecided at it)";
    for file in ["out/reproduce.md", "out/reproduce.html"] {
        let told = std::fs::read_to_string(dir.join(file)).unwrap();
        assert!(told.contains(cap), "{file}: {told}");
    }
    let files: Vec<&str> = looked["raw"]
        .as_array()
        .unwrap()
        .iter()
        .map(|f| f["file"].as_str().unwrap())
        .collect();
    assert_eq!(
        files,
        [
            "small-transfer.parquet",
            "small-transfer-look-2.parquet",
            "small-transfer-look-3.parquet"
        ]
    );
    // What is decided at the first look stays with its seeds.
    let decided = json(&dir, &["S1", "--until-decided"]);
    assert_eq!(claim(&decided, "S1")["verdict"], "reproduced");
    assert_eq!(decided["runs"], 3 * 3);
    // A stricter test of each look: 12 seeds at once and in three looks are the same runs.
    let at_once = json(&dir, &["--full", "S2"]);
    let byway = |report: &Value| claim(report, "S2")["checks"][0]["byway"].clone();
    assert_eq!(byway(&at_once), byway(&looked));
}

#[test]
fn other_settings_stand_beside_and_full_has_them_with_fewer_seeds() {
    let dir = folder(
        "results-ablation",
        &CLAIMS.replace("full = 12", "full = 24"),
    );
    let plain = json(&dir, &[]);
    assert_eq!(claim(&plain, "S1")["ablations"], Value::Array(Vec::new()));
    let quick = json(&dir, &["--ablation"]);
    assert_eq!(quick["runs"], 3 * plain["runs"].as_u64().unwrap());
    let ablations = claim(&quick, "S1")["ablations"].as_array().unwrap();
    let names: Vec<&str> = ablations
        .iter()
        .map(|a| a["settings"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["rfc2960", "rfc9260"]);
    for ablation in ablations {
        assert_eq!(ablation["verdict"], "reproduced", "{ablation}");
        // Other windows, another time.
        assert_ne!(
            ablation["byway"][0],
            claim(&quick, "S1")["checks"][0]["byway"]
        );
    }
    // The papers' own settings give the same with and without them.
    assert_eq!(claim(&quick, "S1")["checks"], claim(&plain, "S1")["checks"]);
    // 3 cells of 24 seeds, and of 4 times 3 by each preset.
    let full = json(&dir, &["--full"]);
    assert_eq!(full["runs"], 3 * 24 + 2 * 3 * 12);
    let markdown = std::fs::read_to_string(dir.join("out/reproduce.md")).unwrap();
    assert!(
        markdown.contains("| claim | verdict | rfc2960 | rfc9260 |"),
        "{markdown}"
    );
    assert!(
        markdown.contains("| without ns-2's rules | rfc2960 | rfc9260 |"),
        "{markdown}"
    );
}

/// What is set is named with its source, and with how many checks say something else where it is halved.
#[test]
fn what_hangs_on_a_parameter_is_counted_in_checks() {
    let window = "[[parameter]]\nname = \"receive window\"\nvalue = \"64 KiB\"\n\
                  source = \"ns-2 default\"\nfrom = \"the module\"\nvaried = \"window\"\n";
    let dir = folder("results-sensitivity", &format!("{CLAIMS}{window}"));
    let report = json(&dir, &["--sensitivity", "--matrix"]);
    let read = |name: &str| std::fs::read_to_string(dir.join("out").join(name)).unwrap();
    let (table, matrix) = (read("sensitivity.md"), read("matrix.md"));
    let row = table.lines().find(|l| l.starts_with("| receive window"));
    let row = row.unwrap_or_else(|| panic!("{table}"));
    assert_eq!(
        row.matches(" of 2 checks say something else)").count(),
        2,
        "{row}"
    );
    let digest = format!(
        "small `{}`",
        report["papers"][0]["digest"].as_str().unwrap()
    );
    for text in [&table, &matrix] {
        assert!(text.contains(&digest), "{text}");
    }
    assert!(matrix.contains("| S1 | reproduced |"), "{matrix}");
}

#[test]
fn a_second_machine_with_other_seeds_is_compared() {
    let dir = folder("results-against", CLAIMS);
    let first = json(&dir, &["--out", "first"]);
    let second = json(&dir, &["--seeds-from", "1001"]);
    assert_eq!(
        (&first["first_seed"], &second["first_seed"]),
        (&1.into(), &1001.into())
    );
    // Without loss a seed changes nothing; with loss it is other chance.
    let byway = |report: &Value, id| claim(report, id)["checks"][0]["byway"].clone();
    assert_eq!(byway(&first, "S1"), byway(&second, "S1"));
    assert_ne!(byway(&first, "S2"), byway(&second, "S2"));
    let out = run(
        &dir,
        &["--seeds-from", "1001", "--against", "first/reproduce.json"],
    );
    let said = text(&out.stdout);
    assert!(
        out.status.success() && said.contains("2 of 2 verdicts agree"),
        "{said}"
    );
    let markdown = std::fs::read_to_string(dir.join("out/reproduce.md")).unwrap();
    assert!(
        markdown.contains("**2 of 2 verdicts agree.**"),
        "{markdown}"
    );
    // Another verdict, other claims and equal seeds are told.
    let file = dir.join("first/reproduce.json");
    let other = std::fs::read_to_string(&file).unwrap();
    let other = other.replacen("\"reproduced\"", "\"not_reproduced\"", 1);
    std::fs::write(
        &file,
        other.replacen("\"digest\": \"", "\"digest\": \"0", 1),
    )
    .unwrap();
    let out = run(&dir, &["--against", "first/reproduce.json"]);
    let said = text(&out.stdout);
    for part in [
        "1 of 2 verdicts agree",
        "Of 1 claims that neither leaves undecided 0 have the same verdict",
        "small/S1: not reproduced there, reproduced here",
        "the same seeds, from 1 on",
        "small has another rule or other claims",
    ] {
        assert!(said.contains(part), "{said}");
    }
    // Files that are no such report are refused before anything is run.
    for (content, why) in [
        ("dear diary", "is no report that"),
        (
            "{\"schema\": \"byway.reproduce/2\"}",
            "has the form byway.reproduce/2",
        ),
    ] {
        std::fs::write(&file, content).unwrap();
        let out = run(&dir, &["--against", "first/reproduce.json"]);
        let said = text(&out.stderr);
        assert_eq!(out.status.code(), Some(2), "{said}");
        assert!(
            said.contains("first/reproduce.json") && said.contains(why),
            "{said}"
        );
    }
}

#[test]
fn results_say_by_what_they_were_made_and_figures_are_files() {
    let dir = folder("results-results", CLAIMS);
    let report = json(&dir, &["--figures", "figures", "--raw", "raw"]);
    let origin = &report["origin"];
    for (field, part) in [
        ("date", "20"),
        ("command", "byway reproduce"),
        ("build", "rustc"),
        ("machine", "processor"),
    ] {
        let said = origin[field].as_str().unwrap();
        assert!(said.contains(part), "{field}: {said}");
    }
    let markdown = std::fs::read_to_string(dir.join("out/reproduce.md")).unwrap();
    let sha256 = report["raw"][0]["sha256"].as_str().unwrap();
    for part in [
        "**Of 2 claims 1 reproduced, 0 trend only, 0 fitted; 1 undecided, 0 not reproduced.**",
        origin["date"].as_str().unwrap(),
        "## Controls",
        "How near: its check holds",
        "| small figure 1 | transfer time | `small-figure-1.csv` |",
        sha256,
    ] {
        assert!(markdown.contains(part), "{part}: {markdown}");
    }
    // By which rule and claims stands on top, as on the page.
    let top = markdown.split("| claim |").next().unwrap();
    let page = std::fs::read_to_string(dir.join("out/reproduce.html")).unwrap();
    let header = page.split("</header>").next().unwrap();
    for digest in [&report["rule"], &report["papers"][0]["digest"]] {
        let digest = digest.as_str().unwrap();
        assert!(top.contains(&format!("`{digest}`")), "{top}");
        assert!(
            header.contains(&format!("<code>{digest}</code>")),
            "{header}"
        );
    }
    let kept: Value =
        serde_json::from_str(&std::fs::read_to_string(dir.join("out/reproduce.json")).unwrap())
            .unwrap();
    assert_eq!(kept["papers"], report["papers"]);
    let csv = std::fs::read_to_string(dir.join("figures/small-figure-1.csv")).unwrap();
    let rows: Vec<&str> = csv.lines().collect();
    assert_eq!(rows[0], "panel,line,source,x,y,low_95,high_95,runs");
    assert!(
        rows.len() == 4 && rows[1].starts_with(",file,byway,0,"),
        "{csv}"
    );
}

#[test]
fn a_claim_of_which_nothing_is_tested_is_not_counted() {
    let dir = folder("results-shown", &[CLAIMS, &shown(), &fitted()].concat());
    let out = run(&dir, &["S4", "--controls"]);
    let said = text(&out.stderr);
    assert_eq!(out.status.code(), Some(1), "{said}");
    assert!(said.contains("S4: none of its checks counts"), "{said}");
    let report = json(&dir, &[]);
    assert_eq!(claim(&report, "S4")["verdict"], "vacuous");
    assert_eq!(claim(&report, "S5")["verdict"], "unvalidated");
    let markdown = std::fs::read_to_string(dir.join("out/reproduce.md")).unwrap();
    for part in [
        "Why not counted: none of its checks counts",
        "Why not counted: there is nothing else to test it on",
    ] {
        assert!(markdown.contains(part), "{part}: {markdown}");
    }
}

#[test]
fn a_check_that_cannot_fail_ends_the_command_with_an_error() {
    let dir = folder("results-vacuous", &[CLAIMS, &vacuous()].concat());
    let out = run(&dir, &["--controls"]);
    let said = text(&out.stderr);
    assert_eq!(out.status.code(), Some(1), "{said}");
    assert!(
        said.contains("S3, transfer: holds with mechanism off"),
        "{said}"
    );
    assert!(
        text(&out.stdout).contains("1 are vacuous"),
        "{}",
        text(&out.stdout)
    );
    // Without --controls it is told, and the claim is not counted.
    let report = json(&dir, &[]);
    assert_eq!(claim(&report, "S3")["verdict"], "vacuous");
    let out = run(&dir, &["S1", "S2", "--controls"]);
    assert!(out.status.success(), "{}", text(&out.stderr));
}

/// Undecided is no failure: what is not shown to fail where it must not hold is not counted.
#[test]
fn a_control_of_which_the_runs_do_not_tell_shows_nothing() {
    let failing = "[[claim.check]]\nkind = \"mean\"\nwhat = \"the same\"\npaper = \"minutes\"\n\
                   study = \"transfer\"\nwhere = { loss1 = 0 }\nmeasure = \"transfer_s\"\n\
                   between = [100, 200]\noff = { loss1 = 15 }\n";
    let dir = folder(
        "results-open",
        &[CLAIMS, &open("S6"), &open("S7"), failing].concat(),
    );
    let out = run(&dir, &["S6", "--controls"]);
    let (said, printed) = (text(&out.stderr), text(&out.stdout));
    assert_eq!(out.status.code(), Some(1), "{said}");
    assert!(
        said.contains("S6, transfer without loss: undecided with mechanism off"),
        "{said}"
    );
    assert!(printed.contains("in 1 the runs do not tell"), "{printed}");
    let report = json(&dir, &[]);
    let found = claim(&report, "S6");
    assert_eq!(found["checks"][0]["outcome"], "holds");
    assert_eq!(found["verdict"], "vacuous");
    // The same check, put to a case that the runs do decide.
    assert_eq!(claim(&report, "S1")["verdict"], "reproduced");
    let controls = std::fs::read_to_string(dir.join("out/reproduce.md")).unwrap();
    for row in [
        "| S6 | transfer without loss | holds | mechanism off | undecided | **vacuous** |",
        "| S1 | transfer without loss | holds | mechanism off | does not hold | as it must |",
    ] {
        assert!(controls.contains(row), "{row}: {controls}");
    }
    // Where the claim does not hold anyway, it costs nothing.
    assert_eq!(claim(&report, "S7")["verdict"], "not_reproduced");
    let out = run(&dir, &["S7", "--controls"]);
    assert!(out.status.success(), "{}", text(&out.stderr));
    let printed = text(&out.stdout);
    assert!(
        printed.contains("S7 transfer without loss: undecided with mechanism off"),
        "{printed}"
    );
}

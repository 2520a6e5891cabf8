use super::*;
use std::path::PathBuf;

fn ours() -> Header {
    header("0123".to_owned(), "this one")
}

fn open(path: &Path) -> (Store, Option<Resumed>) {
    open_as(path, &ours()).unwrap()
}

fn refused(path: &Path, ours: &Header) -> String {
    let before = std::fs::read(path).ok();
    let trouble = open_as(path, ours).map(drop).unwrap_err();
    assert!(matches!(trouble, Trouble::Foreign { .. }), "{trouble}");
    assert_eq!(std::fs::read(path).ok(), before, "left alone");
    trouble.to_string()
}

/// A file of that name that is not there, in a new folder.
fn file(name: &str) -> PathBuf {
    let dir = std::env::temp_dir().join(format!("byway-kept-{}-{name}", std::process::id()));
    let _ = std::fs::remove_dir_all(&dir);
    std::fs::create_dir_all(&dir).unwrap();
    dir.join(name)
}

#[test]
fn a_foreign_file_is_refused_and_left_alone() {
    let path = file("notes");
    for (text, part) in [
        ("my notes\n", "no file of kept runs"),
        ("byway.journal/1\n and so on", "no file of kept runs"),
        ("byway runs 1, byway 0.1.0\none\ta=1\n", "without checksums"),
        ("byway.runs/2\n and so on", "byway kept them before"),
        ("byway.journal/2\n", "beginning is damaged"),
    ] {
        std::fs::write(&path, text).unwrap();
        let why = refused(&path, &ours());
        assert!(why.contains(part) && why.contains("notes: "), "{why}");
        assert!(why.contains("name another"), "{why}");
    }
    let folder = path.parent().unwrap();
    assert!(refused(folder, &ours()).contains("nothing that runs can be kept in"));
    // An empty one is nobody's.
    std::fs::write(&path, "").unwrap();
    assert_eq!(open(&path).1, None);
    assert!(open(&path).1.is_some());
}

#[test]
fn runs_of_another_release_or_build_are_refused() {
    let path = file("others");
    let (kept, _) = open(&path);
    drop(kept);
    let mut newer = ours();
    newer.release = "99.0.0".to_owned();
    let why = refused(&path, &newer);
    let parts = format!("holds runs of byway {RELEASE}, this is 99.0.0");
    assert!(why.contains(&parts), "{why}");
    let mut changed = ours();
    changed.figures = "4567".to_owned();
    let why = refused(&path, &changed);
    for part in [
        "simulates differently",
        "0123 there, 4567 here",
        "finish it with",
    ] {
        assert!(why.contains(part), "{why}");
    }
    // Another program with the same figures goes on, but tries runs out.
    let mut rebuilt = ours();
    rebuilt.program = "the same, built again".to_owned();
    let (kept, resumed) = open_as(&path, &rebuilt).unwrap();
    assert_eq!(resumed, Some(Resumed { runs: 0, torn: 0 }));
    assert!(kept.is_of_another("the same, built again"));
    drop(kept);
    assert!(!open(&path).0.is_of_another("this one"));
}

#[test]
fn two_processes_do_not_share_a_file() {
    let path = file("two");
    let first = open(&path);
    let why = refused(&path, &ours());
    assert!(why.contains("another byway reproduce is keeping"), "{why}");
    drop(first);
    open(&path);
}

#[test]
fn the_journal_of_a_sweep_is_no_file_of_kept_runs() {
    let path = file("sweep");
    let mut sweep = ours();
    sweep.of = "sweep".to_owned();
    drop(open_as(&path, &sweep).unwrap());
    assert!(refused(&path, &ours()).contains("no file of kept runs"));
}

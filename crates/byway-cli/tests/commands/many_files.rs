//! Many files in one `byway send`: one behind the other, without waiting for each.

use crate::peers::{Server, byway, contents, folder, text};
use std::path::{Path, PathBuf};
use std::process::Output;

/// Files of these sizes with other contents each.
fn files(dir: &Path, sizes: impl Iterator<Item = usize>) -> Vec<PathBuf> {
    let all = contents(3_000_000);
    let make = |(n, size): (usize, usize)| {
        let path = dir.join(format!("f{n}"));
        std::fs::write(&path, &all[n..n + size]).unwrap();
        path
    };
    sizes.enumerate().map(make).collect()
}

fn send(files: &[PathBuf], server: &Server) -> Output {
    byway()
        .arg("send")
        .args(files)
        .args(["--json", "--to", &server.addresses])
        .output()
        .unwrap()
}

fn same(files: &[PathBuf], inbox: &Path) -> bool {
    let read = |path: &Path| std::fs::read(path).unwrap();
    files
        .iter()
        .all(|f| read(f) == read(&inbox.join(f.file_name().unwrap())))
}

fn stop(mut server: Server, dir: &Path) {
    server.child.kill().unwrap();
    server.child.wait().unwrap();
    std::fs::remove_dir_all(dir).unwrap();
}

#[test]
fn small_large_and_empty_files_arrive_and_may_be_sent_again() {
    let dir = folder("many-files");
    let inbox = dir.join("inbox");
    // More than the answers to all of them fit into a window of 1 MiB, with some large ones.
    let sizes = (0..400).map(|n| match n % 100 {
        7 => 0,
        50 => 262_145,
        60 => 2_500_000,
        n => 1 + n * 37,
    });
    let files = files(&dir, sizes);
    let server = Server::start(&["recv", "--dir", inbox.to_str().unwrap()]);
    // The second time all are there with the same contents.
    for _ in 0..2 {
        let out = send(&files, &server);
        assert!(out.status.success(), "{}", text(&out.stderr));
        let value: serde_json::Value = serde_json::from_slice(&out.stdout).unwrap();
        let stored = value["files"].as_array().unwrap().iter();
        assert_eq!(stored.filter(|f| f["stored"] == true).count(), files.len());
    }
    assert!(same(&files, &inbox));
    // Only the files: nothing partial is left.
    assert_eq!(std::fs::read_dir(&inbox).unwrap().count(), files.len());
    stop(server, &dir);
}

/// The refusal comes while others are under way, and names its own file.
#[test]
fn a_file_that_is_refused_among_others_is_named() {
    let dir = folder("refused-among-others");
    let inbox = dir.join("inbox");
    std::fs::create_dir_all(&inbox).unwrap();
    let files = files(&dir, (0..60).map(|n| 1000 + n));
    std::fs::write(inbox.join("f30"), "another one").unwrap();
    let server = Server::start(&["recv", "--dir", inbox.to_str().unwrap()]);
    let out = send(&files, &server);
    assert_eq!(out.status.code(), Some(4), "{}", text(&out.stderr));
    let value: serde_json::Value = serde_json::from_slice(&out.stdout).unwrap();
    let error = value["error"].as_str().unwrap();
    assert!(error.starts_with("f30 was refused"), "{error}");
    for (n, file) in value["files"].as_array().unwrap().iter().enumerate() {
        assert_eq!(file["stored"], n < 30, "file {n}");
    }
    assert!(same(&files[..30], &inbox));
    assert_eq!(std::fs::read(inbox.join("f30")).unwrap(), b"another one");
    stop(server, &dir);
}

#[test]
fn several_workers_take_the_files_of_several_senders_at_once() {
    let dir = folder("many-senders");
    let inbox = dir.join("inbox");
    let files = files(&dir, (0..8).map(|n| 300_000 + n));
    let server = Server::start(&["recv", "--workers", "3", "--dir", inbox.to_str().unwrap()]);
    std::thread::scope(|scope| {
        for file in &files {
            scope.spawn(|| {
                let out = send(std::slice::from_ref(file), &server);
                assert!(out.status.success(), "{}", text(&out.stderr));
            });
        }
    });
    assert!(same(&files, &inbox));
    stop(server, &dir);
}

#[test]
fn workers_that_cannot_be_are_refused_with_what_would_be_right() {
    for (args, words) in [
        (["--workers", "2", "--encapsulation", "none"], "need UDP"),
        (["--workers", "2", "--encapsulation", "both"], "or 1 worker"),
        (["--workers", "0", "--encapsulation", "udp"], "1..=64"),
    ] {
        let command = [&["recv", "--unprotected", "--bind", "127.0.0.1"][..], &args];
        let out = byway().args(command.concat()).output().unwrap();
        assert!(!out.status.success());
        let said = text(&out.stderr);
        assert!(said.contains(words), "{said}");
    }
}

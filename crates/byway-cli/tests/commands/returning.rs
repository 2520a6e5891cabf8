//! A sender that comes back: killed and run again, after an outage, or to a
//! receiver that is not there yet.

use crate::peers::{
    HASTY, Server, byway, contents, endless, ends_within, folder, run, signal, text, wait_for,
};
use std::io::{BufRead, Read};
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Duration;

const SIZE: usize = 50_000_000;

/// A `send` of this file that has begun and is killed in the middle.
fn killed(file: &Path, inbox: &Path, to: &str) {
    ended(file, inbox, to, "KILL");
}

/// The same with any signal.
fn ended(file: &Path, inbox: &Path, to: &str, by: &str) {
    let mut send = started(file, to);
    wait_for(inbox, file.file_name().unwrap().to_str().unwrap());
    signal(&send, by);
    send.wait().unwrap();
}

fn started(file: &Path, to: &str) -> Child {
    byway()
        .args(["send", file.to_str().unwrap(), "--to", to])
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

#[test]
fn a_sender_that_was_killed_and_runs_again_takes_its_file_over() {
    takes_over("killed", "KILL");
}

/// Ctrl-C tells the receiver that the association ends.
#[test]
fn a_sender_that_was_interrupted_and_runs_again_takes_its_file_over() {
    takes_over("interrupted", "INT");
}

/// The third run ends long before the receiver's side of the first two would be given up.
fn takes_over(name: &str, by: &str) {
    let dir = folder(name);
    let (inbox, file) = (dir.join("inbox"), dir.join("a.bin"));
    std::fs::write(&file, contents(SIZE)).unwrap();
    let mut server = Server::start(&["recv", "--dir", inbox.to_str().unwrap()]);
    ended(&file, &inbox, &server.addresses, by);
    ended(&file, &inbox, &server.addresses, by);
    let mut again = byway()
        .args(["send", file.to_str().unwrap(), "--json"])
        .args(["--to", &server.addresses])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let status = ends_within(&mut again, Duration::from_secs(60));
    let out = again.wait_with_output().unwrap();
    assert_eq!(status, Some(0), "{}", text(&out.stderr));
    let shown = text(&out.stdout);
    assert!(out.status.success(), "{shown} {}", text(&out.stderr));
    let value: serde_json::Value = serde_json::from_slice(&out.stdout).unwrap();
    assert_ne!(value["files"][0]["resumed_from"], 0, "{value}");
    assert!(std::fs::read(inbox.join("a.bin")).unwrap() == contents(SIZE));
    server.child.kill().unwrap();
    server.child.wait().unwrap();
    std::fs::remove_dir_all(&dir).unwrap();
}

#[test]
fn the_same_send_twice_takes_the_file_over() {
    let dir = folder("twice");
    let inbox = dir.join("inbox");
    let mut server = Server::start(&["recv", "--dir", inbox.to_str().unwrap()]);
    let mut first = started(&endless(&dir), &server.addresses);
    wait_for(&inbox, "endless.bin");
    let mut again = started(&dir.join("endless.bin"), &server.addresses);
    assert_eq!(ends_within(&mut first, Duration::from_secs(30)), Some(4));
    let mut shown = String::new();
    first
        .stderr
        .take()
        .unwrap()
        .read_to_string(&mut shown)
        .unwrap();
    assert!(shown.contains("another run of `byway send`"), "{shown}");
    assert!(again.try_wait().unwrap().is_none());
    for child in [&mut again, &mut server.child] {
        child.kill().unwrap();
        child.wait().unwrap();
    }
    std::fs::remove_dir_all(&dir).unwrap();
}

#[test]
fn once_means_the_first_completed_transfer() {
    let dir = folder("once");
    let (inbox, file) = (dir.join("inbox"), dir.join("a.bin"));
    std::fs::write(&file, contents(SIZE)).unwrap();
    let args = ["recv", "--once", "--dir", inbox.to_str().unwrap()];
    for give_up in ["300ms", "2min"] {
        let args = [&args[..], &["--force", "--give-up", give_up]].concat();
        let mut server = Server::start(&args);
        killed(&file, &inbox, &server.addresses);
        if give_up == "300ms" {
            // The outage is noticed, and the sender waited for.
            server.says("the other side sent nothing more for 300 ms");
        }
        let out = run(&["send", file.to_str().unwrap(), "--to", &server.addresses]);
        assert!(out.status.success(), "{}", text(&out.stderr));
        assert_eq!(
            ends_within(&mut server.child, Duration::from_secs(10)),
            Some(0)
        );
        assert!(std::fs::read(inbox.join("a.bin")).unwrap() == contents(SIZE));
        std::fs::write(&file, contents(SIZE)).unwrap();
        std::fs::remove_dir_all(&inbox).unwrap();
    }
    std::fs::remove_dir_all(&dir).unwrap();
}

#[test]
fn a_send_waits_for_its_receiver_as_long_as_it_is_told() {
    let dir = folder("retry-for");
    let (inbox, file) = (dir.join("inbox"), dir.join("a.bin"));
    std::fs::write(&file, contents(1000)).unwrap();
    let args = ["recv", "--once", "--dir", inbox.to_str().unwrap()];
    let mut server = Server::start(&args);
    let to = server.addresses.clone();
    server.child.kill().unwrap();
    server.child.wait().unwrap();
    let send = |time: &str| {
        byway()
            .args(["send", file.to_str().unwrap(), "--to", &to])
            .args(["--retry-for", time, "--connect-timeout", "100ms"])
            .args(HASTY)
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    };
    let out = send("1s").wait_with_output().unwrap();
    let shown = text(&out.stderr);
    assert_eq!(out.status.code(), Some(3), "{shown}");
    assert!(shown.contains("trying again in"), "{shown}");
    assert!(
        shown.contains("no progress for 1 s (--retry-for)"),
        "{shown}"
    );
    let mut waiting = send("1h");
    let mut lines = std::io::BufReader::new(waiting.stderr.take().unwrap()).lines();
    // What is the matter is said once, and each attempt that follows. The first attempts of a busy
    // host may end before it is known.
    let (mut matter, mut attempts) = (0, 0);
    while matter == 0 || attempts < 2 {
        let line = lines.next().unwrap().unwrap();
        let says = |part| usize::from(line.contains(part));
        let (of_matter, of_attempt) = (says("; trying for 100 ms"), says("for up to "));
        assert_eq!(of_matter + of_attempt, 1, "{line}");
        (matter, attempts) = (matter + of_matter, attempts + of_attempt);
    }
    assert_eq!(matter, 1);
    let server = Server::start_at(&args, &to);
    assert!(waiting.wait().unwrap().success());
    assert_eq!(server.finish().0, Some(0));
    assert_eq!(std::fs::read(inbox.join("a.bin")).unwrap(), contents(1000));
    let both = run(&[
        "send",
        "a",
        "--to",
        "::1",
        "--retries",
        "1",
        "--retry-for",
        "1h",
    ]);
    assert_eq!(both.status.code(), Some(2));
}

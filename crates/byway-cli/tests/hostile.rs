//! What another host sends must not steer the terminal.

mod peers;

use byway::{Association, Endpoint, EndpointOptions};
use peers::{Server, byway, folder, text};
use std::net::SocketAddr;
use std::process::Stdio;
use std::time::Duration;

const REASON: &[u8] = b"\x1b]0;owned\x07\nbyway: all is well \xe2\x80\xae";

fn check(shown: &str) {
    assert!(shown.contains("\\u{1b}]0;owned\\u{7}\\n"), "{shown}");
    assert!(shown.contains("all is well \\u{202e}"), "{shown}");
    assert!(!shown.contains('\x1b') && !shown.contains('\u{202e}'));
    assert!(!shown.lines().any(|l| l.starts_with("byway: all")));
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .unwrap()
}

async fn bounded<T>(work: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(60), work)
        .await
        .expect("the test hangs")
}

fn endpoint(port: u16) -> Endpoint {
    let local: SocketAddr = "127.0.0.1:0".parse().unwrap();
    Endpoint::bind(EndpointOptions::new([local]).sctp_port(port)).unwrap()
}

async fn connect(endpoint: &Endpoint, server: &Server) -> Association {
    let first = server.addresses.split(',').next().unwrap();
    let to = [first.parse().unwrap()];
    endpoint.connect(&to, 5001).await.unwrap()
}

#[test]
fn the_reason_of_an_abort_is_shown_escaped() {
    let dir = folder("hostile");
    for args in [&["recv", "--dir", dir.to_str().unwrap()][..], &["listen"]] {
        let mut server = Server::start(args);
        runtime().block_on(bounded(async {
            let endpoint = endpoint(0);
            let association = connect(&endpoint, &server).await;
            // Who aborts before he is accepted is not heard of.
            tokio::time::sleep(Duration::from_millis(500)).await;
            association.abort(REASON).unwrap();
            endpoint.close().await;
        }));
        check(&server.says("aborted"));
        // `listen` has ended.
        let _ = server.child.kill();
        server.child.wait().unwrap();
    }
    let file = dir.join("a.bin");
    std::fs::write(&file, b"a").unwrap();
    for args in [
        &["send", file.to_str().unwrap(), "--retries", "0"][..],
        &["send", file.to_str().unwrap(), "--retries", "1"],
        &["cat"],
    ] {
        let out = runtime().block_on(bounded(async {
            let endpoint = endpoint(5001);
            let to = endpoint.local_addresses()[0].to_string();
            let child = byway()
                .args(args)
                .args(["--to", &to])
                .stdin(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap();
            for _ in 0..=usize::from(args.contains(&"1")) {
                let association = endpoint.accept().await.unwrap();
                association.abort(REASON).unwrap();
            }
            child.wait_with_output().unwrap()
        }));
        check(&text(&out.stderr));
        assert_eq!(out.status.code(), Some(3));
    }
}

#[test]
fn a_name_that_hides_is_refused_and_shown() {
    let dir = folder("hiding");
    for (name, part) in [
        ("fdp.\u{202e}exe", "\"fdp.\\u{202e}exe\""),
        ("\u{200b}", "\"\\u{200b}\""),
    ] {
        let file = dir.join(name);
        std::fs::write(&file, b"a").unwrap();
        let out = peers::run(&["send", file.to_str().unwrap(), "--to", "127.0.0.1"]);
        assert_eq!(out.status.code(), Some(2));
        let shown = text(&out.stderr);
        assert!(
            shown.contains(part) && shown.contains("invisible"),
            "{shown}"
        );
    }
}

#[test]
fn heartbeats_alone_do_not_hold_a_receiver() {
    let dir = folder("heartbeats");
    let args = ["recv", "--dir", dir.to_str().unwrap(), "--give-up", "400ms"];
    let mut server = Server::start(&args);
    let heard = runtime().block_on(bounded(async {
        let endpoint = endpoint(0);
        let association = connect(&endpoint, &server).await;
        loop {
            tokio::select! {
                _ = association.closed() => break,
                () = tokio::time::sleep(Duration::from_millis(20)) => {
                    // Refused only when it has ended.
                    let _ = association.request_heartbeat(byway::PathId(0));
                }
            }
        }
        association.stats().packets_received
    }));
    assert!(heard > 5, "no heartbeat was answered: {heard}");
    server.says("the other side sent nothing more for 400 ms");
    server.child.kill().unwrap();
    server.child.wait().unwrap();
}

/// The threads of a process, without those of the allocator: jemalloc has one for each processor,
/// at most four, and starts them when there is work for them.
fn threads_of(server: &Server) -> usize {
    let tasks = std::fs::read_dir(format!("/proc/{}/task", server.child.id())).unwrap();
    tasks
        .filter_map(|t| std::fs::read_to_string(t.ok()?.path().join("comm")).ok())
        .filter(|name| name.trim() != "jemalloc_bg_thd")
        .count()
}

/// Switches between threads of a process so far: each wakes somebody up.
fn switches(server: &Server) -> u64 {
    let tasks = std::fs::read_dir(format!("/proc/{}/task", server.child.id())).unwrap();
    tasks
        .filter_map(|t| std::fs::read_to_string(t.ok()?.path().join("status")).ok())
        .flat_map(|text| {
            text.lines()
                .filter(|l| l.starts_with("voluntary_ctxt"))
                .filter_map(|l| l.split_whitespace().nth(1)?.parse().ok())
                .collect::<Vec<u64>>()
        })
        .sum()
}

#[test]
fn idle_associations_take_no_thread_and_no_tick() {
    const COUNT: usize = 300;
    let dir = folder("idle");
    let args = ["recv", "--dir", dir.to_str().unwrap()];
    let server = Server::start(&args);
    let threads = threads_of(&server);
    runtime().block_on(bounded(async {
        let mut all = Vec::new();
        for _ in 0..COUNT {
            let endpoint = endpoint(0);
            all.push((connect(&endpoint, &server).await, endpoint));
        }
        let now = threads_of(&server);
        assert!(now <= threads + 2, "{threads} threads, then {now}");
        // What set-up left to do is done within a second; then two quiet seconds.
        tokio::time::sleep(Duration::from_secs(1)).await;
        let before = switches(&server);
        tokio::time::sleep(Duration::from_secs(2)).await;
        let woken = switches(&server) - before;
        // A tick of 20 ms an association would be 30,000.
        assert!(woken < COUNT as u64, "woken {woken} times in two seconds");
        for (association, _) in &all {
            assert_eq!(association.paths().len(), 2);
        }
    }));
    let mut server = server;
    server.child.kill().unwrap();
    server.child.wait().unwrap();
}

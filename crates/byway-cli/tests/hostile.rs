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

//! A name with two addresses is two paths (N13). The names are those of a hosts file of the
//! test's own, which the resolver of the system reads in a mount namespace.

use crate::peers::{Server, contents, folder, text};
use crate::skipped;
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Output};

/// Runs `byway` where `hosts` is /etc/hosts.
fn byway_where(hosts: &Path, args: &[&str]) -> Output {
    Command::new("unshare")
        .args(["--mount", "--", "sh", "-c"])
        .arg("mount --bind \"$0\" /etc/hosts && exec \"$@\"")
        .arg(hosts)
        .arg(env!("CARGO_BIN_EXE_byway"))
        .args(args)
        .output()
        .unwrap()
}

fn may_mount() -> bool {
    let tried = Command::new("unshare").args(["--mount", "true"]).output();
    tried.is_ok_and(|o| o.status.success())
}

/// A file to the address "both.example", which stands for these addresses; what `send` says of
/// it, and the addresses of the receiver that got anything.
fn sent_to(addresses: [&str; 2], at: &str) -> (Value, BTreeSet<String>) {
    let dir = folder(&format!("names-{}-{}", addresses[0], addresses[1]));
    let (hosts, file, inbox) = (dir.join("hosts"), dir.join("file"), dir.join("inbox"));
    let lines = addresses.map(|a| format!("{a} both.example\n"));
    std::fs::write(&hosts, lines.concat()).unwrap();
    std::fs::write(&file, contents(100_000)).unwrap();
    let server = Server::start_at(&["recv", "--once", "--dir", inbox.to_str().unwrap()], at);
    let port = server.addresses.rsplit_once(':').unwrap().1;
    let to = format!("both.example:{port}");
    let out = byway_where(
        &hosts,
        &["send", "--json", "--to", &to, file.to_str().unwrap()],
    );
    assert!(out.status.success(), "{}", text(&out.stderr));
    assert_eq!(server.finish().0, Some(0));
    let said: Value = serde_json::from_slice(&out.stdout).unwrap();
    let used = |p: &Value| p["bytes_received"].as_u64().unwrap() > 0;
    let paths = said["paths"].as_array().unwrap();
    let remote = |p: &Value| {
        p["remote"]
            .as_str()
            .unwrap()
            .rsplit_once(':')
            .unwrap()
            .0
            .to_owned()
    };
    let reached = paths.iter().filter(|p| used(p)).map(remote).collect();
    (said, reached)
}

#[test]
fn a_name_with_two_addresses_gives_two_paths() {
    if !may_mount() {
        skipped::skipped("a hosts file of its own, which only root can mount");
        return;
    }
    let two = ["127.0.0.1", "127.0.0.2"];
    let (said, reached) = sent_to(two, "127.0.0.1:0,127.0.0.2:0");
    assert_eq!(reached, BTreeSet::from(two.map(str::to_owned)), "{said}");
}

/// Nobody listens at one of its addresses: the other one serves, whichever the resolver of the
/// system puts first.
#[test]
fn every_address_of_a_name_is_tried() {
    if !may_mount() {
        skipped::skipped("a hosts file of its own, which only root can mount");
        return;
    }
    let two = ["127.0.0.3", "127.0.1.2"];
    for lives in two {
        let (said, reached) = sent_to(two, &format!("{lives}:0"));
        assert_eq!(reached, BTreeSet::from([lives.to_owned()]), "{said}");
    }
}

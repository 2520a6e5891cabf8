//! What the commands with sockets say: to programs JSON alone, to people what to do.

use crate::peers::{Server, byway, contents, folder, run, signal, text};
use serde_json::Value;
use std::ffi::OsStr;
use std::io::Read;
use std::net::{IpAddr, UdpSocket};
use std::os::unix::ffi::OsStrExt;
use std::process::Stdio;
use std::time::{Duration, Instant};

/// Each line as JSON.
fn all_json(name: &str, said: &str) -> Vec<Value> {
    let read = |line: &str| {
        serde_json::from_str(line).unwrap_or_else(|_| panic!("{name} says a plain line: {line}"))
    };
    said.lines().map(read).collect()
}

fn has_paths(result: &Value) -> u64 {
    let paths = result["paths"]
        .as_array()
        .unwrap_or_else(|| panic!("{result}"));
    let sent = paths.iter().map(|p| p["bytes_sent"].as_u64().unwrap());
    let received = paths.iter().map(|p| p["bytes_received"].as_u64().unwrap());
    assert!(
        paths
            .iter()
            .all(|p| p["local"].is_string() && p["remote"].is_string())
    );
    sent.sum::<u64>() + received.sum::<u64>()
}

#[test]
fn with_json_no_plain_line_is_on_standard_error() {
    let dir = folder("json-alone");
    let (file, inbox) = (dir.join("file"), dir.join("inbox"));
    std::fs::create_dir(&inbox).unwrap();
    std::fs::write(&file, contents(300_000)).unwrap();
    let inbox = inbox.to_str().unwrap();
    // One address warns of no redundancy, and -v logs.
    let mut server = Server::start_at(
        &["recv", "--once", "--json", "-v", "--dir", inbox],
        "127.0.0.1:0",
    );
    let out = byway()
        .args(["send", "--json", "-v", "--to", &server.addresses])
        .arg(&file)
        .output()
        .unwrap();
    assert!(out.status.success(), "{}", text(&out.stderr));
    let said = all_json("send", &text(&out.stderr));
    assert!(
        said.iter()
            .any(|v| v["note"].as_str().unwrap().contains("INFO")),
        "{said:?}"
    );
    let sent: Value = serde_json::from_slice(&out.stdout).unwrap();
    let mut rest = String::new();
    server.rest.read_to_string(&mut rest).unwrap();
    let said = all_json("recv", &rest);
    let warned = |v: &Value| v["note"].as_str().unwrap().contains("no redundancy");
    assert!(said.iter().any(warned), "{said:?}");
    let (status, stdout, _) = server.finish();
    assert_eq!(status, Some(0));
    let received: Value = serde_json::from_slice(&stdout).unwrap();
    // Each end has the bytes of its paths.
    assert!(has_paths(&sent) > 300_000, "{sent}");
    assert!(has_paths(&received) > 300_000, "{received}");

    let server = Server::start_at(&["listen", "--json"], "127.0.0.1:0");
    let to = server.addresses.clone();
    let waiting = std::thread::spawn(|| server.finish().2);
    let out = byway()
        .args(["cat", "--json", "--to", &to])
        .arg(&file)
        .output()
        .unwrap();
    let said = all_json("cat", &text(&out.stderr));
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(has_paths(&said[0]) > 300_000, "{said:?}");
    let said = all_json("listen", &waiting.join().unwrap());
    let done = |v: &Value| v["schema"] == "byway.pipe/1" && v["ok"] == true;
    assert!(said.iter().any(done), "{said:?}");

    // A failure, too.
    let out = byway()
        .args([
            "cat",
            "--json",
            "--connect-timeout",
            "200ms",
            "--to",
            "127.0.0.1:9",
        ])
        .arg(&file)
        .output()
        .unwrap();
    assert_eq!(out.status.code(), Some(3));
    all_json("cat", &text(&out.stderr));
    std::fs::remove_dir_all(&dir).unwrap();
}

#[test]
fn a_file_name_that_is_no_text_is_refused_and_shown() {
    let dir = folder("name-bytes");
    let file = dir.join(OsStr::from_bytes(b"caf\xe9.txt"));
    std::fs::write(&file, b"x").unwrap();
    let out = byway()
        .args(["send", "--to", "127.0.0.1:9"])
        .arg(&file)
        .output()
        .unwrap();
    let said = text(&out.stderr);
    assert_eq!(out.status.code(), Some(2), "{said}");
    assert!(
        said.contains(r"caf\xe9.txt") && said.contains("not UTF-8"),
        "{said}"
    );
    std::fs::remove_dir_all(&dir).unwrap();
}

#[test]
fn colons_arrive_and_dot_files_where_they_are_wanted() {
    let dir = folder("dots");
    let inbox = dir.join("inbox");
    std::fs::create_dir(&inbox).unwrap();
    let names = ["12:30.log", ".profile"];
    let files = names.map(|name| {
        let path = dir.join(name);
        std::fs::write(&path, name).unwrap();
        path
    });
    for (options, status) in [(&[][..], Some(4)), (&["--dot-files"][..], Some(0))] {
        let mut args = vec!["recv", "--dir", inbox.to_str().unwrap()];
        args.extend(options);
        let mut server = Server::start(&args);
        let out = byway()
            .args(["send", "--to", &server.addresses])
            .args(&files)
            .output()
            .unwrap();
        let said = text(&out.stderr);
        assert_eq!(out.status.code(), status, "{said}");
        if status == Some(4) {
            assert!(said.contains("--dot-files"), "{said}");
            assert!(!inbox.join(".profile").exists());
        }
        server.child.kill().unwrap();
        server.child.wait().unwrap();
    }
    for name in names {
        assert_eq!(std::fs::read_to_string(inbox.join(name)).unwrap(), name);
    }
    std::fs::remove_dir_all(&dir).unwrap();
}

/// A wrong UDP port is named, with the address, well before the set-up is given up.
#[test]
fn a_wrong_udp_port_is_named_at_once() {
    for ip in ["127.0.0.1", "::1"] {
        wrong_udp_port(ip.parse().unwrap());
    }
}

fn wrong_udp_port(ip: IpAddr) {
    let free = UdpSocket::bind((ip, 0)).unwrap();
    let there = free.local_addr().unwrap();
    drop(free);
    let (port, to) = (there.port(), there.to_string());
    let mut child = byway()
        .args(["cat", "--connect-timeout", "60s", "--to", &to])
        .stdin(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let began = Instant::now();
    let mut said = String::new();
    let mut stderr = child.stderr.take().unwrap();
    let expected = format!("nothing listens on UDP port {port} of {ip}; trying for 60 s");
    let mut room = [0; 512];
    while !said.contains(&expected) {
        let n = stderr.read(&mut room).unwrap();
        assert_ne!(n, 0, "{said}");
        said.push_str(std::str::from_utf8(&room[..n]).unwrap());
    }
    assert!(began.elapsed() < Duration::from_secs(30));
    // Who begins to listen meanwhile is found.
    let server = Server::start_at(&["listen"], &to);
    assert!(child.wait().unwrap().success(), "{said}");
    drop(server.finish());

    let out = run(&["cat", "--connect-timeout", "2s", "--to", &to]);
    let said = text(&out.stderr);
    assert_eq!(out.status.code(), Some(3), "{said}");
    assert!(
        said.contains("ICMP: port unreachable") && said.contains("firewall"),
        "{said}"
    );
}

/// The right UDP port and a wrong SCTP port: the other side refuses, and which option it is, is said.
#[test]
fn a_wrong_sctp_port_is_named() {
    for bind in ["127.0.0.1:0", "[::1]:0"] {
        let mut server = Server::start_at(&["listen"], bind);
        let out = run(&["cat", "--port", "5002", "--to", &server.addresses]);
        let said = text(&out.stderr);
        assert_eq!(out.status.code(), Some(3), "{said}");
        assert!(
            said.contains("SCTP port 5002 was refused: --port must be"),
            "{said}"
        );
        server.child.kill().unwrap();
        server.child.wait().unwrap();
    }
}

/// What cannot be the other side is refused before anything is sent, by each command, with what would be right.
#[test]
fn what_cannot_be_the_other_side_is_refused_with_the_reason() {
    let dir = folder("no-other-side");
    let file = dir.join("file");
    std::fs::write(&file, b"x").unwrap();
    let file = file.to_str().unwrap();
    for command in [&["send", file][..], &["cat", file], &["doctor"]] {
        for (to, parts) in [
            ("fe80::1", ["fe80::1%eth0", "name the card"]),
            ("0.0.0.0", ["wildcard", "name an address of the other"]),
            ("::", ["wildcard", "name an address of the other"]),
            (
                "127.255.255.255",
                ["broadcast", "name an address of the other"],
            ),
            ("010.93.0.2", ["not an IPv4 address", "leading zeros"]),
        ] {
            let out = run(&[command, &["--to", to]].concat());
            let said = text(&out.stderr);
            assert_eq!(out.status.code(), Some(2), "{command:?} {to}: {said}");
            assert!(out.stdout.is_empty(), "{command:?} {to}");
            for part in parts {
                assert!(said.contains(part), "{command:?} {to}: {said}");
            }
        }
    }
    for args in [
        &["cat", file, "--connect-timeout", "0s"][..],
        &["doctor", "--heartbeats-only", "--wait", "0s"],
    ] {
        let out = run(&[args, &["--to", "127.0.0.1"]].concat());
        let said = text(&out.stderr);
        assert_eq!(out.status.code(), Some(2), "{args:?}: {said}");
        assert!(
            said.contains("before anything has been sent"),
            "{args:?}: {said}"
        );
    }
    std::fs::remove_dir_all(&dir).unwrap();
}

/// An IPv4 address in the notation of IPv6 is the IPv4 address.
#[test]
fn a_mapped_address_leads_to_the_ipv4_host() {
    let server = Server::start_at(&["listen"], "127.0.0.1:0");
    let (ip, port) = server.addresses.split_once(':').unwrap();
    let out = run(&["cat", "--to", &format!("[::ffff:{ip}]:{port}")]);
    assert!(out.status.success(), "{}", text(&out.stderr));
    assert_eq!(server.finish().0, Some(0));
}

/// Nobody answers any more: how long that may last is said, and at the end what to set.
#[test]
fn all_paths_dead_is_told_with_the_setting_that_decides_it() {
    let mut server = Server::start(&["listen"]);
    let mut child = byway()
        .args(["cat", "--to", &server.addresses])
        .args(["--set", "failure.association_max_retrans=4"])
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    std::io::Write::write_all(&mut input, &contents(100_000)).unwrap();
    let mut arrived = vec![0; 100_000];
    let out = server.child.stdout.as_mut().unwrap();
    out.read_exact(&mut arrived).unwrap();
    // It is there and does nothing: no ICMP message says that it is gone.
    signal(&server.child, "STOP");
    std::io::Write::write_all(&mut input, &contents(100_000)).unwrap();
    let mut said = String::new();
    child
        .stderr
        .take()
        .unwrap()
        .read_to_string(&mut said)
        .unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(3), "{said}");
    for part in [
        "no path answers; unless one does, the association ends in about",
        "(failure.association_max_retrans = 4)",
        "--retry-for 1h",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    signal(&server.child, "CONT");
    server.child.kill().unwrap();
    server.child.wait().unwrap();
}

/// The words about what cannot be bound name the address and the remedy.
#[test]
fn what_cannot_be_bound_is_told_with_a_remedy() {
    let held = ["127.0.0.1:0", "[::1]:0"].map(|at| UdpSocket::bind(at).unwrap());
    let taken = held.map(|socket| (socket.local_addr().unwrap().to_string(), socket));
    // Another byway, which has its port with options of its own, is no other case.
    let mut server = Server::start_at(&["listen"], "[::1]:0");
    let in_use = "another socket has this port";
    for (bind, parts) in [
        (&*taken[0].0, ["127.0.0.1", in_use]),
        (&*taken[1].0, ["[::1]", in_use]),
        (&*server.addresses, ["[::1]", in_use]),
        (
            "198.51.100.77",
            ["198.51.100.77", "this host does not have the address"],
        ),
        (
            "2001:db8::77",
            ["2001:db8::77", "this host does not have the address"],
        ),
    ] {
        let out = byway()
            .args(["recv", "--unprotected", "--bind", bind])
            .output()
            .unwrap();
        let said = text(&out.stderr);
        assert_eq!(out.status.code(), Some(1), "{said}");
        for part in parts {
            assert!(said.contains(part), "{said}");
        }
    }
    server.child.kill().unwrap();
    server.child.wait().unwrap();
}

#[test]
fn a_ticket_in_the_wrong_place_is_not_shown() {
    let ticket = "byway1-g4erhcnl-vov2xk5l-vov2xk5l-vov2xk5l-zxg43ton-zxg43ton";
    for args in [
        &["recv", ticket][..],
        &["send", ticket, "--to", "127.0.0.1"],
        &["cat", "--to", "127.0.0.1", "--bind", ticket],
        &["listen", "--set", ticket],
        &["run", ticket],
    ] {
        let out = run(args);
        let said = text(&out.stderr) + &text(&out.stdout);
        assert!(
            !out.status.success() && !said.contains("vov2"),
            "{args:?}: {said}"
        );
        let told = said.contains("byway1-g4erhcnl...") || said.contains("a ticket, where");
        assert!(told, "{args:?}: {said}");
    }
}

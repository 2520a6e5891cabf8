//! The command without UDP (protocol 132), on this machine's loopback addresses.

use crate::peers::{byway, folder, run, text};
use crate::skipped::skipped;
use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};

const NONE: [&str; 2] = ["--encapsulation", "none"];

/// Whether raw sockets can be opened here, and the kernel's SCTP is not in the way.
fn possible() -> bool {
    let out = run(&[
        "cat",
        "/dev/null",
        "--to",
        "127.0.11.9",
        "--connect-timeout",
        "100ms",
        NONE[0],
        NONE[1],
    ]);
    let said = text(&out.stderr);
    let not = said.contains("CAP_NET_RAW") || said.contains("sctp.ko");
    if not {
        skipped(&said);
    }
    !not
}

#[test]
fn a_file_passes_and_its_sender_is_told_when_nobody_takes_sctp() {
    if !possible() {
        return;
    }
    let dir = folder("without-udp");
    let file = dir.join("a.bin");
    std::fs::write(&file, vec![7; 3_000_000]).unwrap();
    let got = dir.join("got");
    std::fs::create_dir(&got).unwrap();
    let bind = ["--bind", "127.0.11.1,127.0.11.2"];
    let send = |patience: &str| {
        let mut send = byway();
        send.arg("send")
            .arg(&file)
            .args(["--to", "127.0.11.1,127.0.11.2", "--retries", "0"])
            .args(["--connect-timeout", patience])
            .args(NONE);
        send
    };
    let nobody = send("500ms").output().unwrap();
    assert_eq!(nobody.status.code(), Some(3), "{}", text(&nobody.stderr));
    let said = text(&nobody.stderr);
    assert!(said.contains("protocol unreachable"), "{said}");
    assert!(said.contains("`byway recv --encapsulation none`"), "{said}");

    // Who begins to listen meanwhile is found.
    let mut sender = send("60s").stderr(Stdio::piped()).spawn().unwrap();
    let mut said = String::new();
    let mut stderr = BufReader::new(sender.stderr.take().unwrap());
    while !said
        .contains("nothing takes SCTP without UDP at 127.0.11.1 and 127.0.11.2; trying for 60 s")
    {
        let n = stderr.read_line(&mut said).unwrap();
        assert_ne!(n, 0, "{said}");
    }
    let receiver = byway()
        .args(["recv", "--unprotected"])
        .arg("--dir")
        .arg(&got)
        .arg("--once")
        .args(bind)
        .args(NONE)
        .stderr(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    stderr.read_to_string(&mut said).unwrap();
    assert!(sender.wait().unwrap().success(), "{said}");
    let received = receiver.wait_with_output().unwrap();
    let said = text(&received.stderr);
    assert!(received.status.success(), "{said}");
    assert!(said.contains("SCTP port 5001, without UDP"), "{said}");
    assert_eq!(
        std::fs::read(got.join("a.bin")).unwrap(),
        std::fs::read(&file).unwrap()
    );
}

#[test]
fn without_the_privilege_the_error_says_what_to_do() {
    let byway = env!("CARGO_BIN_EXE_byway");
    // Root keeps no capability that is not in its bounding set; others have none anyway.
    let with_setpriv = Command::new("setpriv")
        .args(["--bounding-set=-net_raw", byway])
        .args(["recv", "--bind", "127.0.12.1"])
        .args(NONE)
        .output();
    let out = match with_setpriv {
        Ok(out) if out.status.code() != Some(127) => out,
        _ => {
            skipped("no setpriv (package util-linux)");
            return;
        }
    };
    let said = text(&out.stderr);
    if said.contains("sctp.ko") || said.contains("setpriv: ") {
        skipped(&said);
        return;
    }
    assert_eq!(out.status.code(), Some(1), "{said}");
    for part in ["127.0.12.1", "CAP_NET_RAW", "setcap cap_net_raw+ep"] {
        assert!(said.contains(part), "{said}");
    }
}

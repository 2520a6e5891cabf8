//! How the commands with sockets end for a signal, and what the other side learns of it.

use crate::peers::{
    Server, byway, endless, ends_within, folder, ignores_hang_up, run, signal, takes_signals, text,
    wait_for,
};
use crate::raw::Raw;
use crate::relay::Relay;
use crate::skipped;
use byway_wire::chunk_type;
use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// For a command that hangs. That each ends within the second that is promised shows the drill `ends` of
/// `interop/drills`: a test measures no time, as the machine may be busy.
const SOON: Duration = Duration::from_secs(10);

fn said(child: &mut Child) -> String {
    let mut shown = String::new();
    let mut err = child.stderr.take().unwrap();
    err.read_to_string(&mut shown).unwrap();
    shown
}

/// A `listen`, and a `cat` whose first bytes have arrived there.
fn pipe() -> (Server, Child) {
    let mut server = Server::start(&["listen"]);
    let mut cat = byway()
        .args(["cat", "--to", &server.addresses])
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    cat.stdin.as_mut().unwrap().write_all(b"first").unwrap();
    let mut first = [0; 5];
    let out = server.child.stdout.as_mut().unwrap();
    out.read_exact(&mut first).unwrap();
    (server, cat)
}

/// A `recv` and a `send` in the middle of a file.
fn transfer(name: &str) -> (Server, Child) {
    let dir = folder(name);
    let inbox = dir.join("inbox");
    let server = Server::start(&["recv", "--dir", inbox.to_str().unwrap()]);
    let send = byway()
        .args(["send", endless(&dir).to_str().unwrap()])
        .args(["--to", &server.addresses, "--retries", "0"])
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    wait_for(&inbox, "endless.bin");
    (server, send)
}

/// A `cat` of a few bytes to a `listen`, both of which end well without packets of this type.
fn pipes_without(kind: u8) {
    let server = Server::start(&["listen"]);
    let first = server.addresses.split(',').next().unwrap();
    let (relay, dropped) = Relay::without(kind, first.parse().unwrap());
    let mut cat = byway()
        .args(["cat", "--to", &relay.address.to_string()])
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    cat.stdin.take().unwrap().write_all(b"all").unwrap();
    assert_eq!(cat.wait().unwrap().code(), Some(0), "{}", said(&mut cat));
    let (status, received, said) = server.finish();
    assert_eq!((status, &received[..]), (Some(0), &b"all"[..]), "{said}");
    assert!(dropped.load(Ordering::Relaxed) > 0);
}

/// cat -> SHUTDOWN COMPLETE -> lost, and the `cat` has ended: nobody answers the SHUTDOWN ACK that follows.
#[test]
fn a_pipe_whose_last_packet_is_lost_ends_well() {
    pipes_without(chunk_type::SHUTDOWN_COMPLETE);
}

/// listen -> SHUTDOWN ACK -> lost, again and again, until it ends and says why.
#[test]
fn a_pipe_whose_end_is_never_confirmed_ends_well() {
    pipes_without(chunk_type::SHUTDOWN_ACK);
}

/// send -> SHUTDOWN COMPLETE -> lost, after the file was stored.
#[test]
fn a_transfer_whose_last_packet_is_lost_is_a_whole_one() {
    let dir = folder("last-packet");
    let (inbox, file) = (dir.join("inbox"), dir.join("a.bin"));
    std::fs::write(&file, b"all").unwrap();
    let server = Server::start(&["recv", "--once", "--dir", inbox.to_str().unwrap()]);
    let first = server.addresses.split(',').next().unwrap();
    let (relay, dropped) = Relay::without(chunk_type::SHUTDOWN_COMPLETE, first.parse().unwrap());
    let to = relay.address.to_string();
    let sent = run(&["send", file.to_str().unwrap(), "--to", &to]);
    assert_eq!(sent.status.code(), Some(0), "{}", text(&sent.stderr));
    let (status, _, said) = server.finish();
    assert_eq!(status, Some(0), "{said}");
    assert_eq!(std::fs::read(inbox.join("a.bin")).unwrap(), b"all");
    assert!(dropped.load(Ordering::Relaxed) > 0);
}

/// Each with the exit status.
fn signals() -> Vec<(&'static str, i32)> {
    let mut all = vec![("INT", 130), ("TERM", 143), ("HUP", 129)];
    if ignores_hang_up() {
        skipped::skipped("SIGHUP, which is ignored here");
        all.pop();
    }
    all
}

/// `nohup` ignores the signal on behalf of the command, which goes on when its terminal has gone.
#[test]
fn a_command_under_nohup_outlives_its_terminal() {
    let dir = folder("nohup");
    let script = "trap '' HUP; exec \"$@\"";
    let mut recv = std::process::Command::new("sh")
        .args(["-c", script, "sh", env!("CARGO_BIN_EXE_byway")])
        .args(["recv", "--unprotected", "--bind", "127.0.0.1:0"])
        .args(["--dir", dir.to_str().unwrap()])
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    takes_signals(&recv);
    signal(&recv, "HUP");
    // Handled in their order.
    signal(&recv, "TERM");
    assert_eq!(ends_within(&mut recv, SOON), Some(143));
    std::fs::remove_dir_all(&dir).unwrap();
}

#[test]
fn a_signal_ends_each_command_and_its_peer_at_once() {
    for (name, status) in signals() {
        let (mut server, mut cat) = pipe();
        signal(&cat, name);
        assert_eq!(ends_within(&mut cat, SOON), Some(status), "cat, {name}");
        assert_eq!(ends_within(&mut server.child, SOON), Some(3));
        let (code, _, err) = server.finish();
        assert!(err.contains("the peer aborted"), "{code:?} {err}");

        let (mut server, mut cat) = pipe();
        signal(&server.child, name);
        let ended = ends_within(&mut server.child, SOON);
        assert_eq!(ended, Some(status), "listen, {name}");
        assert_eq!(ends_within(&mut cat, SOON), Some(3));
        assert!(said(&mut cat).contains("the peer aborted"));

        let (mut server, mut send) = transfer("signalled-send");
        signal(&send, name);
        assert_eq!(ends_within(&mut send, SOON), Some(status), "send, {name}");
        server.says("the peer aborted");
        signal(&server.child, "KILL");
        server.child.wait().unwrap();

        let (mut server, mut send) = transfer("signalled-recv");
        signal(&server.child, name);
        let ended = ends_within(&mut server.child, SOON);
        assert_eq!(ended, Some(status), "recv, {name}");
        assert_eq!(ends_within(&mut send, SOON), Some(3));
        let shown = said(&mut send);
        assert!(shown.contains("the peer aborted"), "{shown}");
    }
}

#[test]
fn a_signal_ends_a_command_whose_peer_is_silent() {
    for (name, status) in signals() {
        let (mut server, cat) = pipe();
        signal(&cat, "STOP");
        signal(&server.child, name);
        let ended = ends_within(&mut server.child, SOON);
        pipe_end(server, cat);
        assert_eq!(ended, Some(status), "listen, {name}");

        let (server, mut cat) = pipe();
        signal(&server.child, "STOP");
        signal(&cat, name);
        let ended = ends_within(&mut cat, SOON);
        pipe_end(server, cat);
        assert_eq!(ended, Some(status), "cat, {name}");

        let (mut server, send) = transfer("silent-send");
        signal(&send, "STOP");
        signal(&server.child, name);
        let ended = ends_within(&mut server.child, SOON);
        pipe_end(server, send);
        assert_eq!(ended, Some(status), "recv, {name}");

        let (server, mut send) = transfer("silent-recv");
        signal(&server.child, "STOP");
        signal(&send, name);
        let ended = ends_within(&mut send, SOON);
        pipe_end(server, send);
        assert_eq!(ended, Some(status), "send, {name}");
    }
}

fn pipe_end(mut server: Server, mut other: Child) {
    for child in [&mut server.child, &mut other] {
        // One of them has ended.
        let _ = child.kill();
        child.wait().unwrap();
    }
}

#[test]
fn a_receiver_with_many_associations_ends_cleanly() {
    for round in 0..40 {
        let dir = folder("many");
        let inbox = dir.join("inbox");
        let mut server = Server::start(&["recv", "--dir", inbox.to_str().unwrap()]);
        let mut sends: Vec<Child> = (0..8)
            .map(|n| {
                let file = dir.join(format!("{n}.bin"));
                let made = std::fs::File::create(&file).unwrap();
                made.set_len(1 << 40).unwrap();
                byway()
                    .args(["send", file.to_str().unwrap(), "--retries", "0"])
                    .args(["--to", &server.addresses])
                    .stderr(Stdio::piped())
                    .spawn()
                    .unwrap()
            })
            .collect();
        for n in 0..8 {
            wait_for(&inbox, &format!("{n}.bin"));
        }
        let name = ["INT", "TERM"][round % 2];
        signal(&server.child, name);
        let status = ends_within(&mut server.child, SOON);
        let (_, _, err) = server.finish();
        assert_eq!(status, Some([130, 143][round % 2]), "{err}");
        assert!(!err.contains("panicked"), "{err}");
        for send in &mut sends {
            assert_eq!(ends_within(send, SOON), Some(3), "{}", said(send));
        }
        std::fs::remove_dir_all(&dir).unwrap();
    }
}

/// More than there is room for answers to strangers (1,024), and not many more: the process ends
/// within a second, and on a slow machine, too, this is enough for so many. Each of a few sockets has
/// a hundred of them, which its buffer holds.
#[test]
fn a_signal_tells_each_of_more_peers_than_answers_may_wait() {
    let dir = folder("thousands");
    let inbox = dir.join("inbox");
    let mut server = Server::start(&["recv", "--dir", inbox.to_str().unwrap()]);
    let first = server.addresses.split(',').next().unwrap();
    let to = first.parse().unwrap();
    let peers: Vec<Raw> = (0..12)
        .map(|_| {
            let mut raw = Raw::new(to);
            for port in 1000..1100 {
                raw.join(port);
            }
            raw
        })
        .collect();
    // Heartbeats have come meanwhile, many on a slow machine.
    peers.iter().for_each(Raw::forget_heard);
    signal(&server.child, "TERM");
    let status = ends_within(&mut server.child, SOON);
    let (_, _, err) = server.finish();
    assert_eq!(status, Some(143), "{err}");
    for raw in &peers {
        for _ in 0..100 {
            let abort = raw.hear_next(chunk_type::ABORT);
            assert_eq!(
                abort[13], 0,
                "it is not the answer to a packet out of the blue"
            );
        }
    }
}

#[test]
fn a_signal_ends_a_send_that_nobody_answers() {
    let dir = folder("unanswered");
    let silent = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    for (name, status) in signals() {
        let mut send = byway()
            .args(["send", endless(&dir).to_str().unwrap(), "--to"])
            .arg(silent.local_addr().unwrap().to_string())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        silent.recv(&mut [0; 2000]).unwrap();
        signal(&send, name);
        assert_eq!(ends_within(&mut send, SOON), Some(status), "{name}");
    }
}

/// A shell takes Ctrl-C for itself, so only SIGTERM ends an emulation with one.
#[test]
fn a_wish_to_terminate_ends_an_emulation_with_a_shell_and_removes_its_hosts() {
    let namespaces = || {
        let listed = std::process::Command::new("ip")
            .args(["netns", "list"])
            .output();
        listed
            .map(|o| String::from_utf8_lossy(&o.stdout).into_owned())
            .unwrap_or_default()
    };
    let name = format!("end{}", std::process::id());
    let mut emulation = byway()
        .args(["emulate", "--name", &name])
        .env("SHELL", "cat")
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let begun = Instant::now();
    while !namespaces().contains(&format!("{name}-receiver")) {
        if let Ok(Some(_)) = emulation.try_wait() {
            skipped::skipped(&said(&mut emulation));
            return;
        }
        assert!(begun.elapsed() < Duration::from_secs(30), "no namespaces");
        std::thread::sleep(Duration::from_millis(20));
    }
    // Its shell may not have begun.
    signal(&emulation, "TERM");
    assert_eq!(ends_within(&mut emulation, SOON), Some(143));
    assert!(!namespaces().contains(&name), "{}", namespaces());
}

/// In the search, or in the runs that it leads to.
#[test]
fn a_signal_ends_advise_with_its_status_and_word() {
    let dir = folder("advise-ends");
    for (name, status) in signals() {
        let mut advise = byway()
            .current_dir(&dir)
            .args([
                "advise",
                "--path",
                "rtt=20ms,rate=50M",
                "--path",
                "rtt=60ms,rate=10M",
            ])
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        takes_signals(&advise);
        signal(&advise, name);
        assert_eq!(ends_within(&mut advise, SOON), Some(status), "{name}");
        let word = match name {
            "INT" => "interrupted",
            "TERM" => "terminated",
            _ => "the terminal was closed",
        };
        let said = said(&mut advise);
        assert!(said.contains(word), "{name}: {said}");
    }
}

/// A run of `s.toml` into the folder `out` that writes this file into a pipe: it is in the middle of it, and goes on as it is read.
fn runs_into_a_pipe(dir: &Path, out: &str, file: &str, options: &[&str]) -> (Child, File) {
    std::fs::create_dir_all(dir.join(out)).unwrap();
    let pipe = dir.join(out).join(file);
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.unwrap().success());
    let run = byway()
        .current_dir(dir)
        .args(["run", "s.toml", "--out", out])
        .args(options)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut read = File::open(&pipe).unwrap();
    read.read_exact(&mut [0; 1000]).unwrap();
    (run, read)
}

#[test]
fn a_signal_in_a_run_leaves_no_part_of_a_capture() {
    const BULK: &str = "limit = \"60 s\"\n[[path]]\nrate = \"100 Mbit/s\"\ndelay = \"1 ms\"\n\
        [traffic]\nkind = \"bulk\"\nsize = \"8 MB\"\n[[policy]]\nname = \"one\"\n";
    let dir = folder("half-capture");
    std::fs::write(dir.join("s.toml"), BULK).unwrap();
    for (name, status) in signals() {
        let (mut run, mut capture) = runs_into_a_pipe(&dir, name, "1-one.pcapng-new", &["--pcap"]);
        signal(&run, name);
        signal(&run, name);
        // The rest of it takes longer than the command needs to hear the signals.
        std::thread::sleep(Duration::from_millis(300));
        let read = std::io::copy(&mut capture, &mut std::io::sink()).unwrap();
        assert_eq!(ends_within(&mut run, SOON), Some(status), "{name}");
        assert!(
            read < 4_000_000,
            "{name}: {read} bytes of a capture of 8 MB"
        );
        let left: Vec<_> = std::fs::read_dir(dir.join(name)).unwrap().collect();
        assert!(left.is_empty(), "{name}: {left:?}");
    }
}

// The simulation is over, and nobody reads the page that is written.
#[test]
fn a_signal_after_the_simulation_ends_a_run() {
    const SHORT: &str = "limit = \"10 s\"\n[[path]]\nrate = \"1 Mbit/s\"\ndelay = \"1 ms\"\n\
        [traffic]\nkind = \"bulk\"\nsize = \"100 kB\"\n[[policy]]\nname = \"one\"\n";
    let dir = folder("page-unread");
    std::fs::write(dir.join("s.toml"), SHORT).unwrap();
    for (name, status) in signals() {
        let (mut run, page) = runs_into_a_pipe(&dir, name, "report.html", &[]);
        signal(&run, name);
        assert_eq!(ends_within(&mut run, SOON), Some(status), "{name}");
        drop(page);
    }
}

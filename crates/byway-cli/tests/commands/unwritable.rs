//! Standard error and output that cannot be written: a full disk, a reader that has gone. What
//! strangers cause to be logged fills a disk, and must not end the command.

use crate::peers::{self, byway, folder, text};
use crate::raw::{self, Raw};
use crate::spoken::udp_port;
use rustix::fs::{Mode, OFlags, open};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use std::fs::File;
use std::io::{Read, Write};
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Output, Stdio};
use std::time::Duration;

/// Where nothing can be written.
fn full() -> Stdio {
    File::options()
        .write(true)
        .open("/dev/full")
        .unwrap()
        .into()
}

/// A pipe whose reader has gone.
fn unread() -> Stdio {
    let (_, writer) = std::io::pipe().unwrap();
    writer.into()
}

/// Where nothing fits any more until somebody reads.
fn stuck() -> (UnixStream, UnixStream) {
    let (reader, mut writer) = UnixStream::pair().unwrap();
    writer.set_nonblocking(true).unwrap();
    while writer.write(&[b'\n'; 256]).is_ok() {}
    writer.set_nonblocking(false).unwrap();
    (reader, writer)
}

fn start(args: &[&str], address: SocketAddr, out: Stdio, err: Stdio) -> Child {
    let mut child = byway()
        .args(args)
        .args(["--unprotected", "--bind", &address.to_string()])
        .stdin(Stdio::null())
        .stdout(out)
        .stderr(err)
        .spawn()
        .unwrap();
    // It answers.
    for _ in 0..100 {
        let raw = Raw::new(address);
        raw.send(0, |b| b.init(false, &raw::init_fields(), |_| {}));
        if raw.hear().is_some() {
            return child;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    panic!("{args:?} does not listen");
}

fn send(file: &str, address: SocketAddr) -> Output {
    let to = address.to_string();
    peers::run(&["send", file, "--to", &to, "--retries", "0"])
}

/// More of them than threads that serve.
fn five_transfers(file: &Path, inbox: &Path, to: SocketAddr) {
    for _ in 0..5 {
        let mut sender = byway()
            .args(["send", file.to_str().unwrap(), "--retries", "0", "--to"])
            .arg(to.to_string())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let sent = peers::ends_within(&mut sender, Duration::from_secs(30));
        assert_eq!(sent, Some(0));
        assert_eq!(std::fs::read(inbox.join("a.bin")).unwrap(), b"contents");
    }
}

#[test]
fn a_receiver_whose_output_cannot_be_written_goes_on() {
    let dir = folder("unwritable");
    let (inbox, file) = (dir.join("inbox"), dir.join("a.bin"));
    std::fs::write(&file, b"contents").unwrap();
    for name in ["a full disk", "no reader"] {
        let unwritable = || {
            if name == "no reader" {
                unread()
            } else {
                full()
            }
        };
        for more in [&["--json"][..], &[]] {
            let args = ["recv", "--force", "--dir", inbox.to_str().unwrap()];
            let address = SocketAddr::from(([127, 0, 0, 1], udp_port()));
            let args = [&args[..], more].concat();
            let mut child = start(&args, address, unwritable(), unwritable());
            for _ in 0..3 {
                let raw = Raw::up(address);
                raw.inject(|b| b.abort(false, |_| {}));
            }
            let out = send(file.to_str().unwrap(), address);
            assert!(out.status.success(), "{name}: {}", text(&out.stderr));
            assert_eq!(std::fs::read(inbox.join("a.bin")).unwrap(), b"contents");
            assert_eq!(child.try_wait().unwrap(), None, "{name}, {more:?}");
            peers::signal(&child, "TERM");
            let status = peers::ends_within(&mut child, Duration::from_secs(10));
            assert_eq!(status, Some(143), "{name}, {more:?}");
        }
    }
    std::fs::remove_dir_all(&dir).unwrap();
}

// A pager, a log or a terminal that stands still: the first line that did not fit stopped all transfers, and signals.
#[test]
fn a_receiver_whose_lines_nobody_reads_goes_on_and_ends() {
    let dir = folder("stuck");
    let (inbox, file) = (dir.join("inbox"), dir.join("a.bin"));
    std::fs::write(&file, b"contents").unwrap();
    for goes_on in [false, true] {
        let [(_results, out), (mut reader, err)] = [stuck(), stuck()];
        let address = SocketAddr::from(([127, 0, 0, 1], udp_port()));
        let args = ["recv", "--force", "--dir", inbox.to_str().unwrap()];
        // The results of a program, too.
        let args = [&args[..], if goes_on { &[] } else { &["--json"] }].concat();
        let [out, err] = [out, err].map(|end| Stdio::from(OwnedFd::from(end)));
        let mut child = start(&args, address, out, err);
        let raw = Raw::up(address);
        raw.inject(|b| b.abort(false, |_| {}));
        five_transfers(&file, &inbox, address);
        if goes_on {
            let wait = Some(Duration::from_secs(30));
            reader.set_read_timeout(wait).unwrap();
            let (mut said, mut part) = (String::new(), [0; 4096]);
            while !said.contains("stored and verified") {
                let len = reader.read(&mut part).unwrap();
                assert_ne!(len, 0, "{said}");
                said += &text(&part[..len]);
            }
            assert!(said.contains("\nlistening on "), "{said}");
        }
        peers::signal(&child, "TERM");
        let status = peers::ends_within(&mut child, Duration::from_secs(10));
        assert_eq!(status, Some(143));
    }
    std::fs::remove_dir_all(&dir).unwrap();
}

// Those that connect, too: whoever reached the door of a `forward` could fill the pipe, and no signal ended it.
#[test]
fn a_command_whose_lines_nobody_reads_ends_by_a_signal() {
    // user -> INT -> command, whose standard error is full
    let nobody = SocketAddr::from(([127, 0, 0, 1], udp_port()));
    let to = nobody.to_string();
    let dir = folder("lines-nobody-reads");
    let file = dir.join("a.bin");
    std::fs::write(&file, b"contents").unwrap();
    let path = file.to_str().unwrap();
    let commands: [&[&str]; 4] = [
        &["cat", "--to", &to],
        &["send", path, "--json", "--to", &to],
        &["forward", "--listen", "127.0.0.1:0", "--to", &to],
        &["doctor", "--to", &to],
    ];
    for args in commands {
        for more in [&[][..], &["-vvv"]] {
            let (_reader, err) = stuck();
            let mut child = byway()
                .args(args)
                .args(more)
                .stdin(Stdio::piped())
                .stdout(Stdio::null())
                .stderr(OwnedFd::from(err))
                .spawn()
                .unwrap();
            peers::takes_signals(&child);
            peers::signal(&child, "INT");
            let status = peers::ends_within(&mut child, Duration::from_secs(10));
            assert_eq!(status, Some(130), "{args:?} {more:?}");
        }
    }
    std::fs::remove_dir_all(&dir).unwrap();
}

/// The table of an emulation that has ended, and its lines.
#[test]
fn an_emulation_whose_lines_nobody_reads_ends_by_a_signal() {
    let target = SocketAddr::from(([127, 0, 0, 1], udp_port()));
    for command in [&[][..], &["--", "true"]] {
        let [(_table, out), (_lines, err)] = [stuck(), stuck()];
        let mut child = byway()
            .args(["emulate", "--relay", &format!("0={target}")])
            .args(command)
            .stdin(Stdio::null())
            .stdout(OwnedFd::from(out))
            .stderr(OwnedFd::from(err))
            .spawn()
            .unwrap();
        peers::takes_signals(&child);
        peers::signal(&child, "TERM");
        let status = peers::ends_within(&mut child, Duration::from_secs(10));
        assert_eq!(status, Some(143), "{command:?}");
    }
}

#[test]
fn a_sender_whose_lines_nobody_reads_goes_on() {
    let dir = folder("unread-sender");
    let (inbox, file) = (dir.join("inbox"), dir.join("a.bin"));
    std::fs::write(&file, b"contents").unwrap();
    let address = SocketAddr::from(([127, 0, 0, 1], udp_port()));
    let args = ["recv", "--once", "--dir", inbox.to_str().unwrap()];
    let mut recv = start(&args, address, Stdio::null(), Stdio::null());
    let (_reader, err) = stuck();
    let mut sender = byway()
        .args(["send", file.to_str().unwrap(), "-vvv", "--to"])
        .arg(address.to_string())
        .stdout(Stdio::null())
        .stderr(OwnedFd::from(err))
        .spawn()
        .unwrap();
    for child in [&mut sender, &mut recv] {
        assert_eq!(peers::ends_within(child, Duration::from_secs(30)), Some(0));
    }
    assert_eq!(std::fs::read(inbox.join("a.bin")).unwrap(), b"contents");
    std::fs::remove_dir_all(&dir).unwrap();
}

/// A terminal that a person has stopped: what its master reads, and its other end.
fn stopped_terminal() -> (File, OwnedFd) {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&master).unwrap();
    unlockpt(&master).unwrap();
    let name = ptsname(&master, Vec::new()).unwrap();
    let other = open(
        name.as_c_str(),
        OFlags::RDWR | OFlags::NOCTTY,
        Mode::empty(),
    )
    .unwrap();
    let mut master = File::from(master);
    master.write_all(CTRL_S).unwrap();
    (master, other)
}

const CTRL_S: &[u8] = b"\x13";
const CTRL_Q: &[u8] = b"\x11";

// The bar was drawn by who moved the data.
#[test]
fn a_terminal_that_stands_still_holds_up_no_transfer() {
    // person -> Ctrl-S; 5 senders -> a file each -> recv; person -> Ctrl-Q
    let dir = folder("stopped-terminal");
    let (inbox, file) = (dir.join("inbox"), dir.join("a.bin"));
    std::fs::write(&file, b"contents").unwrap();
    for goes_on in [false, true] {
        let (mut master, terminal) = stopped_terminal();
        let address = SocketAddr::from(([127, 0, 0, 1], udp_port()));
        let args = ["recv", "--force", "--dir", inbox.to_str().unwrap()];
        let mut child = start(&args, address, Stdio::null(), terminal.into());
        five_transfers(&file, &inbox, address);
        if goes_on {
            master.write_all(CTRL_Q).unwrap();
            let (mut said, mut part) = (String::new(), [0; 4096]);
            while !said.contains("stored and verified") {
                let len = master.read(&mut part).unwrap();
                said += &text(&part[..len]);
            }
            // It is a terminal: a bar is drawn.
            assert!(said.contains("\x1b[2K"), "{said:?}");
        }
        peers::signal(&child, "TERM");
        let status = peers::ends_within(&mut child, Duration::from_secs(10));
        assert_eq!(status, Some(143));
    }
    std::fs::remove_dir_all(&dir).unwrap();
}

/// The result on standard output is what it was run for.
#[test]
fn a_result_that_cannot_be_written_is_an_error() {
    let dir = folder("untold");
    let (inbox, file) = (dir.join("inbox"), dir.join("a.bin"));
    std::fs::write(&file, b"contents").unwrap();
    let address = SocketAddr::from(([127, 0, 0, 1], udp_port()));
    let args = ["recv", "--once", "--json", "--dir", inbox.to_str().unwrap()];
    let mut recv = start(&args, address, full(), Stdio::piped());
    let sent = byway()
        .args(["send", file.to_str().unwrap(), "--json", "--to"])
        .arg(address.to_string())
        .stdout(full())
        .output()
        .unwrap();
    peers::ends_within(&mut recv, Duration::from_secs(30));
    for out in [sent, recv.wait_with_output().unwrap()] {
        let said = text(&out.stderr);
        assert_eq!(out.status.code(), Some(1), "{said}");
        assert!(said.contains("cannot write to standard output"), "{said}");
    }
    assert_eq!(std::fs::read(inbox.join("a.bin")).unwrap(), b"contents");
    std::fs::remove_dir_all(&dir).unwrap();
}

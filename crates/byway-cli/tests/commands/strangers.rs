//! The file protocol spoken by hand: what a stranger can learn of the files of others, and
//! do to them, by offers, by restarts and from behind the same address.

use crate::peers::{
    self, Server, byway, contents, endless, folder, parts, run, stranger, text, wait_for,
};
use crate::skipped;
use crate::spoken::{self, Speaker, bounded, empty_hash, hash, runtime, udp_port};
use std::path::Path;
use std::time::Instant;

fn receiver(inbox: &Path) -> Server {
    Server::start(&["recv", "--dir", inbox.to_str().unwrap()])
}

fn end(mut server: Server) {
    server.child.kill().unwrap();
    server.child.wait().unwrap();
}

/// Leaves a partial file of `endless.bin` that a real sender began.
fn begun(dir: &Path, inbox: &Path, server: &Server) -> (std::path::PathBuf, u64) {
    let mut send = byway()
        .args(["send", endless(dir).to_str().unwrap()])
        .args(["--quiet", "--to", &server.addresses])
        .spawn()
        .unwrap();
    let part = wait_for(inbox, "endless.bin");
    send.kill().unwrap();
    send.wait().unwrap();
    let len = std::fs::metadata(&part).unwrap().len();
    (part, len)
}

#[test]
fn an_offer_tells_a_stranger_nothing_of_what_is_there() {
    let dir = folder("tells-nothing");
    let inbox = dir.join("inbox");
    std::fs::create_dir_all(&inbox).unwrap();
    std::fs::write(inbox.join("secret.bin"), contents(1000)).unwrap();
    let server = receiver(&inbox);
    begun(&dir, &inbox, &server);
    runtime().block_on(bounded(async {
        for (name, size) in [
            ("secret.bin", 1000),
            ("secret.bin", 999),
            ("endless.bin", 1 << 40),
            ("endless.bin", 5),
            ("nothing.bin", 1000),
        ] {
            let speaker = Speaker::connect(&server, "127.0.0.1:0", 0).await;
            let have = speaker.offer(9, size, name).await;
            assert_eq!(have, (0, empty_hash()), "{name}, {size}");
            speaker.abort().await;
        }
    }));
    assert_eq!(
        parts(&inbox, "nothing.bin").len(),
        0,
        "an offer makes no file"
    );
    end(server);
    std::fs::remove_dir_all(&dir).unwrap();
}

#[test]
fn a_stranger_neither_empties_nor_ends_the_file_of_another() {
    let dir = folder("empties");
    let inbox = dir.join("inbox");
    let server = receiver(&inbox);
    let (part, _) = begun(&dir, &inbox, &server);
    // A sender that lives.
    let mut send = byway()
        .args(["send", dir.join("endless.bin").to_str().unwrap()])
        .args(["--quiet", "--to", &server.addresses])
        .spawn()
        .unwrap();
    let before = std::fs::metadata(&part).unwrap().len();
    runtime().block_on(bounded(async {
        let speaker = Speaker::connect(&server, "127.0.0.1:0", 0).await;
        speaker.offer(9, 1 << 40, "endless.bin").await;
        speaker.start(0).await;
        speaker.data(b"mine").await;
        while parts(&inbox, "endless.bin").len() < 2 {
            tokio::time::sleep(std::time::Duration::from_millis(2)).await;
        }
        speaker.abort().await;
    }));
    peers::wait_until(|| std::fs::metadata(&part).unwrap().len() > before + 1_000_000);
    assert!(send.try_wait().unwrap().is_none(), "the first goes on");
    send.kill().unwrap();
    send.wait().unwrap();
    // A stranger with the command, and a whole file of the name: it is stored beside.
    let others = dir.join("others");
    std::fs::create_dir_all(&others).unwrap();
    std::fs::write(others.join("endless.bin"), b"other").unwrap();
    let to = ["--to", &server.addresses];
    let other = others.join("endless.bin");
    let out = stranger()
        .arg("send")
        .arg(&other)
        .args(to)
        .output()
        .unwrap();
    assert!(out.status.success(), "{}", text(&out.stderr));
    assert!(std::fs::metadata(&part).unwrap().len() > before);
    // And what has a name is not replaced.
    std::fs::write(&other, b"third").unwrap();
    let out = run(&["send", other.to_str().unwrap(), to[0], to[1]]);
    assert_eq!(out.status.code(), Some(4), "{}", text(&out.stderr));
    assert_eq!(std::fs::read(inbox.join("endless.bin")).unwrap(), b"other");
    end(server);
    std::fs::remove_dir_all(&dir).unwrap();
}

/// More than a block: a shorter part is not kept.
const FIRST: &[u8] = &[b'1'; 5000];

/// The whole file: what came first, and then this.
fn whole(rest: &[u8]) -> Vec<u8> {
    [FIRST, rest].concat()
}

/// The process of the sender is gone without a word, and another one has its ports.
#[test]
fn a_sender_that_restarts_on_its_ports_goes_on_with_its_file() {
    let dir = folder("same-ports");
    let inbox = dir.join("inbox");
    let server = receiver(&inbox);
    let local = format!("127.0.0.1:{}", udp_port());
    let runs = runtime();
    runs.block_on(bounded(async {
        let speaker = Speaker::connect(&server, &local, 4000).await;
        speaker.offer(7, whole(b"second").len(), "a.bin").await;
        speaker.start(0).await;
        speaker.data(FIRST).await;
        speaker.acknowledged().await;
        speaker.vanish();
    }));
    drop(runs);
    runtime().block_on(bounded(async {
        let speaker = Speaker::connect(&server, &local, 4000).await;
        let have = speaker.offer(7, whole(b"second").len(), "a.bin").await;
        assert_eq!(have, (5000, hash(FIRST)));
        speaker.start(5000).await;
        speaker.data(b"second").await;
        speaker.end(&whole(b"second")).await;
        speaker.close().await;
    }));
    assert_eq!(
        std::fs::read(inbox.join("a.bin")).unwrap(),
        whole(b"second")
    );
    end(server);
    std::fs::remove_dir_all(&dir).unwrap();
}

/// From the victim's address: with its ports, which restarts its association, or from
/// another UDP port, as from behind the same translator.
#[test]
fn nobody_goes_on_with_the_file_of_another_association() {
    for restarts in [true, false] {
        let dir = folder("not-joined");
        let inbox = dir.join("inbox");
        let mut server = receiver(&inbox);
        let local = format!("127.0.0.1:{}", udp_port());
        let victim = runtime();
        let speaker = victim.block_on(bounded(async {
            let speaker = Speaker::connect(&server, &local, 4000).await;
            speaker.offer(7, whole(b"second").len(), "a.bin").await;
            speaker.start(0).await;
            speaker.data(FIRST).await;
            speaker.acknowledged().await;
            speaker
        }));
        let (mut victim, mut speaker) = (Some(victim), Some(speaker));
        if restarts {
            speaker.take().unwrap().vanish();
            drop(victim.take());
        }
        runtime().block_on(bounded(async {
            let from = if restarts { &local } else { "127.0.0.1:0" };
            let stranger = Speaker::connect(&server, from, 4000).await;
            // The rest of the file, and its end.
            stranger.data(b"second").await;
            stranger.refused().await;
        }));
        server.says("the other side sent DATA");
        assert!(!inbox.join("a.bin").exists());
        if let (Some(victim), Some(speaker)) = (&victim, speaker) {
            victim.block_on(bounded(async {
                speaker.data(b"SECOND").await;
                speaker.end(&whole(b"SECOND")).await;
                speaker.close().await;
            }));
            assert_eq!(
                std::fs::read(inbox.join("a.bin")).unwrap(),
                whole(b"SECOND")
            );
        } else {
            let [(part, 5000)] = &parts(&inbox, "a.bin")[..] else {
                panic!("the partial file has changed");
            };
            assert_eq!(std::fs::read(part).unwrap(), FIRST);
        }
        end(server);
        std::fs::remove_dir_all(&dir).unwrap();
    }
}

/// Camping (RFC 5062 section 2): a stranger at one of the victim's addresses, with its SCTP
/// port, does not lock the victim out.
#[test]
fn a_stranger_who_camps_on_an_address_locks_nobody_out() {
    let dir = folder("camping");
    let inbox = dir.join("inbox");
    let server = receiver(&inbox);
    runtime().block_on(bounded(async {
        let camper = Speaker::connect(&server, "127.0.0.3:0", 4000).await;
        camper.offer(9, 4, "camp.bin").await;
        let victim = Speaker::connect(&server, "127.0.0.3:0,127.0.0.4:0", 4000).await;
        victim.offer(7, 4, "a.bin").await;
        victim.start(0).await;
        victim.data(b"mine").await;
        victim.end(b"mine").await;
        victim.close().await;
        camper.start(0).await;
        camper.data(b"camp").await;
        camper.end(b"camp").await;
        camper.close().await;
    }));
    assert_eq!(std::fs::read(inbox.join("a.bin")).unwrap(), b"mine");
    end(server);
    std::fs::remove_dir_all(&dir).unwrap();
}

/// Names and other texts of an offer, as `recv` shows them.
#[test]
fn an_offered_name_that_hides_or_steers_is_refused_and_shown_escaped() {
    let dir = folder("offered-names");
    for (name, shown) in [
        ("fdp.\u{202e}exe", "\"fdp.\\u{202e}exe\""),
        ("\u{200b}", "\"\\u{200b}\""),
        (
            "\x1b]0;x\x07\nbyway: stored",
            "\"\\u{1b}]0;x\\u{7}\\nbyway: stored\"",
        ),
        ("../up", "\"../up\""),
    ] {
        let mut server = receiver(&dir);
        runtime().block_on(bounded(async {
            let speaker = Speaker::connect(&server, "127.0.0.1:0", 0).await;
            speaker.offer_only(9, 4, name).await;
            speaker.refused().await;
        }));
        let line = server.says(shown);
        assert!(line.starts_with("byway: the other side sent"), "{line}");
        end(server);
    }
    assert_eq!(std::fs::read_dir(&dir).unwrap().count(), 0);
}

/// A `recv --json` prints the texts of others for programs: they are escaped, too.
#[test]
fn json_of_a_receiver_holds_no_raw_text_of_others() {
    let dir = folder("json-reason");
    let mut server = Server::start_at(
        &["recv", "--json", "--dir", dir.to_str().unwrap()],
        "127.0.0.1:0",
    );
    runtime().block_on(bounded(async {
        let speaker = Speaker::connect(&server, "127.0.0.1:0", 0).await;
        speaker.offer(9, 4, "a.bin").await;
        speaker.abort_with("\u{202e}\x1b[2J").await;
    }));
    let said = server.says("aborted");
    let line = server.prints("heartbeats_put_off");
    peers::signal(&server.child, "TERM");
    let (_, _, err) = server.finish();
    assert!(line.contains("\\\\u{202e}"), "{line}");
    let said = line + &said + &err;
    // What the endpoint refused is in each line.
    assert!(said.contains("\"heartbeats_put_off\":0"), "{said}");
    assert!(!said.contains(['\u{202e}', '\x1b']), "{said}");
}

/// A stranger who offers the same file again and again makes nothing be read: what he has
/// not begun is not there for him.
#[test]
fn offers_cost_no_reading() {
    let dir = folder("no-reading");
    let inbox = dir.join("inbox");
    std::fs::create_dir_all(&inbox).unwrap();
    // Reading this would take minutes.
    let large = std::fs::File::create(inbox.join("large.bin")).unwrap();
    large.set_len(1 << 40).unwrap();
    let server = receiver(&inbox);
    let read = || {
        let io = std::fs::read_to_string(format!("/proc/{}/io", server.child.id())).unwrap();
        let rchar = io.lines().find_map(|l| l.strip_prefix("rchar: ")).unwrap();
        rchar.parse::<u64>().unwrap()
    };
    let before = read();
    runtime().block_on(bounded(async {
        for _ in 0..8 {
            let speaker = Speaker::connect(&server, "127.0.0.1:0", 0).await;
            assert_eq!(speaker.offer(9, 1 << 40, "large.bin").await.0, 0);
            speaker.abort().await;
        }
    }));
    assert!(
        read() - before < 1_000_000,
        "{} bytes were read",
        read() - before
    );
    end(server);
    std::fs::remove_dir_all(&dir).unwrap();
}

#[test]
fn more_or_fewer_bytes_than_offered_are_refused() {
    let dir = folder("sizes");
    let server = receiver(&dir);
    runtime().block_on(bounded(async {
        let more = Speaker::connect(&server, "127.0.0.1:0", 0).await;
        more.offer(7, 4, "more.bin").await;
        more.start(0).await;
        more.data(b"fives").await;
        let reason = more.refusal().await;
        assert!(reason.contains("more bytes than the file has"), "{reason}");
        more.abort().await;
        let fewer = Speaker::connect(&server, "127.0.0.1:0", 0).await;
        fewer.offer(7, u64::MAX as usize, "fewer.bin").await;
        fewer.start(0).await;
        fewer.data(b"four").await;
        fewer.end_only(b"four").await;
        let reason = fewer.refusal().await;
        assert!(
            reason.contains("4 of 18446744073709551615 bytes"),
            "{reason}"
        );
        fewer.abort().await;
    }));
    assert!(!dir.join("more.bin").exists() && !dir.join("fewer.bin").exists());
    end(server);
    std::fs::remove_dir_all(&dir).unwrap();
}

/// A stranger chooses how large a file is: what the limit of the process does not allow ended the receiver by a
/// signal, SIGXFSZ.
#[cfg(unix)]
#[test]
fn a_file_above_the_file_size_limit_is_refused_and_the_receiver_goes_on() {
    let dir = folder("file-size-limit");
    let (inbox, large, small) = (dir.join("inbox"), dir.join("large.bin"), dir.join("a.bin"));
    std::fs::write(&large, contents(3_000_000)).unwrap();
    std::fs::write(&small, contents(10_000)).unwrap();
    let mut server = Server::start_limited(&["recv", "--dir", inbox.to_str().unwrap()], 1000);
    let send = |file: &Path| run(&["send", file.to_str().unwrap(), "--to", &server.addresses]);
    let out = send(&large);
    assert_eq!(out.status.code(), Some(4), "{}", text(&out.stderr));
    for part in [
        "large.bin: the receiver's file size limit is 1024000 bytes",
        "(ulimit -f, LimitFSIZE= of systemd)",
    ] {
        assert!(
            text(&out.stderr).contains(part),
            "{part}: {}",
            text(&out.stderr)
        );
    }
    assert!(send(&small).status.success());
    assert_eq!(
        std::fs::read(inbox.join("a.bin")).unwrap(),
        contents(10_000)
    );
    assert!(!inbox.join("large.bin").exists());
    assert_eq!(server.child.try_wait().unwrap(), None);
    end(server);
    std::fs::remove_dir_all(&dir).unwrap();
}

/// A file system of 2 MB; it is unmounted in the end.
struct Small(std::path::PathBuf);

impl Small {
    /// None for who may not mount.
    fn mount(dir: &Path) -> Option<Small> {
        std::fs::create_dir_all(dir).unwrap();
        let mut mount = std::process::Command::new("mount");
        mount
            .args(["-t", "tmpfs", "-o", "size=2m", "tmpfs"])
            .arg(dir);
        let mounted = mount.stderr(std::process::Stdio::null()).status();
        mounted
            .is_ok_and(|s| s.success())
            .then(|| Small(dir.into()))
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let _ = std::process::Command::new("umount")
            .arg("-l")
            .arg(&self.0)
            .status();
    }
}

/// What is refused for lack of room leaves the room to others.
#[test]
fn a_file_that_has_no_room_leaves_none_of_it() {
    let dir = folder("no-room");
    let Some(inbox) = Small::mount(&dir.join("inbox")) else {
        skipped::skipped("a file system of 2 MB, which only root can mount");
        return;
    };
    let (large, small) = (dir.join("large.bin"), dir.join("a.bin"));
    std::fs::write(&large, contents(6_000_000)).unwrap();
    std::fs::write(&small, contents(1_000_000)).unwrap();
    let server = receiver(&inbox.0);
    let send = |file: &Path| run(&["send", file.to_str().unwrap(), "--to", &server.addresses]);
    for _ in 0..2 {
        let out = send(&large);
        assert_eq!(out.status.code(), Some(4), "{}", text(&out.stderr));
        let left = std::fs::read_dir(&inbox.0).unwrap().count();
        assert_eq!(left, 0, "what was refused is gone");
    }
    let out = send(&small);
    assert!(out.status.success(), "{}", text(&out.stderr));
    end(server);
    drop(inbox);
    std::fs::remove_dir_all(&dir).unwrap();
}

#[test]
fn a_file_of_which_no_byte_came_is_not_there() {
    let dir = folder("no-byte");
    let server = receiver(&dir);
    runtime().block_on(bounded(async {
        for n in 0..20 {
            let speaker = Speaker::connect(&server, "127.0.0.1:0", 0).await;
            speaker.offer(9, 1 << 40, &format!("{n}.bin")).await;
            speaker.start(0).await;
            speaker.acknowledged().await;
            speaker.abort().await;
        }
        let speaker = Speaker::connect(&server, "127.0.0.1:0", 0).await;
        speaker.offer(9, 0, "empty.bin").await;
        speaker.start(0).await;
        speaker.end(b"").await;
        speaker.close().await;
    }));
    let all = std::fs::read_dir(&dir)
        .unwrap()
        .map(|e| e.unwrap().file_name());
    assert_eq!(all.collect::<Vec<_>>(), ["empty.bin"]);
    end(server);
    std::fs::remove_dir_all(&dir).unwrap();
}

/// Associations of one host that break the file protocol, as fast as they go: 64 at once and 20 a second
/// were served for nothing.
#[test]
fn who_breaks_the_file_protocol_again_and_again_is_refused_and_others_are_served() {
    let dir = folder("breaks-protocol");
    let inbox = dir.join("inbox");
    let mut server = Server::start(&["recv", "--json", "--dir", inbox.to_str().unwrap()]);
    let begun = Instant::now();
    let (served, refused) = runtime().block_on(async {
        // An association of the same host that keeps to the rules.
        let good = Speaker::connect(&server, "127.0.0.7:0", 0).await;
        good.offer(7, 5, "a.bin").await;
        let mut served = 0;
        let refused = loop {
            let stranger = Speaker::connect(&server, "127.0.0.7:0", 0).await;
            // Another message, and another protocol.
            let ppid = [spoken::PPID, 0][served as usize % 2];
            stranger.nonsense(ppid).await;
            let ended = bounded(stranger.ended()).await;
            stranger.leave().await;
            if ended.contains("too often") {
                break ended;
            }
            assert!(ended.contains("the other side sent"), "{ended}");
            served += 1;
            let most = 64 + 20 * (begun.elapsed().as_secs() + 1);
            assert!(served <= most, "{served} of {most}");
        };
        // What is up stays, and another host is served.
        good.start(0).await;
        good.data(b"first").await;
        good.end(b"first").await;
        good.close().await;
        let other = Speaker::connect(&server, "127.0.0.8:0", 0).await;
        other.offer(8, 5, "b.bin").await;
        other.start(0).await;
        other.data(b"other").await;
        other.end(b"other").await;
        other.close().await;
        // TLS where none is spoken counts, too.
        let stranger = Speaker::connect(&server, "127.0.0.9:0", 0).await;
        stranger.nonsense(byway_tls::HANDSHAKE_PPID).await;
        let ended = bounded(stranger.ended()).await;
        assert!(ended.contains("the other side sent TLS"), "{ended}");
        stranger.leave().await;
        (served, refused)
    });
    assert!(
        refused.contains("your host has broken the file protocol too often"),
        "{refused}"
    );
    assert!(served >= 64, "{served}");
    // After a pause the host is served again, if it keeps to the rules.
    let file = dir.join("again.bin");
    std::fs::write(&file, b"again").unwrap();
    let send = ["send", "--bind", "127.0.0.7:0", file.to_str().unwrap()];
    peers::wait_until(|| {
        let out = run(&[&send[..], &["--to", &server.addresses]].concat());
        out.status.success()
    });
    assert_eq!(std::fs::read(inbox.join("a.bin")).unwrap(), b"first");
    assert_eq!(std::fs::read(inbox.join("b.bin")).unwrap(), b"other");
    // A line for each sender.
    let last = server.prints("again.bin");
    peers::signal(&server.child, "TERM");
    let (status, _, said) = server.finish();
    assert_eq!(status, Some(143), "{said}");
    let last: serde_json::Value = serde_json::from_str(&last).unwrap();
    let counted = |rule: &str| last["refused_by_endpoint"][rule].as_u64();
    assert_eq!(counted("violations_above"), Some(served + 1), "{last}");
    assert!(counted("violators_refused") >= Some(1), "{last}");
    let lines = said.lines().filter(|l| l.contains("127.0.0.7")).count() as u64;
    assert!(lines <= 4 * (begun.elapsed().as_secs() + 2), "{said}");
    assert!(said.contains("too often"), "{said}");
    std::fs::remove_dir_all(&dir).unwrap();
}

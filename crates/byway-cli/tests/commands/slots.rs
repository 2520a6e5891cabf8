//! Strangers who begin files and go on with none: they take no descriptor from those who do.

use crate::peers::{self, Server, byway, contents, folder, text};
use crate::spoken::{Speaker, bounded, runtime};
use std::path::Path;
use std::time::Duration;

/// Begins a file from this address, with one byte. Its slot may be taken back, or refused, before the
/// byte is on its way.
async fn begin(server: &Server, from: &str, sender: u8) -> Speaker {
    let speaker = Speaker::connect(server, &format!("{from}:0"), 0).await;
    speaker.offer(sender, 1 << 40, "endless.bin").await;
    speaker.start(0).await;
    speaker.trickle().await;
    speaker
}

fn descriptors(server: &Server) -> usize {
    let all = std::fs::read_dir(format!("/proc/{}/fd", server.child.id()));
    all.unwrap().count()
}

/// A good sender with a file of a megabyte, in a process of its own.
fn send(dir: &Path, server: &Server, args: &[&str]) -> (std::process::Child, Vec<u8>) {
    let (file, whole) = (dir.join("good.bin"), contents(1_000_000));
    std::fs::write(&file, &whole).unwrap();
    let child = byway()
        .args(["send", file.to_str().unwrap(), "--to", &server.addresses])
        .args(args)
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    (child, whole)
}

/// A process of 64 descriptors has some twenty slots. Strangers at eight addresses want 48.
#[test]
fn begun_files_of_strangers_leave_slots_to_a_good_sender() {
    let dir = folder("slots-of-strangers");
    let inbox = dir.join("inbox");
    let args = ["recv", "--dir", inbox.to_str().unwrap()];
    let server = Server::start_with_descriptors(&args, 64);
    let before = descriptors(&server);
    let runtime = runtime();
    let strangers = runtime.block_on(bounded(async {
        let mut all = Vec::new();
        for host in 0..8_u8 {
            for n in 0..6 {
                all.push(begin(&server, &format!("127.0.1.{}", host + 1), host * 6 + n).await);
            }
        }
        all
    }));
    // No time is needed: a host that has nothing waits for none that has two.
    let (child, whole) = send(&dir, &server, &["--bind", "127.0.0.1", "--retries", "0"]);
    let out = child.wait_with_output().unwrap();
    assert_eq!(out.status.code(), Some(0), "{}", text(&out.stderr));
    assert_eq!(std::fs::read(inbox.join("good.bin")).unwrap(), whole);
    let now = descriptors(&server);
    assert!(now <= 62 && now > before + 10, "{before}, then {now}");
    runtime.block_on(bounded(async {
        let mut reasons = Vec::new();
        for speaker in strangers {
            reasons.extend(speaker.why_ended().await);
            speaker.leave().await;
        }
        assert!(reasons.len() > 20, "{reasons:?}");
        let known = |r: &String| r.contains("let go: another host") || r.contains("no slot: ");
        assert!(reasons.iter().all(known), "{reasons:?}");
        for why in ["let go: another host needs the slot", "no slot: "] {
            assert!(
                reasons.iter().any(|r| r.contains(why)),
                "{why}: {reasons:?}"
            );
        }
    }));
    // What is gone has left no descriptor, and no file of one byte.
    peers::wait_until(|| descriptors(&server) <= before + 2);
    peers::wait_until(|| peers::parts(&inbox, "endless.bin").is_empty());
    drop(server);
}

/// The good sender is at the address of the strangers, who send a byte now and then: theirs go once
/// they are slow.
#[test]
fn slots_of_one_host_go_to_those_of_its_senders_that_get_on() {
    let dir = folder("slots-of-one-host");
    let inbox = dir.join("inbox");
    let args = ["recv", "--dir", inbox.to_str().unwrap()];
    let server = Server::start_with_descriptors(&args, 64);
    let runtime = runtime();
    let out = runtime.block_on(bounded(async {
        let mut all = Vec::new();
        for n in 0..10 {
            all.push(begin(&server, "127.0.0.1", n).await);
        }
        let patience = ["--bind", "127.0.0.1", "--retry-for", "50s"];
        let (mut child, whole) = send(&dir, &server, &patience);
        while child.try_wait().unwrap().is_none() {
            for speaker in &all {
                speaker.trickle().await;
            }
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
        assert_eq!(std::fs::read(inbox.join("good.bin")).unwrap(), whole);
        child.wait_with_output().unwrap()
    }));
    let said = text(&out.stderr);
    assert_eq!(out.status.code(), Some(0), "{said}");
    // What it was told meanwhile.
    assert!(said.contains("files of this host are under way"), "{said}");
    drop(server);
}

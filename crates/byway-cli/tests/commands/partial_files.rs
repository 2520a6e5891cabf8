//! Partial files that strangers leave at a running `byway recv`.

use crate::peers::{self, Server, byway, contents, folder, parts, run, text, wait_until};
use crate::spoken::{Speaker, bounded, runtime};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Begins a file from this address, sends so many bytes, and leaves when they are in the inbox: an ABORT
/// drops what was acknowledged and not read.
async fn leave_part(
    (server, inbox): (&Server, &Path),
    from: &str,
    (sender, name): (u8, &str),
    bytes: usize,
) {
    let before = parts(inbox, name);
    let speaker = Speaker::connect(server, &format!("{from}:0"), 0).await;
    let (have, _) = speaker.offer(sender, 1 << 40, name).await;
    speaker.start(have).await;
    for block in contents(bytes).chunks(16_384) {
        speaker.data(block).await;
    }
    speaker.acknowledged().await;
    let is_new = |part: &(PathBuf, u64)| before.iter().all(|b| b.0 != part.0);
    let written = |part: &(PathBuf, u64)| part.1 == bytes as u64 && is_new(part);
    while !parts(inbox, name).iter().any(written) {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    speaker.abort().await;
}

fn recv(dir: &Path, more: &[&str]) -> Server {
    let inbox = dir.join("inbox");
    let args = [&["recv", "--dir", inbox.to_str().unwrap()][..], more];
    Server::start(&args.concat())
}

#[test]
fn partial_files_of_one_host_are_few_and_leave_those_of_others_alone() {
    let dir = folder("many-parts");
    let inbox = dir.join("inbox");
    let mut server = recv(&dir, &["--keep-partial-files", "16"]);
    runtime().block_on(async {
        bounded(leave_part(
            (&server, &inbox),
            "127.0.0.9",
            (1, "good.bin"),
            5000,
        ))
        .await;
        for sender in 0..12 {
            bounded(leave_part(
                (&server, &inbox),
                "127.0.0.8",
                (sender, "bad.bin"),
                5000,
            ))
            .await;
        }
    });
    server.says("partial file removed");
    wait_until(|| parts(&inbox, "bad.bin").len() == 4);
    assert_eq!(parts(&inbox, "good.bin").len(), 1);
    // Its sender goes on where it was.
    runtime().block_on(bounded(async {
        let again = Speaker::connect(&server, "127.0.0.9:0", 0).await;
        assert_eq!(again.offer(1, 1 << 40, "good.bin").await.0, 5000);
        // What is under way is none of those that are left.
        assert_eq!(parts(&inbox, "good.bin").len(), 1);
        again.abort().await;
    }));
    drop(server);
}

#[test]
fn bytes_of_partial_files_have_a_limit_and_the_host_with_the_most_pays() {
    let dir = folder("large-parts");
    let inbox = dir.join("inbox");
    let server = recv(&dir, &["--keep-partial-bytes", "100kB"]);
    runtime().block_on(async {
        bounded(leave_part(
            (&server, &inbox),
            "127.0.0.9",
            (1, "good.bin"),
            20_000,
        ))
        .await;
        for sender in 0..5 {
            bounded(leave_part(
                (&server, &inbox),
                "127.0.0.8",
                (sender, "bad.bin"),
                30_000,
            ))
            .await;
        }
    });
    wait_until(|| parts(&inbox, "bad.bin").len() == 2);
    assert_eq!(parts(&inbox, "good.bin").len(), 1);
    drop(server);
}

/// What an earlier run left goes, too; a file that is no part stays.
#[test]
fn a_partial_file_that_nobody_came_back_for_is_removed() {
    let dir = folder("old-parts");
    let inbox = dir.join("inbox");
    fs::create_dir_all(&inbox).unwrap();
    let [old, new, own] = [
        "old.bin.0123456789abcdef.part",
        "new.bin.0123456789abcdef.part",
        "mine.part",
    ]
    .map(|name| inbox.join(name));
    for path in [&old, &new, &own] {
        fs::write(path, contents(5000)).unwrap();
    }
    for path in [&old, &own] {
        let mut touch = Command::new("touch");
        let touched = touch.args(["-d", "2 hours ago"]).arg(path).status();
        assert!(touched.unwrap().success());
    }
    let mut server = recv(&dir, &["--keep-partial", "1h"]);
    server.says("1 partial file");
    assert!(!old.exists() && new.exists() && own.exists());
    drop(server);
}

#[test]
fn a_transfer_that_was_cut_goes_on_within_the_limits() {
    let dir = folder("own-parts");
    let inbox = dir.join("inbox");
    let server = recv(&dir, &["--keep-partial-files", "4"]);
    let file = peers::endless(&dir);
    let args = ["send", file.to_str().unwrap(), "--to", &server.addresses];
    let mut child = byway()
        .args(args)
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let part = peers::wait_for_more(&inbox, "endless.bin", 1_000_000);
    child.kill().unwrap();
    child.wait().unwrap();
    // The same sender, with a small file of its own beside it.
    let small = dir.join("small.bin");
    fs::write(&small, contents(10_000)).unwrap();
    let out = run(&["send", small.to_str().unwrap(), "--to", &server.addresses]);
    assert!(out.status.success(), "{}", text(&out.stderr));
    assert!(part.exists());
    drop(server);
}

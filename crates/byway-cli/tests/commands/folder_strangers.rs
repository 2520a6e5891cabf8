//! Folders by hand: what a stranger cannot reach with them, learn by them, or keep of the receiver.

use crate::peers::{Server, folder, text, wait_until};
use crate::spoken::{Speaker, bounded, hash, runtime};
use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};
use std::time::Duration;

const FILE: u8 = 1;
const FOLDER: u8 = 2;
const LINK: u8 = 3;

/// An ENTRY, with these bits and this number (the size).
fn entry(kind: u8, mode: u16, number: u64, path: &str, target: &str) -> Vec<u8> {
    let mut bytes = vec![kind];
    bytes.extend(mode.to_be_bytes());
    bytes.extend(1_000_000_000_i64.to_be_bytes());
    bytes.extend(0_u32.to_be_bytes());
    bytes.extend(number.to_be_bytes());
    bytes.extend((path.len() as u16).to_be_bytes());
    bytes.extend(path.as_bytes());
    bytes.extend(target.as_bytes());
    bytes
}

/// Offers a folder; the digests of what is complete.
async fn offer(speaker: &Speaker, sender: u8, name: &str) -> usize {
    let offer = [&[2][..], &[sender; 16], &[0; 16], name.as_bytes()].concat();
    speaker.say(1, &offer).await;
    let done = speaker.hear().await;
    assert_eq!(done[..2], [13, 1], "{}", text(&done));
    (done.len() - 2) / 8
}

/// Sends a file of a folder, and what is answered at its end.
async fn put(speaker: &Speaker, mode: u16, path: &str, contents: &[u8]) -> Vec<u8> {
    let size = contents.len() as u64;
    speaker.say(10, &entry(FILE, mode, size, path, "")).await;
    speaker.start(0).await;
    speaker.data(contents).await;
    speaker.end_only(contents).await;
    let have = speaker.hear().await;
    match have[0] {
        2 => speaker.hear().await,
        _ => have,
    }
}

fn receiver(inbox: &Path) -> Server {
    Server::start(&["recv", "--dir", inbox.to_str().unwrap()])
}

/// Each is a breach of the protocol: the association ends, and nothing is written. The first one is the
/// control, which is taken.
#[test]
fn paths_that_leave_the_folder_are_breaches() {
    let dir = folder("leaving-paths");
    let inbox = dir.join("inbox");
    let deep = |n: usize| vec!["d"; n].join("/");
    let (most, too_deep) = (deep(64), deep(300));
    let long = vec!["n".repeat(200); 25].join("/");
    let mut server = receiver(&inbox);
    runtime().block_on(bounded(async {
        for (n, good) in ["a", "sub/b", &most].into_iter().enumerate() {
            let speaker = Speaker::connect(&server, "127.0.0.1:0", 0).await;
            offer(&speaker, 1, "F").await;
            assert_eq!(put(&speaker, 0o644, good, b"good").await, [6], "{n}");
            speaker.abort().await;
        }
        for bad in [
            "../a",
            "..",
            "sub/../../a",
            "/tmp/byway-escaped",
            "a/../b",
            ".",
            "a//b",
            "a/",
            "a\\b",
            "a\nb",
            "fdp.\u{202e}exe",
            "x.part",
            &too_deep,
            &long,
        ] {
            let speaker = Speaker::connect(&server, "127.0.0.1:0", 0).await;
            offer(&speaker, 1, "F").await;
            speaker.say(10, &entry(FILE, 0o644, 4, bad, "")).await;
            speaker.refused().await;
        }
        for (path, target) in [
            ("l", "/etc/passwd"),
            ("l", ".."),
            ("sub/l", "../../x"),
            ("sub/l", "x/../.."),
            ("l", ""),
        ] {
            let speaker = Speaker::connect(&server, "127.0.0.1:0", 0).await;
            offer(&speaker, 1, "F").await;
            speaker.say(10, &entry(LINK, 0o777, 0, path, target)).await;
            speaker.refused().await;
        }
        for name in ["..", "../F", "/F", "F/G", "", "F.part", "\u{200b}"] {
            let speaker = Speaker::connect(&server, "127.0.0.1:0", 0).await;
            let offer = [&[2][..], &[1; 16], &[0; 16], name.as_bytes()].concat();
            speaker.say(1, &offer).await;
            speaker.refused().await;
        }
    }));
    server.says("the other side sent");
    // The folder and its journal.
    assert_eq!(fs::read_dir(&inbox).unwrap().count(), 2);
    assert_eq!(fs::read_dir(&dir).unwrap().count(), 1);
    assert!(!Path::new("/tmp/byway-escaped").exists());
    let below: Vec<_> = fs::read_dir(inbox.join("F"))
        .unwrap()
        .map(|e| e.unwrap().file_name())
        .collect();
    assert_eq!(below.len(), 3, "{below:?}");
    drop(server);
}

#[test]
fn links_that_are_planted_are_not_followed() {
    let dir = folder("planted-links");
    let (inbox, outside) = (dir.join("inbox"), dir.join("outside"));
    for path in [&inbox, &outside] {
        fs::create_dir_all(path).unwrap();
    }
    let server = receiver(&inbox);
    runtime().block_on(bounded(async {
        let speaker = Speaker::connect(&server, "127.0.0.1:0", 0).await;
        offer(&speaker, 1, "F").await;
        assert_eq!(put(&speaker, 0o644, "a", b"good").await, [6]);
        symlink(&outside, inbox.join("F/planted")).unwrap();
        symlink(&outside, inbox.join("G")).unwrap();
        let refused = put(&speaker, 0o644, "planted/a", b"evil").await;
        assert!(refused[0] == 7 && text(&refused).contains("a link or a file is in the place"));
        // The others go on, and so does a folder of the same name as a link.
        assert_eq!(put(&speaker, 0o644, "b", b"good").await, [6]);
        speaker.say(10, &entry(FOLDER, 0o755, 0, "", "")).await;
        assert_eq!(speaker.hear().await, [6]);
        offer(&speaker, 1, "G").await;
        let refused = put(&speaker, 0o644, "a", b"evil").await;
        assert_eq!(refused[0], 7, "{}", text(&refused));
        // A link of the sender's own, and then a file through it.
        speaker.say(10, &entry(FOLDER, 0o755, 0, "", "")).await;
        assert_eq!(speaker.hear().await[0], 7);
        offer(&speaker, 1, "H").await;
        assert_eq!(put(&speaker, 0o644, "sub/a", b"good").await, [6]);
        speaker.say(10, &entry(LINK, 0o777, 0, "link", "sub")).await;
        assert_eq!(speaker.hear().await, [6]);
        let refused = put(&speaker, 0o644, "link/b", b"evil").await;
        assert_eq!(refused[0], 7, "{}", text(&refused));
        speaker.abort().await;
    }));
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);
    assert!(!inbox.join("H/sub/b").exists());
    drop(server);
}

#[test]
fn no_file_gets_bits_that_give_rights() {
    let dir = folder("bits-of-rights");
    let inbox = dir.join("inbox");
    let server = receiver(&inbox);
    runtime().block_on(bounded(async {
        for mode in [0o4755, 0o2755, 0o1777] {
            let speaker = Speaker::connect(&server, "127.0.0.1:0", 0).await;
            offer(&speaker, 1, "F").await;
            speaker.say(10, &entry(FILE, mode, 4, "a", "")).await;
            speaker.refused().await;
        }
        let speaker = Speaker::connect(&server, "127.0.0.1:0", 0).await;
        offer(&speaker, 1, "F").await;
        assert_eq!(put(&speaker, 0o755, "a", b"good").await, [6]);
        speaker.abort().await;
    }));
    assert_eq!(
        fs::metadata(inbox.join("F/a")).unwrap().mode() & 0o7777,
        0o755
    );
    drop(server);
}

/// An offer tells of what its sender completed, and of nothing else.
#[test]
fn an_offer_of_a_folder_tells_a_stranger_nothing() {
    let dir = folder("folder-tells-nothing");
    let inbox = dir.join("inbox");
    fs::create_dir_all(inbox.join("secret")).unwrap();
    fs::write(inbox.join("secret/a"), "mine").unwrap();
    let server = receiver(&inbox);
    runtime().block_on(bounded(async {
        let owner = Speaker::connect(&server, "127.0.0.1:0", 0).await;
        assert_eq!(offer(&owner, 1, "F").await, 0);
        assert_eq!(put(&owner, 0o644, "a", b"good").await, [6]);
        owner.abort().await;
        for name in ["secret", "F", "nothing"] {
            let speaker = Speaker::connect(&server, "127.0.0.1:0", 0).await;
            assert_eq!(offer(&speaker, 9, name).await, 0, "{name}");
            // Nor does the offer of a file in it.
            speaker.say(10, &entry(FILE, 0o644, 4, "a", "")).await;
            assert_eq!(
                speaker.hear().await[..9],
                [2, 0, 0, 0, 0, 0, 0, 0, 0],
                "{name}"
            );
            speaker.abort().await;
        }
        let again = Speaker::connect(&server, "127.0.0.1:0", 0).await;
        assert_eq!(offer(&again, 1, "F").await, 1, "its sender learns of it");
        again.abort().await;
    }));
    assert!(!inbox.join("nothing").exists(), "an offer makes no folder");
    assert_eq!(fs::read(inbox.join("secret/a")).unwrap(), b"mine");
    drop(server);
}

/// A later association of the sender takes the folder over; the earlier one ends.
#[test]
fn a_folder_is_taken_over_by_its_own_sender_only() {
    let dir = folder("folder-taken-over");
    let inbox = dir.join("inbox");
    let server = receiver(&inbox);
    runtime().block_on(bounded(async {
        let first = Speaker::connect(&server, "127.0.0.1:0", 0).await;
        offer(&first, 1, "F").await;
        assert_eq!(put(&first, 0o644, "a", b"good").await, [6]);
        let other = Speaker::connect(&server, "127.0.0.2:0", 0).await;
        assert_eq!(offer(&other, 2, "F").await, 0);
        assert_eq!(
            put(&first, 0o644, "b", b"good").await,
            [6],
            "it is left alone"
        );
        let again = Speaker::connect(&server, "127.0.0.1:0", 0).await;
        assert_eq!(offer(&again, 1, "F").await, 2);
        let reason = first.refusal().await;
        assert!(reason.contains("another run of `byway send`"), "{reason}");
        assert_eq!(put(&again, 0o644, "c", b"good").await, [6]);
        for speaker in [other, again] {
            speaker.abort().await;
        }
        first.leave().await;
    }));
    drop(server);
}

/// Holes are few bytes on the way, and no file is longer than was offered.
#[test]
fn holes_are_counted_as_bytes() {
    let dir = folder("holes-by-hand");
    let inbox = dir.join("inbox");
    let server = receiver(&inbox);
    let whole = [&[0; 100_000][..], b"end"].concat();
    runtime().block_on(bounded(async {
        let speaker = Speaker::connect(&server, "127.0.0.1:0", 0).await;
        offer(&speaker, 1, "F").await;
        speaker
            .say(10, &entry(FILE, 0o644, whole.len() as u64, "good", ""))
            .await;
        assert_eq!(speaker.hear().await[0], 2);
        speaker.start(0).await;
        speaker.say(11, &100_000_u64.to_be_bytes()).await;
        speaker.data(b"end").await;
        speaker.end_only(&whole).await;
        assert_eq!(speaker.hear().await, [6]);
        // Longer than the file.
        speaker.say(10, &entry(FILE, 0o644, 10, "bad", "")).await;
        assert_eq!(speaker.hear().await[0], 2);
        speaker.start(0).await;
        speaker.say(11, &11_u64.to_be_bytes()).await;
        let reason = speaker.refusal().await;
        assert!(reason.contains("more bytes than the file has"), "{reason}");
        speaker.say(12, &[]).await;
        // Longer than a hole may be.
        speaker
            .say(10, &entry(FILE, 0o644, 1 << 40, "long", ""))
            .await;
        assert_eq!(speaker.hear().await[0], 2);
        speaker.start(0).await;
        speaker.say(11, &(1_u64 << 40).to_be_bytes()).await;
        speaker.refused().await;
    }));
    assert_eq!(fs::read(inbox.join("F/good")).unwrap(), whole);
    assert_eq!(hash(&whole), hash(&fs::read(inbox.join("F/good")).unwrap()));
    assert!(!inbox.join("F/bad").exists() && !inbox.join("F/long").exists());
    drop(server);
}

/// Bytes that a process has read.
fn read(server: &Server) -> u64 {
    let io = fs::read_to_string(format!("/proc/{}/io", server.child.id())).unwrap();
    let rchar = io.lines().find_map(|l| l.strip_prefix("rchar: ")).unwrap();
    rchar.parse().unwrap()
}

/// Bytes of the file that [`begin_hole`] begins.
const BEGUN: u64 = (64 << 20) + 1;

/// Begins a file of a folder with a hole and a byte, and goes away; its partial file.
async fn begin_hole(server: &mut Server, inbox: &Path) -> PathBuf {
    let speaker = Speaker::connect(server, "127.0.0.1:0", 0).await;
    offer(&speaker, 9, "F").await;
    speaker
        .say(10, &entry(FILE, 0o644, 1 << 41, "hole", ""))
        .await;
    assert_eq!(speaker.hear().await[0], 2);
    speaker.start(0).await;
    for _ in 0..4 {
        speaker.say(11, &(16_u64 << 20).to_be_bytes()).await;
    }
    speaker.data(b"x").await;
    let part = || {
        let all = fs::read_dir(inbox).unwrap().map(|e| e.unwrap().path());
        let mut parts = all.filter(|p| p.to_str().unwrap().contains("hole."));
        parts.next()
    };
    // A hole alone has no length before its end.
    wait_until(|| part().is_some_and(|p| fs::metadata(p).unwrap().len() == BEGUN));
    speaker.abort().await;
    // It has let go of the file then: what is changed before is taken for the work of another program.
    server.says("the association was lost");
    part().unwrap()
}

/// A stranger who offers a folder with the same partial file again and again makes nothing be read: how
/// far it is stays known.
#[test]
fn offers_of_folders_cost_no_reading() {
    let dir = folder("folder-no-reading");
    let inbox = dir.join("inbox");
    let mut server = receiver(&inbox);
    runtime().block_on(bounded(async {
        begin_hole(&mut server, &inbox).await;
        let before = read(&server);
        for _ in 0..8 {
            let speaker = Speaker::connect(&server, "127.0.0.1:0", 0).await;
            offer(&speaker, 9, "F").await;
            speaker
                .say(10, &entry(FILE, 0o644, 1 << 41, "hole", ""))
                .await;
            let have = speaker.hear().await;
            assert_eq!(have[1..9], BEGUN.to_be_bytes());
            speaker.abort().await;
        }
        let bytes = read(&server) - before;
        assert!(bytes < 1_000_000, "{bytes} bytes were read");
    }));
    drop(server);
    fs::remove_dir_all(&dir).unwrap();
}

/// A hole of a terabyte takes many minutes to be hashed. Others, also of the same host, have their turns
/// meanwhile, and who goes away stops the hash.
#[test]
fn a_hash_without_end_stops_nobody_and_ends_with_its_association() {
    let dir = folder("hash-without-end");
    let inbox = dir.join("inbox");
    // It is too long for the limit that free room gives.
    let args = ["recv", "--keep-partial-bytes", "4000GB", "--dir"];
    let mut server = Server::start(&[&args[..], &[inbox.to_str().unwrap()]].concat());
    runtime().block_on(bounded(async {
        let part = begin_hole(&mut server, &inbox).await;
        let file = fs::File::options().write(true).open(part).unwrap();
        file.set_len(1 << 40).unwrap();
        let before = read(&server);
        let stranger = Speaker::connect(&server, "127.0.0.1:0", 0).await;
        offer(&stranger, 9, "F").await;
        stranger
            .say(10, &entry(FILE, 0o644, 1 << 41, "hole", ""))
            .await;
        wait_until(|| read(&server) - before > 1 << 20);
        for (n, from) in [(1, "127.0.0.1:0"), (2, "127.0.0.2:0")] {
            let good = Speaker::connect(&server, from, 0).await;
            let name = format!("G{n}");
            offer(&good, n, &name).await;
            assert_eq!(put(&good, 0o644, "a", b"good").await, [6]);
            good.say(10, &entry(FILE, 0o644, 100_000, "hole", "")).await;
            assert_eq!(good.hear().await[0], 2);
            good.start(0).await;
            good.say(11, &100_000_u64.to_be_bytes()).await;
            good.end_only(&[0; 100_000]).await;
            assert_eq!(good.hear().await, [6]);
            good.abort().await;
        }
        stranger.abort().await;
        let last = std::cell::Cell::new(0);
        wait_until(|| {
            std::thread::sleep(Duration::from_millis(100));
            let now = read(&server);
            last.replace(now) == now
        });
        assert!(last.get() - before < 1 << 40, "it was not read to its end");
    }));
    drop(server);
    fs::remove_dir_all(&dir).unwrap();
}

/// What comes outside of a folder, or in the wrong order, ends the association.
#[test]
fn messages_out_of_place_are_breaches() {
    let dir = folder("folder-out-of-place");
    let server = receiver(&dir.join("inbox"));
    runtime().block_on(bounded(async {
        for (kind, rest) in [
            (10, entry(FILE, 0o644, 4, "a", "")),
            (11, 1_u64.to_be_bytes().to_vec()),
            (12, Vec::new()),
            (13, vec![1]),
        ] {
            let speaker = Speaker::connect(&server, "127.0.0.1:0", 0).await;
            speaker.say(kind, &rest).await;
            speaker.refused().await;
        }
        for (kind, rest) in [
            (4, b"x".to_vec()),
            (12, Vec::new()),
            (13, vec![1]),
            (3, vec![0; 8]),
        ] {
            let speaker = Speaker::connect(&server, "127.0.0.1:0", 0).await;
            offer(&speaker, 1, "F").await;
            speaker.say(kind, &rest).await;
            speaker.refused().await;
        }
    }));
    drop(server);
    fs::remove_dir_all(&dir).unwrap();
}

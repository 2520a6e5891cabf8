//! Folders: they arrive whole, go on after any interruption, and nothing of them leaves the
//! receiver's folder.

use crate::peers::{self, HASTY, Server, byway, contents, folder, run, stranger, text, wait_until};
use crate::spoken;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, SystemTime};

/// What a tree consists of: kind, permission bits, time, and the hash of the contents.
fn manifest(root: &Path) -> BTreeMap<PathBuf, String> {
    let mut all = BTreeMap::new();
    let mut waiting = vec![root.to_owned()];
    while let Some(path) = waiting.pop() {
        let metadata = fs::symlink_metadata(&path).unwrap();
        let what = if metadata.is_symlink() {
            format!("-> {}", fs::read_link(&path).unwrap().display())
        } else if metadata.is_dir() {
            waiting.extend(fs::read_dir(&path).unwrap().map(|e| e.unwrap().path()));
            "folder".to_owned()
        } else {
            format!("{:x?}", Sha256::digest(fs::read(&path).unwrap()))
        };
        let (mode, time) = (
            metadata.mode() & 0o7777,
            (metadata.mtime(), metadata.mtime_nsec()),
        );
        let mode = if metadata.is_symlink() { 0 } else { mode };
        let name = path.strip_prefix(root).unwrap().to_owned();
        all.insert(name, format!("{mode:o} {time:?} {what}"));
    }
    all
}

/// Gives a file or folder bits and a time of its own.
fn dress(path: &Path, mode: u32, seconds: u64) {
    let time = SystemTime::UNIX_EPOCH + Duration::new(seconds, 123_456_789);
    fs::File::open(path).unwrap().set_modified(time).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

/// A folder with a bit of everything.
fn tree(root: &Path) {
    for dir in ["sub/deeper", "empty", "sub/empty too"] {
        fs::create_dir_all(root.join(dir)).unwrap();
    }
    let all = contents(600_000);
    for (n, name) in [
        "a",
        "sub/b",
        "sub/größe.txt",
        "sub/deeper/large.bin",
        "none",
    ]
    .iter()
    .enumerate()
    {
        let size = [100, 5000, 70_000, 600_000, 0][n];
        fs::write(root.join(name), &all[..size]).unwrap();
        dress(
            &root.join(name),
            [0o644, 0o600, 0o755, 0o440, 0o666][n],
            1_000_000_000 + n as u64,
        );
    }
    // 20 MB, of which 64 kB are there.
    let sparse = fs::File::create(root.join("sparse")).unwrap();
    sparse.write_all_at(&all[..65_536], 8 << 20).unwrap();
    sparse.set_len(20 << 20).unwrap();
    symlink("sub/b", root.join("link")).unwrap();
    symlink("../a", root.join("sub/up")).unwrap();
    dress(&root.join("sub/deeper"), 0o750, 1_100_000_000);
    dress(&root.join("empty"), 0o711, 1_200_000_000);
    dress(&root.join("sub"), 0o755, 1_300_000_000);
    dress(root, 0o755, 1_400_000_000);
}

fn receiver(inbox: &Path, more: &[&str]) -> Server {
    let args = [&["recv", "--dir", inbox.to_str().unwrap()][..], more];
    Server::start(&args.concat())
}

fn send(what: &Path, to: &str, more: &[&str]) -> Output {
    let args = ["send", what.to_str().unwrap(), "--json", "--to", to];
    run(&[&args[..], more].concat())
}

fn result(out: &Output) -> serde_json::Value {
    serde_json::from_slice(&out.stdout).unwrap_or_else(|_| panic!("{}", text(&out.stderr)))
}

/// Nothing but what was sent is in the receiver's folder.
fn only(inbox: &Path, names: &[&str]) -> bool {
    let mut there: Vec<_> = fs::read_dir(inbox)
        .unwrap()
        .map(|e| e.unwrap().file_name())
        .collect();
    there.sort();
    there == names
}

#[test]
fn a_folder_arrives_whole() {
    let dir = folder("whole-folder");
    let (photos, inbox, other) = (
        dir.join("photos"),
        dir.join("inbox"),
        dir.join("beside.bin"),
    );
    tree(&photos);
    fs::write(&other, contents(1000)).unwrap();
    let server = receiver(&inbox, &["--once", "--json"]);
    let out = byway()
        .args(["send", "--json", "--to", &server.addresses])
        .args([&photos, &other])
        .output()
        .unwrap();
    assert!(out.status.success(), "{}", text(&out.stderr));
    let sent = result(&out);
    assert_eq!(sent["folders"][0]["files_stored"], 6, "{sent}");
    assert_eq!(sent["folders"][0]["stored"], true, "{sent}");
    let (status, told, err) = server.finish();
    assert_eq!(status, Some(0), "{err}");
    let told: serde_json::Value = serde_json::from_slice(&told).unwrap();
    assert_eq!(told["folders"][0]["files"], 6, "{told}");
    assert_eq!(manifest(&inbox.join("photos")), manifest(&photos));
    // Its holes are holes.
    let sparse = fs::metadata(inbox.join("photos/sparse")).unwrap();
    let sent = fs::metadata(photos.join("sparse")).unwrap();
    if sent.blocks() * 512 < 1 << 20 {
        assert!(
            sparse.blocks() * 512 < 1 << 20,
            "{} blocks",
            sparse.blocks()
        );
    }
    // Nothing partial is left.
    assert!(only(&inbox, &["beside.bin", "photos"]));
}

#[test]
fn a_dry_run_lists_what_would_be_sent_and_sends_nothing() {
    let dir = folder("dry-folder");
    let photos = dir.join("photos");
    tree(&photos);
    symlink("/etc/passwd", photos.join("out")).unwrap();
    let args = [
        "send",
        photos.to_str().unwrap(),
        "--dry-run",
        "--to",
        "127.0.0.1:9",
    ];
    let out = run(&args);
    assert!(out.status.success(), "{}", text(&out.stderr));
    let said = text(&out.stdout);
    for part in [
        "photos/a: 100 B",
        "photos/sub/deeper/large.bin: 600 kB",
        "photos/empty/",
        "photos/link -> sub/b",
        "would send 21.6 MB to 127.0.0.1:9",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert!(
        text(&out.stderr).contains("photos/out: not sent"),
        "{}",
        text(&out.stderr)
    );
}

/// A folder that takes a while at 8 Mbit/s: 40 files of 20 kB, and one of 2 MB.
fn slow_tree(root: &Path) {
    fs::create_dir_all(root.join("sub")).unwrap();
    let all = contents(2_000_000);
    for n in 0..40 {
        fs::write(root.join(format!("sub/f{n}")), &all[n..n + 20_000]).unwrap();
    }
    fs::write(root.join("zlarge.bin"), &all).unwrap();
}

fn begin(what: &Path, to: &str) -> Child {
    let args = [
        "send",
        what.to_str().unwrap(),
        "--quiet",
        "--limit",
        "8Mbit/s",
        "--to",
        to,
    ];
    byway()
        .args(args)
        .args(HASTY)
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// Files that are complete.
fn complete(inbox: &Path) -> usize {
    let all = fs::read_dir(inbox.join("photos/sub")).map_or(0, Iterator::count);
    all + usize::from(inbox.join("photos/zlarge.bin").exists())
}

/// Bytes of files that this run has sent.
fn sent(out: &Output) -> u64 {
    let said = result(out);
    let paths = said["paths"].as_array().unwrap().iter();
    let of = |p: &serde_json::Value, what: &str| p[what].as_u64().unwrap();
    paths
        .map(|p| of(p, "bytes_sent") - of(p, "data_bytes_retransmitted"))
        .sum()
}

#[test]
fn a_sender_that_was_killed_goes_on_with_what_is_missing() {
    let dir = folder("killed-folder-sender");
    let (photos, inbox) = (dir.join("photos"), dir.join("inbox"));
    slow_tree(&photos);
    let server = receiver(&inbox, &[]);
    let mut child = begin(&photos, &server.addresses);
    wait_until(|| complete(&inbox) >= 8);
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(complete(&inbox) < 41, "it was killed in the middle");
    let journal = |entry: fs::DirEntry| entry.path().to_string_lossy().ends_with(".tree.part");
    assert!(fs::read_dir(&inbox).unwrap().any(|e| journal(e.unwrap())));
    let before: u64 = fs::read_dir(inbox.join("photos/sub")).map_or(0, |all| all.count() as u64);
    let out = send(&photos, &server.addresses, &[]);
    assert!(out.status.success(), "{}", text(&out.stderr));
    assert_eq!(manifest(&inbox.join("photos")), manifest(&photos));
    wait_until(|| only(&inbox, &["photos"]));
    // What was complete was not sent again, headers included.
    let said = result(&out);
    let there = said["folders"][0]["files_were_there"].as_u64().unwrap();
    assert!(there >= before && there < 41, "{before}: {said}");
    let rest = 2_000_000 + 800_000 - before * 20_000;
    assert!(
        sent(&out) < rest * 11 / 10 + 30_000,
        "{} for {rest}",
        sent(&out)
    );
    drop(server);
}

#[test]
fn a_receiver_that_was_killed_goes_on_with_what_is_missing() {
    let dir = folder("killed-folder-receiver");
    let (photos, inbox) = (dir.join("photos"), dir.join("inbox"));
    slow_tree(&photos);
    let args = ["recv", "--dir", inbox.to_str().unwrap()];
    let server = Server::start_at(&args, "127.0.0.1:0");
    let mut child = begin(&photos, &server.addresses);
    wait_until(|| complete(&inbox) >= 8);
    drop(server);
    child.kill().unwrap();
    child.wait().unwrap();
    let before = complete(&inbox) as u64;
    assert!(before < 41, "it was killed in the middle");
    // At another port, which changes nothing.
    let server = Server::start_at(&args, "127.0.0.1:0");
    let out = send(&photos, &server.addresses, &[]);
    assert!(out.status.success(), "{}", text(&out.stderr));
    let said = result(&out);
    assert_eq!(said["folders"][0]["files_stored"], 41, "{said}");
    let there = said["folders"][0]["files_were_there"].as_u64().unwrap();
    assert!(there + 1 >= before && there < 41, "{said}");
    assert_eq!(manifest(&inbox.join("photos")), manifest(&photos));
    wait_until(|| only(&inbox, &["photos"]));
    assert!(
        sent(&out) < 2_900_000 - (before - 1) * 20_000 + 200_000,
        "{before}: {}",
        sent(&out)
    );
    drop(server);
}

/// In one run: the sender sets the association up again by itself.
#[test]
fn a_receiver_that_comes_back_within_a_run_gets_the_rest() {
    let dir = folder("folder-receiver-back");
    let (photos, inbox) = (dir.join("photos"), dir.join("inbox"));
    slow_tree(&photos);
    let at = format!("127.0.0.1:{}", spoken::udp_port());
    let args = ["recv", "--dir", inbox.to_str().unwrap()];
    let server = Server::start_at(&args, &at);
    let send = [
        "send",
        photos.to_str().unwrap(),
        "--json",
        "--retry-for",
        "50s",
        "--limit",
        "8Mbit/s",
    ];
    let child = byway()
        .args(send)
        .args(["--to", &at])
        .args(HASTY)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    wait_until(|| complete(&inbox) >= 8);
    drop(server);
    let server = Server::start_at(&args, &at);
    let out = child.wait_with_output().unwrap();
    assert!(out.status.success(), "{}", text(&out.stderr));
    assert!(
        result(&out)["set_up_again"].as_u64() > Some(0),
        "{}",
        text(&out.stdout)
    );
    assert_eq!(manifest(&inbox.join("photos")), manifest(&photos));
    drop(server);
}

#[test]
fn what_cannot_be_sent_or_taken_is_named_and_the_others_go_on() {
    let dir = folder("folder-with-failures");
    let (photos, inbox) = (dir.join("photos"), dir.join("inbox"));
    slow_tree(&photos);
    // A name that no receiver takes, one that this one does not take, and a link that leads out.
    for name in ["x.part", ".hidden", "trailing "] {
        fs::write(photos.join(name), "x").unwrap();
    }
    symlink("/etc/passwd", photos.join("out")).unwrap();
    // Larger files than 1 MB are without room.
    let args = ["recv", "--once", "--json", "--dir", inbox.to_str().unwrap()];
    let server = Server::start_limited(&args, 1000);
    let out = send(&photos, &server.addresses, &[]);
    assert_eq!(out.status.code(), Some(1), "{}", text(&out.stderr));
    let said = result(&out);
    assert_eq!(said["folders"][0]["files_stored"], 40, "{said}");
    assert_eq!(said["folders"][0]["entries_failed"], 4, "{said}");
    let failures = said["folders"][0]["first_failures"].to_string();
    for part in [
        "photos/x.part: no receiver takes",
        "photos/trailing : no receiver takes",
        "photos/.hidden: refused",
        "--dot-files",
        "photos/zlarge.bin: refused",
    ] {
        assert!(failures.contains(part), "{part}: {failures}");
        let named = text(&out.stderr);
        assert!(named.contains(part), "{part}: {named}");
    }
    let left_out = said["folders"][0]["first_left_out"].to_string();
    assert!(left_out.contains("photos/out: not sent"), "{left_out}");
    let error = said["error"].as_str().unwrap();
    assert!(
        error.contains("4 entries of photos did not arrive"),
        "{error}"
    );
    let (status, told, err) = server.finish();
    assert_eq!(status, Some(1), "{err}");
    assert!(text(&told).contains("4 entries of"), "{}", text(&told));
    assert_eq!(complete(&inbox), 40);
    assert!(!inbox.join("photos/out").exists() && !inbox.join("photos/.hidden").exists());
    // Once there is room, the same command sends the rest.
    for name in ["x.part", ".hidden", "trailing ", "out"] {
        fs::remove_file(photos.join(name)).unwrap();
    }
    let server = receiver(&inbox, &[]);
    let out = send(&photos, &server.addresses, &[]);
    assert!(out.status.success(), "{}", text(&out.stderr));
    assert!(sent(&out) < 2_400_000, "{}", sent(&out));
    assert_eq!(manifest(&inbox.join("photos")), manifest(&photos));
    drop(server);
}

#[test]
fn a_file_that_changes_while_it_is_sent_is_named() {
    let dir = folder("changing-folder");
    let (photos, inbox) = (dir.join("photos"), dir.join("inbox"));
    slow_tree(&photos);
    let server = receiver(&inbox, &[]);
    let args = [
        "send",
        photos.to_str().unwrap(),
        "--json",
        "--limit",
        "8Mbit/s",
    ];
    let child = byway()
        .args(args)
        .args(["--to", &server.addresses])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    peers::wait_for(&inbox, "zlarge.bin");
    let file = fs::File::options()
        .write(true)
        .open(photos.join("zlarge.bin"))
        .unwrap();
    file.write_all_at(b"changed", 1_900_000).unwrap();
    let out = child.wait_with_output().unwrap();
    assert_eq!(out.status.code(), Some(1), "{}", text(&out.stderr));
    let failures = result(&out)["folders"][0]["first_failures"].to_string();
    assert!(
        failures.contains("photos/zlarge.bin: changed while it was sent"),
        "{failures}"
    );
    assert_eq!(complete(&inbox), 40);
    let out = send(&photos, &server.addresses, &[]);
    assert!(out.status.success(), "{}", text(&out.stderr));
    assert_eq!(manifest(&inbox.join("photos")), manifest(&photos));
    drop(server);
}

/// A folder that is there already: the same one may come again, nobody adds to it, nothing is replaced.
#[test]
fn a_folder_that_exists_is_not_added_to_without_force() {
    let dir = folder("existing-folder");
    let (photos, inbox) = (dir.join("photos"), dir.join("inbox"));
    fs::create_dir_all(&photos).unwrap();
    fs::write(photos.join("a"), "mine").unwrap();
    let server = receiver(&inbox, &[]);
    for _ in 0..2 {
        let out = send(&photos, &server.addresses, &[]);
        assert!(out.status.success(), "{}", text(&out.stderr));
    }
    // Its sender adds to it.
    fs::write(photos.join("b"), "more").unwrap();
    assert!(send(&photos, &server.addresses, &[]).status.success());
    fs::write(photos.join("evil"), "evil").unwrap();
    let to = ["--to", &server.addresses];
    let by_stranger = || {
        stranger()
            .arg("send")
            .arg(&photos)
            .args(to)
            .output()
            .unwrap()
    };
    let out = by_stranger();
    assert_eq!(out.status.code(), Some(1), "{}", text(&out.stderr));
    let said = text(&out.stderr);
    assert!(
        said.contains("photos/evil: refused: photos exists already"),
        "{said}"
    );
    assert!(!inbox.join("photos/evil").exists());
    // What is the same is no failure.
    fs::remove_file(photos.join("evil")).unwrap();
    assert!(by_stranger().status.success());
    fs::write(photos.join("a"), "other").unwrap();
    assert_eq!(by_stranger().status.code(), Some(1));
    assert_eq!(fs::read(inbox.join("photos/a")).unwrap(), b"mine");
    assert!(!inbox.join("photos/evil").exists());
    drop(server);
    let server = receiver(&inbox, &["--force"]);
    assert!(send(&photos, &server.addresses, &[]).status.success());
    assert_eq!(fs::read(inbox.join("photos/a")).unwrap(), b"other");
    drop(server);
}

/// A thousand small ones in a pipeline, and the memory of the receiver.
#[test]
fn many_small_files_of_a_folder_do_not_wait_for_each_other() {
    let dir = folder("many-in-folder");
    let (photos, inbox) = (dir.join("photos"), dir.join("inbox"));
    for n in 0..20 {
        fs::create_dir_all(photos.join(format!("d{n}"))).unwrap();
        for m in 0..50 {
            fs::write(photos.join(format!("d{n}/f{m}")), format!("{n} {m}")).unwrap();
        }
    }
    let server = receiver(&inbox, &[]);
    let out = send(&photos, &server.addresses, &[]);
    assert!(out.status.success(), "{}", text(&out.stderr));
    assert_eq!(manifest(&inbox.join("photos")), manifest(&photos));
    wait_until(|| only(&inbox, &["photos"]));
    drop(server);
}

/// Whoever may not read a file: the tests run as root, for whom there is no such file, so another user
/// sends.
#[test]
fn a_file_that_cannot_be_read_is_named() {
    let dir = folder("unreadable-in-folder");
    let (photos, inbox, state) = (dir.join("photos"), dir.join("inbox"), dir.join("state"));
    for path in [&photos, &state] {
        fs::create_dir_all(path).unwrap();
    }
    fs::write(photos.join("a"), "a").unwrap();
    fs::write(photos.join("b"), "b").unwrap();
    fs::set_permissions(photos.join("b"), fs::Permissions::from_mode(0o000)).unwrap();
    let as_nobody = ["--reuid", "65534", "--clear-groups"];
    let reads = |path: &Path| {
        let tried = Command::new("setpriv")
            .args(as_nobody)
            .arg("cat")
            .arg(path)
            .output();
        tried.is_ok_and(|out| out.status.success())
    };
    let binary = Path::new(env!("CARGO_BIN_EXE_byway"));
    if !reads(&photos.join("a")) || !reads(binary) {
        eprintln!("skipped: another user, which only root can be, and a folder that it reads");
        return;
    }
    let server = receiver(&inbox, &[]);
    let out = Command::new("setpriv")
        .args(as_nobody)
        .arg(binary)
        .args(["send", photos.to_str().unwrap(), "--to", &server.addresses])
        .env("XDG_STATE_HOME", &state)
        .output()
        .unwrap();
    assert_eq!(out.status.code(), Some(1), "{}", text(&out.stderr));
    let said = text(&out.stderr);
    assert!(
        said.contains("not sent: photos/b: cannot be read: Permission denied"),
        "{said}"
    );
    assert_eq!(fs::read(inbox.join("photos/a")).unwrap(), b"a");
    drop(server);
}

use super::*;
use crate::net::entry::What;
use crate::net::hashes::hash_front;
use sha2::{Digest, Sha256};
use std::fs as std_fs;
use std::os::unix::fs::{MetadataExt, symlink};

struct Inbox {
    dir: PathBuf,
    force: bool,
}

impl Inbox {
    fn new(name: &str, force: bool) -> Inbox {
        let dir = std::env::temp_dir().join(format!("byway-place-{}-{name}", std::process::id()));
        let _ = std_fs::remove_dir_all(&dir);
        std_fs::create_dir_all(dir.join("inbox")).unwrap();
        std_fs::create_dir_all(dir.join("outside")).unwrap();
        Inbox { dir, force }
    }

    fn tree(&self, sender: u8) -> Tree {
        let folder = Arc::new(Folder {
            dir: self.path(""),
            force: self.force,
            naming: Mutex::new(()),
        });
        Tree::new(&folder, "F", &format!("F.{sender}.tree.part"), false)
    }

    fn path(&self, below: &str) -> PathBuf {
        self.dir.join("inbox").join(below)
    }

    fn put(&self, tree: &Tree, path: &str, contents: &str) -> Result<(), String> {
        let part = self.path("x.part");
        std_fs::write(&part, contents).unwrap();
        let hash = Sha256::digest(contents);
        let (entry, file) = (
            entry(path, contents.len() as u64),
            File::open(&part).unwrap(),
        );
        let size = contents.len() as u64;
        let put = match tree.put_file(&entry, (&part, &file), size) {
            Ok(Put::Done) => Ok(()),
            Ok(Put::Compare(there, taken)) => {
                // Files get their names meanwhile.
                assert!(tree.folder.naming.try_lock().is_ok());
                let same = hash_front(there, size).unwrap().finalize() == hash;
                tree.compared(&entry, &part, (taken, same))
            }
            Err(why) => Err(why),
        };
        assert_eq!(
            part.exists(),
            put.is_err(),
            "a file that is stored leaves no part"
        );
        put
    }

    fn outside_is_empty(&self) -> bool {
        std_fs::read_dir(self.dir.join("outside")).unwrap().count() == 0
    }
}

impl Drop for Inbox {
    fn drop(&mut self) {
        let _ = std_fs::remove_dir_all(&self.dir);
    }
}

fn entry(path: &str, size: u64) -> Entry {
    Entry {
        path: path.to_owned(),
        mode: 0o640,
        changed: (1_000_000_000, 123_456_789),
        what: What::File { size },
    }
}

fn folder(path: &str, mode: u16) -> Entry {
    Entry {
        mode,
        what: What::Folder { missing: 0 },
        ..entry(path, 0)
    }
}

#[test]
fn files_folders_and_links_get_their_places_bits_and_times() {
    let inbox = Inbox::new("whole", false);
    let tree = inbox.tree(1);
    inbox.put(&tree, "sub/deep/a", "contents").unwrap();
    inbox.put(&tree, "b", "").unwrap();
    let link = |target: &str| Entry {
        what: What::Link {
            target: target.to_owned(),
        },
        ..entry("sub/link", 0)
    };
    tree.put_link(&link("deep/a"), "deep/a").unwrap();
    tree.put_link(&link("deep/a"), "deep/a").unwrap();
    let other = tree.put_link(&link("../b"), "../b").unwrap_err();
    assert!(other.contains("--force"), "{other}");
    tree.put_folder(&folder("empty", 0o711)).unwrap();
    tree.put_folder(&folder("sub", 0o750)).unwrap();
    tree.put_folder(&folder("", 0o755)).unwrap();
    tree.sync().unwrap();
    for (path, mode) in [
        ("F/sub/deep/a", 0o640),
        ("F/b", 0o640),
        ("F/empty", 0o711),
        ("F/sub", 0o750),
        ("F", 0o755),
    ] {
        let metadata = std_fs::metadata(inbox.path(path)).unwrap();
        assert_eq!(metadata.mode() & 0o7777, mode, "{path}");
        let time = (metadata.mtime(), metadata.mtime_nsec());
        assert_eq!(time, (1_000_000_000, 123_456_789), "{path}");
    }
    assert_eq!(std_fs::read(inbox.path("F/sub/link")).unwrap(), b"contents");
    let (finished, _) = inbox.tree(1).finished(Cursor::default()).unwrap();
    assert_eq!((finished.digests.len(), finished.bytes), (2, 8));
    let (others, _) = inbox.tree(2).finished(Cursor::default()).unwrap();
    assert!(others.digests.is_empty(), "nobody else learns of it");
}

#[test]
fn a_folder_belongs_to_who_began_it() {
    let inbox = Inbox::new("owner", false);
    inbox.put(&inbox.tree(1), "a", "first").unwrap();
    let other = inbox.tree(2);
    std_fs::create_dir(inbox.path("F/dir")).unwrap();
    symlink("a", inbox.path("F/link")).unwrap();
    let link = |path: &str, target: &str| {
        let what = What::Link {
            target: target.to_owned(),
        };
        other.put_link(
            &Entry {
                what,
                ..entry(path, 0)
            },
            target,
        )
    };
    // Whatever is there, the answer is the same.
    let mut refusals = vec![
        inbox.put(&other, "b", "new"),
        inbox.put(&other, "sub/b", "new"),
        inbox.put(&other, "dir/b", "new"),
        inbox.put(&other, "dir", "new"),
        inbox.put(&other, "a", "other"),
        inbox.put(&other, "a/b", "new"),
        other.put_folder(&folder("nothing", 0o777)),
        other.put_folder(&folder("dir", 0o777)),
        other.put_folder(&folder("a", 0o777)),
        other.put_folder(&folder("", 0o777)),
        link("link", "dir"),
        link("b", "a"),
    ];
    refusals.dedup();
    let [Err(refused)] = &refusals[..] else {
        panic!("{refusals:?}");
    };
    assert!(refused.contains("F exists already") && refused.contains("--force"));
    // The same contents are stored.
    inbox.put(&other, "a", "first").unwrap();
    link("link", "a").unwrap();
    let mode = || std_fs::metadata(inbox.path("F")).unwrap().mode() & 0o777;
    other.put_folder(&folder("", 0o777)).unwrap();
    assert_eq!(mode(), 0o700, "it is there, and stays as it is");
    assert!(other.put_folder(&folder("dir", 0o777)).is_err());
    assert!(!other.is_senders());
    // Its sender goes on in another process.
    let again = inbox.tree(1);
    inbox.put(&again, "sub/b", "more").unwrap();
    assert!(again.is_senders());
    // A folder of the receiver's own has no sender.
    std_fs::create_dir(inbox.path("G")).unwrap();
    let own = Tree::new(again.folder(), "G", "G.1.tree.part", false);
    assert!(inbox.put(&own, "a", "x").is_err());
    assert!(!inbox.path("G.1.tree.part").exists());
    // With force, anybody adds and replaces.
    let forced = Inbox {
        dir: inbox.dir.clone(),
        force: true,
    };
    forced.put(&forced.tree(3), "a", "third").unwrap();
    assert_eq!(std_fs::read(inbox.path("F/a")).unwrap(), b"third");
    assert!(!forced.tree(3).is_senders());
    // But no folder is replaced.
    let link = Entry {
        what: What::Link {
            target: "a".to_owned(),
        },
        ..entry("sub", 0)
    };
    let refused = forced.tree(3).put_link(&link, "a").unwrap_err();
    assert!(refused.contains("--force does not replace it"), "{refused}");
}

#[test]
fn nothing_is_written_through_a_link() {
    for force in [false, true] {
        let inbox = Inbox::new(&format!("links-{force}"), force);
        let tree = inbox.tree(1);
        inbox.put(&tree, "sub/a", "x").unwrap();
        let outside = inbox.dir.join("outside");
        // Somebody plants links while the folder is received.
        symlink(&outside, inbox.path("F/planted")).unwrap();
        symlink("../../outside", inbox.path("F/sub/up")).unwrap();
        for path in ["planted/a", "sub/up/a", "planted/new/a"] {
            let refused = inbox.put(&tree, path, "evil").unwrap_err();
            assert!(
                refused.contains("a link or a file is in the place"),
                "{refused}"
            );
        }
        assert!(tree.put_folder(&folder("planted", 0o777)).is_err());
        assert!(tree.put_folder(&folder("planted/new", 0o777)).is_err());
        // In the place of the file: it is replaced with force, and not what it names.
        std_fs::write(outside.join("mine"), "mine").unwrap();
        symlink(outside.join("mine"), inbox.path("F/file")).unwrap();
        assert_eq!(inbox.put(&tree, "file", "new").is_ok(), force);
        assert_eq!(std_fs::read(outside.join("mine")).unwrap(), b"mine");
        std_fs::remove_file(outside.join("mine")).unwrap();
        assert!(inbox.outside_is_empty());
        // The control: without a link it goes.
        inbox.put(&tree, "planted-not/a", "x").unwrap();
        // A link in the place of the folder itself.
        symlink(&outside, inbox.path("G")).unwrap();
        let linked = Tree::new(tree.folder(), "G", "G.1.tree.part", false);
        assert!(inbox.put(&linked, "a", "evil").is_err());
        assert!(linked.put_folder(&folder("", 0o777)).is_err());
        assert!(inbox.outside_is_empty());
    }
}

#[test]
fn a_pipe_or_a_folder_in_the_place_of_a_file_is_left_alone() {
    let inbox = Inbox::new("kinds", true);
    let tree = inbox.tree(1);
    inbox.put(&tree, "a", "x").unwrap();
    std_fs::create_dir(inbox.path("F/dir")).unwrap();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        inbox.path("F/pipe"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from_raw_mode(0o600),
        0,
    )
    .unwrap();
    for path in ["dir", "pipe"] {
        let refused = inbox.put(&tree, path, "x").unwrap_err();
        assert!(refused.contains("is not a plain file"), "{refused}");
    }
}

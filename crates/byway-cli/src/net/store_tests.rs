use super::*;
use std::sync::Mutex;

fn folder(name: &str, force: bool) -> Arc<Folder> {
    let dir = std::env::temp_dir().join(format!("byway-store-{}-{name}", std::process::id()));
    let _ = fs::remove_dir_all(&dir);
    fs::create_dir_all(&dir).unwrap();
    Arc::new(Folder {
        dir,
        force,
        naming: Mutex::new(()),
    })
}

fn forced(folder: &Folder) -> Arc<Folder> {
    Arc::new(Folder {
        dir: folder.dir.clone(),
        force: true,
        naming: Mutex::new(()),
    })
}

fn hash(bytes: &[u8]) -> Hash {
    Sha256::digest(bytes).into()
}

/// What a receiver does with a file that has come.
fn finish(store: Store, hash: &Hash) -> Result<(PathBuf, Found), String> {
    let folder = store.folder.clone();
    match store.finish(hash)? {
        Finished::Named(path, whole) => Ok((path, whole)),
        Finished::Compare(compare, there) => {
            // Files get their names meanwhile.
            assert!(folder.naming.try_lock().is_ok());
            let there = hash_front(there, compare.size()).unwrap().finalize();
            compare.end(Hash::from(there) == *hash)
        }
    }
}

fn open(folder: &Arc<Folder>, part: &str, size: u64) -> Store {
    Store::open(folder, "a", part, size, None).unwrap()
}

/// A store of this sender into which `bytes` were written from the beginning.
fn written(folder: &Arc<Folder>, part: &str, size: u64, bytes: &[u8]) -> Store {
    let mut store = open(folder, part, size);
    store.start(0).unwrap();
    store.write(bytes).unwrap();
    store
}

#[test]
fn a_file_that_was_cut_off_goes_on() {
    let folder = folder("resume", false);
    let cut = written(&folder, "a.1.part", 6, b"abc");
    let known = cut.found();
    drop(cut); // the association is lost
    // Read again, or known.
    for known in [None, Some(known)] {
        let store = Store::open(&folder, "a", "a.1.part", 6, known).unwrap();
        let found = store.found();
        assert_eq!((found.have(), found.hash()), (3, hash(b"abc")));
    }
    let mut store = open(&folder, "a.1.part", 6);
    store.start(3).unwrap();
    store.write(b"def").unwrap();
    let (path, _) = finish(store, &hash(b"abcdef")).unwrap();
    assert_eq!(fs::read(path).unwrap(), b"abcdef");
    assert!(!folder.dir.join("a.1.part").exists());
    fs::remove_dir_all(&folder.dir).unwrap();
}

/// What another program writes into a file, of the same length. A clock of the file system ticks every few
/// milliseconds.
fn change(path: &Path, bytes: &[u8]) {
    let stamp = || Stamp::of(&fs::metadata(path).unwrap());
    let before = stamp();
    while stamp() == before {
        let file = File::options().write(true).open(path).unwrap();
        file.write_all_at(bytes, 0).unwrap();
    }
    assert_eq!(fs::read(path).unwrap(), bytes);
}

#[test]
fn what_is_known_is_not_read_and_what_has_changed_is() {
    let folder = folder("known", false);
    let part = folder.dir.join("a.1.part");
    let found = |known: Found| {
        let store = Store::open(&folder, "a", "a.1.part", 6, Some(known));
        store.map(|store| store.found().hash())
    };
    let known = written(&folder, "a.1.part", 6, b"abc").found();
    let stamp = Stamp::of(&fs::metadata(&part).unwrap());
    let other = Found::of(3, Sha256::new_with_prefix(b"xyz"), stamp);
    assert_eq!(found(other).unwrap(), hash(b"xyz"), "not read");
    change(&part, b"ABC");
    let why = found(known.clone()).unwrap_err();
    assert!(
        why.contains("a: what the receiver has of it was changed"),
        "{why}"
    );
    fs::write(&part, b"ABCD").unwrap();
    assert!(found(known).is_err());
    let store = open(&folder, "a.1.part", 6);
    assert_eq!(store.found().hash(), hash(b"ABCD"), "read");
    fs::remove_dir_all(&folder.dir).unwrap();
}

/// The sender hashes its own meanwhile, which may take minutes.
#[test]
fn what_is_changed_between_the_offer_and_the_first_byte_is_not_gone_on_with() {
    let folder = folder("meanwhile", false);
    let part = folder.dir.join("a.1.part");
    drop(written(&folder, "a.1.part", 6, b"abc"));
    let mut again = open(&folder, "a.1.part", 6);
    again.start(3).unwrap();
    change(&part, b"ABC");
    let why = again.write(b"def").unwrap_err();
    assert!(why.contains("changed meanwhile"), "{why}");
    assert_eq!(fs::read(&part).unwrap(), b"ABC");
    // One that is complete.
    let (target, whole) = finish(written(&folder, "a.1.part", 3, b"abc"), &hash(b"abc")).unwrap();
    let mut again = Store::open(&folder, "a", "a.1.part", 3, Some(whole)).unwrap();
    again.start(3).unwrap();
    change(&target, b"ABC");
    let why = finish(again, &hash(b"abc")).err().unwrap();
    assert!(why.contains("changed meanwhile"), "{why}");
    fs::remove_dir_all(&folder.dir).unwrap();
}

/// Another program, or a person, has changed a file that is complete. Its sender comes back.
#[test]
fn a_complete_file_that_was_changed_in_place_comes_again() {
    let folder = folder("changed", false);
    let target = folder.dir.join("a");
    let bytes = vec![7; SMALL as usize + 1];
    let size = bytes.len() as u64;
    let store = written(&folder, "a.1.part", size, &bytes);
    let (_, whole) = finish(store, &hash(&bytes)).unwrap();
    change(&target, &vec![8; bytes.len()]);
    // One that keeps what is there, and one that replaces it.
    for (folder, forced) in [(folder.clone(), false), (forced(&folder), true)] {
        let known = Some(whole.clone());
        let mut again = Store::open(&folder, "a", "a.1.part", size, known).unwrap();
        assert_eq!(again.found().have(), 0);
        again.start(0).unwrap();
        again.write(&bytes).unwrap();
        let ended = finish(again, &hash(&bytes)).map(|_| ());
        assert_eq!(ended.is_ok(), forced, "{ended:?}");
        let there = if forced { 7 } else { 8 };
        assert!(fs::read(&target).unwrap().iter().all(|b| *b == there));
    }
    fs::remove_dir_all(&folder.dir).unwrap();
}

/// Of two senders with the same file the second one has it compared, and comes back.
#[test]
fn a_file_that_was_compared_and_then_changed_in_place_comes_again() {
    let folder = folder("compared", false);
    let target = folder.dir.join("a");
    fs::write(&target, b"abc").unwrap();
    let (_, whole) = finish(written(&folder, "a.2.part", 3, b"abc"), &hash(b"abc")).unwrap();
    let again = || Store::open(&folder, "a", "a.2.part", 3, Some(whole.clone())).unwrap();
    assert_eq!(again().found().have(), 3);
    change(&target, b"abX");
    assert_eq!(again().found().have(), 0);
    fs::remove_dir_all(&folder.dir).unwrap();
}

#[test]
fn a_partial_file_that_was_replaced_gets_no_name() {
    let folder = folder("replaced", false);
    let part = folder.dir.join("a.1.part");
    let outside = folder.dir.join("outside");
    fs::write(&outside, b"mine").unwrap();
    let replace: [&dyn Fn(); 3] = [
        &|| {},
        &|| std::os::unix::fs::symlink(&outside, &part).unwrap(),
        &|| fs::write(&part, b"XYZ").unwrap(),
    ];
    for replace in replace {
        let store = written(&folder, "a.1.part", 3, b"abc");
        fs::remove_file(&part).unwrap();
        replace();
        let refused = finish(store, &hash(b"abc")).err().unwrap();
        assert!(refused.contains("removed or replaced"), "{refused}");
        assert!(!folder.dir.join("a").exists());
        let _ = fs::remove_file(&part);
    }
    assert_eq!(fs::read(&outside).unwrap(), b"mine");
    fs::remove_dir_all(&folder.dir).unwrap();
}

#[test]
fn what_is_there_is_kept_unless_forced() {
    let folder = folder("exists", false);
    let target = folder.dir.join("a");
    fs::write(&target, b"old").unwrap();
    // An offer does not tell it, whatever the size.
    for size in [3, 6] {
        assert_eq!(open(&folder, "a.1.part", size).found().have(), 0);
    }
    let other = written(&folder, "a.1.part", 3, b"new");
    assert!(
        finish(other, &hash(b"new"))
            .err()
            .unwrap()
            .contains("--force")
    );
    assert_eq!(fs::read(&target).unwrap(), b"old");
    // The same contents: stored.
    let same = written(&folder, "a.2.part", 3, b"old");
    finish(same, &hash(b"old")).unwrap();
    assert!(!folder.dir.join("a.2.part").exists());
    // What came is still there for a receiver that may replace it.
    let mut store = open(&forced(&folder), "a.1.part", 3);
    assert_eq!(store.found().have(), 3);
    store.start(3).unwrap();
    finish(store, &hash(b"new")).unwrap();
    assert_eq!(fs::read(&target).unwrap(), b"new");
    fs::remove_dir_all(&folder.dir).unwrap();
}

/// The confirmation was lost, and its sender comes back.
#[test]
fn who_completed_a_file_need_not_send_it_again() {
    let folder = folder("complete", false);
    let store = written(&folder, "a.1.part", 3, b"abc");
    let (_, whole) = finish(store, &hash(b"abc")).unwrap();
    let again = |size| Store::open(&folder, "a", "a.1.part", size, Some(whole.clone())).unwrap();
    let mut store = again(3);
    assert_eq!(
        (store.found().have(), store.found().hash()),
        (3, hash(b"abc"))
    );
    store.start(3).unwrap();
    assert!(store.write(b"d").is_err());
    finish(store, &hash(b"abc")).unwrap();
    // Another file of its name: a small one comes whole before it is known for another.
    let mut other = again(3);
    other.start(0).unwrap();
    other.write(b"xyz").unwrap();
    let refused = finish(other, &hash(b"xyz")).err().unwrap();
    assert!(refused.contains("--force"), "{refused}");
    assert_eq!(fs::read(folder.dir.join("a")).unwrap(), b"abc");
    // The same one, whose sender does not ask what is here.
    let mut same = again(3);
    same.start(0).unwrap();
    same.write(b"abc").unwrap();
    finish(same, &hash(b"abc")).unwrap();
    assert!(!folder.dir.join("a.1.part").exists());
    assert_eq!(again(4).found().have(), 0);
    fs::remove_file(folder.dir.join("a")).unwrap();
    assert_eq!(again(3).found().have(), 0);
    fs::remove_dir_all(&folder.dir).unwrap();
}

/// A large file of the same name is refused before its bytes are sent.
#[test]
fn another_large_file_is_refused_at_its_start() {
    let folder = folder("large", false);
    let bytes = vec![7; SMALL as usize + 1];
    let store = written(&folder, "a.1.part", bytes.len() as u64, &bytes);
    let (_, whole) = finish(store, &hash(&bytes)).unwrap();
    let mut again = Store::open(&folder, "a", "a.1.part", SMALL + 1, Some(whole)).unwrap();
    assert!(again.start(0).unwrap_err().contains("--force"));
    fs::remove_dir_all(&folder.dir).unwrap();
}

#[test]
fn damage_is_found_and_not_kept() {
    let folder = folder("damage", false);
    let store = written(&folder, "a.1.part", 3, b"abX");
    let damaged = finish(store, &hash(b"abc")).err().unwrap();
    assert!(damaged.contains("SHA-256"), "{damaged}");
    assert_eq!(fs::read_dir(&folder.dir).unwrap().count(), 0);
    fs::remove_dir_all(&folder.dir).unwrap();
}

#[test]
fn no_more_bytes_than_offered_are_taken() {
    let folder = folder("more", false);
    let mut store = open(&folder, "a.1.part", 2);
    store.start(0).unwrap();
    assert!(store.write(b"abc").unwrap_err().contains("more bytes"));
    assert!(store.start(1).unwrap_err().contains("begun at 1"));
    let short = finish(store, &hash(b"")).err().unwrap();
    assert!(short.contains("0 of 2 bytes"), "{short}");
    // A short part is not worth a file.
    let short = finish(written(&folder, "a.1.part", 2, b"a"), &hash(b"a"));
    assert!(short.err().unwrap().contains("1 of 2 bytes"));
    assert!(!folder.dir.join("a.1.part").exists());
    fs::remove_dir_all(&folder.dir).unwrap();
}

#[test]
fn a_folder_is_not_replaced_by_a_file() {
    let folder = folder("folder", true);
    fs::create_dir(folder.dir.join("a")).unwrap();
    let refused = finish(written(&folder, "a.1.part", 1, b"a"), &hash(b"a"));
    let refused = refused.err().unwrap();
    assert!(
        refused.contains("a is a folder at the receiver"),
        "{refused}"
    );
    fs::remove_dir_all(&folder.dir).unwrap();
}

#[cfg(unix)]
#[test]
fn what_is_not_a_plain_file_is_left_alone() {
    let folder = folder("links", false);
    let outside = folder.dir.join("outside");
    fs::write(&outside, b"mine").unwrap();
    // In the place of the partial file, and of the file.
    std::os::unix::fs::symlink(&outside, folder.dir.join("a.1.part")).unwrap();
    let refused = Store::open(&folder, "a", "a.1.part", 6, None);
    assert!(refused.err().unwrap().contains("not a plain file"));
    fs::create_dir(folder.dir.join("a.2.part")).unwrap();
    let refused = Store::open(&folder, "a", "a.2.part", 6, None);
    assert!(refused.err().unwrap().contains("not a plain file"));
    std::os::unix::fs::symlink(&outside, folder.dir.join("a")).unwrap();
    let store = written(&folder, "a.3.part", 3, b"new");
    let refused = finish(store, &hash(b"new")).err().unwrap();
    assert!(refused.contains("not a plain file"), "{refused}");
    // With force the link is replaced, and not what it names.
    let mut store = open(&forced(&folder), "a.3.part", 3);
    store.start(3).unwrap();
    finish(store, &hash(b"new")).unwrap();
    assert_eq!(fs::read(&outside).unwrap(), b"mine");
    assert_eq!(fs::read(folder.dir.join("a")).unwrap(), b"new");
    fs::remove_dir_all(&folder.dir).unwrap();
}

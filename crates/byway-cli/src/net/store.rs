//! Files at the receiver: `NAME.part` until its hash is right, then `NAME`.

use super::protocol::Hash;
use sha2::{Digest, Sha256};
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// What is there of an offered file.
#[derive(Clone)]
pub(super) struct Found {
    /// Bytes.
    have: u64,
    /// Of those bytes.
    hasher: Sha256,
    /// Whether the file is there under its own name.
    complete: bool,
}

impl Found {
    /// Bytes that are there.
    pub(super) fn have(&self) -> u64 {
        self.have
    }

    /// The hash of those bytes.
    pub(super) fn hash(&self) -> Hash {
        self.hasher.clone().finalize().into()
    }
}

/// A file being received.
pub(super) struct Store {
    target: PathBuf,
    part: PathBuf,
    size: u64,
    force: bool,
    found: Found,
    hasher: Sha256,
    writer: Option<BufWriter<File>>,
    written: u64,
}

impl Store {
    /// Looks at what is there of a file of `size` bytes.
    ///
    /// # Errors
    /// Why it cannot be taken, as a sentence for the sender.
    pub(super) fn open(dir: &Path, name: &str, size: u64, force: bool) -> Result<Store, String> {
        let (target, part) = (dir.join(name), dir.join(format!("{name}.part")));
        let mut found = Found {
            have: 0,
            hasher: Sha256::new(),
            complete: false,
        };
        let (whole, begun) = (length(&target, name)?, length(&part, name)?);
        if whole.is_some() && whole != Some(size) && !force {
            return Err(exists(name));
        }
        let front = match (whole, begun) {
            (Some(n), _) if n == size => Some((&target, n, true)),
            (_, Some(n)) if n <= size => Some((&part, n, false)),
            _ => None,
        };
        if let Some((path, have, complete)) = front {
            hash_file(path, &mut found.hasher).map_err(|e| format!("{name}: {e}"))?;
            (found.have, found.complete) = (have, complete);
        }
        Ok(Store::beginning_with((target, part), size, force, found))
    }

    /// Takes over what another store has found or written, and let go of; it
    /// may have gone on meanwhile.
    ///
    /// # Errors
    /// When it is not there any more.
    pub(super) fn take_over(
        dir: &Path,
        name: &str,
        size: u64,
        force: bool,
        found: Found,
    ) -> Result<Store, String> {
        let (target, part) = (dir.join(name), dir.join(format!("{name}.part")));
        let path = if found.complete { &target } else { &part };
        let there = length(path, name)?.unwrap_or(0);
        if there < found.have || (found.complete && there != found.have) {
            return Err(format!("{name}: what was here has changed"));
        }
        Ok(Store::beginning_with((target, part), size, force, found))
    }

    /// A store into which nothing was written yet.
    fn beginning_with(
        (target, part): (PathBuf, PathBuf),
        size: u64,
        force: bool,
        found: Found,
    ) -> Store {
        Store {
            target,
            part,
            size,
            force,
            hasher: found.hasher.clone(),
            found,
            writer: None,
            written: 0,
        }
    }

    /// What was found, or what is there now that it is being written.
    pub(super) fn found(&self) -> Found {
        if self.writer.is_none() {
            return self.found.clone();
        }
        Found {
            have: self.written,
            hasher: self.hasher.clone(),
            complete: false,
        }
    }

    /// The sender begins at `offset`: at what was found, or at 0.
    ///
    /// # Errors
    /// Why that cannot be.
    pub(super) fn start(&mut self, offset: u64) -> Result<(), String> {
        let name = self.name();
        if offset == self.found.have && self.found.complete {
            self.written = offset;
            return Ok(());
        }
        if self.found.complete && !self.force {
            return Err(exists(&name));
        }
        if offset != 0 && offset != self.found.have {
            return Err(format!(
                "{name}: begun at {offset}, but {} bytes are here",
                self.found.have
            ));
        }
        if offset == 0 {
            self.hasher = Sha256::new();
        }
        let file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .open(&self.part);
        let opened = file.and_then(|mut file| {
            file.set_len(offset)?;
            file.seek(SeekFrom::Start(offset))?;
            Ok(file)
        });
        self.writer = Some(BufWriter::with_capacity(
            1 << 18,
            opened.map_err(|e| format!("{name}: {e}"))?,
        ));
        self.written = offset;
        Ok(())
    }

    /// Takes the next bytes.
    ///
    /// # Errors
    /// When there are too many, or they cannot be written.
    pub(super) fn write(&mut self, bytes: &[u8]) -> Result<(), String> {
        let name = self.name();
        let Some(writer) = &mut self.writer else {
            return Err(format!("{name}: more bytes than the file has"));
        };
        if bytes.len() as u64 > self.size - self.written {
            return Err(format!("{name}: more bytes than the file has"));
        }
        writer
            .write_all(bytes)
            .map_err(|e| format!("{name}: {e}"))?;
        self.hasher.update(bytes);
        self.written += bytes.len() as u64;
        Ok(())
    }

    /// Bytes of the whole.
    pub(super) fn size(&self) -> u64 {
        self.size
    }

    /// Bytes that are here.
    pub(super) fn written(&self) -> u64 {
        self.written
    }

    /// Checks the whole and gives it its name.
    ///
    /// # Errors
    /// When bytes are missing or damaged (what is here is then removed), or
    /// the file system refuses.
    pub(super) fn finish(mut self, hash: &Hash) -> Result<PathBuf, String> {
        let name = self.name();
        if self.written != self.size {
            return Err(format!(
                "{name}: {} of {} bytes arrived",
                self.written, self.size
            ));
        }
        let ours = Hash::from(self.hasher.clone().finalize());
        let Some(writer) = self.writer.take() else {
            return if ours == *hash {
                Ok(self.target.clone())
            } else {
                Err(exists(&name))
            };
        };
        let file = writer
            .into_inner()
            .map_err(|e| format!("{name}: {}", e.error()))?;
        if ours != *hash {
            drop(file);
            // Going on from damaged bytes could never end well.
            let _ = fs::remove_file(&self.part);
            return Err(format!(
                "{name}: damaged on the way (SHA-256 differs); send it again"
            ));
        }
        file.sync_all().map_err(|e| format!("{name}: {e}"))?;
        drop(file);
        if !self.force && fs::symlink_metadata(&self.target).is_ok() {
            return Err(exists(&name));
        }
        fs::rename(&self.part, &self.target).map_err(|e| format!("{name}: {e}"))?;
        Ok(self.target.clone())
    }

    fn name(&self) -> String {
        self.target
            .file_name()
            .map(|n| n.to_string_lossy().into_owned())
            .unwrap_or_default()
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        if let Some(mut writer) = self.writer.take() {
            // What could not be written is asked for again.
            let _ = writer.flush();
        }
    }
}

fn exists(name: &str) -> String {
    format!("{name} exists already with other contents; the receiver replaces it only with --force")
}

/// The length of a plain file, if there is one.
fn length(path: &Path, name: &str) -> Result<Option<u64>, String> {
    match fs::symlink_metadata(path) {
        Ok(m) if m.is_file() => Ok(Some(m.len())),
        Ok(_) => Err(format!("{name} is there and is not a plain file")),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(e) => Err(format!("{name}: {e}")),
    }
}

fn hash_file(path: &Path, hasher: &mut Sha256) -> io::Result<()> {
    let mut file = File::open(path)?;
    let mut block = vec![0; 1 << 16];
    loop {
        match file.read(&mut block)? {
            0 => return Ok(()),
            n => hasher.update(&block[..n]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(name: &str) -> PathBuf {
        let dir = std::env::temp_dir().join(format!("byway-store-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&dir);
        fs::create_dir_all(&dir).unwrap();
        dir
    }

    fn hash(bytes: &[u8]) -> Hash {
        Sha256::digest(bytes).into()
    }

    #[test]
    fn a_file_that_was_cut_off_goes_on() {
        let dir = folder("resume");
        let mut store = Store::open(&dir, "a", 6, false).unwrap();
        store.start(0).unwrap();
        store.write(b"abc").unwrap();
        drop(store); // the association is lost
        let mut store = Store::open(&dir, "a", 6, false).unwrap();
        assert_eq!(
            (store.found().have, store.found().hash()),
            (3, hash(b"abc"))
        );
        store.start(3).unwrap();
        store.write(b"def").unwrap();
        let path = store.finish(&hash(b"abcdef")).unwrap();
        assert_eq!(fs::read(path).unwrap(), b"abcdef");
        assert!(!dir.join("a.part").exists());
        fs::remove_dir_all(dir).unwrap();
    }

    #[test]
    fn what_is_there_is_kept_unless_forced() {
        let dir = folder("exists");
        fs::write(dir.join("a"), b"old").unwrap();
        assert!(
            Store::open(&dir, "a", 6, false)
                .err()
                .unwrap()
                .contains("--force")
        );
        // The same size: the sender compares the hash, and starts over when it differs.
        let mut same = Store::open(&dir, "a", 3, false).unwrap();
        assert!(same.start(0).unwrap_err().contains("--force"));
        // The same contents: nothing is to do.
        let mut same = Store::open(&dir, "a", 3, false).unwrap();
        same.start(3).unwrap();
        same.finish(&hash(b"old")).unwrap();
        let mut forced = Store::open(&dir, "a", 3, true).unwrap();
        forced.start(0).unwrap();
        forced.write(b"new").unwrap();
        forced.finish(&hash(b"new")).unwrap();
        assert_eq!(fs::read(dir.join("a")).unwrap(), b"new");
        fs::remove_dir_all(dir).unwrap();
    }

    #[test]
    fn what_another_began_is_taken_over_where_it_was_looked_at() {
        let dir = folder("over");
        let mut older = Store::open(&dir, "a", 6, false).unwrap();
        older.start(0).unwrap();
        older.write(b"abc").unwrap();
        let found = older.found();
        assert_eq!((found.have, found.hash()), (3, hash(b"abc")));
        older.write(b"de").unwrap();
        drop(older);
        let mut store = Store::take_over(&dir, "a", 6, false, found.clone()).unwrap();
        store.start(3).unwrap();
        store.write(b"DEF").unwrap();
        store.finish(&hash(b"abcDEF")).unwrap();
        assert_eq!(fs::read(dir.join("a")).unwrap(), b"abcDEF");
        let gone = Store::take_over(&dir, "a", 6, false, found).err().unwrap();
        assert!(gone.contains("has changed"), "{gone}");
        fs::remove_dir_all(dir).unwrap();
    }

    #[test]
    fn damage_is_found_and_not_kept() {
        let dir = folder("damage");
        let mut store = Store::open(&dir, "a", 3, false).unwrap();
        store.start(0).unwrap();
        store.write(b"abX").unwrap();
        assert!(store.finish(&hash(b"abc")).unwrap_err().contains("SHA-256"));
        assert!(!dir.join("a").exists() && !dir.join("a.part").exists());
        fs::remove_dir_all(dir).unwrap();
    }

    #[test]
    fn no_more_bytes_than_offered_are_taken() {
        let dir = folder("more");
        let mut store = Store::open(&dir, "a", 2, false).unwrap();
        store.start(0).unwrap();
        assert!(store.write(b"abc").unwrap_err().contains("more bytes"));
        assert!(store.start(1).unwrap_err().contains("begun at 1"));
        assert!(
            store
                .finish(&hash(b""))
                .unwrap_err()
                .contains("0 of 2 bytes")
        );
        fs::remove_dir_all(dir).unwrap();
    }
}

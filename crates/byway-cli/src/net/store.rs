//! Files at the receiver: partial until the hash is right, then with their names.

use super::entry::Entry;
use super::hashes::{hash_front, hash_zeros};
use super::inbox::Folder;
use super::protocol::{Hash, SMALL};
use super::tree::{Put, Taken, Tree};
use rustix::fs::OFlags;
use rustix::process::{Resource, getrlimit};
use sha2::{Digest, Sha256};
use std::fs::{self, File, Metadata, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError};

/// A shorter part of a file is not kept when its sender is gone: it takes a block of the disk all
/// the same, and to send it again costs little. Strangers could leave any number of such.
const KEPT: u64 = 4096;

/// Which file it is, and when it was changed last. What another program writes, in place and of the same
/// length, changes it; so does a new name, and new bits.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp {
    file: (u64, u64),
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Stamp {
    pub(super) fn of(file: &Metadata) -> Stamp {
        Stamp {
            file: (file.dev(), file.ino()),
            size: file.len(),
            modified: (file.mtime(), file.mtime_nsec()),
            changed: (file.ctime(), file.ctime_nsec()),
        }
    }

    /// Of what has this name, and not of what a link names; none if there is nothing.
    fn of_name(path: &Path) -> Option<Stamp> {
        Some(Stamp::of(&fs::symlink_metadata(path).ok()?))
    }

    /// None if the file system does not say.
    fn of_open(file: &File) -> Option<Stamp> {
        Some(Stamp::of(&file.metadata().ok()?))
    }
}

/// What is there of a sender's file.
#[derive(Clone)]
pub(super) struct Found {
    /// Bytes.
    have: u64,
    /// Of those bytes.
    hasher: Sha256,
    /// Whether the file has its own name already.
    complete: bool,
    /// Of the file that they are in, as it was then; none if that is not known.
    stamp: Option<Stamp>,
}

impl Found {
    /// So many bytes of a file, of which this is the hasher.
    pub(super) fn of(have: u64, hasher: Sha256, stamp: Stamp) -> Found {
        Found {
            have,
            hasher,
            complete: false,
            stamp: Some(stamp),
        }
    }

    /// Whether it says how far this partial file is, or that the file is complete: then nothing need be read.
    pub(super) fn is_of(&self, partial: Stamp) -> bool {
        self.complete || self.stamp == Some(partial)
    }

    /// Whether the file with this name is still the one that was found, of its length and not changed since.
    fn is_still(&self, path: &Path) -> bool {
        let there = Stamp::of_name(path);
        there.is_some_and(|there| self.stamp == Some(there) && there.size == self.have)
    }

    fn nothing() -> Found {
        Found {
            have: 0,
            hasher: Sha256::new(),
            complete: false,
            stamp: None,
        }
    }

    /// Bytes that are there.
    pub(super) fn have(&self) -> u64 {
        self.have
    }

    /// The hash of those bytes.
    pub(super) fn hash(&self) -> Hash {
        self.hasher.clone().finalize().into()
    }
}

/// How a file that has come ended.
pub(super) enum Finished {
    /// It has its place, and this is there.
    Named(PathBuf, Found),
    /// Another file has its place: whether that is the same must be seen.
    Compare(Box<Compare>, File),
}

/// A file that has come, and whose place another one has.
pub(super) struct Compare {
    store: Store,
    target: PathBuf,
    whole: Found,
    /// In a folder.
    taken: Option<Taken>,
}

/// A file being received.
pub(super) struct Store {
    folder: Arc<Folder>,
    name: String,
    part: PathBuf,
    size: u64,
    found: Found,
    hasher: Sha256,
    /// Where the sender begins, once that is agreed.
    begun: Option<u64>,
    /// Open from the first byte on: who sends none takes no descriptor and leaves no file. Without
    /// a buffer: messages are of 32 KiB, and many files are open at once.
    file: Option<File>,
    written: u64,
    /// Whether the last of those bytes are a hole, which the file need not have yet.
    hole: bool,
    /// The folder that it is sent in, and its place there.
    within: Option<(Arc<Tree>, Entry)>,
}

impl Store {
    /// Looks at what its sender began of a file of `size` bytes: nothing else decides, so
    /// that strangers learn nothing of what is there. What is `known` is not read again.
    ///
    /// # Errors
    /// Why it cannot be taken, as a sentence for the sender.
    pub(super) fn open(
        folder: &Arc<Folder>,
        name: &str,
        part: &str,
        size: u64,
        known: Option<Found>,
    ) -> Result<Store, String> {
        let part = folder.dir.join(part);
        let found = match known {
            Some(known) if known.complete => {
                Some(known).filter(|k| k.have == size && k.is_still(&folder.dir.join(name)))
            }
            known => match plain(&part, name)? {
                Some(there) if there.len() <= size => match known {
                    Some(known) if known.is_of(Stamp::of(&there)) => Some(known),
                    // It takes long to read it, and others wait.
                    Some(_) if there.len() > 0 => return Err(changed(name)),
                    _ => Some(read(&part, there.len()).map_err(|e| format!("{name}: {e}"))?),
                },
                _ => None,
            },
        };
        let found = found.unwrap_or_else(Found::nothing);
        Ok(Store {
            folder: folder.clone(),
            name: name.to_owned(),
            part,
            size,
            hasher: found.hasher.clone(),
            found,
            begun: None,
            file: None,
            written: 0,
            hole: false,
            within: None,
        })
    }

    /// The same for a file of a folder.
    ///
    /// # Errors
    /// Why it cannot be taken, as a sentence for the sender.
    pub(super) fn open_in(
        tree: &Arc<Tree>,
        entry: &Entry,
        part: &str,
        size: u64,
        known: Option<Found>,
    ) -> Result<Store, String> {
        let mut store = Store::open(tree.folder(), &tree.shown(entry), part, size, known)?;
        store.within = Some((tree.clone(), entry.clone()));
        Ok(store)
    }

    /// What was found, or what is there now that it is being written.
    pub(super) fn found(&self) -> Found {
        let Some(file) = &self.file else {
            return self.found.clone();
        };
        Found {
            have: self.written,
            hasher: self.hasher.clone(),
            complete: false,
            stamp: Stamp::of_open(file),
        }
    }

    /// The sender begins at `offset`: at what was found, or at 0.
    ///
    /// # Errors
    /// Why that cannot be.
    pub(super) fn start(&mut self, offset: u64) -> Result<(), String> {
        let name = &self.name;
        if offset == self.found.have && self.found.complete {
            self.written = offset;
            return Ok(());
        }
        // A small one comes whole without a question; whether it is the same is seen at its end.
        if self.found.complete && !self.folder.force && self.size > SMALL {
            return Err(exists(name));
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
        (self.begun, self.written) = (Some(offset), offset);
        Ok(())
    }

    /// Takes the next bytes. When there is no room for them, what is here is removed: the rest of
    /// the file has no room either, and other files need it.
    ///
    /// # Errors
    /// When there are too many, or they cannot be written.
    pub(super) fn write(&mut self, bytes: &[u8]) -> Result<(), String> {
        let name = self.name.clone();
        let left = self.size - self.written;
        if self.begun.is_none() || bytes.len() as u64 > left {
            return Err(format!("{name}: more bytes than the file has"));
        }
        let at = self.written;
        let written = self.file().and_then(|file| file.write_all_at(bytes, at));
        if let Err(e) = written {
            self.make_room(&e);
            return Err(format!("{name}: {}", why_not(&e)));
        }
        self.hasher.update(bytes);
        self.written += bytes.len() as u64;
        self.hole = false;
        Ok(())
    }

    /// So many zeros follow, which are not written. It takes the time of their hash.
    ///
    /// # Errors
    /// When there are too many, or the file cannot be.
    pub(super) fn skip(&mut self, zeros: u64) -> Result<(), String> {
        let name = &self.name;
        if self.begun.is_none() || zeros > self.size - self.written {
            return Err(format!("{name}: more bytes than the file has"));
        }
        if let Err(e) = self.file() {
            return Err(format!("{}: {e}", self.name));
        }
        hash_zeros(&mut self.hasher, zeros);
        self.written += zeros;
        self.hole = true;
        Ok(())
    }

    /// A hole at the end gets its length.
    fn lengthen(&mut self) -> io::Result<()> {
        match &self.file {
            Some(file) if self.hole => {
                file.set_len(self.written)?;
                self.hole = false;
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// The partial file, cut to where its sender begins when it is opened.
    fn file(&mut self) -> io::Result<&File> {
        if self.file.is_none() {
            let mut options = OpenOptions::new();
            options.write(true).create(true).truncate(false);
            options.custom_flags(OFlags::NOFOLLOW.bits() as i32);
            if self.within.is_some() {
                // It has bits of its own, and until it gets them nobody else reads it.
                options.mode(0o600);
            }
            let file = options.open(&self.part)?;
            let begun = self.begun.unwrap_or_default();
            if begun > 0 && self.found.stamp != Stamp::of_open(&file) {
                // While the sender hashed its own.
                return Err(io::Error::other(CHANGED));
            }
            file.set_len(begun)?;
            self.file = Some(file);
        }
        self.file
            .as_ref()
            .ok_or_else(|| io::ErrorKind::Other.into())
    }

    /// Without room for the rest, what is here is removed.
    fn make_room(&mut self, why: &io::Error) {
        use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
        if matches!(why.kind(), StorageFull | QuotaExceeded | FileTooLarge) {
            self.file = None;
            let _ = fs::remove_file(&self.part);
        }
    }

    /// Its sender is gone, or has to go. A short part is not worth a file.
    pub(super) fn let_go(&mut self) {
        if self.lengthen().is_err() {
            // Its bytes are fewer than were counted.
            self.file = None;
            let _ = fs::remove_file(&self.part);
        }
        if self.written < KEPT && self.file.take().is_some() {
            let _ = fs::remove_file(&self.part);
        }
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
    /// When bytes are missing (the sender may go on from what is here, if that is worth a file), they are
    /// damaged (what is here is then removed), another file has the name (what is here then stays, for a receiver
    /// with --force), or the file system refuses.
    pub(super) fn finish(mut self, hash: &Hash) -> Result<Finished, String> {
        let name = self.name.clone();
        if self.written != self.size {
            self.let_go();
            return Err(format!(
                "{name}: {} of {} bytes arrived",
                self.written, self.size
            ));
        }
        let mut whole = Found {
            have: self.size,
            hasher: self.hasher.clone(),
            complete: true,
            stamp: self.found.stamp,
        };
        let right = whole.hash() == *hash;
        let target = self.folder.dir.join(&name);
        if self.begun.is_none() {
            return match right {
                // It has its name already.
                true if !self.found.is_still(&target) => Err(changed(&name)),
                true => Ok(Finished::Named(target, whole)),
                false => Err(exists(&name)),
            };
        }
        // An empty file is made here.
        if let Err(e) = self.file() {
            return Err(format!("{name}: {e}"));
        }
        if !right {
            self.file = None;
            // Going on from damaged bytes could never end well.
            let _ = fs::remove_file(&self.part);
            return Err(format!(
                "{name}: damaged on the way (SHA-256 differs); send it again"
            ));
        }
        // Small files of a folder go to the disk together, before the folder is confirmed.
        let later = self.within.is_some() && self.size <= SMALL;
        let synced = self.lengthen().and_then(|()| match later {
            true => Ok(()),
            false => self.file().and_then(File::sync_all),
        });
        if let Err(e) = synced {
            // Some file systems tell here first that there is no room.
            self.make_room(&e);
            return Err(format!("{name}: {}", why_not(&e)));
        }
        self.is_in_its_place()?;
        let (there, taken) = match (&self.within, &self.file) {
            (Some((tree, entry)), Some(file)) => {
                match tree.put_file(entry, (&self.part, file), self.size)? {
                    Put::Done => return Ok(Finished::Named(target, whole)),
                    Put::Compare(there, taken) => (there, Some(taken)),
                }
            }
            _ => match self.give_name(&target)? {
                None => {
                    // It has the new name.
                    whole.stamp = self.file.as_ref().and_then(Stamp::of_open);
                    return Ok(Finished::Named(target, whole));
                }
                Some(there) => (there, None),
            },
        };
        whole.stamp = Stamp::of_open(&there);
        let compare = Compare {
            store: self,
            target,
            whole,
            taken,
        };
        Ok(Finished::Compare(Box::new(compare), there))
    }

    /// Whether the name of the partial file is still that of the file which was written.
    fn is_in_its_place(&self) -> Result<(), String> {
        let written = self.file.as_ref().and_then(Stamp::of_open);
        match (Stamp::of_name(&self.part), written) {
            (Some(there), Some(written)) if there.file == written.file => Ok(()),
            _ => Err(format!(
                "{}: the receiver's partial file was removed or replaced while it was written; send it again",
                self.name
            )),
        }
    }

    /// Gives the whole its name. If a file of the same length has it, returns that.
    fn give_name(&self, target: &Path) -> Result<Option<File>, String> {
        let (name, naming) = (&self.name, &self.folder.naming);
        let _alone = naming.lock().unwrap_or_else(PoisonError::into_inner);
        if self.folder.force && fs::symlink_metadata(target).is_ok_and(|there| there.is_dir()) {
            return Err(format!(
                "{name} is a folder at the receiver, which --force does not replace"
            ));
        }
        if !self.folder.force && fs::symlink_metadata(target).is_ok() {
            if plain(target, name)?.map(|there| there.len()) != Some(self.size) {
                return Err(exists(name));
            }
            let there = File::open(target).map_err(|e| format!("{name}: {e}"))?;
            return Ok(Some(there));
        }
        let named = fs::rename(&self.part, target);
        named.map(|()| None).map_err(|e| format!("{name}: {e}"))
    }
}

impl Compare {
    /// Bytes of each.
    pub(super) fn size(&self) -> u64 {
        self.store.size
    }

    /// What is there has been compared: if it is the same, where it is, and what is there.
    ///
    /// # Errors
    /// It is another one, or the file system refuses.
    pub(super) fn end(self, same: bool) -> Result<(PathBuf, Found), String> {
        let Store {
            name, part, within, ..
        } = &self.store;
        match (within, self.taken) {
            (Some((tree, entry)), Some(taken)) => tree.compared(entry, part, (taken, same))?,
            _ if !same => return Err(exists(name)),
            _ => fs::remove_file(part).map_err(|e| format!("{name}: {e}"))?,
        }
        Ok((self.target, self.whole))
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        if self.file.take().is_some() && self.written == 0 {
            // Nothing came of it.
            let _ = fs::remove_file(&self.part);
        }
    }
}

/// Why bytes cannot be written. Of a limit that an administrator has set, also where.
fn why_not(why: &io::Error) -> String {
    let limit = getrlimit(Resource::Fsize).current;
    match limit.filter(|_| why.kind() == io::ErrorKind::FileTooLarge) {
        Some(most) => format!(
            "the receiver's file size limit is {most} bytes; raise it there (ulimit -f, LimitFSIZE= of systemd)"
        ),
        None => why.to_string(),
    }
}

/// Another program has changed what is here of a file.
const CHANGED: &str = "what the receiver has of it was changed meanwhile; send it again";

fn changed(name: &str) -> String {
    format!("{name}: {CHANGED}")
}

fn exists(name: &str) -> String {
    format!("{name} exists already with other contents; the receiver replaces it only with --force")
}

/// What is known of a plain file, if there is one.
fn plain(path: &Path, name: &str) -> Result<Option<Metadata>, String> {
    match fs::symlink_metadata(path) {
        Ok(m) if m.is_file() => Ok(Some(m)),
        Ok(_) => Err(format!("{name} is there and is not a plain file")),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(e) => Err(format!("{name}: {e}")),
    }
}

/// The first `have` bytes of a file.
fn read(path: &Path, have: u64) -> io::Result<Found> {
    let file = File::open(path)?;
    let stamp = Stamp::of(&file.metadata()?);
    Ok(Found::of(have, hash_front(file, have)?, stamp))
}

#[cfg(test)]
#[path = "store_tests.rs"]
mod tests;

//! The folder of one sender at the receiver.
//!
//! A folder belongs to who began it: only that sender adds to it, unless the receiver has `--force`. So
//! nobody can put a file among those of another, or into a folder that was there before. What has the
//! contents that are sent is stored in any case; a sender learns of it what it knows already.

use super::beneath::{There, enter, look, make, outermost, set, set_link};
use super::journal::{Cursor, Finished, Journal};
use crate::net::entry::Entry;
use crate::net::inbox::Folder;
use rustix::fs::{self, AtFlags};
use rustix::io::Errno;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Files that are complete and perhaps not yet on the disk.
const UNSYNCED: usize = 4096;

/// Whose folder it is.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Owner {
    /// Nobody has looked yet.
    Unknown,
    /// This sender's.
    Sender,
    /// It was there before.
    Another,
}

/// What became of a file that has come.
pub(in crate::net) enum Put {
    /// It has its place.
    Done,
    /// This one of the same length has its place. [`Tree::compared`] tells whether it has the same bytes.
    Compare(File, Taken),
}

/// A place that is taken.
pub(in crate::net) enum Taken {
    /// In the sender's folder, by this file.
    Sender(File),
    /// In another's folder.
    Another,
}

/// A folder that is received.
pub(in crate::net) struct Tree {
    folder: Arc<Folder>,
    name: String,
    inner: Mutex<Inner>,
}

struct Inner {
    owner: Owner,
    journal: Journal,
    /// Whether the sender has completed this folder before.
    completed: bool,
    unsynced: usize,
    /// The last file that another's folder has with the contents that were sent.
    proved: Option<String>,
}

impl Tree {
    /// A folder with this journal, which the sender has `completed` before or not.
    pub(in crate::net) fn new(
        folder: &Arc<Folder>,
        name: &str,
        journal: &str,
        completed: bool,
    ) -> Tree {
        Tree {
            folder: folder.clone(),
            name: name.to_owned(),
            inner: Mutex::new(Inner {
                owner: Owner::Unknown,
                journal: Journal::at(folder.dir.join(journal)),
                completed,
                unsynced: 0,
                proved: None,
            }),
        }
    }

    pub(in crate::net) fn folder(&self) -> &Arc<Folder> {
        &self.folder
    }

    /// Whether the folder is the sender's.
    pub(in crate::net) fn is_senders(&self) -> bool {
        self.inner().owner == Owner::Sender
    }

    /// All of it has come, and the sender knows.
    pub(in crate::net) fn forget(&self) {
        self.inner().journal.remove();
    }

    /// Where the folder is.
    pub(in crate::net) fn path(&self) -> PathBuf {
        self.folder.dir.join(&self.name)
    }

    /// An entry's path with the folder's name, as people know it.
    pub(in crate::net) fn shown(&self, entry: &Entry) -> String {
        match entry.path.is_empty() {
            true => self.name.clone(),
            false => format!("{}/{}", self.name, entry.path),
        }
    }

    /// The next files that this sender has completed, and where to go on.
    pub(in crate::net) fn finished(&self, from: Cursor) -> io::Result<(Finished, Option<Cursor>)> {
        self.inner().journal.finished(from, &self.path())
    }

    /// Gives a file of `size` bytes its place, bits and time: it has come whole as `part` in the receiver's
    /// folder.
    ///
    /// # Errors
    /// Why it cannot have them, for the sender.
    pub(in crate::net) fn put_file(
        &self,
        entry: &Entry,
        (part, file): (&Path, &File),
        size: u64,
    ) -> Result<Put, String> {
        let alone = self.folder.naming.lock();
        let _alone = alone.unwrap_or_else(PoisonError::into_inner);
        let root = self.root(entry)?;
        if !self.may_add(&root, entry)? {
            return match self.anothers_entry(&root, entry) {
                Some(There::File(there, len)) if len == size => {
                    Ok(Put::Compare(there, Taken::Another))
                }
                _ => Err(self.anothers()),
            };
        }
        let (dir, name) = self.parent(&root, entry)?;
        match look(&dir, name).map_err(|e| self.why(entry, &e))? {
            There::File(there, len) if !self.folder.force => {
                if len != size {
                    return Err(self.exists(entry));
                }
                let again = there.try_clone().map_err(|e| self.why(entry, &e))?;
                return Ok(Put::Compare(there, Taken::Sender(again)));
            }
            There::Nothing | There::File(..) => {
                self.rename(entry, (&root, part, file), (&dir, name))?
            }
            There::Link(_) if self.folder.force => {
                self.rename(entry, (&root, part, file), (&dir, name))?
            }
            _ => return Err(self.not_plain(entry)),
        }
        self.add(entry).map_err(|e| self.why(entry, &e))?;
        Ok(Put::Done)
    }

    /// The file whose place is taken has been compared: if it is the `same`, it counts, with the bits and
    /// time of what came.
    ///
    /// # Errors
    /// That it is another one, or why it cannot have them, for the sender.
    pub(in crate::net) fn compared(
        &self,
        entry: &Entry,
        part: &Path,
        (taken, same): (Taken, bool),
    ) -> Result<(), String> {
        let remove = || std::fs::remove_file(part).map_err(|e| self.why(entry, &e));
        match taken {
            Taken::Another if same => {
                self.inner().proved = Some(entry.path.clone());
                remove()
            }
            Taken::Another => Err(self.anothers()),
            Taken::Sender(there) if same => {
                let put = set(&there, entry.mode, entry.changed);
                put.map_err(|e| self.why(entry, &e))?;
                remove()?;
                self.add(entry).map_err(|e| self.why(entry, &e))
            }
            Taken::Sender(_) => Err(self.exists(entry)),
        }
    }

    /// In another's folder nothing is added, and nothing is told but whether what is there is the `same`:
    /// who knows all of it learns nothing.
    fn only_if(
        &self,
        root: &OwnedFd,
        entry: &Entry,
        same: impl FnOnce(There) -> bool,
    ) -> Result<(), String> {
        match self.anothers_entry(root, entry).is_some_and(same) {
            true => Ok(()),
            false => Err(self.anothers()),
        }
    }

    /// What is there of an entry in another's folder.
    fn anothers_entry(&self, root: &OwnedFd, entry: &Entry) -> Option<There> {
        let (dir, name) = split(entry);
        look(self.open(root, dir, false).ok()?, name).ok()
    }

    fn rename(
        &self,
        entry: &Entry,
        (root, part, file): (&OwnedFd, &Path, &File),
        (dir, name): (&OwnedFd, &str),
    ) -> Result<(), String> {
        let put = || {
            set(file, entry.mode, entry.changed)?;
            let part = part.file_name().ok_or(io::ErrorKind::InvalidInput)?;
            Ok(fs::renameat(root, part, dir, name)?)
        };
        put().map_err(|e: io::Error| self.why(entry, &e))
    }

    /// Makes a link.
    ///
    /// # Errors
    /// Why it cannot be, for the sender.
    pub(in crate::net) fn put_link(&self, entry: &Entry, target: &str) -> Result<(), String> {
        let alone = self.folder.naming.lock();
        let _alone = alone.unwrap_or_else(PoisonError::into_inner);
        let root = self.root(entry)?;
        let is_same = |there: &There| matches!(there, There::Link(t) if t == target.as_bytes());
        if !self.may_add(&root, entry)? {
            return self.only_if(&root, entry, |there| is_same(&there));
        }
        let (dir, name) = self.parent(&root, entry)?;
        let make = || {
            fs::symlinkat(target, &dir, name)?;
            set_link(&dir, name, entry.changed)
        };
        let there = look(&dir, name).map_err(|e| self.why(entry, &e))?;
        let made = match there {
            there if is_same(&there) => Ok(()),
            There::Nothing => make(),
            There::Link(_) | There::File(..) if self.folder.force => {
                fs::unlinkat(&dir, name, AtFlags::empty())
                    .map_err(io::Error::from)
                    .and_then(|()| make())
            }
            _ if self.folder.force => {
                let shown = self.shown(entry);
                return Err(format!(
                    "{shown} is there and is neither a file nor a link; --force does not replace it"
                ));
            }
            _ => return Err(self.exists(entry)),
        };
        made.map_err(|e| self.why(entry, &e))
    }

    /// Makes a folder, if it is not there, and gives it its bits and time: all of its entries have come.
    ///
    /// # Errors
    /// Why it cannot be, for the sender.
    pub(in crate::net) fn put_folder(&self, entry: &Entry) -> Result<(), String> {
        let root = self.root(entry)?;
        if !self.may_add(&root, entry)? {
            // Of another's folder who knows a file in it: a folder comes behind its entries.
            let below = match entry.path.is_empty() {
                true => String::new(),
                false => format!("{}/", entry.path),
            };
            let proved = &self.inner().proved;
            return match proved.as_ref().is_some_and(|p| p.starts_with(&below)) {
                true => Ok(()),
                false => Err(self.anothers()),
            };
        }
        let path = (!entry.path.is_empty()).then_some(&*entry.path);
        let dir = self.open(&root, path, true);
        dir.and_then(|dir| set(dir, entry.mode, entry.changed))
            .map_err(|e| self.why(entry, &e))
    }

    /// Writes to the disk what is not there yet.
    ///
    /// # Errors
    /// Why that failed, for the sender: some file systems tell only here that there is no room.
    pub(in crate::net) fn sync(&self) -> Result<(), String> {
        self.sync_inner(&mut self.inner())
            .map_err(|e| format!("{}: {e}", self.name))
    }

    fn sync_inner(&self, inner: &mut Inner) -> io::Result<()> {
        if inner.unsynced > 0 {
            fs::syncfs(outermost(&self.folder.dir)?)?;
            inner.journal.synced()?;
            inner.unsynced = 0;
        }
        Ok(())
    }

    /// A file is complete.
    fn add(&self, entry: &Entry) -> io::Result<()> {
        let mut inner = self.inner();
        inner.journal.add(entry)?;
        inner.unsynced += 1;
        match inner.unsynced {
            UNSYNCED.. => self.sync_inner(&mut inner),
            _ => Ok(()),
        }
    }

    /// Whether entries may be added. The first time, the folder is made, or it is found whose it is.
    fn may_add(&self, root: &OwnedFd, entry: &Entry) -> Result<bool, String> {
        let mut inner = self.inner();
        if inner.owner == Owner::Unknown {
            inner.owner = self
                .find_owner(root, &mut inner)
                .map_err(|e| self.why(entry, &e))?;
        }
        Ok(self.folder.force || inner.owner == Owner::Sender)
    }

    fn find_owner(&self, root: &OwnedFd, inner: &mut Inner) -> io::Result<Owner> {
        if inner.journal.owns() {
            return Ok(Owner::Sender);
        }
        let there = !matches!(look(root, &self.name)?, There::Nothing);
        if there && !inner.completed {
            return Ok(Owner::Another);
        }
        // First the journal: with a kill between the two the folder would be nobody's.
        inner.journal.own()?;
        match there || make(root, &self.name).inspect_err(|_| inner.journal.remove())? {
            true => Ok(Owner::Sender),
            false => {
                inner.journal.remove();
                Ok(Owner::Another)
            }
        }
    }

    fn root(&self, entry: &Entry) -> Result<OwnedFd, String> {
        outermost(&self.folder.dir).map_err(|e| self.why(entry, &e))
    }

    /// The folder in which an entry is, made if need be, and its name there.
    fn parent<'a>(&self, root: &OwnedFd, entry: &'a Entry) -> Result<(OwnedFd, &'a str), String> {
        let (dir, name) = split(entry);
        let open = self.open(root, dir, true);
        Ok((open.map_err(|e| self.why(entry, &e))?, name))
    }

    /// Opens the folder, or one below it; those that are missing are made if that may be.
    fn open(&self, root: &OwnedFd, path: Option<&str>, may: bool) -> io::Result<OwnedFd> {
        let step = |dir: &OwnedFd, name: &str| match enter(dir, name) {
            Err(e) if e.kind() == io::ErrorKind::NotFound && may => {
                make(dir.as_fd(), name)?;
                enter(dir, name)
            }
            entered => entered,
        };
        let top = step(root, &self.name)?;
        let mut names = path.into_iter().flat_map(|path| path.split('/'));
        names.try_fold(top, |dir, name| step(&dir, name))
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn why(&self, entry: &Entry, e: &io::Error) -> String {
        let not_folder = [Errno::LOOP, Errno::NOTDIR].map(|e| Some(e.raw_os_error()));
        let name = self.shown(entry);
        match not_folder.contains(&e.raw_os_error()) {
            true => format!("{name}: a link or a file is in the place of one of its folders"),
            false => format!("{name}: {e}"),
        }
    }

    fn exists(&self, entry: &Entry) -> String {
        format!(
            "{} exists already with other contents; the receiver replaces it only with --force",
            self.shown(entry)
        )
    }

    fn not_plain(&self, entry: &Entry) -> String {
        format!("{} is there and is not a plain file", self.shown(entry))
    }

    fn anothers(&self) -> String {
        format!(
            "{} exists already, and not from this sender; the receiver adds to it only with --force",
            self.name
        )
    }
}

/// The path of the folder in which an entry is, if not the outermost one, and its name there.
fn split(entry: &Entry) -> (Option<&str>, &str) {
    match entry.path.rsplit_once('/') {
        Some((dir, name)) => (Some(dir), name),
        None => (None, &entry.path),
    }
}

#[cfg(test)]
#[path = "place_tests.rs"]
mod tests;

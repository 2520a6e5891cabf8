//! The folders of `byway send`: what is in them, one entry at a time.
//!
//! Nothing of a folder is kept: with a million files it takes the memory of one. Links are not
//! followed. Those that lead to something in the folder are sent as links; others, and pipes,
//! sockets and devices, are named and left out.

use crate::net::entry::{Entry, What};
use crate::net::names::{MAX_DEPTH, check_name, check_path, check_target};
use byway::text::shown;
use std::fs::{self, DirEntry, Metadata};
use std::io;
use std::path::{Path, PathBuf};

/// Failures that are kept for the result.
const KEPT: usize = 1000;

/// A folder that shall be sent.
pub(super) struct Folder {
    pub(super) path: PathBuf,
    /// Who begins it at this receiver.
    pub(super) sender: [u8; 16],
    pub(super) name: String,
    /// What is in it, when the command begins.
    pub(super) all: Sums,
    /// What the receiver has confirmed.
    pub(super) stored: Sums,
    /// What of that an earlier association had brought.
    pub(super) there: Sums,
    /// Whether the receiver has confirmed the folder itself.
    pub(super) done: bool,
    pub(super) failed: Failed,
    /// Links that lead out, pipes, sockets and devices.
    pub(super) left_out: Failed,
}

/// Files and their bytes.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Sums {
    pub(super) files: u64,
    pub(super) bytes: u64,
}

impl Sums {
    pub(super) fn add(&mut self, bytes: u64) {
        self.files += 1;
        self.bytes += bytes;
    }
}

/// Entries that did not arrive.
#[derive(Clone, Debug, Default)]
pub(super) struct Failed {
    pub(super) count: u64,
    /// The first ones, each with the reason.
    pub(super) first: Vec<String>,
}

impl Failed {
    pub(super) fn add(&mut self, words: String) {
        self.count += 1;
        if self.first.len() < KEPT {
            self.first.push(words);
        }
    }
}

/// One step of a walk.
pub(super) enum Found {
    /// An entry, and where it is. A folder comes behind what is in it.
    Entry(PathBuf, Entry),
    /// Something that is not sent: its path and the reason, and whether the folder is not whole without
    /// it.
    Skipped(String, bool),
}

/// A walk through a folder.
pub(super) struct Walk {
    name: String,
    sorted: bool,
    levels: Vec<Level>,
}

/// A folder that is being read.
struct Level {
    entries: Box<dyn Iterator<Item = io::Result<DirEntry>>>,
    dir: PathBuf,
    /// Below the outermost folder; empty for that itself.
    path: String,
    metadata: Metadata,
}

impl Walk {
    /// Begins at a folder that arrives as `name`. With `sorted` the entries of each folder are in the
    /// order of their names, and are kept for that.
    ///
    /// # Errors
    /// When the folder cannot be read.
    pub(super) fn new(folder: &Path, name: &str, sorted: bool) -> io::Result<Walk> {
        // The user named it, so a link is followed.
        let metadata = fs::metadata(folder)?;
        let mut walk = Walk {
            name: name.to_owned(),
            sorted,
            levels: Vec::new(),
        };
        walk.enter(folder.to_owned(), String::new(), metadata)?;
        Ok(walk)
    }

    fn enter(&mut self, dir: PathBuf, path: String, metadata: Metadata) -> io::Result<()> {
        let entries = fs::read_dir(&dir)?;
        let entries: Box<dyn Iterator<Item = io::Result<DirEntry>>> = match self.sorted {
            false => Box::new(entries),
            true => {
                let mut all: Vec<_> = entries.collect();
                all.sort_by_key(|entry| entry.as_ref().ok().map(DirEntry::file_name));
                Box::new(all.into_iter())
            }
        };
        self.levels.push(Level {
            entries,
            dir,
            path,
            metadata,
        });
        Ok(())
    }

    /// Something that cannot be sent.
    fn cannot(&self, path: &str, why: impl std::fmt::Display) -> Found {
        let below = if path.is_empty() { "" } else { "/" };
        Found::Skipped(shown(&format!("{}{below}{path}: {why}", self.name)), true)
    }

    /// What the folder that is being read has next; none when it goes into another one.
    fn look(&mut self, found: io::Result<DirEntry>) -> Option<Found> {
        let level = self.levels.last()?;
        let path = level.path.clone();
        let found = match found {
            Ok(found) => found,
            Err(e) => return Some(self.cannot(&path, format!("cannot be read: {e}"))),
        };
        let name = found.file_name();
        let below = if path.is_empty() { "" } else { "/" };
        let Some(name) = name.to_str() else {
            let name = name.as_encoded_bytes().escape_ascii();
            let path = format!("{path}{below}{name}");
            return Some(self.cannot(&path, "a name that is not UTF-8"));
        };
        let path = format!("{path}{below}{name}");
        if let Err(e) = check_name(name).and_then(|()| check_path(&path)) {
            return Some(self.cannot(&path, format!("no receiver takes {e}")));
        }
        match found.metadata() {
            Ok(metadata) => self.entry(found.path(), path, metadata),
            Err(e) => Some(self.cannot(&path, format!("cannot be read: {e}"))),
        }
    }

    fn entry(&mut self, at: PathBuf, path: String, metadata: Metadata) -> Option<Found> {
        let kind = metadata.file_type();
        let what = if kind.is_file() {
            What::File {
                size: metadata.len(),
            }
        } else if kind.is_symlink() {
            match self.target(&at, &path) {
                Ok(target) => What::Link { target },
                Err(skipped) => return Some(skipped),
            }
        } else if kind.is_dir() {
            // Its entries could not be sent.
            if self.levels.len() == MAX_DEPTH {
                let why = format!("more than {MAX_DEPTH} folders in each other; it is not sent");
                return Some(self.cannot(&path, why));
            }
            return match self.enter(at, path.clone(), metadata) {
                Ok(()) => None,
                Err(e) => Some(self.cannot(&path, format!("cannot be read: {e}"))),
            };
        } else {
            let words = format!(
                "{}/{path}: not sent, because it is no file, folder or link",
                self.name
            );
            return Some(Found::Skipped(shown(&words), false));
        };
        Some(Found::Entry(at, Entry::of(path, &metadata, what)))
    }

    /// Where a link leads, if it may be sent.
    fn target(&self, at: &Path, path: &str) -> Result<String, Found> {
        let target =
            fs::read_link(at).map_err(|e| self.cannot(path, format!("cannot be read: {e}")))?;
        let text = target
            .to_str()
            .ok_or_else(|| self.cannot(path, "a link to a name that is not UTF-8"))?;
        check_target(path, text).map_err(|e| {
            let words = format!("{}/{path}: not sent: {e}", self.name);
            Found::Skipped(shown(&words), false)
        })?;
        Ok(text.to_owned())
    }
}

impl Iterator for Walk {
    type Item = Found;

    /// The last one is the outermost folder.
    fn next(&mut self) -> Option<Found> {
        loop {
            let next = self.levels.last_mut()?.entries.next();
            match next {
                Some(found) => {
                    if let Some(step) = self.look(found) {
                        return Some(step);
                    }
                }
                None => {
                    let level = self.levels.pop()?;
                    let what = What::Folder { missing: 0 };
                    let entry = Entry::of(level.path, &level.metadata, what);
                    return Some(Found::Entry(level.dir, entry));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_walk_finds_each_entry_once_folders_last_and_names_the_rest() {
        let dir = std::env::temp_dir().join(format!("byway-walk-{}", std::process::id()));
        let _ = fs::remove_dir_all(&dir);
        fs::create_dir_all(dir.join("sub/empty")).unwrap();
        for file in ["a", "sub/b", "sub/x.part", ".dot"] {
            fs::write(dir.join(file), file).unwrap();
        }
        symlink("../a", dir.join("sub/in")).unwrap();
        symlink("/etc/passwd", dir.join("out")).unwrap();
        symlink("..", dir.join("up")).unwrap();
        let (mut entries, mut skipped) = (Vec::new(), Vec::new());
        for step in Walk::new(&dir, "F", true).unwrap() {
            match step {
                Found::Entry(_, entry) => entries.push(entry.path),
                Found::Skipped(words, lacks) => skipped.push((words, lacks)),
            }
        }
        let expected = [".dot", "a", "sub/b", "sub/empty", "sub/in", "sub", ""];
        assert_eq!(entries, expected);
        assert_eq!(skipped.len(), 3, "{skipped:?}");
        for ((words, lacks), (begin, end)) in skipped.iter().zip([
            ("F/out: not sent: the link", false),
            ("F/sub/x.part: no receiver takes", true),
            ("F/up: not sent: the link", false),
        ]) {
            assert!(words.starts_with(begin) && *lacks == end, "{words}");
        }
        // In any order the same.
        let mut all: Vec<_> = Walk::new(&dir, "F", false).unwrap().collect();
        assert_eq!(all.len(), entries.len() + skipped.len());
        assert!(matches!(all.pop(), Some(Found::Entry(_, last)) if last.path.is_empty()));
        fs::remove_dir_all(&dir).unwrap();
    }

    #[test]
    fn what_is_too_deep_is_named_once() {
        let dir = std::env::temp_dir().join(format!("byway-deep-{}", std::process::id()));
        let _ = fs::remove_dir_all(&dir);
        fs::create_dir_all(dir.join(["d"; 100].join("/"))).unwrap();
        let steps: Vec<_> = Walk::new(&dir, "F", true).unwrap().collect();
        let skipped = |step: &&Found| matches!(step, Found::Skipped(_, true));
        assert_eq!(steps.iter().filter(skipped).count(), 1);
        for step in &steps {
            if let Found::Entry(_, entry) = step
                && !entry.path.is_empty()
            {
                check_path(&entry.path).unwrap();
            }
        }
        fs::remove_dir_all(&dir).unwrap();
    }
}

//! Which files of a folder are complete, so that a sender that comes back need not send them again.
//!
//! A journal is a partial file `FOLDER.KEY.tree.part` beside the folder: it belongs to who began the folder,
//! and it has the limits of partial files. Each record is a line:
//!
//! ```text
//! own                                       the folder was made for this sender
//! boot ID                                   what follows was written after this start of the system
//! file LENGTH SIZE SECONDS NANOS MODE PATH  a file is complete; LENGTH is that of PATH
//! synced                                    all files above are on the disk
//! ```
//!
//! A journal has a length that it does not exceed: strangers send as many files as they like. Files beyond are not
//! noted, and a sender that comes back sends them again.
//!
//! Small files are not written to the disk one by one. When the system has gone down since, only what
//! was `synced` counts. Whatever counts must still be there with its size and time.

use super::beneath::{enter, measure, outermost};
use crate::net::entry::{Entry, What};
use crate::net::names::MAX_PATH;
use crate::net::protocol::MAX_DONE;
use rustix::fs::OFlags;
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// A longer line is no record.
const LONGEST: u64 = 2 * MAX_PATH as u64;

/// Bytes of a journal at most: some half a million files.
const MOST: u64 = 64 << 20;

/// The journal of one folder.
pub(super) struct Journal {
    path: PathBuf,
    /// Bytes at most.
    most: u64,
    /// Whether this process has written which start of the system this is.
    dated: bool,
}

impl Journal {
    pub(super) fn at(path: PathBuf) -> Journal {
        Journal {
            path,
            most: MOST,
            dated: false,
        }
    }

    /// Whether the folder was made for this sender.
    pub(super) fn owns(&self) -> bool {
        let Ok(mut lines) = self.lines(0) else {
            return false;
        };
        lines
            .next_line()
            .is_ok_and(|line| line.is_some_and(|(line, _)| line == "own"))
    }

    /// Begins the journal of a folder that is made for this sender.
    pub(super) fn own(&self) -> io::Result<()> {
        self.write("own\n")
    }

    /// A file is complete.
    pub(super) fn add(&mut self, entry: &Entry) -> io::Result<()> {
        let What::File { size } = entry.what else {
            return Ok(());
        };
        let (path, mode) = (&entry.path, entry.mode);
        let (seconds, nanos) = entry.changed;
        let boot = match self.dated {
            true => String::new(),
            false => format!("boot {}\n", boot()),
        };
        let len = path.len();
        // The first end of line ends what a kill may have left.
        self.write(&format!(
            "\n{boot}file {len} {size} {seconds} {nanos} {mode} {path}\n"
        ))?;
        self.dated = true;
        Ok(())
    }

    /// All that was added is on the disk.
    pub(super) fn synced(&mut self) -> io::Result<()> {
        match self.dated {
            true => self.write("\nsynced\n"),
            false => Ok(()),
        }
    }

    /// It is needed no more.
    pub(super) fn remove(&self) {
        // If it stays, it is a partial file that nobody comes back for.
        let _ = std::fs::remove_file(&self.path);
    }

    fn write(&self, text: &str) -> io::Result<()> {
        let mut file = OpenOptions::new()
            .append(true)
            .create(true)
            .mode(0o600)
            .custom_flags(no_link())
            .open(&self.path)?;
        if file.metadata()?.len() + text.len() as u64 > self.most {
            return Ok(());
        }
        file.write_all(text.as_bytes())
    }

    fn lines(&self, from: u64) -> io::Result<Lines> {
        let mut file = OpenOptions::new()
            .read(true)
            .custom_flags(no_link())
            .open(&self.path)?;
        if !file.metadata()?.is_file() {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        file.seek(SeekFrom::Start(from))?;
        Ok(Lines {
            reader: BufReader::new(file),
            at: from,
        })
    }

    /// Up to where records count although the system has gone down since.
    fn safe(&self) -> io::Result<u64> {
        let (mut lines, mut safe) = (self.lines(0)?, 0);
        while let Some((line, end)) = lines.next_line()? {
            if line == "synced" {
                safe = end;
            }
        }
        Ok(safe)
    }

    /// The next complete files that are still there below `folder`, and where to go on.
    pub(super) fn finished(
        &self,
        from: Cursor,
        folder: &Path,
    ) -> io::Result<(Finished, Option<Cursor>)> {
        let mut found = Finished::default();
        let mut lines = match self.lines(from.at) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok((found, None)),
            lines => lines?,
        };
        let mut cursor = from;
        cursor.safe = match cursor.safe {
            None => Some(self.safe()?),
            safe => safe,
        };
        let mut place = Place::of(folder);
        for _ in 0..MAX_DONE {
            let Some((line, end)) = lines.next_line()? else {
                return Ok((found, None));
            };
            cursor.at = end;
            if let Some(id) = line.strip_prefix("boot ") {
                cursor.this_boot = id == boot();
            }
            if !cursor.this_boot && Some(end) > cursor.safe {
                continue;
            }
            if let Some(entry) = file(&line)
                && let Some(size) = place.has(&entry)
            {
                found.digests.push(entry.digest());
                found.bytes += size;
            }
        }
        Ok((found, Some(cursor)))
    }
}

/// Files that are complete.
#[derive(Debug, Default)]
pub(in crate::net) struct Finished {
    /// [`Entry::digest`] of each.
    pub(in crate::net) digests: Vec<u64>,
    /// Of all together.
    pub(in crate::net) bytes: u64,
}

/// How far a journal was read.
#[derive(Copy, Clone, Debug, Default)]
pub(in crate::net) struct Cursor {
    at: u64,
    safe: Option<u64>,
    this_boot: bool,
}

/// Looks whether files are there. Those of one folder are mostly behind each other.
struct Place {
    folder: Option<OwnedFd>,
    last: Option<(String, OwnedFd)>,
}

impl Place {
    fn of(folder: &Path) -> Place {
        let (dir, name) = (folder.parent(), folder.file_name());
        let open = |dir: &Path, name: &str| enter(outermost(dir).ok()?, name).ok();
        let name = name.and_then(|name| name.to_str());
        Place {
            folder: dir.zip(name).and_then(|(dir, name)| open(dir, name)),
            last: None,
        }
    }

    /// The size of a file that is there.
    fn has(&mut self, entry: &Entry) -> Option<u64> {
        let What::File { size } = entry.what else {
            return None;
        };
        let (dir, name) = entry.path.rsplit_once('/').unwrap_or(("", &entry.path));
        let there = Some((size, entry.changed));
        if dir.is_empty() {
            let found = measure(self.folder.as_ref()?, name);
            return (found == there).then_some(size);
        }
        if self.last.as_ref().is_none_or(|(last, _)| last != dir) {
            let mut names = dir.split('/');
            let first = self.folder.as_ref().zip(names.next());
            let first = first.and_then(|(folder, name)| enter(folder, name).ok());
            let open = names.try_fold(first, |dir, name| Some(enter(dir?, name).ok()));
            self.last = open.flatten().map(|open| (dir.to_owned(), open));
        }
        let (_, dir) = self.last.as_ref()?;
        (measure(dir, name) == there).then_some(size)
    }
}

/// A record of a complete file.
fn file(line: &str) -> Option<Entry> {
    let mut parts = line.strip_prefix("file ")?.splitn(6, ' ');
    let mut part = || parts.next();
    let len: usize = part()?.parse().ok()?;
    let size = part()?.parse().ok()?;
    let changed = (part()?.parse().ok()?, part()?.parse().ok()?);
    let (mode, path) = (part()?.parse().ok()?, part()?);
    // A kill may have cut it short.
    (path.len() == len).then(|| Entry {
        path: path.to_owned(),
        mode,
        changed,
        what: What::File { size },
    })
}

struct Lines {
    reader: BufReader<File>,
    at: u64,
}

impl Lines {
    /// The next whole line that has something, and where it ends.
    fn next_line(&mut self) -> io::Result<Option<(String, u64)>> {
        loop {
            let mut line = Vec::new();
            let mut some = self.reader.by_ref().take(LONGEST);
            self.at += some.read_until(b'\n', &mut line)? as u64;
            if line.pop() != Some(b'\n') {
                return Ok(None);
            }
            if let Some(text) = String::from_utf8(line).ok().filter(|text| !text.is_empty()) {
                return Ok(Some((text, self.at)));
            }
        }
    }
}

fn no_link() -> i32 {
    // Nothing opened here blocks: a pipe in its place is refused when its kind is seen.
    (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits() as i32
}

/// Which start of the system this is; where it does not say, one that no other is.
fn boot() -> &'static str {
    static BOOT: OnceLock<String> = OnceLock::new();
    BOOT.get_or_init(|| {
        let id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id");
        let id = id
            .map(|id| id.trim().to_owned())
            .ok()
            .filter(|id| !id.is_empty());
        id.unwrap_or_else(|| format!("unknown-{}", std::process::id()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn folder(name: &str) -> PathBuf {
        let dir = std::env::temp_dir().join(format!("byway-journal-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&dir);
        fs::create_dir_all(dir.join("F/sub")).unwrap();
        dir
    }

    /// A file that is there, as an entry.
    fn there(dir: &Path, path: &str) -> Entry {
        let file = dir.join("F").join(path);
        fs::write(&file, path).unwrap();
        let metadata = fs::metadata(&file).unwrap();
        let size = metadata.len();
        Entry::of(path.to_owned(), &metadata, What::File { size })
    }

    fn all(journal: &Journal, dir: &Path) -> Vec<u64> {
        let (mut all, mut at) = (Vec::new(), Some(Cursor::default()));
        while let Some(from) = at {
            let (some, next) = journal.finished(from, &dir.join("F")).unwrap();
            all.extend(some.digests);
            at = next;
        }
        all
    }

    #[test]
    fn what_is_still_there_as_it_was_counts() {
        let dir = folder("counts");
        let mut journal = Journal::at(dir.join("F.1.tree.part"));
        assert!(!journal.owns() && all(&journal, &dir).is_empty());
        journal.own().unwrap();
        let files = ["a", "sub/b c", "sub/d", "gone", "other"].map(|path| there(&dir, path));
        for file in &files {
            journal.add(file).unwrap();
        }
        fs::remove_file(dir.join("F/gone")).unwrap();
        fs::write(dir.join("F/other"), "longer than it was").unwrap();
        let expected: Vec<u64> = files[..3].iter().map(Entry::digest).collect();
        assert!(journal.owns());
        assert_eq!(all(&journal, &dir), expected);
        // Another process, and a record that a kill has cut short.
        let mut file = OpenOptions::new().append(true).open(&journal.path).unwrap();
        file.write_all(b"\nfile 5 3 0 0 420 su").unwrap();
        let mut again = Journal::at(journal.path.clone());
        assert_eq!(all(&again, &dir), expected);
        again.add(&there(&dir, "last")).unwrap();
        assert_eq!(all(&again, &dir).len(), 4);
        fs::remove_dir_all(&dir).unwrap();
    }

    #[test]
    fn what_was_not_on_the_disk_when_the_system_went_down_does_not_count() {
        let dir = folder("boot");
        let mut journal = Journal::at(dir.join("F.1.tree.part"));
        let files = ["a", "b"].map(|path| there(&dir, path));
        journal.add(&files[0]).unwrap();
        journal.synced().unwrap();
        journal.add(&files[1]).unwrap();
        assert_eq!(all(&journal, &dir).len(), 2);
        let text = fs::read_to_string(&journal.path).unwrap();
        fs::write(&journal.path, text.replace(boot(), "another")).unwrap();
        assert_eq!(all(&journal, &dir), [files[0].digest()]);
        fs::remove_dir_all(&dir).unwrap();
    }

    #[test]
    fn many_records_come_in_parts() {
        let dir = folder("parts");
        let mut journal = Journal::at(dir.join("F.1.tree.part"));
        let file = there(&dir, "a");
        for _ in 0..MAX_DONE + 1 {
            journal.add(&file).unwrap();
        }
        let (some, next) = journal.finished(Cursor::default(), &dir.join("F")).unwrap();
        assert!(some.digests.len() <= MAX_DONE && next.is_some());
        assert_eq!(all(&journal, &dir).len(), MAX_DONE + 1);
        fs::remove_dir_all(&dir).unwrap();
    }

    #[test]
    fn a_journal_has_a_longest_length() {
        let dir = folder("longest");
        let mut journal = Journal::at(dir.join("F.1.tree.part"));
        journal.most = 1000;
        journal.own().unwrap();
        let file = there(&dir, "a");
        for _ in 0..100 {
            journal.add(&file).unwrap();
        }
        journal.synced().unwrap();
        let len = fs::metadata(&journal.path).unwrap().len();
        assert!((900..=1000).contains(&len), "{len}");
        // What is in it counts.
        assert!(journal.owns() && all(&journal, &dir).len() > 10);
        fs::remove_dir_all(&dir).unwrap();
    }

    #[test]
    fn a_link_in_the_place_of_a_journal_is_not_followed() {
        let dir = folder("link");
        let outside = dir.join("outside");
        fs::write(&outside, "own\n").unwrap();
        std::os::unix::fs::symlink(&outside, dir.join("F.1.tree.part")).unwrap();
        let mut journal = Journal::at(dir.join("F.1.tree.part"));
        assert!(!journal.owns());
        assert!(journal.add(&there(&dir, "a")).is_err());
        assert_eq!(fs::read_to_string(&outside).unwrap(), "own\n");
        fs::remove_dir_all(&dir).unwrap();
    }
}

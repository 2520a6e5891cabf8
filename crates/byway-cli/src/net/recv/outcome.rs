//! What came of the files and folders of an association.

use crate::failure::{Failure, Kind};
use crate::net::refused::Refused;
use byway::text::shown;
use byway_lab::show;
use std::cell::Cell;
use std::path::PathBuf;

/// Refused entries of an association whose reasons are kept for the result, and the characters of each:
/// strangers decide how many there are.
pub(super) const REASONS: usize = 16;
const REASON: usize = 250;

/// Files of an association that its result names: a sender may offer the same small one without end.
const NAMED: usize = 16_384;

/// A file that has been stored.
pub(super) struct Done {
    pub(super) path: PathBuf,
    pub(super) size: u64,
    pub(super) hash: String,
    pub(super) resumed_from: u64,
}

/// The files that have been stored.
#[derive(Default)]
pub(super) struct FilesDone {
    /// How many, and their bytes.
    pub(super) count: u64,
    pub(super) bytes: u64,
    /// The first ones, where somebody reads of each.
    named: Vec<Done>,
    /// What those take, with their texts.
    memory: usize,
}

impl FilesDone {
    /// A file has been stored. Only if its result `is_read` is more kept of it than its size.
    pub(super) fn add(&mut self, file: Done, is_read: bool) {
        self.count += 1;
        self.bytes = self.bytes.saturating_add(file.size);
        if is_read && self.named.len() < NAMED {
            self.memory += file.path.as_os_str().len() + file.hash.capacity();
            self.named.push(file);
        }
    }

    /// Bytes of memory that this takes.
    pub(super) fn memory(&self) -> usize {
        self.memory + self.named.capacity() * size_of::<Done>()
    }

    /// What a program reads of each, and of how many it is not told.
    pub(super) fn json(&self) -> (Vec<serde_json::Value>, u64) {
        let one = |f: &Done| {
            serde_json::json!({
                "path": f.path.display().to_string(),
                "bytes": f.size,
                "sha256": f.hash,
                "resumed_from": f.resumed_from,
            })
        };
        let named: Vec<_> = self.named.iter().map(one).collect();
        let left_out = self.count - named.len() as u64;
        (named, left_out)
    }
}

/// The offer of a folder.
pub(super) struct FolderOffer {
    pub(super) sender: [u8; 16],
    pub(super) files: u64,
    pub(super) bytes: u64,
    pub(super) name: String,
}

/// What came of a folder.
#[derive(Default)]
pub(super) struct FolderDone {
    pub(super) path: PathBuf,
    /// Files that came, and their bytes.
    pub(super) files: u64,
    pub(super) bytes: u64,
    /// Files that an earlier association had completed.
    pub(super) were_there: u64,
    /// Entries that were refused, and the reasons of the first ones.
    pub(super) refused: u64,
    pub(super) reasons: Vec<String>,
    /// Entries that the sender could not send.
    pub(super) missing: u64,
}

impl FolderDone {
    /// Entries that are not there.
    pub(super) fn lacking(&self) -> u64 {
        self.refused.saturating_add(self.missing)
    }

    /// What a person reads of it.
    pub(super) fn words(&self) -> String {
        let (path, files) = (self.path.display(), self.files);
        let bytes = show::bytes(self.bytes);
        let mut text = format!("{path}: {files} files, {bytes} stored and verified");
        if self.were_there > 0 {
            text += &format!(", {} were there", self.were_there);
        }
        if self.lacking() > 0 {
            text += &format!("; {}", self.lacks());
        }
        text
    }

    /// "3 entries of photos are missing".
    fn lacks(&self) -> String {
        let path = self.path.display();
        match self.lacking() {
            1 => format!("1 entry of {path} is missing"),
            n => format!("{n} entries of {path} are missing"),
        }
    }

    /// What a program reads of it.
    pub(super) fn json(&self) -> serde_json::Value {
        serde_json::json!({
            "path": self.path.display().to_string(),
            "files": self.files,
            "bytes": self.bytes,
            "were_there": self.were_there,
            "entries_refused": self.refused,
            "first_refusals": self.reasons.iter().map(|r| shown(r)).collect::<Vec<_>>(),
            "entries_not_sent": self.missing,
        })
    }

    /// An entry was refused. Its reason is kept while some are `left`.
    pub(super) fn refuse(&mut self, reason: &str, left: &Cell<usize>) {
        self.refused += 1;
        Refused::Entry.count();
        if let Some(rest) = left.get().checked_sub(1) {
            left.set(rest);
            self.reasons.push(reason.chars().take(REASON).collect());
        }
    }
}

/// Why a transfer that came to its end did not bring all.
pub(super) fn lacking(folders: &[FolderDone]) -> Option<Failure> {
    let mut lacking = folders.iter().filter(|done| done.lacking() > 0);
    let first = lacking.next()?;
    let rest = lacking.count();
    let more = match rest {
        0 => String::new(),
        n => format!(", and {n} other folders are not whole"),
    };
    Some(Failure::new(Kind::Failed, first.lacks() + &more))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(count: usize, is_read: bool) -> FilesDone {
        let mut files = FilesDone::default();
        for _ in 0..count {
            let file = Done {
                path: PathBuf::from("inbox/small.txt"),
                size: 10,
                hash: "0".repeat(64),
                resumed_from: 0,
            };
            files.add(file, is_read);
        }
        files
    }

    /// A sender may offer the same file again and again: each is confirmed, and costs it no more than 150
    /// bytes.
    #[test]
    fn files_without_end_are_counted_and_not_kept() {
        let many = 3 * NAMED;
        let unread = files(many, false);
        assert_eq!(
            (unread.count, unread.bytes),
            (many as u64, 10 * many as u64)
        );
        assert_eq!(unread.memory(), 0, "nobody reads of each");
        let read = files(many, true);
        assert_eq!(read.memory(), files(NAMED, true).memory());
        let (named, left_out) = read.json();
        assert_eq!((named.len(), left_out), (NAMED, 2 * NAMED as u64));
        assert_eq!(files(NAMED, true).json().1, 0);
        // Each that is named is charged with its texts.
        assert!(files(100, true).memory() >= 100 * (15 + 64 + size_of::<Done>()));
    }
}

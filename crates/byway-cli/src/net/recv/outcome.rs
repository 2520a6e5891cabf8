//! What came of the folders of an association.

use crate::failure::{Failure, Kind};
use byway::text::shown;
use byway_lab::show;
use std::cell::Cell;
use std::path::PathBuf;

/// Refused entries of an association whose reasons are kept for the result, and the characters of each:
/// strangers decide how many there are.
pub(super) const REASONS: usize = 16;
const REASON: usize = 250;

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

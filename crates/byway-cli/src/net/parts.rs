//! Partial files that nobody writes: which of them are kept, and for how long.
//!
//! A sender whose association is lost goes on where it was, so `byway recv` keeps what has come. But
//! strangers begin as many files as they like and never come back. So what is kept has limits:
//!
//! - its age: nothing was written for `--keep-partial`;
//! - its number: all together, and of one host a quarter of that;
//! - its bytes: all together, by default half of what the disk has for it.
//!
//! Beyond a limit, parts of the host that has the most go first: by number or by bytes, as the limit
//! counts, and of one host the one that was written last the longest ago. What an earlier run of
//! `recv` left counts as of one host, which nobody knows any more. A file under way is no part here:
//! [`super::slots`] counts those.

use super::log::Log;
use super::refused::Refused;
use crate::terminal::say;
use byway::host_of;
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

/// One host has at most this part of the number of all.
const SHARE: usize = 4;

/// What may be kept.
#[derive(Copy, Clone, Debug)]
pub(super) struct Limits {
    /// How long after the last byte.
    pub(super) age: Duration,
    /// How many.
    pub(super) files: usize,
    /// How many bytes; none: half of what the disk has for them.
    pub(super) bytes: Option<u64>,
}

/// A partial file that nobody writes.
#[derive(Copy, Clone, Debug)]
struct Part {
    /// Who sent it; none if that was before this process.
    host: Option<IpAddr>,
    bytes: u64,
    written: SystemTime,
}

/// By the names of the files.
type Table = BTreeMap<String, Part>;

/// The partial files of a receiver.
pub(super) struct Parts {
    dir: PathBuf,
    limits: Limits,
    table: Mutex<Table>,
    log: Log,
}

impl Parts {
    /// Those that an earlier run left in a folder, of which some may have to go.
    ///
    /// # Errors
    /// When the folder cannot be read.
    pub(super) fn of_folder(dir: &Path, limits: Limits, log: Log) -> io::Result<Parts> {
        let mut table = Table::new();
        for entry in fs::read_dir(dir)? {
            let Ok(name) = entry?.file_name().into_string() else {
                continue;
            };
            if is_part(&name)
                && let Some((bytes, written)) = look(&dir.join(&name))
            {
                let part = Part {
                    host: None,
                    bytes,
                    written,
                };
                table.insert(name, part);
            }
        }
        let parts = Parts {
            dir: dir.to_owned(),
            limits,
            table: Mutex::new(table),
            log,
        };
        parts.keep_to_limits();
        Ok(parts)
    }

    /// Somebody writes this one from now on.
    pub(super) fn begun(&self, name: &str) {
        self.table().remove(name);
    }

    /// A file from this address is let go of: what is there of it is kept, as far as the limits go.
    pub(super) fn let_go(&self, name: &str, from: Option<IpAddr>) {
        let Some((bytes, written)) = look(&self.dir.join(name)) else {
            return;
        };
        let part = Part {
            host: from.map(host_of),
            bytes,
            written,
        };
        self.table().insert(name.to_owned(), part);
        self.keep_to_limits();
    }

    /// Removes what is too old or too much.
    pub(super) fn keep_to_limits(&self) {
        // Held until they are removed: who takes a file over finds it, or finds that it is not there.
        let mut table = self.table();
        if table.is_empty() {
            return;
        }
        let bytes = self.limits.bytes.unwrap_or_else(|| self.half(&table));
        let gone = leavers(&table, &self.limits, bytes, SystemTime::now());
        let mut removed = 0_usize;
        for name in &gone {
            table.remove(name);
            removed += usize::from(fs::remove_file(self.dir.join(name)).is_ok());
        }
        drop(table);
        Refused::PartialFile.count_some(removed as u64);
        if removed > 0 && self.log.may() {
            say(format!(
                "byway: {removed} partial file{} removed: age, number or bytes were at a limit (--keep-partial)",
                if removed == 1 { "" } else { "s" }
            ));
        }
    }

    /// Half of what is free with all parts removed.
    fn half(&self, table: &Table) -> u64 {
        let kept: u64 = table.values().map(|p| p.bytes).sum();
        let free = rustix::fs::statvfs(&self.dir)
            .map_or(u64::MAX, |disk| disk.f_bavail.saturating_mul(disk.f_frsize));
        free.saturating_add(kept) / 2
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Which parts have to go, so that the rest is within the limits.
fn leavers(table: &Table, limits: &Limits, bytes: u64, now: SystemTime) -> Vec<String> {
    let mut gone = Vec::new();
    let old = |p: &Part| {
        let age = now.duration_since(p.written);
        age.is_ok_and(|age| age > limits.age)
    };
    // Of each host, the oldest first.
    let mut hosts = BTreeMap::<Option<IpAddr>, Host<'_>>::new();
    for (name, part) in table {
        match old(part) {
            true => gone.push(name.clone()),
            false => hosts.entry(part.host).or_default().add(name, part),
        }
    }
    for host in hosts.values_mut() {
        host.parts
            .sort_by_key(|(_, part)| std::cmp::Reverse(part.written));
    }
    let of_one = limits.files.div_ceil(SHARE);
    loop {
        let files: usize = hosts.values().map(|h| h.parts.len()).sum();
        let all: u64 = hosts.values().map(|h| h.bytes).sum();
        let most = hosts.iter_mut().max_by_key(|(_, h)| h.parts.len());
        let crowded = |known: bool, n: usize| files > limits.files || known && n > of_one;
        let host = match most {
            Some((host, h)) if crowded(host.is_some(), h.parts.len()) => h,
            _ if all > bytes => match hosts.values_mut().max_by_key(|h| h.bytes) {
                Some(host) => host,
                None => return gone,
            },
            _ => return gone,
        };
        gone.extend(host.pop_oldest());
    }
}

/// The parts of one host.
#[derive(Default)]
struct Host<'a> {
    parts: Vec<(&'a str, Part)>,
    bytes: u64,
}

impl<'a> Host<'a> {
    fn add(&mut self, name: &'a str, part: &Part) {
        self.parts.push((name, *part));
        self.bytes += part.bytes;
    }

    fn pop_oldest(&mut self) -> Option<String> {
        let (name, part) = self.parts.pop()?;
        self.bytes -= part.bytes;
        Some(name.to_owned())
    }
}

/// Bytes of a plain file, and when the last of them came.
fn look(path: &Path) -> Option<(u64, SystemTime)> {
    let found = fs::symlink_metadata(path).ok()?;
    let written = found.modified().ok()?;
    found.is_file().then_some((found.len(), written))
}

/// Whether a file has the name of a partial one: `NAME.KEY.part` ([`super::claims::Key::part`]), or that
/// of the journal of a folder, `NAME.KEY.tree.part`.
fn is_part(name: &str) -> bool {
    let name = name.strip_suffix(".part");
    let name = name.map(|name| name.strip_suffix(".tree").unwrap_or(name));
    let key = name.and_then(|n| n.rsplit_once('.'));
    key.is_some_and(|(name, key)| {
        let hex = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
        !name.is_empty() && key.len() == 16 && key.bytes().all(hex)
    })
}

#[cfg(test)]
#[path = "parts_tests.rs"]
mod tests;

//! Finished runs on the disk: a file to which each is appended as soon as it
//! is there, so that neither a kill nor a full disk costs more than the one
//! that was being written.
//!
//! A file begins with a mark. Then come records, each its
//! length, its CRC32c (both 32 bits, little endian) and its contents. The first
//! record is a header, JSON, that says whose runs these are; every other is a
//! row. What was left half written at the end is cut off. While a process has a
//! file open, no other may.

use crate::trouble::Trouble;
use crc_fast::CrcAlgorithm;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// What each file begins with; it ends with the number of the form.
pub(super) const MARK: &[u8] = b"byway.journal/2\n";
/// Longest record; a length beyond it is damage.
pub(super) const MAX_RECORD: usize = 1 << 20;
/// Rows are on the disk after at most `SYNC_ROWS` more, or this much later.
const SYNC_ROWS: u32 = 256;
const SYNC_TIME: Duration = Duration::from_secs(1);
/// What a file's name ends with until its header is on the disk.
const FRESH: &str = ".byway-new";

/// How messages speak of the files of one use.
#[derive(Debug)]
pub struct Wording {
    /// Why a file that begins otherwise is refused, and what would do.
    pub foreign: &'static str,
    /// What would do when the header is damaged.
    pub damaged: &'static str,
    /// Why a file is refused that another process has open, and what would do.
    pub busy: &'static str,
}

/// A file that rows are appended to. Nobody else may open it meanwhile.
#[derive(Debug)]
pub(super) struct Journal {
    path: PathBuf,
    file: File,
    /// Where the last whole record ends.
    end: u64,
    unsynced: u32,
    synced: Instant,
}

/// What a file held when it was opened.
#[derive(Debug)]
pub(super) struct Found<H, R> {
    /// Its header.
    pub(super) header: H,
    /// Its rows, in the order in which they were appended.
    pub(super) rows: Vec<R>,
    /// Bytes at its end that were cut off.
    pub(super) torn: u64,
}

impl Journal {
    /// Makes a new file at `path`, with nothing but its header. What is there
    /// is replaced, unless another process has it open.
    pub(super) fn create(
        path: &Path,
        wording: &Wording,
        header: &impl Serialize,
    ) -> Result<Journal, Trouble> {
        let failed = |error| Trouble::file("write", path, error);
        let mut bytes = MARK.to_vec();
        let header = serde_json::to_vec(header).map_err(|e| failed(e.into()))?;
        bytes.extend(record(&header));
        // A file is whole or not there: it gets its name when its header is on
        // the disk. It is locked before, so that of two who begin it at the same
        // time one is refused.
        let mut fresh = path.as_os_str().to_owned();
        fresh.push(FRESH);
        let fresh = PathBuf::from(fresh);
        let mut options = OpenOptions::new();
        let options = options.read(true).write(true).create(true).truncate(false);
        let mut file = options.open(&fresh).map_err(failed)?;
        lock(&file, path, wording)?;
        if let Ok(there) = File::open(path) {
            lock(&there, path, wording)?;
        }
        let mut make = || -> io::Result<()> {
            file.set_len(0)?;
            file.write_all(&bytes)?;
            file.sync_all()?;
            std::fs::rename(&fresh, path)
        };
        if let Err(error) = make() {
            // A partial file is of no use. An error of its removal is ignored.
            let _ = std::fs::remove_file(&fresh);
            return Err(failed(error));
        }
        Ok(Journal::at(path, file, bytes.len() as u64))
    }

    /// Opens the file at `path` and reads it. `check` says why a header is not
    /// one to continue with; `decode` gives the row of a record, none if it
    /// cannot be one. A file that is refused is left as it is.
    pub(super) fn open<H: DeserializeOwned, R>(
        path: &Path,
        wording: &Wording,
        check: impl FnOnce(&H) -> Result<(), String>,
        decode: impl Fn(&[u8]) -> Option<R>,
    ) -> Result<(Journal, Found<H, R>), Trouble> {
        let mut options = OpenOptions::new();
        let opened = options.read(true).write(true).open(path);
        let mut file = opened.map_err(|e| Trouble::file("open", path, e))?;
        lock(&file, path, wording)?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)
            .map_err(|e| Trouble::file("read", path, e))?;
        let (found, end) =
            read(&bytes, wording, check, decode).map_err(|p| Trouble::foreign(path, p))?;
        let mut journal = Journal::at(path, file, end);
        journal.cut().map_err(|e| Trouble::file("write", path, e))?;
        Ok((journal, found))
    }

    fn at(path: &Path, file: File, end: u64) -> Journal {
        Journal {
            path: path.to_owned(),
            file,
            end,
            unsynced: 0,
            synced: Instant::now(),
        }
    }

    /// From now on, rows go to another file.
    #[cfg(test)]
    pub(super) fn redirect(&mut self, path: &Path) {
        self.file = OpenOptions::new().write(true).open(path).unwrap();
    }

    /// Cuts off what is behind the last whole record.
    fn cut(&mut self) -> io::Result<()> {
        self.file.set_len(self.end)?;
        self.file.seek(SeekFrom::Start(self.end)).map(drop)
    }

    /// Appends a row. When that fails, what is there stays readable.
    pub(super) fn append(&mut self, contents: &[u8]) -> Result<(), Trouble> {
        let bytes = record(contents);
        let write = |journal: &mut Journal| -> io::Result<()> {
            if let Err(error) = journal.file.write_all(&bytes) {
                // Rows behind half a record would be lost. If this fails, too,
                // the half one is cut off when the file is opened again.
                let _ = journal.cut();
                return Err(error);
            }
            journal.end += bytes.len() as u64;
            journal.unsynced += 1;
            if journal.unsynced >= SYNC_ROWS || journal.synced.elapsed() >= SYNC_TIME {
                journal.file.sync_data()?;
                journal.unsynced = 0;
                journal.synced = Instant::now();
            }
            Ok(())
        };
        write(self).map_err(|e| Trouble::file("write", &self.path, e))
    }

    /// Brings all rows to the disk.
    pub(super) fn sync(&mut self) -> Result<(), Trouble> {
        let synced = self.file.sync_data();
        synced.map_err(|e| Trouble::file("write", &self.path, e))?;
        self.unsynced = 0;
        self.synced = Instant::now();
        Ok(())
    }
}

/// Locks `file` against other processes until it is closed.
fn lock(file: &File, path: &Path, wording: &Wording) -> Result<(), Trouble> {
    match file.try_lock() {
        // Some file systems have no locks: continue without one.
        Ok(()) | Err(TryLockError::Error(_)) => Ok(()),
        Err(TryLockError::WouldBlock) => Err(Trouble::foreign(path, wording.busy)),
    }
}

/// A record of these contents.
pub(super) fn record(contents: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(contents.len() + 8);
    bytes.extend((contents.len() as u32).to_le_bytes());
    bytes.extend(checksum(contents).to_le_bytes());
    bytes.extend(contents);
    bytes
}

fn checksum(contents: &[u8]) -> u32 {
    crc_fast::checksum(CrcAlgorithm::Crc32Iscsi, contents) as u32
}

/// Takes the next record off `bytes`; none when there is no whole one.
pub(super) fn next_record<'a>(bytes: &mut &'a [u8]) -> Option<&'a [u8]> {
    let mut rest = *bytes;
    let len = u32::from_le_bytes(take(&mut rest)?) as usize;
    let crc = u32::from_le_bytes(take(&mut rest)?);
    if len > MAX_RECORD {
        return None;
    }
    let contents = rest.get(..len)?;
    if checksum(contents) != crc {
        return None;
    }
    *bytes = &rest[len..];
    Some(contents)
}

/// Takes the first `N` bytes off `bytes`, if there are as many.
pub(super) fn take<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
    let (first, rest) = bytes.split_first_chunk::<N>()?;
    *bytes = rest;
    Some(*first)
}

/// Reads a file's header and rows, and where the last whole record ends; or
/// says what is wrong with it, and what would do.
pub(super) fn read<H: DeserializeOwned, R>(
    bytes: &[u8],
    wording: &Wording,
    check: impl FnOnce(&H) -> Result<(), String>,
    decode: impl Fn(&[u8]) -> Option<R>,
) -> Result<(Found<H, R>, u64), String> {
    let mut rest = bytes.strip_prefix(MARK).ok_or(wording.foreign)?;
    let header: H = next_record(&mut rest)
        .and_then(|contents| serde_json::from_slice(contents).ok())
        .ok_or_else(|| {
            format!(
                "its beginning is damaged, so it cannot be said whose rows these are; {}",
                wording.damaged
            )
        })?;
    check(&header)?;
    let mut rows = Vec::new();
    loop {
        let before = rest;
        let Some(row) = next_record(&mut rest).and_then(&decode) else {
            let end = (bytes.len() - before.len()) as u64;
            let torn = before.len() as u64;
            return Ok((Found { header, rows, torn }, end));
        };
        rows.push(row);
    }
}

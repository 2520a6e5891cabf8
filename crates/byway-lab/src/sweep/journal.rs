//! Rows on their way: a file to which each is appended as soon as it is there.
//!
//! After the mark comes a header, then one record a row, in the order in which
//! they came. Each is its length, its CRC32c (both 32 bits, little endian) and
//! its contents. What a kill or a full disk left half written at the end is
//! cut off; those runs are done again. The header names the plan, so that rows
//! of another sweep are not taken for this one's.

use super::engine::SweepError;
use super::plan::{FORMAT, Plan};
use super::row::{Row, Status};
use crc_fast::CrcAlgorithm;
use serde::{Deserialize, Serialize};
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// What every journal begins with.
const MARK: &[u8; 16] = b"byway.journal/1\n";
/// Longest record; a length beyond it is damage.
const MAX_RECORD: usize = 1 << 20;
/// Rows are on the disk at the latest after so many more, or this much later.
const SYNC_ROWS: u32 = 256;
const SYNC_TIME: Duration = Duration::from_secs(1);

/// What a journal belongs to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Header {
    /// The form of its rows.
    pub(super) format: String,
    /// The plan's name, for messages.
    pub(super) name: String,
    /// The plan's hash.
    pub(super) plan: String,
    /// The program that began it.
    pub(super) program: String,
}

/// A journal that rows are appended to.
pub(super) struct Journal {
    path: PathBuf,
    file: File,
    unsynced: u32,
    synced: Instant,
}

/// What a journal held when it was opened.
pub(super) struct Found {
    pub(super) header: Header,
    pub(super) rows: Vec<Row>,
    /// Bytes at its end that were cut off.
    pub(super) torn: u64,
}

impl Journal {
    /// Makes a new journal at `path`, with nothing but its header.
    pub(super) fn create(path: &Path, plan: &Plan, program: &str) -> Result<Journal, SweepError> {
        let header = Header {
            format: FORMAT.to_owned(),
            name: plan.name.clone(),
            plan: plan.hash(),
            program: program.to_owned(),
        };
        let failed = |error| file_error("write", path, error);
        // A journal is whole or not there: it gets its name when its header is
        // on the disk.
        let fresh = path.with_extension("journal-new");
        let make = || -> io::Result<()> {
            let mut bytes = MARK.to_vec();
            bytes.extend(record(&serde_json::to_vec(&header)?));
            let mut file = File::create(&fresh)?;
            file.write_all(&bytes)?;
            file.sync_all()?;
            std::fs::rename(&fresh, path)
        };
        if let Err(error) = make() {
            // What is left of it helps nobody; that it cannot be removed, neither.
            let _ = std::fs::remove_file(&fresh);
            return Err(failed(error));
        }
        let mut journal = Journal::locked(path)?;
        journal.file.seek(SeekFrom::End(0)).map_err(failed)?;
        Ok(journal)
    }

    /// Opens the journal at `path` and reads its rows, which must be of `plan`.
    pub(super) fn open(path: &Path, plan: &Plan) -> Result<(Journal, Found), SweepError> {
        let mut journal = Journal::locked(path)?;
        let mut bytes = Vec::new();
        journal
            .file
            .read_to_end(&mut bytes)
            .map_err(|e| file_error("read", path, e))?;
        let (found, end) =
            read(&bytes, plan, &plan.hash()).map_err(|problem| SweepError::Foreign {
                path: path.to_owned(),
                problem,
            })?;
        let cut = |file: &mut File| -> io::Result<()> {
            file.set_len(end)?;
            file.seek(SeekFrom::Start(end)).map(drop)
        };
        cut(&mut journal.file).map_err(|e| file_error("write", path, e))?;
        Ok((journal, found))
    }

    fn locked(path: &Path) -> Result<Journal, SweepError> {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .open(path)
            .map_err(|e| file_error("open", path, e))?;
        match file.try_lock() {
            // Where files cannot be locked, sweeps go on without.
            Ok(()) | Err(TryLockError::Error(_)) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(SweepError::Foreign {
                    path: path.to_owned(),
                    problem:
                        "another sweep is writing it; wait for its end, or choose another --out"
                            .to_owned(),
                });
            }
        }
        Ok(Journal {
            path: path.to_owned(),
            file,
            unsynced: 0,
            synced: Instant::now(),
        })
    }

    /// Appends a row.
    pub(super) fn append(&mut self, row: &Row) -> Result<(), SweepError> {
        let write = |journal: &mut Journal| -> io::Result<()> {
            journal.file.write_all(&record(&encode(row)))?;
            journal.unsynced += 1;
            if journal.unsynced >= SYNC_ROWS || journal.synced.elapsed() >= SYNC_TIME {
                journal.sync()?;
            }
            Ok(())
        };
        write(self).map_err(|e| file_error("write", &self.path, e))
    }

    /// Brings all rows to the disk.
    pub(super) fn sync(&mut self) -> io::Result<()> {
        self.file.sync_data()?;
        self.unsynced = 0;
        self.synced = Instant::now();
        Ok(())
    }
}

pub(super) fn file_error(doing: &'static str, path: &Path, error: io::Error) -> SweepError {
    SweepError::File {
        doing,
        path: path.to_owned(),
        error,
    }
}

/// A record of these contents.
fn record(contents: &[u8]) -> Vec<u8> {
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
fn next_record<'a>(bytes: &mut &'a [u8]) -> Option<&'a [u8]> {
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

fn take<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
    let (first, rest) = bytes.split_first_chunk::<N>()?;
    *bytes = rest;
    Some(*first)
}

/// Reads a journal's header and rows, and where the last whole record ends.
fn read(bytes: &[u8], plan: &Plan, hash: &str) -> Result<(Found, u64), String> {
    let mut rest = bytes
        .strip_prefix(MARK.as_slice())
        .ok_or("this is not a journal of byway sweep; choose another --out, or move it away")?;
    let header: Header = next_record(&mut rest)
        .and_then(|contents| serde_json::from_slice(contents).ok())
        .ok_or("its beginning is damaged, so it cannot be said whose rows these are; --restart begins anew")?;
    if header.format != FORMAT {
        return Err(format!(
            "written in the form {}, this byway knows {FORMAT}; finish it with the one that began it, or --restart",
            header.format
        ));
    }
    if header.plan != hash {
        return Err(format!(
            "holds runs of another sweep or of an earlier text of this one (\"{}\"); undo the change to go on with it, choose another --out, or --restart to throw its runs away",
            header.name
        ));
    }
    let mut rows = Vec::new();
    loop {
        let before = rest;
        let Some(row) = next_record(&mut rest).and_then(|contents| decode(contents, plan)) else {
            let end = (bytes.len() - before.len()) as u64;
            let torn = before.len() as u64;
            return Ok((Found { header, rows, torn }, end));
        };
        rows.push(row);
    }
}

fn encode(row: &Row) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(32 + row.values.len() * 8);
    // A plan has at most 100,000 cells and 1,000,000 seeds.
    bytes.extend((row.cell as u32).to_le_bytes());
    bytes.extend((row.run as u32).to_le_bytes());
    bytes.extend(row.seed.to_le_bytes());
    let status = Status::ALL.iter().position(|s| *s == row.status);
    bytes.push(status.unwrap_or_default() as u8);
    bytes.extend((row.reason.len() as u32).to_le_bytes());
    bytes.extend(row.reason.as_bytes());
    for value in &row.values {
        bytes.extend(value.to_bits().to_le_bytes());
    }
    bytes
}

/// The row of a record; none if it cannot be one of `plan`.
fn decode(mut bytes: &[u8], plan: &Plan) -> Option<Row> {
    let rest = &mut bytes;
    let cell = u32::from_le_bytes(take(rest)?) as usize;
    let run = u32::from_le_bytes(take(rest)?) as usize;
    let seed = u64::from_le_bytes(take(rest)?);
    let [status] = take(rest)?;
    let status = *Status::ALL.get(usize::from(status))?;
    let len = u32::from_le_bytes(take(rest)?) as usize;
    let reason = String::from_utf8(rest.get(..len)?.to_vec()).ok()?;
    *rest = &rest[len..];
    let mut values = Vec::new();
    while let Some(bits) = take(rest) {
        values.push(f64::from_bits(u64::from_le_bytes(bits)));
    }
    let fits = cell < plan.cells.len()
        && plan.seeds.get(run) == Some(&seed)
        && rest.is_empty()
        && values.len() == plan.metrics.len();
    fits.then_some(Row {
        cell,
        run,
        seed,
        status,
        reason,
        values,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sweep::tests::{GRID, plan};
    use crate::sweep::{Options, run};

    fn folder(name: &str) -> PathBuf {
        let dir = std::env::temp_dir().join(format!("byway-journal-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        dir
    }

    fn written(plan: &Plan) -> (Vec<Row>, Vec<u8>, PathBuf) {
        let dir = folder(&plan.hash()[..8]);
        let path = dir.join("x.journal");
        let rows = run(plan, &Options::default()).unwrap();
        let mut journal = Journal::create(&path, plan, "test").unwrap();
        rows.iter().for_each(|r| journal.append(r).unwrap());
        journal.sync().unwrap();
        let bytes = std::fs::read(&path).unwrap();
        (rows, bytes, dir)
    }

    #[test]
    fn what_was_torn_off_is_cut_off_wherever_it_was() {
        let plan = plan(GRID);
        let hash = plan.hash();
        let (rows, bytes, dir) = written(&plan);
        let path = dir.join("x.journal");
        let (found, end) = read(&bytes, &plan, &hash).unwrap();
        assert_eq!(
            (found.rows.as_slice(), end),
            (rows.as_slice(), bytes.len() as u64)
        );
        let mut known = 0;
        for len in MARK.len()..bytes.len() {
            match read(&bytes[..len], &plan, &hash) {
                Ok((found, end)) => {
                    assert_eq!(found.rows, rows[..found.rows.len()], "cut at {len}");
                    assert_eq!(end + found.torn, len as u64);
                    assert!(found.rows.len() >= known);
                    known = found.rows.len();
                }
                Err(problem) => assert!(problem.contains("--restart"), "{problem}"),
            }
        }
        // A changed byte costs the rows from there on, no others.
        for at in (MARK.len() + 300..bytes.len()).step_by(97) {
            let mut bytes = bytes.clone();
            bytes[at] ^= 0x10;
            let (found, _) = read(&bytes, &plan, &hash).unwrap();
            assert_eq!(found.rows, rows[..found.rows.len()]);
            assert!(found.rows.len() < rows.len() && found.torn > 0);
        }
        // Opened, the file itself is cut, and goes on from there.
        std::fs::write(&path, &bytes[..bytes.len() - 5]).unwrap();
        let (mut journal, found) = Journal::open(&path, &plan).unwrap();
        assert_eq!(found.rows.len(), rows.len() - 1);
        let last = &rows[rows.len() - 1];
        journal.append(last).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), bytes);
        // Nobody else may write meanwhile.
        let second = Journal::open(&path, &plan)
            .map(drop)
            .unwrap_err()
            .to_string();
        assert!(second.contains("another sweep is writing it"), "{second}");
        std::fs::remove_dir_all(dir).unwrap();
    }

    #[test]
    fn foreign_files_are_refused() {
        let plan = plan(GRID);
        let hash = plan.hash();
        for (bytes, part) in [
            (&b"PAR1 something"[..], "not a journal"),
            (b"", "not a journal"),
            (MARK, "beginning is damaged"),
        ] {
            let problem = read(bytes, &plan, &hash).map(drop).unwrap_err();
            assert!(problem.contains(part), "{problem}");
        }
        let other = crate::sweep::tests::plan(&GRID.replace("seeds = 3", "seeds = 2"));
        let (_, bytes, dir) = written(&other);
        let problem = read(&bytes, &plan, &hash).map(drop).unwrap_err();
        assert!(problem.contains("another sweep"), "{problem}");
        std::fs::remove_dir_all(dir).unwrap();
    }
}

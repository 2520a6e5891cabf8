//! Finished runs: what is known of them, and the file that keeps them, so that
//! an interrupted command can continue and nothing is run twice.
//!
//! The file is a [`super::journal`]. What follows its header is of two kinds.
//! A list of metrics, which has a number; and a run: what identifies it (the
//! digest of its scenario, its seed), how it ended, and the values of the
//! metrics of one list.

use super::journal::{Found, Journal, Wording, take};
use super::row::{Record, Status};
use crate::trouble::Trouble;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Identifies a scenario: all of it but the seed.
pub(super) type Digest = [u8; 16];

/// Identifies a run.
type Key = (Digest, u64);

/// Whose runs a file holds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// What they were done for: "sweep", "reproduce".
    pub of: String,
    /// The form of what it was done for.
    pub format: String,
    /// The name of the plan, for messages; empty if the file serves several.
    pub name: String,
    /// The plan's hash; empty if the file serves several plans.
    pub plan: String,
    /// Figures that differ between builds that simulate differently; empty if this
    /// is not checked.
    pub figures: String,
    /// The release of the program that began it.
    pub release: String,
    /// That program.
    pub program: String,
}

/// What a file held when it was opened.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Resumed {
    /// Runs.
    pub runs: usize,
    /// Bytes of a half-written one that were cut off.
    pub torn: u64,
}

/// What is known of a run.
#[derive(Clone, Debug)]
struct Known {
    names: Arc<[String]>,
    record: Record,
}

/// Finished runs, in a file or nowhere.
pub struct Store {
    known: HashMap<Key, Known>,
    file: Option<StoreFile>,
}

struct StoreFile {
    path: PathBuf,
    /// The program that began it.
    program: String,
    open: Mutex<Open>,
}

struct Open {
    journal: Journal,
    /// The lists of metrics in the file.
    lists: Vec<Arc<[String]>>,
    /// Runs in it.
    runs: usize,
}

impl Store {
    /// Knows nothing and keeps nothing.
    #[must_use]
    pub fn nothing() -> Store {
        Store {
            known: HashMap::new(),
            file: None,
        }
    }

    /// Begins a file. What is there is replaced, unless another process has it
    /// open.
    ///
    /// # Errors
    /// When it cannot be written or another process has it open.
    pub fn begin(path: &Path, wording: &Wording, header: &Header) -> Result<Store, Trouble> {
        let journal = Journal::create(path, wording, header)?;
        let open = Open {
            journal,
            lists: Vec::new(),
            runs: 0,
        };
        Ok(Store::at(path, &header.program, open, HashMap::new()))
    }

    /// Opens a file; `check` says why runs under its header cannot be used.
    ///
    /// # Errors
    /// When it cannot be read or written, is no such file, is refused by
    /// `check`, or another process has it open. Such a file is left as it is.
    pub fn open(
        path: &Path,
        wording: &Wording,
        check: impl FnOnce(&Header) -> Result<(), String>,
    ) -> Result<(Store, Resumed), Trouble> {
        let (journal, found): (_, Found<Header, Entry>) =
            Journal::open(path, wording, check, Entry::decode)?;
        let mut open = Open {
            journal,
            lists: Vec::new(),
            runs: 0,
        };
        let mut known = HashMap::new();
        for entry in found.rows {
            match entry {
                Entry::List(names) => open.lists.push(names.into()),
                Entry::Run { key, list, record } => {
                    if let Some(names) = open.lists.get(list) {
                        let names = Arc::clone(names);
                        add_known(&mut known, key, Known { names, record });
                    }
                }
            }
        }
        open.runs = known.len();
        let resumed = Resumed {
            runs: known.len(),
            torn: found.torn,
        };
        let store = Store::at(path, &found.header.program, open, known);
        Ok((store, resumed))
    }

    fn at(path: &Path, program: &str, open: Open, known: HashMap<Key, Known>) -> Store {
        Store {
            known,
            file: Some(StoreFile {
                path: path.to_owned(),
                program: program.to_owned(),
                open: Mutex::new(open),
            }),
        }
    }

    /// Its file.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        self.file.as_ref().map(|file| file.path.as_path())
    }

    /// Whether another program than `program` began its file.
    #[must_use]
    pub fn is_of_another(&self, program: &str) -> bool {
        let file = self.file.as_ref();
        file.is_some_and(|file| file.program != program)
    }

    /// Runs in its file.
    #[must_use]
    pub fn runs(&self) -> usize {
        self.lock().map_or(0, |open| open.runs)
    }

    /// What is known of a run, if that is all of these metrics.
    pub(super) fn get(&self, scenario: Digest, seed: u64, names: &[String]) -> Option<Record> {
        let known = self.known.get(&(scenario, seed))?;
        if *known.names == *names {
            return Some(known.record.clone());
        }
        let values = names.iter().map(|name| known.value(name));
        Some(Record {
            values: values.collect::<Option<_>>()?,
            ..known.record.clone()
        })
    }

    /// The value of a metric of a known run.
    pub(super) fn value(&self, scenario: Digest, seed: u64, name: &str) -> Option<f64> {
        self.known.get(&(scenario, seed))?.value(name)
    }

    /// How a known run ended.
    pub(super) fn status(&self, scenario: Digest, seed: u64) -> Option<Status> {
        let known = self.known.get(&(scenario, seed));
        known.map(|known| known.record.status)
    }

    /// Keeps a run.
    pub(super) fn add(
        &self,
        scenario: Digest,
        seed: u64,
        names: &Arc<[String]>,
        record: &Record,
    ) -> Result<(), Trouble> {
        let Some(mut open) = self.lock() else {
            return Ok(());
        };
        let key = (scenario, seed);
        let list = open.list(names)?;
        open.journal.append(&encode_run(key, list, record))?;
        open.runs += usize::from(!self.known.contains_key(&key));
        Ok(())
    }

    /// Brings all runs to the disk.
    ///
    /// # Errors
    /// When that fails.
    pub fn sync(&self) -> Result<(), Trouble> {
        self.lock().map_or(Ok(()), |mut open| open.journal.sync())
    }

    /// From now on, runs go to another file.
    #[cfg(test)]
    pub(crate) fn redirect(&self, path: &Path) {
        let mut open = self.lock().unwrap();
        open.journal.redirect(path);
    }

    fn lock(&self) -> Option<MutexGuard<'_, Open>> {
        let file = self.file.as_ref()?;
        Some(file.open.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// A run that was kept twice, for other metrics, has all of them.
fn add_known(known: &mut HashMap<Key, Known>, key: Key, new: Known) {
    let Some(old) = known.get_mut(&key) else {
        known.insert(key, new);
        return;
    };
    let mut names = new.names.to_vec();
    let mut record = new.record;
    for (name, value) in old.names.iter().zip(&old.record.values) {
        if !names.contains(name) {
            names.push(name.clone());
            record.values.push(*value);
        }
    }
    let names = names.into();
    *old = Known { names, record };
}

impl Known {
    fn value(&self, name: &str) -> Option<f64> {
        let place = self.names.iter().position(|n| n == name)?;
        self.record.values.get(place).copied()
    }
}

impl Open {
    /// The number of a list of metrics, which is written if it is new.
    fn list(&mut self, names: &Arc<[String]>) -> Result<usize, Trouble> {
        let same = |list: &Arc<[String]>| Arc::ptr_eq(list, names) || **list == **names;
        if let Some(number) = self.lists.iter().position(same) {
            return Ok(number);
        }
        self.journal.append(&encode_list(names))?;
        self.lists.push(Arc::clone(names));
        Ok(self.lists.len() - 1)
    }
}

/// What a record of the file holds.
enum Entry {
    List(Vec<String>),
    Run {
        key: Key,
        list: usize,
        record: Record,
    },
}

const LIST: u8 = b'L';
const RUN: u8 = b'R';

fn encode_list(names: &[String]) -> Vec<u8> {
    let mut bytes = vec![LIST];
    bytes.extend(names.join("\t").as_bytes());
    bytes
}

fn encode_run((scenario, seed): Key, list: usize, record: &Record) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(40 + record.reason.len() + record.values.len() * 8);
    bytes.push(RUN);
    bytes.extend(scenario);
    bytes.extend(seed.to_le_bytes());
    // As many lists as plans have different metrics: a few.
    bytes.extend((list as u32).to_le_bytes());
    put_record(&mut bytes, record);
    bytes
}

/// Appends how a run ended and its values.
pub(super) fn put_record(bytes: &mut Vec<u8>, record: &Record) {
    let status = Status::ALL.iter().position(|s| *s == record.status);
    bytes.push(status.unwrap_or_default() as u8);
    bytes.extend((record.reason.len() as u32).to_le_bytes());
    bytes.extend(record.reason.as_bytes());
    for value in &record.values {
        bytes.extend(value.to_bits().to_le_bytes());
    }
}

/// Takes what [`put_record`] appended off `rest`, with `count` values or, if that
/// is not said, all there are; none if it cannot be that.
pub(super) fn take_record(rest: &mut &[u8], count: Option<usize>) -> Option<Record> {
    let [status] = take(rest)?;
    let status = *Status::ALL.get(usize::from(status))?;
    let len = u32::from_le_bytes(take(rest)?) as usize;
    let reason = String::from_utf8(rest.get(..len)?.to_vec()).ok()?;
    *rest = &rest[len..];
    let count = count.unwrap_or(rest.len() / 8);
    let values = (0..count).map(|_| Some(f64::from_bits(u64::from_le_bytes(take(rest)?))));
    Some(Record {
        status,
        reason,
        values: values.collect::<Option<_>>()?,
    })
}

impl Entry {
    /// What a record holds; none if it cannot be one.
    fn decode(mut bytes: &[u8]) -> Option<Entry> {
        let rest = &mut bytes;
        let [kind] = take(rest)?;
        match kind {
            LIST => {
                let names = std::str::from_utf8(rest).ok()?.split('\t');
                Some(Entry::List(names.map(str::to_owned).collect()))
            }
            RUN => Entry::decode_run(rest),
            _ => None,
        }
    }

    fn decode_run(rest: &mut &[u8]) -> Option<Entry> {
        let key = (take(rest)?, u64::from_le_bytes(take(rest)?));
        let list = u32::from_le_bytes(take(rest)?) as usize;
        let record = take_record(rest, None)?;
        rest.is_empty().then_some(Entry::Run { key, list, record })
    }
}

#[cfg(test)]
mod tests;

//! Rows on their way: a [`crate::journal`] with one record a row, in the order
//! in which they came. The header names the plan, so that rows of another sweep
//! are not taken for this one's.

use super::plan::{FORMAT, Plan};
use super::row::{Row, Status};
use crate::journal::{self, Kind, take};
use crate::trouble::Trouble;
use serde::{Deserialize, Serialize};
use std::path::Path;

const KIND: Kind = Kind {
    mark: b"byway.journal/1\n",
    foreign: "this is not a journal of byway sweep; choose another --out, or move it away",
    damaged: "--restart begins anew",
    busy: "another sweep is writing it; wait for its end, or choose another --out",
};

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
pub(super) struct Journal(journal::Journal);

/// What a journal held when it was opened.
pub(super) type Found = journal::Found<Header, Row>;

impl Journal {
    /// Makes a new journal at `path`, with nothing but its header.
    pub(super) fn create(path: &Path, plan: &Plan, program: &str) -> Result<Journal, Trouble> {
        let header = Header {
            format: FORMAT.to_owned(),
            name: plan.name.clone(),
            plan: plan.hash(),
            program: program.to_owned(),
        };
        Ok(Journal(journal::Journal::create(path, &KIND, &header)?))
    }

    /// Opens the journal at `path` and reads its rows, which must be of `plan`.
    pub(super) fn open(path: &Path, plan: &Plan) -> Result<(Journal, Found), Trouble> {
        let hash = plan.hash();
        let (journal, found) =
            journal::Journal::open(path, &KIND, |h| check(h, &hash), |row| decode(row, plan))?;
        Ok((Journal(journal), found))
    }

    /// Appends a row.
    pub(super) fn append(&mut self, row: &Row) -> Result<(), Trouble> {
        self.0.append(&encode(row))
    }

    /// Brings all rows to the disk.
    pub(super) fn sync(&mut self) -> Result<(), Trouble> {
        self.0.sync()
    }
}

/// Whether rows under this header are of the plan with this hash.
fn check(header: &Header, hash: &str) -> Result<(), String> {
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
    Ok(())
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
    use std::path::PathBuf;

    const MARK: &[u8] = KIND.mark;

    fn read(bytes: &[u8], plan: &Plan, hash: &str) -> Result<(Found, u64), String> {
        journal::read(bytes, &KIND, |h| check(h, hash), |row| decode(row, plan))
    }

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

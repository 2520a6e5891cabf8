//! A sweep on the disk: begun, interrupted, gone on with, finished.

use super::engine::{Options, SweepError, run, run_row};
use super::journal::{Found, Journal};
use super::plan::Plan;
use super::results::Results;
use super::row::Row;
use crate::trouble::Trouble;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, PoisonError};

/// How a sweep on the disk is carried out.
pub struct Session<'a> {
    /// The results file. While the sweep runs, its rows gather in a journal
    /// beside it, `FILE.journal`.
    pub file: &'a Path,
    /// What tells this program from others: when another one began the sweep,
    /// a run of it is repeated and must give the same numbers.
    pub program: &'a str,
    /// Throws away what there is of an earlier sweep.
    pub restart: bool,
    /// Threads; 0 for as many as there are processors.
    pub threads: usize,
    /// Ends the sweep once it is true.
    pub cancel: Option<&'a AtomicBool>,
    /// Told how many runs are done and how many there will be at most.
    pub progress: Option<&'a (dyn Fn(usize, usize) + Sync)>,
    /// Told once what was found of earlier times.
    pub resumed: Option<&'a (dyn Fn(Resumed) + Sync)>,
}

/// What was found of an earlier time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Resumed {
    /// The results are there already.
    Finished,
    /// So many runs are done already; some bytes of a half-written one were cut off.
    Partly {
        /// Runs.
        runs: usize,
        /// Bytes.
        torn: u64,
    },
}

/// Carries out `plan`, or goes on with it where it ended, and writes its
/// results.
///
/// # Errors
/// When it was interrupted, files cannot be written, or what is there belongs
/// to something else. Rows that were done are kept, and the same call goes on
/// with them.
pub fn sweep(plan: &Plan, session: &Session<'_>) -> Result<Results, SweepError> {
    let journal_path = journal_path(session.file);
    if session.restart {
        remove(&journal_path)?;
        remove(session.file)?;
    }
    let tell = |found| {
        if let Some(resumed) = session.resumed {
            resumed(found);
        }
    };
    if let Some(results) = finished(plan, session.file)? {
        // A kill between writing the results and removing the journal leaves it.
        remove(&journal_path)?;
        tell(Resumed::Finished);
        return Ok(results);
    }
    let (journal, known) = open(plan, session, &journal_path, &tell)?;
    let journal = Mutex::new(journal);
    let append = |row: &Row| {
        let mut journal = journal.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(journal.append(row)?)
    };
    let options = Options {
        threads: session.threads,
        known,
        on_row: Some(&append),
        progress: session.progress,
        cancel: session.cancel,
    };
    let rows = run(plan, &options);
    let mut journal = journal.into_inner().unwrap_or_else(PoisonError::into_inner);
    let synced = journal.sync();
    let rows = rows?;
    synced?;
    let results = Results::new(plan, rows);
    results.write(session.file)?;
    drop(journal);
    remove(&journal_path)?;
    Ok(results)
}

/// The journal of a results file.
#[must_use]
pub fn journal_path(file: &Path) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(".journal");
    PathBuf::from(name)
}

fn remove(path: &Path) -> Result<(), Trouble> {
    match std::fs::remove_file(path) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(Trouble::file("remove", path, e)),
        _ => Ok(()),
    }
}

/// The results, if the file has them already.
fn finished(plan: &Plan, file: &Path) -> Result<Option<Results>, Trouble> {
    if !file.exists() {
        return Ok(None);
    }
    let results = Results::read(file).map_err(|e| match e {
        Trouble::Foreign { path, problem } => Trouble::Foreign {
            path,
            problem: format!(
                "{problem}; it is in the way: choose another --out, or --restart to replace it"
            ),
        },
        other => other,
    })?;
    if results.about.plan == plan.hash() {
        return Ok(Some(results));
    }
    Err(Trouble::foreign(
        file,
        format!(
            "holds the results of another sweep or of an earlier text of this one (\"{}\"); choose another --out, or --restart to replace them",
            results.about.name
        ),
    ))
}

fn open(
    plan: &Plan,
    session: &Session<'_>,
    path: &Path,
    tell: &dyn Fn(Resumed),
) -> Result<(Journal, Vec<Row>), SweepError> {
    if !path.exists() {
        return Ok((Journal::create(path, plan, session.program)?, Vec::new()));
    }
    let (journal, Found { header, rows, torn }) = Journal::open(path, plan)?;
    tell(Resumed::Partly {
        runs: rows.len(),
        torn,
    });
    // Another build may still give the same numbers: it is tried out.
    if header.program != session.program
        && let Some(first) = rows.first()
        && let Some(again) = run_row(plan, first.cell, first.run, session.cancel)
        && again != *first
    {
        let problem = "was begun by another version of byway, which gives other numbers for the same run; finish it with that one, or --restart";
        return Err(Trouble::foreign(path, problem).into());
    }
    Ok((journal, rows))
}

//! A sweep on the disk whose runs are done in chunks by workers elsewhere.

use super::results::Results;
use super::session::{self, Begun, Session, journal_path};
use crate::engine::{Coordinator, EngineError, Plan, Store};
use std::path::PathBuf;

/// A sweep whose runs are dealt out. It has the files of [`sweep`](super::sweep), and
/// each of the two resumes what the other began.
pub struct Dealer {
    /// Deals out the chunks and takes their rows.
    pub coordinator: Coordinator,
    file: PathBuf,
}

/// A sweep that begins to be dealt out.
pub enum Dealt {
    /// Its results are there already.
    Finished(Box<Results>),
    /// There are runs to be dealt out, or their results to be written.
    Open(Box<Dealer>),
}

/// Results that are written; their journal is still there.
pub struct Written {
    /// The results.
    pub results: Results,
    store: Store,
    file: PathBuf,
}

impl Dealer {
    /// Begins a sweep or resumes it, as [`sweep`](super::sweep) does. `threads`,
    /// `cancel` and `progress` of the session are not used, but `cancel` ends the
    /// comparison with the numbers of another program.
    ///
    /// # Errors
    /// When the files cannot be used, as for [`sweep`](super::sweep).
    pub fn begin(plan: Plan, session: &Session<'_>) -> Result<Dealt, EngineError> {
        Ok(match session::begin(&plan, session)? {
            Begun::Finished(results) => Dealt::Finished(Box::new(results)),
            Begun::Open(store) => Dealt::Open(Box::new(Dealer {
                coordinator: Coordinator::new(plan, store),
                file: session.file.to_owned(),
            })),
        })
    }

    /// Writes the results file. The journal stays until [`Written::end`].
    ///
    /// # Errors
    /// When runs are still to be done, or the file cannot be written; then the
    /// journal has all rows that were taken.
    pub fn write(self) -> Result<Written, EngineError> {
        let (plan, rows, store) = self.coordinator.finish()?;
        let results = Results::new(&plan, rows);
        results.write(&self.file)?;
        Ok(Written {
            results,
            store,
            file: self.file,
        })
    }
}

impl Written {
    /// Removes the journal, which is not needed any more.
    ///
    /// # Errors
    /// When it cannot be removed.
    pub fn end(self) -> Result<Results, EngineError> {
        session::end(self.store, &self.file)?;
        Ok(self.results)
    }
}

/// Removes the journal beside results that were found finished, if it was left.
///
/// # Errors
/// When it cannot be removed.
pub fn remove_journal(file: &std::path::Path) -> Result<(), EngineError> {
    Ok(session::remove(&journal_path(file))?)
}

//! Options of a run of plans, and its errors.

use super::row::Row;
use super::store::Store;
use crate::trouble::Trouble;
use std::sync::atomic::AtomicBool;

/// Options of a run of plans.
#[derive(Default)]
pub struct Options<'a> {
    /// Threads; 0 for as many as there are processors.
    pub threads: usize,
    /// Where finished runs are kept, and taken from.
    pub store: Option<&'a Store>,
    /// Gets the number of finished runs and the greatest number that there will be,
    /// whenever a run or a cell is done, from several threads.
    pub progress: Option<&'a (dyn Fn(usize, usize) + Sync)>,
    /// Ends all, runs under way included, once it is true.
    pub cancel: Option<&'a AtomicBool>,
    /// A run that is refused is an error; else it is a row like any other.
    pub strict: bool,
}

/// Why plans were not completed.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// It was cancelled.
    #[error("interrupted")]
    Interrupted,
    /// A file of runs or of results cannot be used.
    #[error(transparent)]
    File(#[from] Trouble),
    /// A run was refused, by [`Options::strict`].
    #[error("{plan}: {reason}")]
    Refused {
        /// The plan's name.
        plan: String,
        /// Why.
        reason: String,
    },
}

/// What came out of several plans.
#[derive(Clone, Debug, PartialEq)]
pub struct Done {
    /// For each plan its rows, by cell and in the order of the seeds.
    pub rows: Vec<Vec<Row>>,
    /// Rows of all plans.
    pub asked: usize,
    /// Runs that were simulated.
    pub simulated: usize,
    /// Runs that were taken from the store. The other rows share a run with
    /// another row.
    pub from_store: usize,
}

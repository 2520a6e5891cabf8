//! What one run yields.

use crate::metrics::Metric;
use crate::result::{Outcome, RunResult};

/// How a run ended.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Status {
    /// All was delivered and acknowledged.
    Complete,
    /// The association was lost.
    Lost,
    /// The scenario's `limit` of simulated time was over.
    OutOfTime,
    /// The scenario's `max_events` were used up.
    OutOfEvents,
    /// The simulator or the protocol refused the run.
    Refused,
}

impl Status {
    /// All there are.
    pub const ALL: [Status; 5] = [
        Status::Complete,
        Status::Lost,
        Status::OutOfTime,
        Status::OutOfEvents,
        Status::Refused,
    ];

    /// Its name in files.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Status::Complete => "complete",
            Status::Lost => "lost",
            Status::OutOfTime => "out_of_time",
            Status::OutOfEvents => "out_of_events",
            Status::Refused => "refused",
        }
    }

    /// The one of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Status> {
        Status::ALL.into_iter().find(|s| s.name() == name)
    }
}

/// What was measured of one run.
#[derive(Clone, Debug)]
pub struct Record {
    /// How it ended.
    pub status: Status,
    /// Why it did not end well; empty if it did.
    pub reason: String,
    /// The values of some metrics; not a number where there is nothing.
    pub values: Vec<f64>,
}

impl Record {
    /// What these metrics say of a run.
    #[must_use]
    pub fn of(run: &RunResult, metrics: &[Metric]) -> Record {
        let (status, reason) = status(&run.outcome);
        let values = metrics.iter().map(|m| m.value(run).unwrap_or(f64::NAN));
        Record {
            status,
            reason,
            values: values.collect(),
        }
    }

    pub(super) fn refused(reason: String, values: usize) -> Record {
        Record {
            status: Status::Refused,
            reason,
            values: vec![f64::NAN; values],
        }
    }

    /// The row of this run.
    pub(super) fn row(self, cell: usize, run: usize, seed: u64) -> Row {
        Row {
            cell,
            run,
            seed,
            status: self.status,
            reason: self.reason,
            values: self.values,
        }
    }
}

/// How a run ended, and why it did not end well.
pub(crate) fn status(outcome: &Outcome) -> (Status, String) {
    match outcome {
        Outcome::Complete => (Status::Complete, String::new()),
        Outcome::Lost { reason } => (Status::Lost, reason.clone()),
        Outcome::OutOfTime => (
            Status::OutOfTime,
            "not finished within limit of simulated time".to_owned(),
        ),
        Outcome::OutOfEvents => (
            Status::OutOfEvents,
            "not finished within max_events of the simulator".to_owned(),
        ),
    }
}

/// One run of a plan.
#[derive(Clone, Debug)]
pub struct Row {
    /// Its cell's place in the plan.
    pub cell: usize,
    /// Its seed's place in the plan.
    pub run: usize,
    /// Its seed.
    pub seed: u64,
    /// How it ended.
    pub status: Status,
    /// Why it did not end well; empty if it did.
    pub reason: String,
    /// What was measured, in the order of the plan's metrics; not a number
    /// where there is nothing.
    pub values: Vec<f64>,
}

impl Row {
    /// The value of the metric at place `metric`, if there is one.
    #[must_use]
    pub fn value(&self, metric: usize) -> Option<f64> {
        self.values.get(metric).copied().filter(|v| !v.is_nan())
    }
}

impl PartialEq for Row {
    /// The same to the last bit, and absent where the other is.
    fn eq(&self, other: &Row) -> bool {
        let bits = |row: &Row| row.values.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
        (self.cell, self.run, self.seed, self.status)
            == (other.cell, other.run, other.seed, other.status)
            && self.reason == other.reason
            && bits(self) == bits(other)
    }
}

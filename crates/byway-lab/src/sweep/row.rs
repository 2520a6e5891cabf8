//! What one run of a sweep yields.

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

/// One run.
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

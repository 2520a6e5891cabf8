//! The two arms of a comparison, as they were run or as a control has them.

use crate::reproduce::sample::Sample;

/// What a comparison is put to.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Arms {
    /// The runs as they are.
    AsRun,
    /// Each arm has the other one's runs.
    Swapped,
    /// Both have the runs of the arm without the mechanism.
    Equal,
    /// Both are the arm without the mechanism: each has half of its seeds, so that chance is
    /// all that differs. The seeds are dealt in the way of this number.
    Off(u64),
    /// As run, by as many runs as [`Arms::Off`] has of each arm: whether a check could tell at all
    /// by so few.
    AsManyRuns(u64),
    /// Other runs, which the check names, take the place of an arm: they lack what makes it hold.
    Lacking,
    /// The members are those of another axis, which matters.
    Across,
}

impl Arms {
    /// Its name in results.
    pub(super) fn name(self) -> &'static str {
        match self {
            Arms::AsRun | Arms::AsManyRuns(_) => "as run",
            Arms::Swapped => "arms swapped",
            Arms::Equal => "arms equal",
            Arms::Off(_) | Arms::Lacking => "mechanism off",
            Arms::Across => "across an axis that matters",
        }
    }

    /// The arms with and without the mechanism, in this order.
    pub(super) fn of(self, with: Sample, without: Sample) -> (Sample, Sample) {
        match self {
            Arms::AsRun | Arms::Across | Arms::Lacking => (with, without),
            Arms::Swapped => (without, with),
            Arms::Equal => (without.clone(), without),
            Arms::Off(_) if without.n < 4 => (without.clone(), without),
            Arms::Off(deal) => (without.part(deal, 2, 0), without.part(deal, 2, 1)),
            // Both have the same seeds, as they have in the whole.
            Arms::AsManyRuns(_) if with.n.min(without.n) < 4 => (with, without),
            Arms::AsManyRuns(deal) => (with.part(deal, 2, 0), without.part(deal, 2, 0)),
        }
    }
}

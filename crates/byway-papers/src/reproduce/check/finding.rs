//! What a check looks at and what it finds.

use crate::reproduce::near::Near;
use crate::reproduce::rule::Outcome;
use crate::reproduce::sample::{Kind, Sample};
use crate::reproduce::show::Unit;
use serde::{Deserialize, Serialize};

/// What a check found in one simulator's cells.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// In a few words, with the confidence interval.
    pub text: String,
    /// Whether it is what the paper says.
    pub outcome: Outcome,
    /// Where it fails, or what else should be known.
    pub detail: Option<String>,
    /// The runs behind it.
    pub runs: RunCount,
    /// How near it is to saying something else; none where that has no measure.
    pub near: Option<Near>,
}

/// The runs behind a figure.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RunCount {
    /// Distinct runs.
    pub distinct: usize,
    /// Runs before equal ones were taken for one.
    pub all: usize,
}

impl RunCount {
    pub(super) fn of(sample: &Sample) -> RunCount {
        RunCount {
            distinct: sample.n,
            all: sample.all,
        }
    }

    /// "126", or "126 of 757".
    #[must_use]
    pub fn words(&self) -> String {
        match self.distinct == self.all {
            true => self.all.to_string(),
            false => format!("{} of {}", self.distinct, self.all),
        }
    }

    /// Of several samples together.
    pub(super) fn together<'a>(samples: impl IntoIterator<Item = &'a Sample>) -> RunCount {
        let (mut runs, mut known, mut all) = (Vec::new(), 0, 0);
        for sample in samples {
            all += sample.all;
            known += if sample.runs.is_empty() { sample.n } else { 0 };
            runs.extend(sample.runs.iter().copied());
        }
        RunCount {
            distinct: known + Sample::of_runs(runs, Kind::Quantity).n,
            all,
        }
    }
}

/// A measure and how it is written.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Measured {
    /// Which measure.
    pub(super) measure: String,
    /// Its unit.
    #[serde(default)]
    pub(super) unit: Unit,
}

//! A check with what was found.

use super::check::{Changed, Control, RunCount};
use super::near::Near;
use super::rule::Outcome;
use serde::Serialize;

/// A check with what was found.
#[derive(Clone, Debug, Serialize)]
pub struct Checked {
    /// What was looked at.
    pub what: String,
    /// The paper's value.
    pub paper: String,
    /// ns-2's, where it is known.
    pub ns2: Option<String>,
    /// What ns-2's cells say of the same check; none where there are none.
    pub ns2_outcome: Option<Outcome>,
    /// byway's, with its 95 % confidence interval.
    pub byway: String,
    /// Whether the check holds.
    pub outcome: Outcome,
    /// Whether it counts; else its figure is only shown.
    pub counts: bool,
    /// Where it fails, or what counts.
    pub detail: Option<String>,
    /// How near it is to saying something else.
    pub near: Option<Near>,
    /// The runs behind the figure; of a comparison, those of both arms at all places.
    pub runs: RunCount,
    /// What was changed of it since its first version.
    pub changed: Vec<Changed>,
    /// The cases in which it must not hold; none for a question and for what does not count.
    pub controls: Vec<Control>,
}

impl Checked {
    /// Whether it holds.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.outcome == Outcome::Holds
    }

    /// Whether it would hold whatever the runs: it holds in a case in which it must not, or
    /// there is no such case.
    #[must_use]
    pub fn is_vacuous(&self) -> bool {
        let fails = |c: &Control| c.outcome != Outcome::Holds;
        self.counts && (self.controls.is_empty() || !self.controls.iter().all(fails))
    }

    /// The controls in which it holds, in words.
    #[must_use]
    pub fn vacuous_words(&self) -> String {
        let holds = self.controls.iter().filter(|c| c.outcome == Outcome::Holds);
        let names: Vec<&str> = holds.map(|c| c.name).collect();
        match names.is_empty() {
            true => "no control".to_owned(),
            false => format!("holds with {}", names.join(", ")),
        }
    }
}

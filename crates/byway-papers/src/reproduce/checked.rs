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
    /// Why no more runs can show that it holds, where it is undecided and that is known.
    pub beyond: Option<String>,
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

    /// Whether it would hold whatever the runs: it holds in a case in which it must not, there is
    /// no such case, or no run of it. A check that has no runs itself says nothing.
    #[must_use]
    pub fn is_vacuous(&self) -> bool {
        let shows = |c: &Control| matches!(c.outcome, Some(Outcome::Fails | Outcome::Undecided));
        // A check that fails is not swapped, which may leave it without a control.
        let none = self.controls.is_empty() && self.outcome != Outcome::Fails;
        let shown = !none && self.controls.iter().all(shows);
        self.counts && self.runs.all > 0 && !shown
    }

    /// The controls in which it holds, or of which there are no runs, in words.
    #[must_use]
    pub fn vacuous_words(&self) -> String {
        let named = |outcome| {
            let controls = self.controls.iter().filter(|c| c.outcome == outcome);
            let names: Vec<&str> = controls.map(|c| c.name).collect();
            names.join(", ")
        };
        match (named(Some(Outcome::Holds)), named(None)) {
            (holds, none) if holds.is_empty() && none.is_empty() => "no control".to_owned(),
            (holds, none) if holds.is_empty() => format!("no runs of {none}"),
            (holds, _) => format!("holds with {holds}"),
        }
    }

    /// The controls of which the runs do not tell whether it holds there.
    pub fn open_controls(&self) -> impl Iterator<Item = &Control> {
        let open = |c: &&Control| c.outcome == Some(Outcome::Undecided);
        self.controls.iter().filter(open)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(controls: &[Option<Outcome>], runs: usize) -> Checked {
        let control = |outcome: &Option<Outcome>| Control {
            name: "mechanism off",
            outcome: *outcome,
        };
        Checked {
            what: String::new(),
            paper: String::new(),
            ns2: None,
            ns2_outcome: None,
            byway: String::new(),
            outcome: Outcome::Holds,
            counts: true,
            detail: None,
            near: None,
            beyond: None,
            runs: super::super::check::RunCount {
                distinct: runs,
                all: runs,
            },
            changed: Vec::new(),
            controls: controls.iter().map(control).collect(),
        }
    }

    #[test]
    fn a_control_must_have_runs_and_not_hold() {
        let fails = Some(Outcome::Fails);
        for (controls, runs, vacuous) in [
            (vec![fails], 3, false),
            (vec![fails, Some(Outcome::Undecided)], 3, false),
            (vec![fails, Some(Outcome::Holds)], 3, true),
            (vec![fails, None], 3, true),
            (vec![], 3, true),
            // With little effort not all cells are run.
            (vec![None], 0, false),
        ] {
            let check = checked(&controls, runs);
            assert_eq!(check.is_vacuous(), vacuous, "{controls:?} {runs}");
        }
        let mut failing = checked(&[], 3);
        failing.outcome = Outcome::Fails;
        assert!(!failing.is_vacuous());
        let typo = checked(&[fails, None], 3);
        assert_eq!(typo.vacuous_words(), "no runs of mechanism off");
        let open = checked(&[fails, Some(Outcome::Undecided)], 3);
        assert_eq!(open.open_controls().count(), 1);
    }
}

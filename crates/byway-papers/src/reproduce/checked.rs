//! A check with what was found.

use super::check::{Changed, Control, RunCount, There};
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
    /// Whether there are runs by which it would hold; else it can only be refuted.
    pub can_hold: bool,
    /// The cases in which it must not hold; none for a question, for what does not count and for what
    /// can only be refuted.
    pub controls: Vec<Control>,
}

impl Checked {
    /// Whether it holds.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.outcome == Outcome::Holds
    }

    /// Whether it shows nothing: it [cannot fail](Checked::cannot_fail), or holds as run and is not
    /// shown to fail in each case in which it must not hold. Runs that do not tell show nothing.
    #[must_use]
    pub fn is_vacuous(&self) -> bool {
        let is_open = self.open_controls().next().is_some();
        self.cannot_fail() || (self.counts && self.runs.all > 0 && self.holds() && is_open)
    }

    /// Whether it would hold whatever the runs: it holds in a case in which it must not, there is
    /// no such case, or no run of it. A check that has no runs itself says nothing.
    #[must_use]
    pub fn cannot_fail(&self) -> bool {
        let wrong = |c: &Control| matches!(c.there(), There::Holds | There::NoRuns);
        // A check that fails is not swapped, which may leave it without a control.
        let none = self.controls.is_empty() && self.can_hold && self.outcome != Outcome::Fails;
        self.counts && self.runs.all > 0 && (none || self.controls.iter().any(wrong))
    }

    /// The controls in which it holds or is undecided, or of which there are no runs, in words.
    #[must_use]
    pub fn vacuous_words(&self) -> String {
        let named = |before: &str, there: There| {
            let controls = self.controls.iter().filter(|c| c.there() == there);
            let names: Vec<&str> = controls.map(|c| c.name).collect();
            (!names.is_empty()).then(|| format!("{before} {}", names.join(", ")))
        };
        let wrong = [
            named("holds with", There::Holds),
            named("undecided with", There::Open),
            named("no runs of", There::NoRuns),
        ];
        let words: Vec<String> = wrong.into_iter().flatten().collect();
        match words.is_empty() {
            true => "no control".to_owned(),
            false => words.join("; "),
        }
    }

    /// The controls of which the runs do not tell whether it holds there.
    pub fn open_controls(&self) -> impl Iterator<Item = &Control> {
        let open = |c: &&Control| c.there() == There::Open;
        self.controls.iter().filter(open)
    }

    /// Whether by as few runs of the arms as they are, as that control has, it would hold more often than
    /// chance may make it hold there.
    #[must_use]
    pub fn tells_by_few(&self) -> bool {
        let mut chance = (self.controls.iter()).filter(|c| c.there() == There::NotShown);
        chance.all(|c| c.dealt.is_some_and(|d| d.tells()))
    }

    /// Whether one of its controls can only say that it is not shown.
    #[must_use]
    pub fn has_chance_alone(&self) -> bool {
        self.controls.iter().any(|c| c.there() == There::NotShown)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::reproduce::check::Dealt;

    /// A check that holds, with what it says of its controls and so many runs.
    pub(in crate::reproduce) fn checked(controls: &[Option<Outcome>], runs: usize) -> Checked {
        let control = |outcome: &Option<Outcome>| Control::of("mechanism off", *outcome);
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
            can_hold: true,
            controls: controls.iter().map(control).collect(),
        }
    }

    #[test]
    fn a_control_must_have_runs_and_not_hold() {
        let fails = Some(Outcome::Fails);
        for (controls, runs, vacuous) in [
            (vec![fails], 3, false),
            (vec![fails, Some(Outcome::Undecided)], 3, true),
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
        let mut open = checked(&[fails, Some(Outcome::Undecided)], 3);
        assert!(open.is_vacuous() && !open.cannot_fail());
        assert_eq!(open.open_controls().count(), 1);
        assert_eq!(open.vacuous_words(), "undecided with mechanism off");
        // What these runs do not show anyway may be undecided elsewhere as well.
        open.outcome = Outcome::Undecided;
        assert!(!open.is_vacuous());
        // What never holds needs no case in which it does not.
        let mut refuted_at_most = checked(&[], 3);
        refuted_at_most.outcome = Outcome::Undecided;
        assert!(refuted_at_most.is_vacuous());
        refuted_at_most.can_hold = false;
        assert!(!refuted_at_most.is_vacuous());
    }

    /// Arms that chance alone tells apart cannot be shown not to differ, so "not shown" is right there.
    #[test]
    fn of_arms_of_one_kind_no_more_is_asked_than_can_be() {
        let mut check = checked(&[Some(Outcome::Undecided)], 3);
        assert!(check.is_vacuous() && !check.has_chance_alone());
        check.controls[0].dealt = Some(Dealt {
            deals: 20,
            holds: 1,
            fails: 2,
            as_run: 20,
        });
        assert!(!check.is_vacuous() && check.has_chance_alone() && check.tells_by_few());
        // Too weak for so few runs: told, as the control alone does not show it.
        check.controls[0].dealt.as_mut().unwrap().as_run = 4;
        assert!(check.has_chance_alone() && !check.tells_by_few());
    }
}

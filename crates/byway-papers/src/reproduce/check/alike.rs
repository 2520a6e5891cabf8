//! A measure does not depend on an axis.

use super::arms::Arms;
use super::finding::{Finding, Measured, RunCount};
use crate::reproduce::cells::{Cells, Filter, Place, place_words, pool};
use crate::reproduce::near;
use crate::reproduce::rule::{Level, Outcome, Tally};
use crate::reproduce::sample::Sample;
use serde::Deserialize;

/// What was measured for each value of the axis, by its name.
type Members = Vec<(String, Vec<Sample>)>;

/// At each place, the means for the values of an axis differ from the first one's by less
/// than the tolerance: two one-sided tests.
#[derive(Clone, Debug, Deserialize)]
pub struct Alike {
    #[serde(flatten)]
    of: Measured,
    /// Which cells.
    #[serde(default, rename = "where")]
    filter: Filter,
    /// The axis.
    across: String,
    /// Axes that are ignored: runs that differ in these alone are one sample.
    #[serde(default)]
    together: Vec<String>,
    /// The greatest relative difference that counts as none (0.05).
    #[serde(default = "near")]
    tolerance: f64,
    /// The share of the comparisons in which it must hold (1).
    #[serde(default = "all")]
    at_least: f64,
    /// In which share of the pairs of runs the setting must make a difference (0): where it
    /// never came into play nothing is seen of its effect.
    #[serde(default)]
    plays_at_least: f64,
    /// Cells where what makes them alike is lacking: other values of some axes. The check must
    /// not hold there.
    #[serde(default)]
    off: Filter,
    /// An axis that matters: across it the check must not hold.
    #[serde(default)]
    off_across: Option<String>,
}

fn near() -> f64 {
    0.05
}

fn all() -> f64 {
    1.0
}

impl Alike {
    pub(super) fn measure(&self) -> &str {
        &self.of.measure
    }

    /// The controls that it must fail.
    pub(super) fn controls(&self) -> &'static [Arms] {
        match (self.off.is_empty(), self.off_across.is_some()) {
            (true, false) => &[],
            (true, true) => &[Arms::Across],
            (false, false) => &[Arms::Lacking],
            (false, true) => &[Arms::Lacking, Arms::Across],
        }
    }

    pub(super) fn evaluate(&self, cells: &Cells, level: Level, arms: Arms) -> Option<Finding> {
        let mut seen = Seen::default();
        for (place, members) in self.groups(cells, arms) {
            self.compare(&place, members, level, &mut seen);
        }
        if seen.tally.all == 0 {
            return None;
        }
        seen.misses.truncate(3);
        let played = seen.play.0 as f64 >= self.plays_at_least * seen.play.1 as f64;
        let outcome = match seen.tally.outcome(self.at_least) {
            Outcome::Holds if !played => Outcome::Undecided,
            outcome => outcome,
        };
        let play = match seen.play {
            (differ, pairs) if differ < pairs => {
                format!("; runs differ in {differ} of {pairs} pairs")
            }
            _ => String::new(),
        };
        Some(Finding {
            text: format!(
                "alike in {} comparisons; greatest difference {:.1} %{play}",
                seen.tally.words(),
                100.0 * seen.greatest
            ),
            outcome,
            detail: (!seen.misses.is_empty()).then(|| seen.misses.join("; ")),
            runs: RunCount::together(&seen.used),
            near: near::of_places(&seen.tally, self.at_least),
        })
    }

    /// The samples of each place, by the value of the axis.
    fn groups(&self, cells: &Cells, arms: Arms) -> Vec<(Place, Members)> {
        let mut filter = self.filter.clone();
        if arms == Arms::Lacking {
            filter.extend(self.off.clone());
        }
        let across = match (&self.off_across, arms) {
            (Some(other), Arms::Across) => other,
            _ => &self.across,
        };
        let mut groups: Vec<(Place, Members)> = Vec::new();
        for (place, sample) in cells.samples(&filter, &self.of.measure) {
            let Some(value) = place.get(across) else {
                continue;
            };
            let name = value.to_string();
            let mut rest = place.clone();
            rest.retain(|axis, _| axis != across && !self.together.contains(axis));
            let at = groups.iter().position(|g| g.0 == rest).unwrap_or_else(|| {
                groups.push((rest, Vec::new()));
                groups.len() - 1
            });
            let members = &mut groups[at].1;
            match members.iter_mut().find(|m| m.0 == name) {
                Some((_, samples)) => samples.push(sample),
                None => members.push((name, vec![sample])),
            }
        }
        groups
    }

    /// Compares the mean of each value of the axis with that of the first one.
    fn compare(&self, place: &Place, members: Members, level: Level, seen: &mut Seen) {
        let members: Vec<(String, Sample)> = members
            .into_iter()
            .filter_map(|(name, samples)| Some((name, pool(samples)?)))
            .collect();
        let Some(((_, first), rest)) = members.split_first() else {
            return;
        };
        seen.used.push(first.clone());
        for (name, sample) in rest {
            let share = (sample.mean - first.mean).abs() / first.mean.abs().max(f64::MIN_POSITIVE);
            let (differ, pairs) = sample.came_into_play(first);
            let outcome = level.within(sample.relative(first), [-self.tolerance, self.tolerance]);
            seen.tally.add(outcome);
            seen.greatest = seen.greatest.max(share);
            seen.play = (seen.play.0 + differ, seen.play.1 + pairs);
            seen.used.push(sample.clone());
            if outcome != Outcome::Holds {
                seen.misses.push(format!(
                    "{}: {} {name} gives {}, not {}",
                    place_words(place, &[]),
                    self.across,
                    self.of.unit.value(sample.mean),
                    self.of.unit.value(first.mean)
                ));
            }
        }
    }
}

/// The comparisons of one check.
#[derive(Default)]
struct Seen {
    tally: Tally,
    /// The greatest relative difference.
    greatest: f64,
    /// In how many of the pairs of runs with one seed the values differ.
    play: (usize, usize),
    used: Vec<Sample>,
    /// Those that do not hold, in words.
    misses: Vec<String>,
}

#[cfg(test)]
mod tests {
    use crate::reproduce::check::There;
    use crate::reproduce::check::testing::{cell, controls, evaluate, no_controls};
    use crate::reproduce::rule::Outcome;

    const CHECK: &str = "kind = \"alike\"\nmeasure = \"t\"\nunit = \"s\"\nacross = \"policy\"\n";

    #[test]
    fn near_means_are_alike_and_noise_is_not() {
        let a = || cell(1.0, "A", &[10.0, 10.1, 10.2]);
        for (b, outcome) in [
            ([10.2, 10.3, 10.4], Outcome::Holds),
            // Few or scattered runs no longer help.
            ([5.0, 25.0, 1.0], Outcome::Undecided),
            ([12.0, 12.1, 12.3], Outcome::Fails),
        ] {
            let found = evaluate(CHECK, vec![a(), cell(1.0, "B", &b)]).unwrap();
            assert_eq!(found.outcome, outcome, "{found:?}");
        }
        let far = vec![a(), cell(1.0, "B", &[12.0, 12.0, 12.3])];
        assert_eq!(
            evaluate(CHECK, far).unwrap().detail.unwrap(),
            "1 % on path 2: policy B gives 12.1 s, not 10.1 s"
        );
        let same = vec![a(), cell(1.0, "B", &[10.0, 10.1, 10.2])];
        let found = evaluate(CHECK, same.clone()).unwrap();
        assert!(
            found.text.ends_with("runs differ in 0 of 3 pairs"),
            "{found:?}"
        );
        // Alike runs alone are no control: others must be named, in which it fails.
        assert!(no_controls(CHECK, same.clone()));
        let check = format!("{CHECK}off_across = \"loss2\"\n");
        let other = [cell(9.0, "A", &[20.0, 20.1]), cell(9.0, "B", &[20.0, 20.1])];
        let matters = [same.clone(), other.to_vec()].concat();
        assert_eq!(
            controls(&check, matters),
            [("across an axis that matters", There::Fails)]
        );
        let one = controls(&check, same);
        assert_eq!(
            one,
            [("across an axis that matters", There::NoRuns)],
            "no cells"
        );
    }

    #[test]
    fn places_that_belong_together_are_one() {
        // The policies differ at each load of path 2, but not in all.
        let cells = vec![
            cell(1.0, "A", &[10.0, 10.1]),
            cell(2.0, "A", &[20.0, 20.1]),
            cell(1.0, "B", &[20.0, 20.1]),
            cell(2.0, "B", &[10.0, 10.1]),
        ];
        let found = evaluate(CHECK, cells.clone()).unwrap();
        assert!(found.text.contains("alike in 0 of 2"), "{found:?}");
        let together = format!("{CHECK}together = [\"loss2\"]\n");
        let found = evaluate(&together, cells).unwrap();
        assert!(found.text.contains("alike in 1 of 1"), "{found:?}");
    }
}

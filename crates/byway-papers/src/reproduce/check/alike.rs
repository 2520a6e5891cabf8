//! A measure does not depend on an axis.

use super::finding::{Finding, Measured};
use crate::reproduce::cells::{Cells, Filter, Place, place_words, pool};
use crate::reproduce::sample::Sample;
use serde::Deserialize;

/// What was measured for each value of the axis, by its name.
type Members = Vec<(String, Vec<Sample>)>;

/// At each place, the values of an axis give means that differ from the first
/// one's by no more than the tolerance or chance.
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

    pub(super) fn evaluate(&self, cells: &Cells) -> Option<Finding> {
        let mut tally = Tally::default();
        for (place, members) in self.groups(cells) {
            self.compare(&place, members, &mut tally);
        }
        if tally.all == 0 {
            return None;
        }
        tally.misses.truncate(3);
        Some(Finding {
            text: format!(
                "alike in {} of {} comparisons; greatest difference {:.1} %",
                tally.good,
                tally.all,
                100.0 * tally.greatest
            ),
            holds: tally.good as f64 >= self.at_least * tally.all as f64 - 1e-9,
            detail: (!tally.misses.is_empty()).then(|| tally.misses.join("; ")),
        })
    }

    /// The samples of each place, by the value of the axis.
    fn groups(&self, cells: &Cells) -> Vec<(Place, Members)> {
        let mut groups: Vec<(Place, Members)> = Vec::new();
        for (place, sample) in cells.samples(&self.filter, &self.of.measure) {
            let Some(value) = place.get(&self.across) else {
                continue;
            };
            let name = value.to_string();
            let mut rest = place.clone();
            rest.retain(|axis, _| *axis != self.across && !self.together.contains(axis));
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
    fn compare(&self, place: &Place, members: Members, tally: &mut Tally) {
        let members: Vec<(String, Sample)> = members
            .into_iter()
            .filter_map(|(name, samples)| Some((name, pool(samples)?)))
            .collect();
        let Some(((_, first), rest)) = members.split_first() else {
            return;
        };
        for (name, sample) in rest {
            let difference = (sample.mean - first.mean).abs();
            let chance = sample.difference(first).map_or(0.0, |(_, half)| half);
            let share = difference / first.mean.abs().max(f64::MIN_POSITIVE);
            tally.all += 1;
            tally.greatest = tally.greatest.max(share);
            if share <= self.tolerance || difference <= chance {
                tally.good += 1;
            } else {
                tally.misses.push(format!(
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
struct Tally {
    all: usize,
    /// Those without a difference that counts.
    good: usize,
    /// The greatest relative difference.
    greatest: f64,
    /// The other ones, in words.
    misses: Vec<String>,
}

#[cfg(test)]
mod tests {
    use crate::reproduce::check::testing::{cell, evaluate};

    #[test]
    fn near_means_and_chance_count_as_alike() {
        let check = "kind = \"alike\"\nmeasure = \"t\"\nunit = \"s\"\nacross = \"policy\"\n";
        let cells = vec![
            cell(0.0, "A", &[10.0, 10.1]),
            cell(0.0, "B", &[10.2, 10.3]),
            cell(0.0, "C", &[5.0, 25.0]),
        ];
        let found = evaluate(check, cells).unwrap();
        assert!(found.holds, "{found:?}");
        let found = evaluate(
            check,
            vec![
                cell(1.0, "A", &[10.0, 10.0, 10.0]),
                cell(1.0, "B", &[12.0, 12.0, 12.0]),
            ],
        )
        .unwrap();
        assert!(!found.holds);
        assert_eq!(
            found.detail.unwrap(),
            "1 % on path 2: policy B gives 12.0 s, not 10.0 s"
        );
    }

    #[test]
    fn places_that_belong_together_are_one() {
        let check = "kind = \"alike\"\nmeasure = \"t\"\nunit = \"s\"\nacross = \"policy\"\n";
        // The policies differ at each load of path 2, but not in all.
        let cells = vec![
            cell(1.0, "A", &[10.0, 10.1]),
            cell(2.0, "A", &[20.0, 20.1]),
            cell(1.0, "B", &[20.0, 20.1]),
            cell(2.0, "B", &[10.0, 10.1]),
        ];
        let found = evaluate(check, cells.clone()).unwrap();
        assert!(found.text.contains("alike in 0 of 2"), "{found:?}");
        let together = format!("{check}together = [\"loss2\"]\n");
        let found = evaluate(&together, cells).unwrap();
        assert!(found.text.contains("alike in 1 of 1"), "{found:?}");
    }
}

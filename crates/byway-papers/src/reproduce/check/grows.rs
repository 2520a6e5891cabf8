//! A measure grows along an axis.

use super::arms::Arms;
use super::finding::{Finding, Measured, RunCount};
use crate::reproduce::cells::{Cells, Filter, Values};
use crate::reproduce::estimate::Estimate;
use crate::reproduce::near;
use crate::reproduce::rule::{Level, Outcome};
use crate::reproduce::sample::Sample;
use serde::Deserialize;

/// What a step may be against it without saying so, as a share of where it begins.
const STEP: f64 = 0.05;

/// From the first to the last value of an axis a measure grows, clear of zero, and at each step
/// on the way it is shown not to fall by 5 %; a step that falls, clear of zero, fails.
#[derive(Clone, Debug, Deserialize)]
pub struct Grows {
    #[serde(flatten)]
    of: Measured,
    /// Which cells; those of one value of the axis are taken together.
    #[serde(default, rename = "where")]
    filter: Filter,
    /// The axis.
    along: String,
    /// Whether it must fall instead.
    #[serde(default)]
    falls: bool,
}

impl Grows {
    pub(super) fn measure(&self) -> &str {
        &self.of.measure
    }

    /// The controls that it must fail.
    pub(super) fn controls(&self) -> &'static [Arms] {
        &[Arms::Swapped, Arms::Equal, Arms::Off(0)]
    }

    pub(super) fn evaluate(&self, cells: &Cells, level: Level, arms: Arms) -> Option<Finding> {
        let points = self.points(cells, arms);
        let unit = self.of.unit;
        let (first, last) = (points.first()?, points.last()?);
        if points.len() < 2 {
            return None;
        }
        // What falls has the sign of what must be below zero.
        let fall = |from: &Sample, to: &Sample| {
            let difference = from.difference(to);
            if self.falls {
                difference.map(Estimate::negative)
            } else {
                difference
            }
        };
        let step = |pair: &[(String, Sample)]| {
            let room = STEP * pair[0].1.mean.abs();
            level.not_above(fall(&pair[0].1, &pair[1].1), room)
        };
        let steps: Vec<Outcome> = points.windows(2).map(step).collect();
        let against: Vec<String> = points
            .windows(2)
            .zip(&steps)
            .filter(|(_, outcome)| **outcome == Outcome::Fails)
            .map(|(pair, _)| {
                format!(
                    "against it from {} to {}: {} to {}, by {}",
                    pair[0].0,
                    pair[1].0,
                    unit.value(pair[0].1.mean),
                    unit.value(pair[1].1.mean),
                    unit.value((pair[1].1.mean - pair[0].1.mean).abs())
                )
            })
            .collect();
        let whole = level.below_zero(fall(&first.1, &last.1));
        let open = steps.iter().filter(|s| **s == Outcome::Undecided).count();
        let outcome = Outcome::all(steps.iter().copied().chain([whole]));
        Some(Finding {
            text: format!(
                "{} at {}, {} at {}",
                unit.value(first.1.mean),
                first.0,
                unit.value(last.1.mean),
                last.0
            ),
            outcome,
            detail: match (against.is_empty(), open) {
                (false, _) => Some(against.join("; ")),
                (true, 0) => None,
                (true, open) => Some(format!(
                    "{open} of {} steps are not shown to fall by less than {:.0} %",
                    steps.len(),
                    100.0 * STEP
                )),
            },
            runs: RunCount::together(points.iter().map(|p| &p.1)),
            near: near::of_zero(fall(&first.1, &last.1)),
        })
    }

    /// The sample at each value of the axis.
    fn points(&self, cells: &Cells, arms: Arms) -> Vec<(String, Sample)> {
        let mut points = Vec::new();
        for value in cells.values(&self.along, &self.filter) {
            let mut filter = self.filter.clone();
            let name = value.to_string();
            filter.insert(self.along.clone(), Values::One(value));
            if let Some(sample) = cells.pooled(&filter, &self.of.measure) {
                points.push((name, sample));
            }
        }
        match arms {
            Arms::Swapped => points.reverse(),
            Arms::Equal => {
                if let Some((_, first)) = points.first().cloned() {
                    points.iter_mut().for_each(|p| p.1 = first.clone());
                }
            }
            // What grows is off: each point has a part of the runs of the first one.
            Arms::Off(deal) => {
                let parts = points.len() as u64;
                if let Some((_, first)) = points.first().cloned() {
                    for (part, point) in (0..).zip(&mut points) {
                        point.1 = match first.n as u64 >= 2 * parts {
                            true => first.part(deal, parts, part),
                            false => first.clone(),
                        };
                    }
                }
            }
            Arms::AsManyRuns(deal) => {
                let parts = points.len() as u64;
                if points.iter().all(|(_, s)| s.n as u64 >= 2 * parts) {
                    for point in &mut points {
                        point.1 = point.1.part(deal, parts, 0);
                    }
                }
            }
            Arms::AsRun | Arms::Across | Arms::Lacking => {}
        }
        points
    }
}

#[cfg(test)]
mod tests {
    use crate::reproduce::check::testing::{cell, controls, evaluate};
    use crate::reproduce::rule::Outcome;

    #[test]
    fn growth_is_told_from_chance_and_from_a_dip() {
        let check = "kind = \"grows\"\nmeasure = \"t\"\nunit = \"s\"\nalong = \"loss2\"\n";
        let falls = format!("{check}falls = true\n");
        let at = |loss: f64, mean: f64| cell(loss, "A", &[mean, mean + 0.1, mean - 0.1]);
        let outcome = |check: &str, cells| evaluate(check, cells).unwrap().outcome;
        let grows = || vec![at(0.0, 5.0), at(2.0, 6.0), at(9.0, 9.0)];
        let found = evaluate(check, grows()).unwrap();
        assert_eq!(found.outcome, Outcome::Holds, "{found:?}");
        assert_eq!(found.text, "5.00 s at 0, 9.00 s at 9");
        let dip = evaluate(check, vec![at(0.0, 5.0), at(2.0, 4.0), at(9.0, 9.0)]).unwrap();
        assert!(dip.outcome == Outcome::Fails && dip.detail.is_some());
        let noise = vec![at(0.0, 5.0), cell(2.0, "A", &[5.1, 4.9, 5.03])];
        assert_eq!(outcome(check, noise), Outcome::Undecided);
        assert_eq!(
            outcome(&falls, vec![at(0.0, 5.0), at(2.0, 4.0)]),
            Outcome::Holds
        );
        for (name, there) in controls(check, grows()) {
            assert!(there.is_right(), "{name}: {there:?}");
        }
        // A step of so few runs that it may fall is not shown.
        let open = vec![at(0.0, 5.0), cell(2.0, "A", &[5.2, 2.0, 9.0]), at(9.0, 9.0)];
        let found = evaluate(check, open).unwrap();
        assert_eq!(found.outcome, Outcome::Undecided, "{found:?}");
        assert!(found.detail.unwrap().starts_with("2 of 2 steps"));
        // What falls, grows when reversed: that is no fault of the check.
        let names: Vec<_> = controls(&falls, grows()).iter().map(|c| c.0).collect();
        assert_eq!(names, ["arms equal", "mechanism off"]);
    }
}

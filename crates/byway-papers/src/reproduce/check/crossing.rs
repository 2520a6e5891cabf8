//! Two curves cross.

use super::arms::Arms;
use super::finding::{Finding, Measured, RunCount};
use crate::reproduce::cells::{Cells, Filter, Place, Value, Values};
use crate::reproduce::near;
use crate::reproduce::rule::{Level, Outcome, Tally};
use crate::reproduce::sample::Sample;
use serde::Deserialize;

/// Along an axis, `below` is the lower of two curves up to the beginning of a band and
/// the higher one from its end on, point by point and each time clear of zero. Within the
/// band, where they cross, they may be as they are. Where `where` names the values of the axis, one
/// without runs is undecided.
#[derive(Clone, Debug, Deserialize)]
pub struct Crossing {
    #[serde(flatten)]
    of: Measured,
    /// Which cells.
    #[serde(default, rename = "where")]
    filter: Filter,
    /// The axis.
    along: String,
    /// The curve that begins lower.
    below: Place,
    /// The other one.
    above: Place,
    /// Whether the other one does not depend on the axis: all its runs are one level.
    #[serde(default)]
    level: bool,
    /// The band of the crossing, on the axis.
    between: [f64; 2],
    /// The share of the points on either side that must be as stated (1).
    #[serde(default = "all")]
    at_least: f64,
}

fn all() -> f64 {
    1.0
}

impl Crossing {
    pub(super) fn measure(&self) -> &str {
        &self.of.measure
    }

    /// The controls that it must fail.
    pub(super) fn controls(&self) -> &'static [Arms] {
        &[Arms::Swapped, Arms::Equal, Arms::Off(0)]
    }

    pub(super) fn evaluate(&self, cells: &Cells, level: Level, arms: Arms) -> Option<Finding> {
        let [low, high] = self.between;
        let (mut before, mut after) = (Tally::default(), Tally::default());
        let (mut misses, mut used, mut means) = (Vec::new(), Vec::new(), Vec::new());
        for (x, below, above) in self.points(cells) {
            let (below, above) = arms.of(below, above);
            means.push((x, below.mean - above.mean));
            let (tally, outcome) = if x <= low {
                (&mut before, level.below_zero(below.difference(&above)))
            } else if x >= high {
                (&mut after, level.below_zero(above.difference(&below)))
            } else {
                continue;
            };
            tally.add(outcome);
            if outcome != Outcome::Holds {
                let unit = self.of.unit;
                let values = (unit.value(below.mean), unit.value(above.mean));
                misses.push(format!(
                    "{} {x}: {} against {}",
                    self.along, values.0, values.1
                ));
            }
            used.extend([below, above]);
        }
        if before.all + after.all == 0 {
            return None;
        }
        for x in self.named().filter(|x| means.iter().all(|(at, _)| at != x)) {
            let tally = if x <= low {
                &mut before
            } else if x >= high {
                &mut after
            } else {
                continue;
            };
            tally.add(Outcome::Undecided);
            misses.push(format!("{} {x}: no runs", self.along));
        }
        let side = |words: &str, tally: Tally| match tally.all {
            0 => String::new(),
            _ => format!(", {words} at {}", tally.words()),
        };
        let cross = match crossing(&means) {
            Some(x) => format!("they cross at {x:.1}"),
            None => "they do not cross".to_owned(),
        };
        let (lower, higher) = (side("lower before", before), side("higher after", after));
        Some(Finding {
            text: format!("{cross}{lower}{higher}"),
            outcome: Outcome::all([before, after].map(|t| t.outcome(self.at_least))),
            detail: (!misses.is_empty()).then(|| format!("not at {}", misses.join("; "))),
            runs: RunCount::together(&used),
            near: [("before: ", before), ("after: ", after)]
                .iter()
                .filter_map(|(side, t)| Some(near::of_places(t, self.at_least)?.after(side)))
                .reduce(near::Near::both),
        })
    }

    /// Both curves at each value of the axis.
    fn points(&self, cells: &Cells) -> Vec<(f64, Sample, Sample)> {
        let values = cells.values(&self.along, &self.of_curve(&self.below));
        let points = values.iter().filter_map(|value| {
            let at = |place: &Place, level: bool| {
                let mut filter = self.of_curve(place);
                if level {
                    filter.remove(&self.along);
                } else {
                    filter.insert(self.along.clone(), Values::One(value.clone()));
                }
                cells.pooled(&filter, &self.of.measure)
            };
            let (below, above) = (at(&self.below, false)?, at(&self.above, self.level)?);
            Some((value.number()?, below, above))
        });
        points.collect()
    }

    /// The values of the axis that the check names.
    fn named(&self) -> impl Iterator<Item = f64> + '_ {
        let values = match self.filter.get(&self.along) {
            None => &[][..],
            Some(Values::One(value)) => std::slice::from_ref(value),
            Some(Values::Any(values)) => values,
        };
        values.iter().filter_map(Value::number)
    }

    fn of_curve(&self, place: &Place) -> Filter {
        let mut filter = self.filter.clone();
        for (axis, v) in place {
            filter.insert(axis.clone(), Values::One(v.clone()));
        }
        filter
    }
}

/// Where the last change from below to above 0 lies, by a straight line.
fn crossing(points: &[(f64, f64)]) -> Option<f64> {
    points
        .windows(2)
        .rev()
        .find(|p| p[0].1 <= 0.0 && p[1].1 > 0.0)
        .map(|p| p[0].0 + (p[1].0 - p[0].0) * -p[0].1 / (p[1].1 - p[0].1))
}

#[cfg(test)]
mod tests {
    use crate::reproduce::cells::Cell;
    use crate::reproduce::check::testing::{cell, controls, evaluate};
    use crate::reproduce::rule::Outcome;

    const CHECK: &str = "kind = \"crossing\"\nmeasure = \"t\"\nalong = \"loss2\"\n\
         below = { policy = \"A\" }\nabove = { policy = \"B\" }\nbetween = [4, 5]\n";

    fn cells(last: f64) -> Vec<Cell> {
        let at = |x: f64, policy: &str, y: f64| cell(x, policy, &[y, y + 0.3, y - 0.2]);
        vec![
            at(0.0, "A", 5.0),
            at(4.0, "A", 9.0),
            at(6.0, "A", last),
            at(0.0, "B", 10.0),
            at(4.0, "B", 10.0),
            at(6.0, "B", 10.0),
        ]
    }

    #[test]
    fn each_side_of_the_band_is_looked_at() {
        for (last, text, outcome) in [
            (
                13.0,
                "they cross at 4.5, lower before at 2 of 2, higher after at 1 of 1",
                Outcome::Holds,
            ),
            (
                9.0,
                "they do not cross, lower before at 2 of 2, higher after at 0 of 1",
                Outcome::Fails,
            ),
        ] {
            let found = evaluate(CHECK, cells(last)).unwrap();
            assert_eq!((found.text.as_str(), found.outcome), (text, outcome));
        }
        let level = format!("{CHECK}level = true\n");
        assert_eq!(
            evaluate(&level, cells(13.0)).unwrap().outcome,
            Outcome::Holds
        );
        for (name, there) in controls(CHECK, cells(13.0)) {
            assert!(there.is_right(), "{name}: {there:?}");
        }
    }
    /// Losses are measured, so a point may have no runs: a side without its points shows nothing.
    #[test]
    fn a_named_point_without_runs_is_undecided() {
        let outcome = |points: &str| {
            let check = format!("{CHECK}where = {{ loss2 = {points} }}\n");
            evaluate(&check, cells(13.0)).unwrap()
        };
        assert_eq!(outcome("[0, 4, 6]").outcome, Outcome::Holds);
        // What lies within the band may be as it is.
        assert_eq!(outcome("[0, 4, 4.5, 6]").outcome, Outcome::Holds);
        let lacking = outcome("[0, 4, 6, 7]");
        assert_eq!(lacking.outcome, Outcome::Undecided, "{lacking:?}");
        assert!(
            lacking
                .text
                .ends_with("higher after at 1 of 2 (1 undecided)")
        );
        assert_eq!(lacking.detail.unwrap(), "not at loss2 7: no runs");
        let one_side = outcome("[6, 1]");
        assert_eq!(one_side.outcome, Outcome::Undecided, "{one_side:?}");
        // What is clearly the other way still fails.
        let check = format!("{CHECK}where = {{ loss2 = [0, 4, 6, 7] }}\n");
        let found = evaluate(&check, cells(9.0)).unwrap();
        assert_eq!(found.outcome, Outcome::Fails, "{found:?}");
    }
}

//! A change that becomes smaller along an axis.

use super::arms::Arms;
use super::finding::{Finding, Measured, RunCount};
use crate::reproduce::cells::{Cells, Filter, Place, Values};
use crate::reproduce::estimate::Estimate;
use crate::reproduce::near;
use crate::reproduce::rule::{Level, Outcome};
use serde::Deserialize;

/// By how much a gain may grow at a step without saying so.
const STEP: f64 = 0.05;

/// The relative change of a measure from the cells that `from` means to those
/// that `to` means becomes smaller along an axis, clear of zero from the first to the last value,
/// and at each step is shown not to become greater by 5 points; a step at which it becomes
/// greater, clear of zero, fails.
#[derive(Clone, Debug, Deserialize)]
pub struct Gains {
    #[serde(flatten)]
    of: Measured,
    /// Which cells.
    #[serde(default, rename = "where")]
    filter: Filter,
    /// Before.
    from: Place,
    /// After.
    to: Place,
    /// The axis.
    along: String,
}

impl Gains {
    pub(super) fn measure(&self) -> &str {
        &self.of.measure
    }

    /// The controls that it must fail.
    pub(super) fn controls(&self) -> &'static [Arms] {
        &[Arms::Swapped, Arms::Equal, Arms::Off(0)]
    }

    pub(super) fn evaluate(&self, cells: &Cells, level: Level, arms: Arms) -> Option<Finding> {
        let mut gains: Vec<(String, f64, Option<Estimate>)> = Vec::new();
        let mut used = Vec::new();
        for value in cells.values(&self.along, &self.filter) {
            let sample = |place: &Place| {
                let mut filter = self.filter.clone();
                filter.insert(self.along.clone(), Values::One(value.clone()));
                for (axis, v) in place {
                    filter.insert(axis.clone(), Values::One(v.clone()));
                }
                cells.pooled(&filter, &self.of.measure)
            };
            if let (Some(before), Some(after)) = (sample(&self.from), sample(&self.to)) {
                let (after, before) = arms.of(after, before);
                let change = 100.0 * (after.mean / before.mean - 1.0);
                gains.push((value.to_string(), change, after.relative(&before)));
                used.extend([before, after]);
            }
        }
        let (first, last) = (gains.first()?, gains.last()?);
        // Neighbours as independent: their seeds are the same, so this is on the safe side.
        let fall = |from: Option<Estimate>, to: Option<Estimate>| {
            let (from, to) = (from?, to?);
            to.plus(from, 1.0, -1.0, to.value - from.value)
        };
        let whole = match gains.len() {
            1 => Outcome::Undecided,
            _ => level.below_zero(fall(first.2, last.2)),
        };
        let steps = gains
            .windows(2)
            .map(|pair| level.not_above(fall(pair[0].2, pair[1].2), STEP));
        let gain = level.below_zero(first.2.map(Estimate::negative));
        let words: Vec<String> = gains
            .iter()
            .map(|(name, change, _)| format!("{change:+.0} % at {name}"))
            .collect();
        Some(Finding {
            text: words.join(", "),
            outcome: Outcome::all([whole, gain].into_iter().chain(steps)),
            detail: None,
            runs: RunCount::together(&used),
            near: near::of_zero(fall(first.2, last.2)),
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::reproduce::check::testing::{cell, controls, evaluate};
    use crate::reproduce::rule::Outcome;

    #[test]
    fn gains_must_fall_along_the_axis() {
        let check = "kind = \"gains\"\nmeasure = \"t\"\nalong = \"loss2\"\n\
                     from = { policy = \"A\" }\nto = { policy = \"B\" }\n";
        let at = |x: f64, policy: &str, y: f64| cell(x, policy, &[y, y + 0.1, y - 0.2, y + 0.05]);
        let cells = |last: f64| {
            vec![
                at(1.0, "A", 10.0),
                at(1.0, "B", 30.0),
                at(2.0, "A", 10.0),
                at(2.0, "B", last),
            ]
        };
        let found = evaluate(check, cells(15.0)).unwrap();
        assert_eq!(found.outcome, Outcome::Holds, "{found:?}");
        assert!(found.text.starts_with("+20"), "{}", found.text);
        assert_eq!(
            evaluate(check, cells(40.0)).unwrap().outcome,
            Outcome::Fails
        );
        for (name, there) in controls(check, cells(15.0)) {
            assert!(there.is_right(), "{name}: {there:?}");
        }
        let noisy = vec![
            at(1.0, "A", 10.0),
            at(1.0, "B", 30.0),
            at(2.0, "A", 10.0),
            cell(2.0, "B", &[16.0, 30.0, 14.0, 12.0]),
            at(3.0, "A", 10.0),
            at(3.0, "B", 12.0),
        ];
        let found = evaluate(check, noisy).unwrap();
        assert_eq!(found.outcome, Outcome::Undecided, "{found:?}");
    }
}

//! The greatest or the least of several means.

use super::change::Take;
use super::finding::{Finding, Measured, RunCount};
use crate::reproduce::cap::Cap;
use crate::reproduce::cells::{Cells, Filter, Place, place_words};
use crate::reproduce::near;
use crate::reproduce::rule::Level;
use crate::reproduce::sample::Sample;
use serde::Deserialize;

/// Of the means of the meant cells the greatest or the least one lies in a band. The
/// cells share the error of the test, since the furthest one is taken.
#[derive(Clone, Debug, Deserialize)]
pub struct Extreme {
    #[serde(flatten)]
    of: Measured,
    /// Which cells.
    #[serde(default, rename = "where")]
    filter: Filter,
    /// Which of the means.
    take: Take,
    /// The band, both ends included.
    between: [f64; 2],
    /// The cells whose runs lack the mechanism: other values of some axes. The check
    /// must fail there.
    #[serde(default)]
    pub(super) off: Filter,
}

impl Extreme {
    pub(super) fn measure(&self) -> &str {
        &self.of.measure
    }

    /// The furthest mean, its place, and of how many.
    fn furthest(&self, cells: &Cells, off: bool) -> Option<(Place, Sample, usize)> {
        let mut filter = self.filter.clone();
        if off {
            filter.extend(self.off.clone());
        }
        let means: Vec<(&Place, Sample)> = cells.samples(&filter, &self.of.measure).collect();
        let count = means.len();
        let (place, sample) = means.into_iter().reduce(|best, next| {
            match self.take.is_further(next.1.mean, best.1.mean) {
                true => next,
                false => best,
            }
        })?;
        Some((place.clone(), sample, count))
    }

    pub(super) fn beyond(&self, cells: &Cells, cap: &Cap) -> Option<String> {
        let (_, sample, count) = self.furthest(cells, false)?;
        cap.shared(count)
            .of_band(&sample, self.between, self.of.unit)
    }

    pub(super) fn evaluate(&self, cells: &Cells, level: Level, off: bool) -> Option<Finding> {
        let (place, sample, count) = self.furthest(cells, off)?;
        let level = level.shared(count);
        let unit = self.of.unit;
        let [from, to] = self.between;
        let fixed: Vec<&str> = self.filter.keys().map(String::as_str).collect();
        Some(Finding {
            text: unit.sample(&sample),
            outcome: level.sample_within(&sample, self.between),
            detail: Some(format!(
                "at {}; counts between {} and {}",
                place_words(&place, &fixed),
                unit.value(from),
                unit.value(to)
            )),
            runs: RunCount::of(&sample),
            near: near::of_band(&sample, self.between, unit),
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::reproduce::check::testing::{cell, evaluate};
    use crate::reproduce::rule::Outcome;

    #[test]
    fn the_greatest_or_the_least_mean_counts() {
        let check = |take: &str| {
            format!(
                "kind = \"extreme\"\nmeasure = \"t\"\nunit = \"s\"\n\
                 where = {{ policy = \"A\" }}\ntake = \"{take}\"\nbetween = [70, 74]\n"
            )
        };
        let cells = || {
            vec![
                cell(0.0, "A", &[64.0, 64.1, 64.1]),
                cell(8.0, "A", &[72.0, 72.2, 72.1]),
                cell(9.0, "B", &[99.0, 99.1]),
            ]
        };
        let found = evaluate(&check("greatest"), cells()).unwrap();
        assert_eq!(found.outcome, Outcome::Holds, "{found:?}");
        assert!(found.detail.unwrap().starts_with("at 8 % on path 2;"));
        let found = evaluate(&check("least"), cells()).unwrap();
        assert_eq!(found.outcome, Outcome::Fails);
    }
}

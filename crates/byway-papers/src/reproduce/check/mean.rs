//! A mean or a share lies in a band.

use super::finding::{Finding, Measured, RunCount};
use crate::reproduce::cap::Cap;
use crate::reproduce::cells::{Cells, Filter};
use crate::reproduce::near;
use crate::reproduce::rule::{Level, Outcome};
use crate::reproduce::sample::Sample;
use serde::Deserialize;

/// The mean of a measure over the runs of the meant cells lies in a band: two one-sided
/// tests. Without a band it is a figure that is shown and checks nothing.
#[derive(Clone, Debug, Deserialize)]
pub struct Mean {
    #[serde(flatten)]
    of: Measured,
    /// Which cells, all together.
    #[serde(default, rename = "where")]
    filter: Filter,
    /// The band, both ends included.
    #[serde(default)]
    between: Option<[f64; 2]>,
    /// The fewest distinct runs that decide (1).
    #[serde(default = "one")]
    least_runs: usize,
    /// What is taken off each value before it is judged: a floor that no run can be
    /// below, so that the band is that of what comes on top.
    #[serde(default)]
    above: f64,
    /// The cells whose runs lack the mechanism: other values of some axes. The check
    /// must fail there.
    #[serde(default)]
    pub(super) off: Filter,
}

fn one() -> usize {
    1
}

impl Mean {
    pub(super) fn measure(&self) -> &str {
        &self.of.measure
    }

    /// Whether it checks anything.
    pub(super) fn counts(&self) -> bool {
        self.between.is_some()
    }

    fn sample(&self, cells: &Cells, off: bool) -> Option<Sample> {
        let mut filter = self.filter.clone();
        if off {
            filter.extend(self.off.clone());
        }
        let sample = cells.pooled(&filter, &self.of.measure)?;
        Some(match self.above {
            0.0 => sample,
            above => sample.map(sample.kind, |value| value - above),
        })
    }

    pub(super) fn beyond(&self, cells: &Cells, cap: &Cap) -> Option<String> {
        cap.of_band(&self.sample(cells, false)?, self.between?, self.of.unit)
    }

    pub(super) fn evaluate(&self, cells: &Cells, level: Level, off: bool) -> Option<Finding> {
        let sample = self.sample(cells, off)?;
        let unit = self.of.unit;
        let outcome = match self.between {
            None => Outcome::Holds,
            Some(_) if sample.n < self.least_runs => Outcome::Undecided,
            Some(band) => level.sample_within(&sample, band),
        };
        Some(Finding {
            text: unit.sample(&sample),
            outcome,
            detail: self.between.map(|[from, to]| {
                let few = sample.n < self.least_runs;
                let few = match few {
                    true => format!("; {} runs decide", self.least_runs),
                    false => String::new(),
                };
                format!(
                    "counts between {} and {}{few}",
                    unit.value(from),
                    unit.value(to)
                )
            }),
            runs: RunCount::of(&sample),
            near: self
                .between
                .and_then(|band| near::of_band(&sample, band, unit)),
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::reproduce::check::testing::{cell, evaluate};
    use crate::reproduce::rule::Outcome;

    #[test]
    fn the_interval_must_lie_in_the_band() {
        let check = |band: &str| {
            format!("kind = \"mean\"\nmeasure = \"t\"\nunit = \"s\"\nbetween = {band}\n")
        };
        let cells = || vec![cell(0.0, "A", &[9.0, 10.0, 11.0])];
        // Of 90 %, which must lie inside: 8.31 to 11.69; of 95 %: 7.52 to 12.48.
        for (band, outcome) in [
            ("[8.3, 11.7]", Outcome::Holds),
            ("[10, 10]", Outcome::Undecided),
            ("[12, 13]", Outcome::Undecided),
            ("[8.4, 20]", Outcome::Undecided),
            ("[13, 14]", Outcome::Fails),
            ("[1, 7]", Outcome::Fails),
        ] {
            let found = evaluate(&check(band), cells()).unwrap();
            assert_eq!(found.outcome, outcome, "{band}");
            assert_eq!(found.text, "10.0 s (7.52 to 12.5, 3 runs)");
        }
        assert!(evaluate(&check("[1, 2]"), Vec::new()).is_none());
        let one = evaluate(&check("[9, 11]"), vec![cell(0.0, "A", &[10.0])]).unwrap();
        assert_eq!(
            one.outcome,
            Outcome::Undecided,
            "a single run decides nothing"
        );
        let shown = evaluate("kind = \"mean\"\nmeasure = \"t\"\nunit = \"s\"\n", cells()).unwrap();
        assert!(shown.outcome == Outcome::Holds && shown.detail.is_none());
    }

    #[test]
    fn what_comes_on_top_of_a_floor_is_judged_alone() {
        let check =
            "kind = \"mean\"\nmeasure = \"t\"\nunit = \"s\"\nabove = 64\nbetween = [7, 9]\n";
        let cells = |more: f64| vec![cell(0.0, "A", &[64.0 + more, 63.9 + more, 64.1 + more])];
        assert_eq!(evaluate(check, cells(8.0)).unwrap().outcome, Outcome::Holds);
        assert_eq!(evaluate(check, cells(4.0)).unwrap().outcome, Outcome::Fails);
    }
}

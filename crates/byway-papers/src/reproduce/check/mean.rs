//! A mean or a share lies in a band.

use super::finding::{Finding, Measured};
use crate::reproduce::cells::{Cells, Filter};
use serde::Deserialize;

/// The mean of a measure over the runs of the meant cells lies in a band, or
/// the band lies within what chance allows: it meets the 95 % interval. Without
/// a band it is a figure that is shown and checks nothing.
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
    /// The fewest runs that decide (1).
    #[serde(default = "one")]
    least_runs: usize,
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

    pub(super) fn evaluate(&self, cells: &Cells) -> Option<Finding> {
        let sample = cells.pooled(&self.filter, &self.of.measure)?;
        let (low, high) = sample.interval().unwrap_or((sample.mean, sample.mean));
        let unit = self.of.unit;
        let within = |[from, to]: [f64; 2]| low <= to && high >= from;
        Some(Finding {
            text: unit.sample(&sample),
            holds: sample.n >= self.least_runs && self.between.is_none_or(within),
            detail: self.between.map(|[from, to]| {
                format!("counts between {} and {}", unit.value(from), unit.value(to))
            }),
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::reproduce::check::testing::{cell, evaluate};

    #[test]
    fn the_band_must_meet_the_interval() {
        let check = |band: &str| {
            format!("kind = \"mean\"\nmeasure = \"t\"\nunit = \"s\"\nbetween = {band}\n")
        };
        let cells = || vec![cell(0.0, "A", &[9.0, 10.0, 11.0])];
        // The interval is 7.52 to 12.48.
        for (band, holds) in [
            ("[10, 10]", true),
            ("[12, 13]", true),
            ("[13, 14]", false),
            ("[1, 7]", false),
        ] {
            let found = evaluate(&check(band), cells()).unwrap();
            assert_eq!(found.holds, holds, "{band}");
            assert_eq!(found.text, "10.0 s (7.52 to 12.5, 3 runs)");
        }
        assert!(evaluate(&check("[1, 2]"), Vec::new()).is_none());
        let shown = evaluate("kind = \"mean\"\nmeasure = \"t\"\nunit = \"s\"\n", cells()).unwrap();
        assert!(shown.holds && shown.detail.is_none(), "{shown:?}");
    }
}

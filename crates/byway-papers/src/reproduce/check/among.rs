//! A value that the paper took from one run lies among those of single runs.

use super::finding::{Finding, Measured};
use crate::reproduce::cells::{Cells, Filter};
use crate::reproduce::show::number;
use serde::Deserialize;

/// The share of the runs that the range leaves out at either end.
const TAIL: f64 = 0.025;

/// A printed value of one run lies in the middle 95 % of the runs of the meant
/// cells; of fewer than 40 that is from their least to their greatest. The mean
/// of many runs would be the wrong thing to hold one run against.
#[derive(Clone, Debug, Deserialize)]
pub struct Among {
    #[serde(flatten)]
    of: Measured,
    /// Which cells, all together.
    #[serde(default, rename = "where")]
    filter: Filter,
    /// The value that the paper prints.
    value: f64,
}

impl Among {
    pub(super) fn measure(&self) -> &str {
        &self.of.measure
    }

    pub(super) fn evaluate(&self, cells: &Cells) -> Option<Finding> {
        let sample = cells.pooled(&self.filter, &self.of.measure)?;
        let mut values: Vec<f64> = sample.values.iter().map(|(_, v)| *v).collect();
        values.sort_by(f64::total_cmp);
        let out = (TAIL * values.len() as f64) as usize;
        let low = *values.get(out)?;
        let high = *values.get(values.len().checked_sub(out + 1)?)?;
        let unit = self.of.unit;
        let runs = match (values.len(), out) {
            (1, _) => "1 run".to_owned(),
            (n, 0) => format!("{n} runs"),
            (n, _) => format!("95 % of {n} runs"),
        };
        Some(Finding {
            text: format!(
                "{} to {} in {runs}, mean {}",
                number(unit.scaled(low)),
                unit.value(high),
                number(unit.scaled(sample.mean))
            ),
            holds: (low..=high).contains(&self.value),
            detail: Some(format!("counts with {} among them", unit.value(self.value))),
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::reproduce::check::testing::{cell, evaluate};

    #[test]
    fn one_run_is_held_against_single_runs() {
        let check = |value: &str| {
            format!("kind = \"among\"\nmeasure = \"t\"\nunit = \"s\"\nvalue = {value}\n")
        };
        let few = || vec![cell(0.0, "A", &[9.0, 10.0, 14.0])];
        let found = evaluate(&check("13.5"), few()).unwrap();
        assert!(found.holds);
        assert_eq!(found.text, "9.00 to 14.0 s in 3 runs, mean 11.0");
        assert!(!evaluate(&check("14.5"), few()).unwrap().holds);
        let many: Vec<f64> = (0..100).map(f64::from).collect();
        for (value, holds) in [
            ("1.0", false),
            ("2.0", true),
            ("97.0", true),
            ("98.0", false),
        ] {
            let found = evaluate(&check(value), vec![cell(0.0, "A", &many)]).unwrap();
            assert_eq!(found.holds, holds, "{value}");
        }
        assert!(evaluate(&check("1.0"), Vec::new()).is_none());
    }
}

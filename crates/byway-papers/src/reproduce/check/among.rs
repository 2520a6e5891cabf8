//! A value that the paper took from one run, among those of single runs.

use super::finding::{Finding, Measured, RunCount};
use crate::reproduce::cells::{Cells, Filter};
use crate::reproduce::near;
use crate::reproduce::rule::Outcome;
use crate::reproduce::show::number;
use serde::Deserialize;

/// The share of the runs that the range leaves out at either end.
const TAIL: f64 = 0.025;
/// Fewest runs whose range says anything.
const FEWEST: usize = 40;

/// A printed value of one run is compared with the middle 95 % of the runs of the meant
/// cells. Outside, it does not hold. Inside, one run cannot show more than that nothing
/// speaks against it: undecided.
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
        let mut values: Vec<f64> = sample.runs.iter().map(|r| r.value).collect();
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
        let outside = !(low..=high).contains(&self.value);
        Some(Finding {
            text: format!(
                "{} to {} in {runs}, mean {}",
                number(unit.scaled(low)),
                unit.value(high),
                number(unit.scaled(sample.mean))
            ),
            outcome: match outside && values.len() >= FEWEST {
                true => Outcome::Fails,
                false => Outcome::Undecided,
            },
            detail: Some(format!(
                "{} is a value of one run: it can be refuted, not confirmed",
                unit.value(self.value)
            )),
            runs: RunCount::of(&sample),
            near: near::of_rank(&values, self.value),
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::reproduce::check::testing::{cell, evaluate};
    use crate::reproduce::rule::Outcome;

    #[test]
    fn one_run_is_held_against_single_runs() {
        let check = |value: &str| {
            format!("kind = \"among\"\nmeasure = \"t\"\nunit = \"s\"\nvalue = {value}\n")
        };
        let few = || vec![cell(0.0, "A", &[9.0, 10.0, 14.0])];
        let found = evaluate(&check("15.5"), few()).unwrap();
        assert_eq!(found.outcome, Outcome::Undecided, "too few runs");
        assert_eq!(found.text, "9.00 to 14.0 s in 3 runs, mean 11.0");
        let many: Vec<f64> = (0..100).map(f64::from).collect();
        for (value, outcome) in [
            ("1.0", Outcome::Fails),
            ("2.0", Outcome::Undecided),
            ("97.0", Outcome::Undecided),
            ("98.0", Outcome::Fails),
        ] {
            let found = evaluate(&check(value), vec![cell(0.0, "A", &many)]).unwrap();
            assert_eq!(found.outcome, outcome, "{value}");
        }
        assert!(evaluate(&check("1.0"), Vec::new()).is_none());
    }
}

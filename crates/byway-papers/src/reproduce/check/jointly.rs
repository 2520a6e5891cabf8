//! Several values that the paper took from one run, together, among single runs.

use super::finding::{Finding, RunCount};
use crate::reproduce::cells::{Cells, Filter};
use crate::reproduce::near::Near;
use crate::reproduce::rule::Outcome;
use crate::reproduce::sample::Sample;
use serde::Deserialize;
use std::collections::BTreeMap;

/// The share of the runs that may be as extreme as the paper's: as few refute it.
const ALPHA: f64 = 0.05;
/// Fewest runs that say anything.
const FEWEST: usize = 40;

/// How extreme a run is, is the least of the shares of runs that are on the same side of it in one of
/// the measures. The paper's run is refuted if no more than 5 % of the runs are as extreme. As each value
/// alone, all together can be refuted, not confirmed: else undecided.
#[derive(Clone, Debug, Deserialize)]
pub struct Jointly {
    /// Which cells, all together.
    #[serde(default, rename = "where")]
    filter: Filter,
    /// The values that the paper prints, by measure.
    values: BTreeMap<String, f64>,
}

impl Jointly {
    pub(super) fn measures(&self) -> Vec<&str> {
        self.values.keys().map(String::as_str).collect()
    }

    pub(super) fn measure(&self) -> &str {
        self.values.keys().next().map_or("", String::as_str)
    }

    pub(super) fn evaluate(&self, cells: &Cells) -> Option<Finding> {
        let runs = self.runs(cells);
        let paper: Vec<f64> = self.values.values().copied().collect();
        let columns: Vec<Vec<f64>> = (0..paper.len())
            .map(|i| {
                let mut column: Vec<f64> = runs.iter().map(|run| run[i]).collect();
                column.sort_by(f64::total_cmp);
                column
            })
            .collect();
        let extreme = |run: &[f64]| {
            let sides = run.iter().zip(&columns).map(|(value, sorted)| {
                let up_to = sorted.partition_point(|v| v <= value);
                let from = sorted.len() - sorted.partition_point(|v| v < value);
                up_to.min(from)
            });
            sides.min().unwrap_or(0)
        };
        let own = extreme(&paper);
        let as_extreme = runs.iter().filter(|run| extreme(run) <= own).count();
        let n = runs.len();
        if n == 0 {
            return None;
        }
        let share = as_extreme as f64 / n as f64;
        let all = cells.pooled(&self.filter, self.measure())?;
        Some(Finding {
            text: format!(
                "{:.1} % of {n} runs are as extreme in one of {} values as the paper's",
                100.0 * share,
                paper.len()
            ),
            outcome: match share <= ALPHA && n >= FEWEST {
                true => Outcome::Fails,
                false => Outcome::Undecided,
            },
            detail: Some(format!(
                "up to {:.0} % refute it; one run can be refuted, not confirmed",
                100.0 * ALPHA
            )),
            runs: RunCount::of(&all),
            near: Some(Near {
                words: format!(
                    "{:.1} % of the runs are as extreme; {:.0} % refute it",
                    100.0 * share,
                    100.0 * ALPHA
                ),
                margin: (share - ALPHA).abs() / ALPHA,
            }),
        })
    }

    /// The values of each run that has all measures.
    fn runs(&self, cells: &Cells) -> Vec<Vec<f64>> {
        let mut all: BTreeMap<(usize, u64), Vec<f64>> = BTreeMap::new();
        for measure in self.values.keys() {
            let samples = cells.samples(&self.filter, measure);
            let samples: Vec<Sample> = samples.map(|(_, sample)| sample).collect();
            for (cell, sample) in samples.into_iter().enumerate() {
                for run in sample.runs {
                    all.entry((cell, run.seed)).or_default().push(run.value);
                }
            }
        }
        let whole = |run: &Vec<f64>| run.len() == self.values.len();
        all.into_values().filter(whole).collect()
    }
}

#[cfg(test)]
mod tests {
    use crate::reproduce::check::testing::{cell, evaluate, no_controls};
    use crate::reproduce::rule::Outcome;
    use crate::reproduce::sample::{Kind, Sample};

    const CHECK: &str = "kind = \"jointly\"\n";

    /// A run whose values are each usual and together are not is not refuted; one with a value that is
    /// out, or with several that are nearly, is.
    #[test]
    fn all_values_of_one_run_are_looked_at_together() {
        let values: Vec<f64> = (0..100).map(f64::from).collect();
        let mut cell = cell(0.0, "A", &values);
        let other = (1..).zip(values.iter().map(|v| (v * 37.0) % 100.0));
        let other = Sample::of(other.collect(), Kind::Quantity);
        cell.samples.insert("u".to_owned(), other);
        for (t, u, outcome) in [
            (50.0, 50.0, Outcome::Undecided),
            (0.5, 50.0, Outcome::Fails),
            (50.0, 99.5, Outcome::Fails),
            (4.0, 50.0, Outcome::Undecided),
        ] {
            let check = format!("{CHECK}values = {{ t = {t:?}, u = {u:?} }}\n");
            let found = evaluate(&check, vec![cell.clone()]).unwrap();
            assert_eq!(found.outcome, outcome, "{t} {u}: {found:?}");
            assert!(no_controls(&check, vec![cell.clone()]));
        }
    }
}

//! What an order is found to be at its places.

use crate::reproduce::check::finding::{Finding, RunCount};
use crate::reproduce::rule::{Outcome, Tally};
use crate::reproduce::sample::{SHOWN, Sample};
use crate::reproduce::show::Unit;

/// What was seen at the places.
#[derive(Default)]
pub(super) struct Seen {
    pub(super) tally: Tally,
    pub(super) pairs: Vec<(Sample, Sample)>,
    /// Where it does not hold, and by how much.
    misses: Vec<(f64, String, Sample, Sample)>,
}

impl Seen {
    pub(super) fn look(
        &mut self,
        words: String,
        less: Sample,
        more: Sample,
        at: impl Fn(&Sample, &Sample) -> Outcome,
    ) {
        let outcome = at(&less, &more);
        self.tally.add(outcome);
        if outcome != Outcome::Holds {
            let by = (less.mean - more.mean) / more.mean;
            self.misses.push((by, words, less.clone(), more.clone()));
        }
        self.pairs.push((less, more));
    }

    /// The mean over places of the relative difference, in words.
    pub(super) fn overall(&self) -> String {
        Sample::mean_relative(&self.pairs).map_or_else(String::new, |mean| {
            format!(
                "; on average {:+.1} % (\u{b1}{:.1})",
                100.0 * mean.value,
                100.0 * mean.half(SHOWN)
            )
        })
    }

    pub(super) fn finding(mut self, outcome: Outcome, words: &str, unit: Unit) -> Finding {
        let mut ratios: Vec<f64> = self
            .pairs
            .iter()
            .filter(|(_, more)| more.mean > 0.0)
            .map(|(less, more)| less.mean / more.mean)
            .collect();
        ratios.sort_by(f64::total_cmp);
        let median = ratios
            .get(ratios.len() / 2)
            .map_or_else(String::new, |r| format!(", median ratio {r:.2}"));
        let (differ, pairs) = self.pairs.iter().fold((0, 0), |(d, n), (less, more)| {
            let (differ, all) = less.came_into_play(more);
            (d + differ, n + all)
        });
        let play = match (differ, pairs) {
            (d, n) if d < n => format!(", runs differ in {d} of {n} pairs"),
            _ => String::new(),
        };
        self.misses.sort_by(|a, b| b.0.total_cmp(&a.0));
        let shown = self.misses.iter().take(3).map(|(_, place, less, more)| {
            let values = (unit.value(less.mean), unit.value(more.mean));
            format!("{place}: {} against {}", values.0, values.1)
        });
        let shown: Vec<String> = shown.collect();
        Finding {
            text: format!("{words} at {} places{median}{play}", self.tally.words()),
            outcome,
            detail: (!shown.is_empty()).then(|| format!("not at {}", shown.join("; "))),
            runs: RunCount::together(self.pairs.iter().flat_map(|(a, b)| [a, b])),
            near: None,
        }
    }
}

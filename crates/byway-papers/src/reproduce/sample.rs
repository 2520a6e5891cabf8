//! The runs of one cell, or of several, seen through one measure.
//!
//! The unit is the distinct run. Runs that are the same run under another name
//! (another seed that chance never used, a setting that never came into play)
//! count once. Runs with one seed meet the same losses, so that they are one
//! cluster: intervals are those of clusters.

mod compare;

use super::estimate::Estimate;
use byway_lab::stats::wilson;
use statrs::distribution::{ChiSquared, ContinuousCDF};
use std::collections::{BTreeMap, BTreeSet};

/// Of the intervals that are shown.
pub const SHOWN: f64 = 0.95;
/// Up to how many events in all runs together their scatter says too little of
/// their mean: of none at all it would be certain.
pub(super) const FEW_EVENTS: f64 = 10.0;

/// What the values of a sample are, which decides the interval of their mean.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Default)]
pub enum Kind {
    /// Times, rates and other quantities.
    #[default]
    Quantity,
    /// How often something happened in a run.
    Count,
    /// 0 or 1, so that the mean is a share of the runs.
    Share,
}

/// One run.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct Run {
    /// Its seed.
    pub seed: u64,
    /// Its value.
    pub value: f64,
    /// What was measured, where `value` says whether a condition on it holds.
    pub measured: f64,
    /// A mark of all figures of the run, if they are known: two runs with one
    /// mark are the same run.
    pub mark: Option<u64>,
    /// Whether other seeds gave the same run, so that nothing in it is chance.
    pub certain: bool,
}

impl Run {
    /// A run of which no more is known.
    #[must_use]
    pub fn new(seed: u64, value: f64) -> Run {
        Run {
            seed,
            value,
            measured: value,
            mark: None,
            certain: false,
        }
    }

    /// Runs of one cluster meet the same chance.
    fn cluster(&self) -> (bool, u64) {
        match (self.certain, self.mark) {
            (true, Some(mark)) => (true, mark),
            _ => (false, self.seed),
        }
    }
}

/// Values of one measure, or what a table of another simulator says of them.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Sample {
    /// How many distinct runs.
    pub n: usize,
    /// How many runs there were before equal ones were taken for one.
    pub all: usize,
    /// Their mean.
    pub mean: f64,
    /// Their standard deviation; 0 for a single run.
    pub sd: f64,
    /// What the values are.
    pub kind: Kind,
    /// The distinct runs; empty when only the figures above are known.
    pub runs: Vec<Run>,
}

impl Sample {
    /// Of values by seed.
    #[must_use]
    pub fn of(values: Vec<(u64, f64)>, kind: Kind) -> Sample {
        let runs = values.into_iter().map(|(seed, v)| Run::new(seed, v));
        Sample::of_runs(runs.collect(), kind)
    }

    /// Of the runs of one cell: what all its seeds give, to the last bit, is certain.
    #[must_use]
    pub fn of_cell(mut runs: Vec<Run>, kind: Kind) -> Sample {
        if let [first, rest @ ..] = runs.as_slice() {
            let first = *first;
            let same = |r: &Run| r.mark == first.mark || (is_telling(r) && r.value == first.value);
            if first.mark.is_some() && !rest.is_empty() && rest.iter().all(same) {
                for run in &mut runs {
                    run.mark = first.mark;
                    run.certain = true;
                }
            }
        }
        Sample::of_runs(runs, kind)
    }

    /// Of these runs, of which equal ones count once.
    #[must_use]
    pub fn of_runs(runs: Vec<Run>, kind: Kind) -> Sample {
        let all = runs.len();
        let runs = distinct(runs);
        let n = runs.len();
        let mean = runs.iter().map(|r| r.value).sum::<f64>() / n.max(1) as f64;
        let squares: f64 = runs.iter().map(|r| (r.value - mean).powi(2)).sum();
        Sample {
            n,
            all,
            mean,
            sd: (squares / n.saturating_sub(1).max(1) as f64).sqrt(),
            kind,
            runs,
        }
    }

    /// The same with each value changed.
    #[must_use]
    pub fn map(&self, kind: Kind, value: impl Fn(f64) -> f64) -> Sample {
        let mut same = self.clone();
        same.runs.iter_mut().for_each(|r| r.value = value(r.value));
        Sample {
            all: self.all,
            ..Sample::of_runs(same.runs, kind)
        }
    }

    /// Whether nothing in it is chance: one run, which other seeds give, too.
    fn is_certain(&self) -> bool {
        matches!(self.runs.as_slice(), [only] if only.certain)
    }

    /// From the least to the greatest value, if nothing in any of the runs is chance: they are
    /// several cases, each of which must be in a band.
    pub(super) fn range(&self) -> Option<(f64, f64)> {
        let ends = |(low, high): (f64, f64), run: &Run| (low.min(run.value), high.max(run.value));
        let certain = !self.runs.is_empty() && self.runs.iter().all(|r| r.certain);
        certain.then(|| {
            self.runs
                .iter()
                .fold((f64::INFINITY, f64::NEG_INFINITY), ends)
        })
    }

    /// How far each cluster moves the mean: their squares add up to its variance.
    fn pulls(&self) -> BTreeMap<(bool, u64), f64> {
        let mut pulls = BTreeMap::new();
        // What is certain moves nothing.
        let moving = self.runs.iter().filter(|_| !self.is_certain());
        for run in moving {
            *pulls.entry(run.cluster()).or_insert(0.0) += (run.value - self.mean) / self.n as f64;
        }
        pulls
    }

    /// The mean with its uncertainty; none of a single run that chance may have
    /// made.
    #[must_use]
    pub fn estimate(&self) -> Option<Estimate> {
        if self.is_certain() {
            return Some(Estimate::certain(self.mean));
        }
        if self.runs.is_empty() {
            let error = self.sd / (self.n as f64).sqrt();
            return (self.n > 1).then(|| Estimate::new(self.mean, error, self.n as f64 - 1.0));
        }
        Estimate::of_pulls(self.mean, self.pulls().values().copied())
    }

    /// The interval that holds the mean with this confidence: Student's t over
    /// clusters; Wilson's for a share; Garwood's of a Poisson mean for up to ten
    /// events in all runs together. None for fewer than two clusters. Where nothing is chance,
    /// from the least to the greatest value.
    #[must_use]
    pub fn interval_of(&self, confidence: f64) -> Option<(f64, f64)> {
        if let Some(range) = self.range() {
            return Some(range);
        }
        let estimate = self.estimate()?;
        let n = self.n as f64;
        let hits = (self.mean * n).round();
        match self.kind {
            Kind::Share => {
                let few = hits.min(n - hits) <= FEW_EVENTS;
                let n = self.independent(if few { 0.0 } else { estimate.error });
                let hits = (self.mean * n).round() as u32;
                Some(wilson(hits, n.round() as u32, confidence))
            }
            Kind::Count if hits <= FEW_EVENTS => Some(poisson(hits, n, confidence)),
            Kind::Count | Kind::Quantity => estimate.interval(confidence),
        }
    }

    /// The 95 % interval, which is shown.
    #[must_use]
    pub fn interval(&self) -> Option<(f64, f64)> {
        self.interval_of(SHOWN)
    }

    /// How many independent runs would leave a share as uncertain as these
    /// clusters do: at least as many as there are clusters.
    fn independent(&self, error: f64) -> f64 {
        let n = self.n as f64;
        if self.runs.is_empty() {
            return n;
        }
        let clusters = self.pulls().len() as f64;
        let variance = self.mean * (1.0 - self.mean);
        if error > 0.0 && variance > 0.0 {
            (variance / error.powi(2)).clamp(clusters, n)
        } else {
            clusters
        }
    }

    /// One of so many parts of its seeds; `deal` says how they are dealt. Of as many seeds that follow
    /// each other each part gets one, the same one in each sample.
    #[must_use]
    pub fn part(&self, deal: u64, parts: u64, part: u64) -> Sample {
        let mixed = |block: u64| mix(block ^ deal << 40);
        let parts = parts.max(1);
        let dealt = |seed: u64| (seed + mixed(seed.saturating_sub(1) / parts)) % parts;
        let is_of = |run: &&Run| dealt(run.seed) == part;
        Sample::of_runs(self.runs.iter().filter(is_of).copied().collect(), self.kind)
    }

    /// The same with each value multiplied.
    #[must_use]
    pub fn times(&self, factor: f64) -> Sample {
        let mut more = self.clone();
        more.mean *= factor;
        more.sd *= factor.abs();
        more.runs.iter_mut().for_each(|r| r.value *= factor);
        more
    }
}

/// A number that tells nothing of the one it is made of (the last step of SplitMix64).
fn mix(x: u64) -> u64 {
    let x = (x ^ x >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let x = (x ^ x >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ x >> 31
}

/// The runs without those that are the same as an earlier one: by their marks,
/// or by a quantity that two runs with one seed have to the last bit.
fn distinct(mut runs: Vec<Run>) -> Vec<Run> {
    let (mut marks, mut values) = (BTreeSet::new(), BTreeSet::new());
    let exact = |run: &Run| is_telling(run).then(|| (run.seed, run.measured.to_bits()));
    runs.retain(|run| {
        let new_mark = run.mark.is_none_or(|mark| marks.insert(mark));
        let new_value = run.mark.is_none() || exact(run).is_none_or(|value| values.insert(value));
        new_mark && new_value
    });
    runs
}

/// Whether two runs hardly agree in this value by chance: a count, or a quantity that is a
/// whole number in both, may.
fn is_telling(run: &Run) -> bool {
    run.measured.fract() != 0.0
}

/// The interval that holds the mean of a Poisson count of which `n` runs together
/// showed `k` (F. Garwood, Biometrika 28, 1936). No event in `n` runs leaves a mean
/// of up to 3.7 / `n` possible, at 95 %.
pub(super) fn poisson(k: f64, n: f64, confidence: f64) -> (f64, f64) {
    let tail = (1.0 - confidence) / 2.0;
    let quantile = |events: f64, p: f64| {
        ChiSquared::new(2.0 * events).map_or(0.0, |chi| chi.inverse_cdf(p) / 2.0)
    };
    // A chi-squared distribution has at least one degree of freedom: without any event the
    // interval begins at 0.
    (quantile(k, tail) / n, quantile(k + 1.0, 1.0 - tail) / n)
}

#[cfg(test)]
mod tests;

//! The runs of one cell, seen through one measure.

use byway_lab::stats::{self, Difference, wilson};
use statrs::distribution::{ChiSquared, ContinuousCDF};

/// Of all intervals here.
const CONFIDENCE: f64 = 0.95;
/// Up to how many events in all runs together Student's t says too little of
/// their mean: of none at all it would be certain.
const FEW_EVENTS: u32 = 10;

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

/// Values of one measure over the runs of a cell, or what a table of another
/// simulator says of them.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Sample {
    /// How many runs.
    pub n: usize,
    /// Their mean.
    pub mean: f64,
    /// Their standard deviation; 0 for a single run.
    pub sd: f64,
    /// What the values are.
    pub kind: Kind,
    /// The values by seed, in order of the seeds; empty when only the three
    /// figures above are known.
    pub values: Vec<(u64, f64)>,
}

impl Sample {
    /// Of values by seed.
    #[must_use]
    pub fn of(values: Vec<(u64, f64)>, kind: Kind) -> Sample {
        let plain: Vec<f64> = values.iter().map(|v| v.1).collect();
        let known = stats::Sample::of(&plain);
        Sample {
            n: values.len(),
            mean: known.mean,
            sd: known.sd,
            kind,
            values,
        }
    }

    /// Number, mean and deviation alone.
    fn known(&self) -> stats::Sample {
        stats::Sample {
            n: u32::try_from(self.n).unwrap_or(u32::MAX),
            mean: self.mean,
            sd: self.sd,
        }
    }

    /// The 95 % confidence interval of the mean: Student's t; Wilson's for a
    /// share; Garwood's of a Poisson mean for up to ten events in all runs
    /// together. None for fewer than two runs.
    #[must_use]
    pub fn interval(&self) -> Option<(f64, f64)> {
        if self.n < 2 {
            return None;
        }
        let n = self.known().n;
        let hits = (self.mean * f64::from(n)).round() as u32;
        match self.kind {
            Kind::Share => return Some(wilson(hits, n, CONFIDENCE)),
            Kind::Count if hits <= FEW_EVENTS => return Some(poisson(hits, n, CONFIDENCE)),
            Kind::Count | Kind::Quantity => {}
        }
        let half = self.known().half_width(CONFIDENCE)?;
        Some((self.mean - half, self.mean + half))
    }

    /// The difference `self - other` of the means with half the width of its
    /// 95 % interval: over pairs of equal seeds where both have them, else by
    /// Welch. None when either has too few runs.
    #[must_use]
    pub fn difference(&self, other: &Sample) -> Option<(f64, f64)> {
        let pairs = self.pairs(other);
        if pairs.len() >= 3 && 2 * pairs.len() >= self.n.max(other.n) {
            let d = Difference::paired(&pairs, CONFIDENCE)?;
            return Some((d.mean, d.half_width));
        }
        let d = Difference::welch(&other.known(), &self.known(), CONFIDENCE)?;
        Some((d.mean, d.half_width))
    }

    /// The other's value and this one's, of the runs that share a seed.
    fn pairs(&self, other: &Sample) -> Vec<(f64, f64)> {
        let mut theirs = other.values.iter().peekable();
        let mut pairs = Vec::new();
        for (seed, value) in &self.values {
            while theirs.next_if(|t| t.0 < *seed).is_some() {}
            if let Some((_, their)) = theirs.next_if(|t| t.0 == *seed) {
                pairs.push((*their, *value));
            }
        }
        pairs
    }
}

/// The interval that holds the mean of a Poisson count of which `n` runs together
/// showed `k` (F. Garwood, Biometrika 28, 1936). No event in `n` runs leaves a mean
/// of up to 3.7 / `n` possible, at 95 %.
fn poisson(k: u32, n: u32, confidence: f64) -> (f64, f64) {
    let (k, n) = (f64::from(k), f64::from(n));
    let tail = (1.0 - confidence) / 2.0;
    let quantile = |events: f64, p: f64| {
        ChiSquared::new(2.0 * events).map_or(0.0, |chi| chi.inverse_cdf(p) / 2.0)
    };
    // A chi-squared distribution has at least one degree of freedom: without any event the
    // interval begins at 0.
    (quantile(k, tail) / n, quantile(k + 1.0, 1.0 - tail) / n)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(values: &[f64]) -> Sample {
        Sample::of((1..).zip(values.iter().copied()).collect(), Kind::Quantity)
    }

    #[test]
    fn the_interval_is_that_of_the_tables() {
        // mean 2.5, sd 1.291, t(3) = 3.182
        let (low, high) = sample(&[1.0, 2.0, 3.0, 4.0]).interval().unwrap();
        assert!((low - 0.4457).abs() < 1e-3 && (high - 4.5543).abs() < 1e-3);
        assert_eq!(sample(&[1.0]).interval(), None);
        // 5 of 100: Wilson's is 2.2 to 11.2 %
        let mut values = vec![(1, 1.0); 5];
        values.extend(vec![(1, 0.0); 95]);
        let (low, high) = Sample::of(values, Kind::Share).interval().unwrap();
        assert!((low - 0.0215).abs() < 1e-3 && (high - 0.1118).abs() < 1e-3);
    }

    #[test]
    fn poisson_intervals_are_those_of_the_tables() {
        for (k, low, high) in [(0, 0.0, 3.689), (1, 0.0253, 5.572), (10, 4.795, 18.390)] {
            let (l, h) = poisson(k, 1, 0.95);
            assert!((l - low).abs() < 2e-3 * low.max(0.1), "{l} {low}");
            assert!((h - high).abs() < 2e-3 * high, "{h} {high}");
        }
        let high = poisson(2, 120, 0.95).1;
        assert!((high - 7.225 / 120.0).abs() < 2e-4, "{high}");
    }

    #[test]
    fn no_event_in_some_runs_does_not_mean_never() {
        let of = |events: &[f64]| {
            let mut values: Vec<(u64, f64)> = (1..=120).map(|seed| (seed, 0.0)).collect();
            for (value, events) in values.iter_mut().zip(events) {
                value.1 = *events;
            }
            Sample::of(values, Kind::Count)
        };
        // 3.689 events at most, and 0.0253 to 5.572 where one was seen
        let (low, high) = of(&[]).interval().unwrap();
        assert!(low == 0.0 && (high - 3.689 / 120.0).abs() < 1e-5);
        let (low, high) = of(&[1.0]).interval().unwrap();
        assert!((low - 0.0253 / 120.0).abs() < 1e-5 && (high - 5.572 / 120.0).abs() < 1e-4);
        // of eleven and more, Student's t as for any mean
        let many = of(&[11.0, 2.0, 3.0]);
        let t = Sample {
            kind: Kind::Quantity,
            ..many.clone()
        };
        assert_eq!(many.interval(), t.interval());
    }

    #[test]
    fn equal_seeds_are_paired_and_others_are_not() {
        let (a, b) = (sample(&[1.0, 5.0, 9.0]), sample(&[0.9, 4.9, 8.9]));
        let (d, half) = a.difference(&b).unwrap();
        assert!((d - 0.1).abs() < 1e-9 && half < 1e-6, "{half}");
        let mut c = b.clone();
        c.values.clear();
        let (d, half) = a.difference(&c).unwrap();
        assert!((d - 0.1).abs() < 1e-9 && half > 5.0, "{half}");
        assert_eq!(sample(&[1.0]).difference(&c), None);
    }
}

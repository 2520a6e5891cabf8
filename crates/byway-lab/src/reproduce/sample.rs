//! The runs of one cell, seen through one measure.

use statrs::distribution::{ContinuousCDF, StudentsT};

/// Normal quantile for 95 % intervals of shares.
const Z: f64 = 1.959_963_985;

/// Values of one measure over the runs of a cell, or what a table of another
/// simulator tells of them.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Sample {
    /// How many runs.
    pub n: usize,
    /// Their mean.
    pub mean: f64,
    /// Their standard deviation; 0 for a single run.
    pub sd: f64,
    /// Whether every value is 0 or 1, so that the mean is a share.
    pub share: bool,
    /// The values by seed, in order of the seeds; empty when only the three
    /// figures above are known.
    pub values: Vec<(u64, f64)>,
}

impl Sample {
    /// Of values by seed.
    #[must_use]
    pub fn of(values: Vec<(u64, f64)>, share: bool) -> Sample {
        let n = values.len();
        if n == 0 {
            return Sample::default();
        }
        let mean = values.iter().map(|v| v.1).sum::<f64>() / n as f64;
        let squares: f64 = values.iter().map(|v| (v.1 - mean).powi(2)).sum();
        let sd = if n > 1 {
            (squares / (n - 1) as f64).sqrt()
        } else {
            0.0
        };
        Sample {
            n,
            mean,
            sd,
            share,
            values,
        }
    }

    /// The 95 % confidence interval of the mean: Student's t; Wilson's for a
    /// share. None for fewer than two runs.
    #[must_use]
    pub fn interval(&self) -> Option<(f64, f64)> {
        if self.n < 2 {
            return None;
        }
        if self.share {
            return Some(wilson(self.mean, self.n));
        }
        let half = t975(self.n as f64 - 1.0) * self.sd / (self.n as f64).sqrt();
        Some((self.mean - half, self.mean + half))
    }

    /// The difference `self - other` of the means with half the width of its
    /// 95 % interval: over pairs of equal seeds where both have them, else by
    /// Welch. None when either has too few runs to tell.
    #[must_use]
    pub fn difference(&self, other: &Sample) -> Option<(f64, f64)> {
        let pairs = self.pairs(other);
        if pairs.len() >= 3 && 2 * pairs.len() >= self.n.max(other.n) {
            let d = Sample::of(pairs, false);
            let half = t975(d.n as f64 - 1.0) * d.sd / (d.n as f64).sqrt();
            return Some((d.mean, half));
        }
        if self.n < 2 || other.n < 2 {
            return None;
        }
        let parts = [self, other].map(|s| s.sd * s.sd / s.n as f64);
        let sum = parts[0] + parts[1];
        let difference = self.mean - other.mean;
        if sum <= 0.0 {
            return Some((difference, 0.0));
        }
        let freedom = sum * sum
            / (parts[0] * parts[0] / (self.n as f64 - 1.0)
                + parts[1] * parts[1] / (other.n as f64 - 1.0));
        Some((difference, t975(freedom) * sum.sqrt()))
    }

    /// Differences of the runs that share a seed.
    fn pairs(&self, other: &Sample) -> Vec<(u64, f64)> {
        let mut theirs = other.values.iter().peekable();
        let mut pairs = Vec::new();
        for (seed, value) in &self.values {
            while theirs.next_if(|t| t.0 < *seed).is_some() {}
            if let Some((_, their)) = theirs.next_if(|t| t.0 == *seed) {
                pairs.push((*seed, value - their));
            }
        }
        pairs
    }
}

/// Wilson's 95 % interval of a share `p` of `n`.
fn wilson(p: f64, n: usize) -> (f64, f64) {
    let n = n as f64;
    let z2 = Z * Z;
    let middle = (p + z2 / (2.0 * n)) / (1.0 + z2 / n);
    let half = Z / (1.0 + z2 / n) * (p * (1.0 - p) / n + z2 / (4.0 * n * n)).sqrt();
    ((middle - half).max(0.0), (middle + half).min(1.0))
}

/// The 97.5 % point of Student's t.
fn t975(freedom: f64) -> f64 {
    StudentsT::new(0.0, 1.0, freedom.max(1.0)).map_or(f64::INFINITY, |t| t.inverse_cdf(0.975))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(values: &[f64]) -> Sample {
        Sample::of((1..).zip(values.iter().copied()).collect(), false)
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
        let (low, high) = Sample::of(values, true).interval().unwrap();
        assert!((low - 0.0215).abs() < 1e-3 && (high - 0.1118).abs() < 1e-3);
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

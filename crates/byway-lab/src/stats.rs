//! Means with their uncertainty, and what differs significantly.

use serde::Serialize;
use statrs::distribution::{ContinuousCDF, Normal, StudentsT};

/// What is known of some runs.
#[derive(Copy, Clone, Debug, Default, PartialEq, Serialize)]
pub struct Sample {
    /// How many.
    pub n: u32,
    /// Their mean; 0 without runs.
    pub mean: f64,
    /// Their standard deviation; 0 for fewer than two runs.
    pub sd: f64,
}

impl Sample {
    /// Of these values.
    #[must_use]
    pub fn of(values: &[f64]) -> Sample {
        if values.is_empty() {
            return Sample::default();
        }
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let squares: f64 = values.iter().map(|v| (v - mean).powi(2)).sum();
        Sample {
            n: u32::try_from(values.len()).unwrap_or(u32::MAX),
            mean,
            sd: (squares / (n - 1.0).max(1.0)).sqrt(),
        }
    }

    /// Variance of the mean.
    fn variance(&self) -> f64 {
        self.sd * self.sd / f64::from(self.n.max(1))
    }

    /// Half the width of the interval that holds the mean with this confidence
    /// (Student's t); none for fewer than two runs.
    #[must_use]
    pub fn half_width(&self, confidence: f64) -> Option<f64> {
        if self.n < 2 {
            return None;
        }
        if self.sd == 0.0 {
            return Some(0.0);
        }
        Some(t_point(confidence, f64::from(self.n - 1))? * self.variance().sqrt())
    }
}

/// Student's t beyond which lies half of what `confidence` leaves over.
fn t_point(confidence: f64, freedom: f64) -> Option<f64> {
    let t = StudentsT::new(0.0, 1.0, freedom).ok()?;
    Some(t.inverse_cdf(0.5 + confidence / 2.0))
}

/// The difference of two means: the second less the first.
#[derive(Copy, Clone, Debug, PartialEq, Serialize)]
pub struct Difference {
    /// The difference of the means.
    pub mean: f64,
    /// Half the width of its interval.
    pub half_width: f64,
    /// How likely a difference at least this large is if there is none in truth.
    pub p: f64,
}

impl Difference {
    fn new(mean: f64, error: f64, freedom: f64, confidence: f64) -> Option<Difference> {
        if error == 0.0 {
            // Without any chance a difference is what it is.
            return Some(Difference {
                mean,
                half_width: 0.0,
                p: if mean == 0.0 { 1.0 } else { 0.0 },
            });
        }
        let t = StudentsT::new(0.0, 1.0, freedom).ok()?;
        Some(Difference {
            mean,
            half_width: t_point(confidence, freedom)? * error,
            p: (2.0 * t.sf((mean / error).abs())).min(1.0),
        })
    }

    /// Of two samples drawn apart from each other (Welch); none if either has
    /// fewer than two runs.
    #[must_use]
    pub fn welch(a: &Sample, b: &Sample, confidence: f64) -> Option<Difference> {
        if a.n < 2 || b.n < 2 {
            return None;
        }
        let (va, vb) = (a.variance(), b.variance());
        let sum = va + vb;
        let freedom = if sum == 0.0 {
            1.0
        } else {
            sum.powi(2) / (va * va / f64::from(a.n - 1) + vb * vb / f64::from(b.n - 1))
        };
        Difference::new(b.mean - a.mean, sum.sqrt(), freedom, confidence)
    }

    /// Of pairs that met the same chances; none for fewer than two.
    #[must_use]
    pub fn paired(pairs: &[(f64, f64)], confidence: f64) -> Option<Difference> {
        let differences: Vec<f64> = pairs.iter().map(|(a, b)| b - a).collect();
        let sample = Sample::of(&differences);
        if sample.n < 2 {
            return None;
        }
        Difference::new(
            sample.mean,
            sample.variance().sqrt(),
            f64::from(sample.n - 1),
            confidence,
        )
    }
}

/// The interval that holds a share of which `n` trials showed `k` (Wilson).
#[must_use]
pub fn wilson(k: u32, n: u32, confidence: f64) -> (f64, f64) {
    let Ok(normal) = Normal::new(0.0, 1.0) else {
        return (0.0, 1.0);
    };
    if n == 0 {
        return (0.0, 1.0);
    }
    let z = normal.inverse_cdf(0.5 + confidence / 2.0);
    let (n, share) = (f64::from(n), f64::from(k) / f64::from(n));
    let middle = share + z * z / (2.0 * n);
    let half = z * (share * (1.0 - share) / n + z * z / (4.0 * n * n)).sqrt();
    let scale = 1.0 + z * z / n;
    (
        ((middle - half) / scale).max(0.0),
        ((middle + half) / scale).min(1.0),
    )
}

/// Probabilities of chance, corrected for there being several (Holm): each is
/// what its comparison would have to stay below for all of them to hold at once.
#[must_use]
pub fn holm(p: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|a, b| p[*a].total_cmp(&p[*b]));
    let mut corrected = vec![1.0; p.len()];
    let mut least: f64 = 0.0;
    for (rank, i) in order.into_iter().enumerate() {
        least = least.max(p[i] * (p.len() - rank) as f64).min(1.0);
        corrected[i] = least;
    }
    corrected
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(found: f64, expected: f64) {
        assert!(
            (found - expected).abs() < 2e-3 * expected.abs().max(0.1),
            "{found} {expected}"
        );
    }

    #[test]
    fn mean_and_deviation() {
        let s = Sample::of(&[1.0, 2.0, 3.0, 4.0]);
        assert_eq!((s.n, s.mean), (4, 2.5));
        near(s.sd, 1.290_994);
        assert_eq!(Sample::of(&[]), Sample::default());
        assert_eq!(Sample::of(&[7.0]).half_width(0.95), None);
        assert_eq!(Sample::of(&[7.0, 7.0]).half_width(0.95), Some(0.0));
    }

    #[test]
    fn intervals_are_those_of_the_tables() {
        // t(n - 1) at 97.5 % and 95 %, times sd / sqrt(n).
        for (n, confidence, t) in [(5, 0.95, 2.776), (11, 0.95, 2.228), (31, 0.9, 1.697)] {
            let s = Sample {
                n,
                mean: 0.0,
                sd: 1.0,
            };
            near(s.half_width(confidence).unwrap(), t / f64::from(n).sqrt());
        }
    }

    #[test]
    fn differences_are_paired_where_they_can_be() {
        // Values that differ widely among themselves, and by 1 +- 0.1 in pairs.
        let pairs: Vec<(f64, f64)> = (0..10)
            .map(|k| {
                (
                    f64::from(k * 7 % 10),
                    f64::from(k * 7 % 10) + 1.0 + 0.1 * f64::from(k % 3 - 1),
                )
            })
            .collect();
        let paired = Difference::paired(&pairs, 0.95).unwrap();
        assert!(
            (0.9..1.1).contains(&paired.mean) && paired.p < 1e-6,
            "{paired:?}"
        );
        let side = |f: fn(&(f64, f64)) -> f64| Sample::of(&pairs.iter().map(f).collect::<Vec<_>>());
        let welch = Difference::welch(&side(|p| p.0), &side(|p| p.1), 0.95).unwrap();
        near(welch.mean, paired.mean);
        assert!(
            welch.p > 0.3 && welch.half_width > 10.0 * paired.half_width,
            "{welch:?}"
        );
        let same = Difference::paired(&[(1.0, 3.0), (2.0, 4.0)], 0.95).unwrap();
        assert_eq!((same.mean, same.half_width, same.p), (2.0, 0.0, 0.0));
        assert_eq!(Difference::paired(&[(1.0, 1.0); 3], 0.95).unwrap().p, 1.0);
        assert!(Difference::paired(&[(1.0, 1.0)], 0.95).is_none());
    }

    #[test]
    fn welch_of_two_equal_samples_has_their_common_freedom() {
        let s = |mean| Sample {
            n: 6,
            mean,
            sd: 1.0,
        };
        let d = Difference::welch(&s(0.0), &s(2.0), 0.95).unwrap();
        near(d.half_width, 2.228 * (1.0_f64 / 3.0).sqrt());
        // t = 3.464 with 10 degrees of freedom.
        near(d.p * 1000.0, 6.07);
    }

    #[test]
    fn a_share_keeps_within_0_and_1() {
        let (low, high) = wilson(10, 10, 0.95);
        near(low, 0.7225);
        near(high, 1.0);
        let (low, high) = wilson(1, 10, 0.95);
        near(low, 0.0179);
        near(high, 0.4042);
        assert_eq!(wilson(0, 0, 0.95), (0.0, 1.0));
    }

    #[test]
    fn many_comparisons_cost_certainty() {
        let corrected = holm(&[0.01, 0.04, 0.03, 0.005]);
        for (found, expected) in corrected.into_iter().zip([0.03, 0.06, 0.06, 0.02]) {
            near(found, expected);
        }
        assert_eq!(holm(&[0.9, 0.8]), [1.0, 1.0]);
    }
}

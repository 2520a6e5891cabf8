//! Two settings that met the same seeds.

use super::evidence::{CONFIDENCE, Sample};
use crate::stats::Difference;
use serde::Serialize;

/// One side less the other, seed by seed.
#[derive(Copy, Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// The mean difference; negative is better.
    pub mean: f64,
    /// Lower end of its interval (95 %, Student's t of the pairs).
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Whether the interval leaves out zero, and on which side.
    pub shown: Shown,
}

/// What a comparison shows.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Shown {
    /// The first side is better.
    Better,
    /// The first side is worse.
    Worse,
    /// No difference is shown.
    Nothing,
}

impl Shown {
    /// In a word or three.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Shown::Better => "better",
            Shown::Worse => "worse",
            Shown::Nothing => "no difference shown",
        }
    }
}

/// Compares what `value` gives of the samples of two settings, which have the same seeds in
/// the same order. Less is better.
#[must_use]
pub fn compare(a: &[Sample], b: &[Sample], value: impl Fn(&Sample) -> f64) -> Comparison {
    let pairs: Vec<(f64, f64)> = b.iter().map(&value).zip(a.iter().map(&value)).collect();
    let (mean, half) = match Difference::paired(&pairs, CONFIDENCE) {
        Some(d) => (d.mean, d.half_width),
        None => (0.0, f64::INFINITY),
    };
    // Less than a thousandth of the values matters to nobody: runs without any chance differ
    // by that.
    let size: f64 = pairs.iter().map(|(b, a)| a.abs() + b.abs()).sum();
    let little = 1e-9 + 5e-4 * size / pairs.len().max(1) as f64;
    let (low, high) = (mean - half, mean + half);
    let shown = if high < -little {
        Shown::Better
    } else if low > little {
        Shown::Worse
    } else {
        Shown::Nothing
    };
    Comparison {
        mean,
        low,
        high,
        shown,
    }
}

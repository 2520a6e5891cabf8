//! What samples weigh: their mean score, and how far they break the limits.

use super::evidence::{Sample, Score, figures};
use super::wishes::Wishes;

/// What breaks a limit of the wishes weighs this much, times how far it is beyond.
const BEYOND: f64 = 100.0;

/// Needless moves an hour of one seed.
pub(super) fn per_hour(sample: &Sample) -> f64 {
    if sample.hours > 0.0 {
        sample.moves / sample.hours
    } else {
        0.0
    }
}

/// The mean score of some samples, and what breaks the limits.
pub(super) fn total(samples: &[Sample], wishes: &Wishes) -> Score {
    let n = samples.len().max(1) as f64;
    let mean = samples.iter().map(|s| s.score(wishes)).sum::<f64>() / n;
    mean + beyond(samples, wishes)
}

/// How far the limits of the wishes are broken, weighed.
pub(super) fn beyond(samples: &[Sample], wishes: &Wishes) -> f64 {
    let found = figures(samples);
    let over = |value: f64, limit: Option<f64>| match limit {
        Some(limit) if value > limit => BEYOND * (value / limit.max(1e-6) - 1.0).min(100.0) + 1.0,
        _ => 0.0,
    };
    over(found.stall_95th_s.value, wishes.max_stall_s)
        + over(found.moves.per_hour.value, wishes.max_moves_per_hour)
        + over(found.elsewhere.value, wishes.max_cost)
}

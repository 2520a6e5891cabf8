//! The transfer rate while nothing fails, against that of the target's own defaults.

use super::evidence::{CONFIDENCE, Sample};
use crate::stats::Difference;

/// The least share of the rate of the own defaults, as described.
const LEAST_SHARE: f64 = 0.9;
/// The same with some loss. That loss is not of the description, so less speaks against settings.
const LEAST_LOSSY_SHARE: f64 = 0.5;

/// What is said of settings that are slower.
const SHOWN: &str = "transfer rate while nothing fails is shown to be more than 10 % below that of \
     the own defaults, or with some loss less than half of it";

/// The same where they are recommended all the same.
pub(super) fn recommended_although() -> String {
    format!("the {SHOWN}; nothing else that was tried keeps the other limits")
}

/// The same where they are not recommended for it.
pub(super) fn not_recommended() -> String {
    format!("not recommended, because its {SHOWN}")
}

/// Whether the rate is shown to be more than 10 % lower than that of the own defaults as
/// described, or less than half of it with some loss: the interval of the difference (95 %,
/// Student's t of pairs of equal seeds) leaves out that share of their rate. Both have the same
/// seeds in the same order; one may have more at its end.
pub(super) fn is_slower(samples: &[Sample], own: &[Sample]) -> bool {
    type Rate = fn(&Sample) -> Option<f64>;
    let as_described: (f64, Rate) = (LEAST_SHARE, |s| s.rate_bytes_s);
    let lossy: (f64, Rate) = (LEAST_LOSSY_SHARE, |s| s.lossy_rate_bytes_s);
    [as_described, lossy].iter().any(|(share, rate)| {
        let pairs = own.iter().zip(samples);
        let pairs: Vec<(f64, f64)> = pairs
            .filter_map(|(own, s)| Some((share * rate(own)?, rate(s)?)))
            .collect();
        let difference = Difference::paired(&pairs, CONFIDENCE);
        difference.is_some_and(|d| d.mean + d.half_width < 0.0)
    })
}

//! The transfer rate while nothing fails, against that of the target's own defaults.

use super::evidence::{CONFIDENCE, Sample};
use crate::stats::Difference;

/// The least share of the rate of the own defaults.
const LEAST_SHARE: f64 = 0.9;

/// What is said where settings that are slower are recommended all the same.
pub(super) const WORDS: &str = "the transfer rate while nothing fails is shown to be more than \
     10 % below that of the own defaults; nothing else that was tried keeps the other limits";

/// Whether the rate is shown to be more than 10 % lower than that of the own defaults, as
/// described or with some loss: the interval of the difference (95 %, Student's t of pairs
/// of equal seeds) leaves out 90 % of their rate. Both have the same seeds in the same order;
/// one may have more at its end.
pub(super) fn is_slower(samples: &[Sample], own: &[Sample]) -> bool {
    let rates: [fn(&Sample) -> Option<f64>; 2] = [|s| s.rate_bytes_s, |s| s.lossy_rate_bytes_s];
    rates.iter().any(|rate| {
        let pairs = own.iter().zip(samples);
        let pairs: Vec<(f64, f64)> = pairs
            .filter_map(|(own, s)| Some((LEAST_SHARE * rate(own)?, rate(s)?)))
            .collect();
        let difference = Difference::paired(&pairs, CONFIDENCE);
        difference.is_some_and(|d| d.mean + d.half_width < 0.0)
    })
}

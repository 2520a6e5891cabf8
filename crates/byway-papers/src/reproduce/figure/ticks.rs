//! Round numbers for axes.

/// 1, 2 or 5 times a power of ten, so that at most `count` steps fill `length`.
pub(super) fn step(length: f64, count: usize) -> f64 {
    let rough = (length / count.max(1) as f64).max(f64::MIN_POSITIVE);
    let power = 10_f64.powf(rough.log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0];
    let fits = steps.into_iter().map(|m| m * power).find(|s| *s >= rough);
    fits.unwrap_or(rough)
}

/// A range that begins at 0 where that costs little room, and ends at a round
/// number above the greatest value.
pub(super) fn range(low: f64, high: f64) -> (f64, f64) {
    if !(low.is_finite() && high.is_finite()) || high < low {
        return (0.0, 1.0);
    }
    let low = if low >= 0.0 && low < 0.6 * high {
        0.0
    } else {
        low
    };
    let length = if high > low {
        high - low
    } else {
        high.abs().max(1.0)
    };
    let step = step(length, 5);
    let floor = (low / step).floor() * step;
    let ceiling = ((low + length) / step).ceil() * step;
    (floor, ceiling)
}

/// A tick's number, with as many places as the step needs.
pub(super) fn label(x: f64, step: f64) -> String {
    let places = if step >= 1.0 {
        0
    } else {
        (-step.log10()).ceil() as usize
    };
    format!("{x:.places$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_begin_and_end_at_round_numbers() {
        for ((low, high), expected) in [
            ((3.0, 97.0), (0.0, 100.0)),
            ((118.0, 123.0), (118.0, 123.0)),
            ((5.0, 5.0), (5.0, 10.0)),
            ((f64::INFINITY, f64::NEG_INFINITY), (0.0, 1.0)),
        ] {
            assert_eq!(range(low, high), expected);
        }
        assert_eq!(label(0.5, 0.1), "0.5");
        assert_eq!(label(20.0, 5.0), "20");
    }
}

//! `--limit`: no more than so many bytes in a time.

use byway_lab::units::Rate;
use std::time::Duration;
use tokio::time::Instant;

/// After a pause so much of it is caught up, and no more.
const CATCH_UP: Duration = Duration::from_millis(50);

/// When the next bytes may be sent.
pub(super) struct Pace {
    limit: Option<Rate>,
    /// When what was sent before is through at the limit.
    through: Option<Instant>,
}

impl Pace {
    pub(super) fn new(limit: Option<Rate>) -> Pace {
        Pace {
            limit,
            through: None,
        }
    }

    /// When so many bytes may be sent; none if at once.
    pub(super) fn next(&mut self, now: Instant, bytes: usize) -> Option<Instant> {
        let limit = self.limit?;
        let caught_up = now.checked_sub(CATCH_UP).unwrap_or(now);
        let begin = self.through.unwrap_or(now).max(caught_up);
        // A rate is at least a bit a second, and a block is short.
        let takes = Duration::from_secs_f64(bytes as f64 * 8.0 / limit.0.max(1) as f64);
        self.through = Some(begin + takes);
        (begin > now).then_some(begin)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_take_the_time_of_the_limit_and_a_pause_is_not_made_up_for() {
        let begun = Instant::now();
        let ms = |n| begun + Duration::from_millis(n);
        // 1000 bytes in a millisecond.
        let mut pace = Pace::new(Some(Rate(8_000_000)));
        assert_eq!(pace.next(begun, 30_000), None);
        assert_eq!(pace.next(ms(1), 30_000), Some(ms(30)));
        assert_eq!(pace.next(ms(31), 30_000), Some(ms(60)));
        // After ten seconds, 50 ms are caught up.
        assert_eq!(pace.next(ms(10_000), 30_000), None);
        assert_eq!(pace.next(ms(10_000), 30_000), None);
        assert_eq!(pace.next(ms(10_000), 30_000), Some(ms(10_010)));
        assert_eq!(Pace::new(None).next(begun, 1 << 30), None);
    }
}

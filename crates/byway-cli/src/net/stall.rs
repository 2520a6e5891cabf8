//! The stall of a transfer: the longest time, from its begin to its end, in which it made no step.
//!
//! A step is a byte of a file or pipe that arrived, or a file that was completed. The receiver sees
//! steps when they happen, the sender when they are acknowledged or confirmed. So both report the
//! same stall, up to a round trip, a delayed acknowledgement and the 20 ms between two looks of the
//! sender. The set-up of the first association is no part of it; to set a lost one up again is.

use std::time::{Duration, Instant};

/// Watches a growing number.
#[derive(Debug)]
pub(super) struct StallMeter {
    /// None before the begin.
    since: Option<Instant>,
    last: u64,
    longest: Duration,
    place: String,
}

impl StallMeter {
    pub(super) fn new() -> StallMeter {
        StallMeter {
            since: None,
            last: 0,
            longest: Duration::ZERO,
            place: String::new(),
        }
    }

    /// So many steps are done now; `place` says in words how far that was at the last step. The
    /// first call is the begin.
    pub(super) fn update(&mut self, done: u64, place: impl Fn() -> String) {
        self.update_at(Instant::now(), done, place);
    }

    fn update_at(&mut self, now: Instant, done: u64, place: impl Fn() -> String) {
        let length = now.saturating_duration_since(*self.since.get_or_insert(now));
        if length > self.longest {
            self.longest = length;
            self.place = place();
        }
        if done != self.last {
            self.last = done;
            self.since = Some(now);
        }
    }

    /// The longest time without growth.
    pub(super) fn longest(&self) -> Duration {
        self.longest
    }

    /// "longest stall 1.2 s at 34 % of big.iso".
    pub(super) fn words(&self) -> String {
        let length = byway_lab::show::time(self.longest.as_secs_f64());
        if self.place.is_empty() {
            format!("longest stall {length}")
        } else {
            format!("longest stall {length} at {}", self.place)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_pause_is_found_with_its_place() {
        let mut meter = StallMeter::new();
        let start = Instant::now();
        let mut place = 0;
        for (ms, done) in [(10, 100), (20, 340), (1_220, 350), (1_230, 1_000)] {
            let now = start + Duration::from_millis(ms);
            meter.update_at(now, done, || format!("{} %", place / 10));
            place = done;
        }
        assert_eq!(meter.longest(), Duration::from_millis(1_200));
        assert_eq!(meter.words(), "longest stall 1.20 s at 34 %");
    }

    #[test]
    fn time_before_the_begin_is_no_stall() {
        let mut meter = StallMeter::new();
        let begin = Instant::now() + Duration::from_secs(5);
        meter.update_at(begin, 0, String::new);
        meter.update_at(begin + Duration::from_millis(7), 1, String::new);
        assert_eq!(meter.longest(), Duration::from_millis(7));
    }
}

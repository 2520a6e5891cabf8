//! The longest time in which a transfer did not get on.

use std::time::{Duration, Instant};

/// Watches a growing number.
#[derive(Debug)]
pub(super) struct StallMeter {
    since: Instant,
    last: u64,
    longest: Duration,
    place: String,
}

impl StallMeter {
    pub(super) fn new() -> StallMeter {
        StallMeter {
            since: Instant::now(),
            last: 0,
            longest: Duration::ZERO,
            place: String::new(),
        }
    }

    /// The number is `done` now; `place` says in words how far that is.
    pub(super) fn update(&mut self, done: u64, place: impl Fn(u64) -> String) {
        self.update_at(Instant::now(), done, place);
    }

    fn update_at(&mut self, now: Instant, done: u64, place: impl Fn(u64) -> String) {
        let length = now.saturating_duration_since(self.since);
        if length > self.longest {
            self.longest = length;
            self.place = place(self.last);
        }
        if done != self.last {
            self.last = done;
            self.since = now;
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
        let start = meter.since;
        for (ms, done) in [(10, 100), (20, 340), (1_220, 350), (1_230, 1_000)] {
            meter.update_at(start + Duration::from_millis(ms), done, |at| {
                format!("{} %", at / 10)
            });
        }
        assert_eq!(meter.longest(), Duration::from_millis(1_200));
        assert_eq!(meter.words(), "longest stall 1.20 s at 34 %");
    }
}

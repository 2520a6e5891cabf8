//! What a path delivers, as SACKs show it: its rate, its least round trip, and whether it
//! is silent. The scheduler `Earliest` reads it (`policy/concurrent/earliest.rs`).

use crate::time::{Duration, Instant};

/// The shortest time over which a rate is measured.
const SHORTEST: Duration = Duration::from_millis(5);
/// The share of a lower measurement in the rate. A higher one counts at once, because a
/// path that is held back delivers less than it could.
const FALL: f64 = 1.0 / 8.0;

/// What one path delivers.
#[derive(Copy, Clone, Debug, Default)]
pub(crate) struct Delivery {
    /// Bytes in a second.
    rate: Option<f64>,
    /// The last round trip of a chunk that was sent once, and the least one.
    round_trip: Option<Duration>,
    least: Option<Duration>,
    /// When the current measurement began, and the bytes acknowledged since.
    since: Option<Instant>,
    bytes: u64,
    /// When the path last acknowledged data, or began to carry some.
    heard: Option<Instant>,
}

impl Delivery {
    /// Data leaves on the path. `idle`: nothing was in flight there.
    #[inline]
    pub(crate) fn leaves(&mut self, idle: bool, now: Instant) {
        if idle {
            self.heard = Some(now);
        }
    }

    /// A SACK acknowledged `bytes` of the path, the newest chunk that was sent once after
    /// `round_trip`. `drained`: nothing is in flight there any more.
    pub(crate) fn acknowledged(
        &mut self,
        bytes: u32,
        round_trip: Option<Duration>,
        drained: bool,
        now: Instant,
    ) {
        self.heard = Some(now);
        if let Some(r) = round_trip {
            self.round_trip = Some(r);
            self.least = Some(self.least.map_or(r, |least| least.min(r)));
        }
        if let Some(since) = self.since {
            self.bytes += u64::from(bytes);
            let took = now.since(since);
            if took >= self.round_trip.unwrap_or_default().max(SHORTEST) {
                self.measured(self.bytes as f64 / took.as_secs_f64());
                self.since = None;
            }
        }
        if drained {
            // The time without data in flight would count as slow delivery.
            self.since = None;
        } else if self.since.is_none() {
            (self.since, self.bytes) = (Some(now), 0);
        }
    }

    fn measured(&mut self, sample: f64) {
        self.rate = Some(match self.rate {
            Some(rate) if sample < rate => rate + (sample - rate) * FALL,
            _ => sample,
        });
    }

    /// Bytes in a second; `None` before it was measured.
    pub(crate) fn rate(&self) -> Option<f64> {
        self.rate
    }

    /// The least round trip of the path's chunks.
    pub(crate) fn least(&self) -> Option<Duration> {
        self.least
    }

    /// For how long an acknowledgement has been overdue, if data is in flight: the time
    /// without one beyond two round trips.
    pub(crate) fn late(&self, now: Instant) -> Duration {
        let (Some(heard), Some(round_trip)) = (self.heard, self.round_trip) else {
            return Duration::ZERO;
        };
        now.since(heard)
            .saturating_sub(2 * round_trip.max(SHORTEST))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn at(ms: u64) -> Instant {
        Instant::from_millis(ms)
    }

    #[test]
    fn the_rate_rises_at_once_and_falls_slowly() {
        let mut d = Delivery::default();
        let mut ack = |ms, bytes| {
            d.acknowledged(bytes, Some(10 * MS), false, at(ms));
            d.rate()
        };
        // The first acknowledgement begins the measurement.
        assert_eq!(ack(100, 5000), None);
        assert_eq!(ack(104, 1000), None);
        assert_eq!(ack(110, 1000), Some(200_000.0));
        assert_eq!(ack(120, 4000), Some(400_000.0));
        assert_eq!(ack(130, 0), Some(350_000.0));
    }

    #[test]
    fn time_without_data_in_flight_does_not_count() {
        let mut d = Delivery::default();
        for (ms, drained) in [(100, false), (110, true), (500, false), (510, false)] {
            d.acknowledged(1000, Some(10 * MS), drained, at(ms));
        }
        assert_eq!(d.rate(), Some(100_000.0));
        assert_eq!(d.least(), Some(10 * MS));
    }

    #[test]
    fn a_path_is_late_after_two_round_trips_without_an_acknowledgement() {
        let mut d = Delivery::default();
        assert_eq!(d.late(at(1000)), Duration::ZERO);
        d.acknowledged(1000, Some(10 * MS), true, at(100));
        d.leaves(true, at(500));
        d.leaves(false, at(515));
        assert_eq!(d.late(at(520)), Duration::ZERO);
        assert_eq!(d.late(at(570)), 50 * MS);
    }
}

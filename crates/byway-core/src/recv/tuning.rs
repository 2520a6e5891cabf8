//! How large the receive buffer should be (`buffer.tuning`): dynamic right-sizing (Fisk and
//! Feng, "Dynamic right-sizing in TCP", 2001; Linux's TCP does the same).
//!
//! What the user reads in a round trip is what the peer sent in one. A peer in slow start
//! sends twice as much in the next, so the buffer is twice as large, and does not limit it.
//!
//! Over several paths at once the round trip does not show how long data waits for that of a slower path, whose
//! queue the receiver's heartbeats do not meet. What waits behind a gap does. So it fills half the buffer at most.

use crate::time::{Duration, Instant};

/// Without a measured round trip, this much time passes between two looks.
const UNMEASURED: Duration = Duration::from_millis(100);
/// The shortest time between two looks: a reader takes data in bursts.
const SHORTEST: Duration = Duration::from_millis(10);

/// One measurement, which takes a round trip.
#[derive(Clone, Debug)]
pub(super) struct Tuning {
    began: Instant,
    /// Bytes that the user had read when it began.
    read: u64,
    /// The longest round trip, if one was measured.
    round_trip: Option<Duration>,
}

impl Tuning {
    pub(super) fn new(began: Instant, read: u64, round_trip: Option<Duration>) -> Tuning {
        Tuning {
            began,
            read,
            round_trip,
        }
    }

    pub(super) fn is_due(&self, now: Instant) -> bool {
        now.since(self.began) >= self.round_trip.unwrap_or(UNMEASURED).max(SHORTEST)
    }

    /// The size that the buffer should have: `read` bytes were read so far, and `waiting` bytes of it cannot be read yet.
    /// Nothing if nothing was read: a gap that no one closes is no reason to hold more.
    pub(super) fn wanted(&self, now: Instant, read: u64, waiting: u64) -> u32 {
        let read = read.saturating_sub(self.read);
        if read == 0 {
            return 0;
        }
        let in_round_trip = self.round_trip.map_or(0.0, |round_trip| {
            let round_trip = round_trip.as_secs_f64();
            let took = now.since(self.began).as_secs_f64().max(round_trip);
            read as f64 * round_trip / took
        });
        // The conversion saturates. 0 / 0 becomes 0.
        (2.0 * in_round_trip.max(waiting as f64)) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn twice_what_was_read_in_a_round_trip() {
        // Round trip, when it is looked at, bytes read until then, bytes that wait, and the size.
        for (round_trip, ms, read, waiting, expected) in [
            (Some(100 * MS), 100, 500_000, 0, 1_000_000),
            // Later than a round trip: the share of one.
            (Some(100 * MS), 200, 500_000, 0, 500_000),
            (Some(Duration::ZERO), 10, 500_000, 0, 0),
            (Some(MS), 10, 500_000, 0, 100_000),
            (Some(100 * MS), 100, u64::MAX, 0, u32::MAX),
            (None, 200, 500_000, 0, 0),
            // What waits for data of a slower path.
            (Some(MS), 10, 250_000, 600_000, 1_200_000),
            (None, 200, 1, 600_000, 1_200_000),
            (Some(100 * MS), 100, 500_000, 400_000, 1_000_000),
            // Nobody closes the gap, or nobody reads.
            (Some(MS), 10, 0, 600_000, 0),
        ] {
            let t = Tuning::new(Instant::ZERO, 0, round_trip);
            assert!(t.is_due(Instant::from_millis(ms)));
            assert_eq!(t.wanted(Instant::from_millis(ms), read, waiting), expected);
        }
        let t = Tuning::new(Instant::ZERO, 0, Some(100 * MS));
        assert!(!t.is_due(Instant::from_millis(99)));
        let t = Tuning::new(Instant::ZERO, 0, Some(MS));
        assert!(!t.is_due(Instant::from_millis(9)));
    }
}

//! Pacing: new data of a path leaves at a rate (RFC 9002 section 7.7; Aggarwal, Savage
//! and Anderson, "Understanding the performance of TCP pacing", 2000).
//!
//! SACKs that arrive together release packets together, and so does an idle path with
//! an open window. A queue that is shorter than such a burst loses packets of it although
//! the path has room. With pacing, a path releases cwnd bytes for each smoothed round
//! trip, times a gain that leaves room for growth: 2 in slow start, where the window
//! doubles, and 1.25 after it. A short burst may always leave, because the timers of
//! hosts are coarse and packets leave in batches. The window still says how much may be
//! in flight. Off by default.
//!
//! For SCTP, Max.Burst (RFC 9260 section 6.1, D) counts with each event. What it holds
//! back waits for the next SACK; with pacing it leaves at the path's rate.
//! Retransmissions are not delayed, but new data waits for the time that they take.

use crate::time::Duration;
use crate::units;
use serde::{Deserialize, Serialize};

/// The settings of pacing.
#[derive(Copy, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Pacing {
    /// How many windows leave in a smoothed round trip in slow start (2).
    pub slow_start: f64,
    /// The same in congestion avoidance (1.25; RFC 9002 section 7.7).
    pub avoidance: f64,
    /// This many full packets may leave at once (10, as RFC 9002 section 7.7 advises).
    pub burst: u32,
    /// As much as the path takes in this time may leave at once (1 ms). A path whose
    /// round trip is not longer is not paced.
    #[serde(with = "units::duration")]
    pub burst_time: Duration,
}

impl Default for Pacing {
    fn default() -> Pacing {
        Pacing {
            slow_start: 2.0,
            avoidance: 1.25,
            burst: 10,
            burst_time: Duration::from_millis(1),
        }
    }
}

impl Pacing {
    /// The time that this number of bytes takes at the path's rate, with this window and
    /// smoothed round trip. Zero if the path is not paced.
    #[must_use]
    #[inline]
    pub fn time(&self, bytes: u32, cwnd: u32, slow_start: bool, srtt: Duration) -> Duration {
        if srtt <= self.burst_time {
            return Duration::ZERO;
        }
        let gain = if slow_start {
            self.slow_start
        } else {
            self.avoidance
        };
        let windows = f64::from(bytes) / (f64::from(cwnd) * gain);
        // Less than 2^63 ns, and the conversion saturates.
        Duration::from_nanos((windows * (srtt.as_nanos() as i64) as f64) as u64)
    }

    /// The time of the data that may leave at once, if a full packet takes `packet`.
    #[must_use]
    #[inline]
    pub fn burst(&self, packet: Duration) -> Duration {
        (packet * self.burst).max(self.burst_time)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn a_window_leaves_in_a_round_trip_divided_by_the_gain() {
        let p = Pacing::default();
        for (bytes, cwnd, slow_start, srtt, expected) in [
            (1000, 100_000, false, 100 * MS, Duration::from_micros(800)),
            (1000, 100_000, true, 100 * MS, Duration::from_micros(500)),
            (100_000, 100_000, false, 100 * MS, 80 * MS),
            // A short path is not paced.
            (1000, 100_000, false, MS, Duration::ZERO),
        ] {
            assert_eq!(p.time(bytes, cwnd, slow_start, srtt), expected);
        }
    }

    #[test]
    fn a_burst_has_ten_packets_or_a_millisecond() {
        let p = Pacing::default();
        assert_eq!(p.burst(MS), 10 * MS);
        assert_eq!(p.burst(Duration::from_micros(10)), MS);
    }
}

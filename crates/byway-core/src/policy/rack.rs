//! Loss detection by time (RACK, RFC 8985 section 6, for each destination of SCTP).
//!
//! A chunk is lost if a chunk that left later for the same destination was
//! acknowledged, and the older one is overdue: the round trip of the newer one and a
//! reordering window have passed. So the loss of a retransmission is noticed after a
//! round trip, where missing reports (RFC 9260 section 7.2.4) leave it to T3-rtx.
//! Missing reports still count; this is off by default.
//!
//! When a chunk that counted as lost had arrived (`policy/spurious.rs`), the reordering
//! window grows by a share, once for each round trip, and missing reports of the path say
//! nothing any more: only time decides. After 16 recoveries without such a chunk both are
//! as before. This needs `retransmission.undo_spurious`.
//!
//! Differences from RFC 8985: the reordering window is never zero, because missing reports
//! already act at once. And an answer to a chunk that was sent again is that to an earlier
//! sending not only if it is faster than the least round trip of all (section 6.2, step 2), but
//! also if it is faster than half of the least of the last round trips: behind a queue that is
//! much longer than the path it would make all that left before look overdue, over and over.
//! A chunk that left 16 times, and one whose acknowledgement the peer took back, are left to
//! missing reports and T3-rtx.

use crate::time::Duration;
use serde::{Deserialize, Serialize};

/// The settings of loss detection by time.
#[derive(Copy, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Rack {
    /// The reordering window, as a share of the path's least round trip (0.25; RFC 8985
    /// section 6.2, step 4).
    pub reordering: f64,
}

impl Default for Rack {
    fn default() -> Rack {
        Rack { reordering: 0.25 }
    }
}

impl Rack {
    /// How long after a newer chunk an older one may still be acknowledged: the share
    /// of the least round trip, times `shares`, at most SRTT.
    #[must_use]
    pub fn window(&self, least: Duration, shares: u32, srtt: Option<Duration>) -> Duration {
        let window = least.mul_f64(self.reordering * f64::from(shares));
        srtt.map_or(window, |srtt| window.min(srtt))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reordering_window_is_a_share_of_the_least_round_trip() {
        let ms = Duration::from_millis;
        for (reordering, least, shares, srtt, expected) in [
            (0.25, 80, 1, Some(100), 20),
            (0.25, 80, 1, None, 20),
            (0.25, 80, 3, Some(100), 60),
            (0.25, 80, 6, Some(100), 100),
            (2.0, 80, 1, Some(100), 100),
            (0.0, 80, 1, Some(100), 0),
        ] {
            let rack = Rack { reordering };
            assert_eq!(rack.window(ms(least), shares, srtt.map(ms)), ms(expected));
        }
    }
}

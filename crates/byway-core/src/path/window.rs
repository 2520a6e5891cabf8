//! The congestion window of one path: plain numbers. The rules that change
//! cwnd, ssthresh and partial_bytes_acked are in `cc`.

use crate::time::{Duration, Instant};

/// cwnd and related values, in bytes of DATA chunks, with headers and padding (RFC 9260
/// section 7.2).
#[derive(Clone, Debug)]
pub struct Window {
    /// Congestion window.
    pub cwnd: u32,
    /// Slow start threshold.
    pub ssthresh: u32,
    /// Bytes acknowledged in congestion avoidance towards the next growth.
    pub partial_bytes_acked: u32,
    /// Bytes in flight: sent to this path, and neither acknowledged nor lost.
    pub flight: u32,
    /// Bytes that this path lost and that await retransmission, on this path or another
    /// one.
    pub lost: u32,
    /// PMDCS: the largest DATA chunk, header included, that the path takes.
    pub pmdcs: u32,
    /// When the window was last used or decayed. It starts at creation.
    idle_since: Instant,
    /// Whether it decayed since it was last used (the first decay also sets
    /// ssthresh).
    decayed: bool,
}

impl Window {
    pub(crate) fn new(cwnd: u32, ssthresh: u32, pmdcs: u32, now: Instant) -> Window {
        Window {
            cwnd,
            ssthresh,
            partial_bytes_acked: 0,
            flight: 0,
            lost: 0,
            pmdcs,
            idle_since: now,
            decayed: false,
        }
    }

    /// Whether the path is in congestion avoidance, not in slow start (RFC 9260
    /// section 7.2.2).
    #[must_use]
    pub fn avoids_congestion(&self) -> bool {
        self.cwnd > self.ssthresh
    }

    /// The time of the last use of the window or of its last decay.
    #[must_use]
    pub fn idle_since(&self) -> Instant {
        self.idle_since
    }

    /// Data leaves: the path's idle time starts again.
    #[inline]
    pub(super) fn sent_at(&mut self, now: Instant) {
        self.idle_since = now;
        self.decayed = false;
    }

    /// Whether the window decayed since it was last used.
    pub(crate) fn has_decayed(&self) -> bool {
        self.decayed
    }

    /// The window decays once, for this time of idleness.
    pub(crate) fn decayed_for(&mut self, idle: Duration) {
        self.decayed = true;
        self.idle_since += idle;
    }

    /// Bytes in flight are taken for lost and await retransmission.
    pub(super) fn lose(&mut self, bytes: u32) {
        self.flight -= bytes;
        self.lost += bytes;
    }
}

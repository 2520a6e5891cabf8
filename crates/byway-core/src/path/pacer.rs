//! When new data of a path may leave (`congestion.pacing`; `policy/pacing.rs`).
//!
//! It counts the time that the data sent so far takes at the path's rate (the virtual
//! scheduling of ITU-T I.371). The rate is read anew with each chunk, so a change of the
//! window or of the round trip counts from then on.

use super::{RttEstimator, Window};
use crate::policy::Pacing;
use crate::time::{Duration, Instant};

/// The pacing of one path.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Pacer {
    cfg: Pacing,
    /// When all that was sent has left at the path's rate.
    clear_at: Instant,
}

impl Pacer {
    pub(super) fn new(cfg: Pacing) -> Pacer {
        Pacer {
            cfg,
            clear_at: Instant::ZERO,
        }
    }

    #[inline]
    fn time(&self, bytes: u32, w: &Window, rtt: &RttEstimator) -> Duration {
        let srtt = rtt.srtt().unwrap_or_default();
        self.cfg.time(bytes, w.cwnd, !w.avoids_congestion(), srtt)
    }

    fn burst(&self, w: &Window, rtt: &RttEstimator) -> Duration {
        self.cfg.burst(self.time(w.pmdcs, w, rtt))
    }

    /// A chunk leaves.
    #[inline]
    pub(super) fn sent(&mut self, bytes: u32, w: &Window, rtt: &RttEstimator, now: Instant) {
        let time = self.time(bytes, w, rtt);
        if time > Duration::ZERO {
            self.clear_at = self.clear_at.max(now) + time;
        }
    }

    /// Whether a packet may begin now.
    #[inline]
    pub(super) fn allows(&self, w: &Window, rtt: &RttEstimator, now: Instant) -> bool {
        if self.clear_at <= now {
            return true;
        }
        let packet = self.time(w.pmdcs, w, rtt);
        // The round trip may have become so short that the path is not paced any more.
        // Then no timer would open it.
        packet == Duration::ZERO || self.clear_at.since(now) <= self.cfg.burst(packet)
    }

    /// When to try again: half of a burst may leave then. None if the path is not paced.
    pub(super) fn retry(&self, w: &Window, rtt: &RttEstimator, now: Instant) -> Option<Instant> {
        if self.time(w.pmdcs, w, rtt) == Duration::ZERO {
            return None;
        }
        let burst = self.burst(w, rtt);
        let ahead = self.clear_at.max(now).since(now).max(burst);
        Some(now + (ahead - burst / 2))
    }
}

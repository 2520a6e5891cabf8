//! What a congestion control algorithm is asked, and when.

use super::rfc9260;
use crate::config::CongestionConfig;
use crate::path::Window;
use crate::time::{Duration, Instant};
use core::fmt;

/// A congestion control algorithm, at work on one path.
///
/// Each path has an object of its own, which may remember what it likes. Of the
/// [`Window`] it changes [`cwnd`](Window::cwnd), [`ssthresh`](Window::ssthresh)
/// and [`partial_bytes_acked`](Window::partial_bytes_acked), in bytes. What it
/// writes to the other fields is undone, and a cwnd below one PMDCS counts as
/// one PMDCS: nothing could be sent. The association sends while the flight is
/// below cwnd (RFC 9260 section 6.1, rule B), and finds losses itself.
///
/// `cfg` are the association's settings of section 7. The built-in algorithms obey
/// them; another one need not.
#[allow(unused_variables)]
pub trait CongestionControl: fmt::Debug + Send {
    /// The path begins. The window is that of `congestion.initial_cwnd` and
    /// `congestion.initial_ssthresh` (section 7.2.1); by default it stays so.
    fn on_start(&mut self, window: &mut Window, cfg: &CongestionConfig) {}

    /// A SACK acknowledged new data that was last sent to this path (sections
    /// 7.2.1 and 7.2.2). Once for each such SACK.
    fn on_ack(&mut self, window: &mut Window, ack: PathAck, at: Moment, cfg: &CongestionConfig);

    /// Missing reports announced a loss (section 7.2.4). Once for each fast
    /// recovery (`congestion.fast_recovery`), not for each lost chunk.
    fn on_fast_retransmit(&mut self, window: &mut Window, cfg: &CongestionConfig);

    /// T3-rtx of the path expired (section 7.2.3). All that was in flight is lost.
    fn on_timeout(&mut self, window: &mut Window, cfg: &CongestionConfig);

    /// Nothing is in flight, and something is about to be sent. `rto`: the path's
    /// retransmission timeout. By default the window shrinks by half for each RTO
    /// since [`Window::idle_since`] (section 7.2.1, last rule;
    /// `congestion.idle_decay`).
    fn on_idle(
        &mut self,
        window: &mut Window,
        now: Instant,
        rto: Duration,
        cfg: &CongestionConfig,
    ) {
        rfc9260::shrink_idle(window, now, rto, cfg);
    }

    /// A burst begins that may have `limit` bytes in flight (section 6.1, D). Only
    /// with `congestion.burst_rule = ShrinkWindow`; by default cwnd falls to it.
    fn on_burst(&mut self, window: &mut Window, limit: u32) {
        window.cwnd = window.cwnd.min(limit);
    }

    /// A potentially failed path is active again, and
    /// `failover.potentially_failed.return_cwnd` names a window of so many PMDCS
    /// (natarajan-2006 section 3). By default cwnd is set to that.
    fn on_return(&mut self, window: &mut Window, pmdcs: u32) {
        window.cwnd = pmdcs.max(1).saturating_mul(window.pmdcs);
    }
}

/// What one SACK means for one path.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct PathAck {
    /// Bytes newly acknowledged of what was last sent there.
    pub bytes: u32,
    /// Those of them that gap blocks acknowledged.
    pub gap_bytes: u32,
    /// Bytes in flight before the SACK, with what else takes room that data
    /// cannot use. The window was full if this is not less than cwnd.
    pub flight_before: u32,
    /// Whether the cumulative TSN advanced.
    pub cumulative_advanced: bool,
    /// Whether the path, or the association, is in fast recovery.
    pub in_recovery: bool,
    /// Whether nothing is outstanding any more, on any path.
    pub all_acked: bool,
}

/// When a SACK came, and what else rules of time and of several paths need.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct Moment {
    /// The present time.
    pub now: Instant,
    /// The path's smoothed round trip; zero before the first measurement.
    pub srtt: Duration,
    /// What a window of acknowledged bytes adds in congestion avoidance, in
    /// PMDCS: 1 where paths are not coupled (`congestion.coupled`).
    pub step: f64,
}

/// Begins the congestion control of a path that is new.
///
/// Every [`CongestionControl`] that can be cloned does so: it is cloned for each
/// path. It is implemented by hand only where that is not enough.
pub trait StartCongestionControl: fmt::Debug + Send + Sync {
    /// The congestion control of one path, at its beginning.
    fn start(&self) -> Box<dyn CongestionControl>;
}

impl<C: CongestionControl + Clone + Sync + 'static> StartCongestionControl for C {
    fn start(&self) -> Box<dyn CongestionControl> {
        Box::new(self.clone())
    }
}

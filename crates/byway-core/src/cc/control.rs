//! The interface between an association and a congestion control algorithm.

use super::idle;
use crate::config::CongestionConfig;
use crate::path::{Reduced, Window};
use crate::time::{Duration, Instant};
use core::fmt;

/// A congestion control algorithm of one path.
///
/// Each path has its own object, which may store any state. It changes three fields of
/// the [`Window`], in bytes: [`cwnd`](Window::cwnd), [`ssthresh`](Window::ssthresh) and
/// [`partial_bytes_acked`](Window::partial_bytes_acked). The association undoes changes
/// of the other fields. It raises a cwnd below one PMDCS to one PMDCS, because otherwise
/// nothing could be sent. The association sends while the flight size is below cwnd
/// (RFC 9260 section 6.1, rule B), and detects losses itself.
///
/// `cfg` has the association's settings for section 7. The built-in algorithms follow
/// them; your own need not.
#[expect(
    unused_variables,
    reason = "a default answer reads nothing of what it is told"
)]
pub trait CongestionControl: fmt::Debug + Send {
    /// The path is created. The window has the values of `congestion.initial_cwnd` and
    /// `congestion.initial_ssthresh` (section 7.2.1). By default it keeps them.
    fn on_start(&mut self, window: &mut Window, cfg: &CongestionConfig) {}

    /// A SACK acknowledged new data that was last sent to this path (sections 7.2.1 and
    /// 7.2.2). Called once for each such SACK.
    fn on_ack(&mut self, window: &mut Window, ack: PathAck, at: Moment, cfg: &CongestionConfig);

    /// Missing reports announced a loss (section 7.2.4). Called once for each fast
    /// recovery (`congestion.fast_recovery`), not for each lost chunk.
    fn on_fast_retransmit(&mut self, window: &mut Window, cfg: &CongestionConfig);

    /// T3-rtx of the path expired (section 7.2.3). All data in flight is lost.
    fn on_timeout(&mut self, window: &mut Window, cfg: &CongestionConfig);

    /// The last reduction was spurious: nothing was lost (`retransmission.undo_spurious`).
    /// By default ssthresh gets its value from `before` the reduction, and cwnd is at
    /// least what it was.
    fn on_spurious(&mut self, window: &mut Window, before: Reduced) {
        window.cwnd = window.cwnd.max(before.cwnd);
        window.ssthresh = before.ssthresh;
    }

    /// Nothing is in flight, and data is about to leave. `rto` is the path's
    /// retransmission timeout. By default the window is halved for each RTO since
    /// [`Window::idle_since`] (section 7.2.1, last rule; `congestion.idle_decay`).
    fn on_idle(
        &mut self,
        window: &mut Window,
        now: Instant,
        rto: Duration,
        cfg: &CongestionConfig,
    ) {
        idle::shrink_idle(window, now, rto, cfg);
    }

    /// A packet of new data may leave if the flight size is below `limit` (section 6.1,
    /// D). Called only with `congestion.burst_rule = ShrinkWindow`, before each packet of
    /// new data, with the same limit during an event. The packet need not leave after all.
    /// By default cwnd is reduced to the limit.
    fn on_burst(&mut self, window: &mut Window, limit: u32) {
        window.cwnd = window.cwnd.min(limit);
    }

    /// A potentially failed path is active again, and
    /// `failover.potentially_failed.return_cwnd` sets a window of this number of PMDCS
    /// (natarajan-2006 section 3). By default cwnd gets this value.
    fn on_return(&mut self, window: &mut Window, pmdcs: u32) {
        window.cwnd = pmdcs.max(1).saturating_mul(window.pmdcs);
    }
}

/// What one SACK means for one path.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct PathAck {
    /// Newly acknowledged bytes that were last sent there.
    pub bytes: u32,
    /// The part of these bytes that gap blocks acknowledged.
    pub gap_bytes: u32,
    /// Bytes in flight before the SACK, plus other room that data cannot use. The
    /// window was full if this is at least cwnd.
    pub flight_before: u32,
    /// Whether the cumulative TSN advanced.
    pub cumulative_advanced: bool,
    /// Whether the path, or the association, is in fast recovery.
    pub in_recovery: bool,
    /// Whether all data of all paths is cumulatively acknowledged.
    pub all_acked: bool,
}

/// When a SACK arrived, and more values for rules that use time or several paths.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct Moment {
    /// The current time.
    pub now: Instant,
    /// The path's smoothed round trip; zero before the first measurement.
    pub srtt: Duration,
    /// The round trip of the newest chunk that the SACK acknowledged, if it is certain.
    pub round_trip: Option<Duration>,
    /// How much one window of acknowledged bytes adds in congestion avoidance, in
    /// PMDCS. It is 1 if paths are not coupled (`congestion.coupled`).
    pub step: f64,
}

/// Creates the congestion control of a new path.
///
/// Every [`CongestionControl`] that can be cloned implements it: each path gets a
/// clone. Implement it yourself only if a clone is not enough.
pub trait StartCongestionControl: fmt::Debug + Send + Sync {
    /// Creates the congestion control of one path.
    fn start(&self) -> Box<dyn CongestionControl>;
}

impl<C: CongestionControl + Clone + Sync + 'static> StartCongestionControl for C {
    fn start(&self) -> Box<dyn CongestionControl> {
        Box::new(self.clone())
    }
}

//! Congestion control: rules over the windows of the paths. It alone changes
//! windows, and changes nothing else.
//!
//! `congestion.algorithm` says how a window grows and falls (`reno`, `cubic`),
//! `congestion.coupled` how the paths of one association share that growth
//! (`coupled`). Both sets are closed, so a plain `match` stands here.

pub(crate) mod coupled;
pub(crate) mod cubic;
pub(crate) mod reno;

use crate::config::{CongestionAlgorithm, CongestionConfig};
use crate::path::Window;
use crate::time::{Duration, Instant};

pub(crate) use reno::on_use;

/// What one SACK means for one path.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct PathAck {
    /// Bytes newly acknowledged of what was last sent there.
    pub(crate) bytes: u32,
    /// Those of them that gap blocks acknowledged.
    pub(crate) gap_bytes: u32,
    /// Flight before the SACK was applied, and what else takes room that data
    /// cannot use.
    pub(crate) flight_before: u32,
    /// Whether the cumulative TSN advanced.
    pub(crate) cumulative_advanced: bool,
    /// Whether the path (or the association) is in fast recovery.
    pub(crate) in_recovery: bool,
    /// Whether nothing is outstanding any more.
    pub(crate) all_acked: bool,
}

/// When a SACK came, and what else rules of time and of several paths need.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Moment {
    pub(crate) now: Instant,
    /// The path's smoothed round trip.
    pub(crate) srtt: Duration,
    /// What a window of acknowledged bytes adds in congestion avoidance, in
    /// PMDCS: 1 where paths are not coupled.
    pub(crate) step: f64,
}

/// A SACK acknowledged new data of this path.
pub(crate) fn on_ack(w: &mut Window, ack: PathAck, at: Moment, cfg: &CongestionConfig) {
    match cfg.algorithm {
        CongestionAlgorithm::Rfc9260 => reno::on_ack(w, ack, at.step, cfg),
        CongestionAlgorithm::Cubic(_) => cubic::on_ack(w, ack, at, cfg),
    }
}

/// Missing reports announced a loss.
pub(crate) fn on_fast_retransmit(w: &mut Window, cfg: &CongestionConfig) {
    w.interval.on_loss();
    match cfg.algorithm {
        CongestionAlgorithm::Rfc9260 => reno::on_fast_retransmit(w, cfg),
        CongestionAlgorithm::Cubic(c) => cubic::on_fast_retransmit(w, c, cfg),
    }
}

/// The T3-rtx timer expired.
pub(crate) fn on_timeout(w: &mut Window, cfg: &CongestionConfig) {
    w.interval.on_loss();
    match cfg.algorithm {
        CongestionAlgorithm::Rfc9260 => reno::on_timeout(w, cfg),
        CongestionAlgorithm::Cubic(_) => cubic::on_timeout(w, cfg),
    }
}

/// A potentially failed path is active again, with a window of so many PMDCS
/// (`failover.potentially_failed.return_cwnd`; natarajan-2006 section 3).
pub(crate) fn on_return(w: &mut Window, pmdcs: u32) {
    w.cwnd = pmdcs.max(1).saturating_mul(w.pmdcs);
}

/// A burst begins: the window falls to what the burst may have in flight (RFC 9260
/// section 6.1, D, second rule).
pub(crate) fn limit(w: &mut Window, bytes: u32) {
    w.cwnd = w.cwnd.min(bytes);
}

/// Nothing is in flight there, and something is about to be: the window falls
/// with the time that it was not used (RFC 9260 section 7.2.1, last rule).
pub(crate) fn on_idle(w: &mut Window, now: Instant, rto: Duration, cfg: &CongestionConfig) {
    let before = w.cwnd;
    reno::on_idle(w, now, rto, cfg);
    let decayed = w.cwnd != before;
    if let Some(curve) = &mut w.curve {
        curve.on_idle(now, decayed);
    }
}

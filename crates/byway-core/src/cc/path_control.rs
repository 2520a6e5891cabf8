//! The congestion control of one path: a built-in algorithm or the user's own.

use super::coupled::LossInterval;
use super::{CongestionControl, CubicControl, Moment, PathAck, Rfc9260Control, rfc9260};
use crate::config::{Config, CongestionAlgorithm, CongestionConfig};
use crate::path::{Reduced, Window};
use crate::time::{Duration, Instant};

/// The algorithm of a path. Built-in algorithms are called directly, because every SACK
/// calls them.
#[derive(Debug)]
enum Algorithm {
    Rfc9260(Rfc9260Control),
    Cubic(Box<CubicControl>),
    Custom(Box<dyn CongestionControl>),
}

/// The congestion control of one path.
#[derive(Debug)]
pub(crate) struct PathControl {
    algorithm: Algorithm,
    /// For `congestion.coupled`, with any algorithm.
    interval: LossInterval,
}

/// Calls the algorithm of a path.
macro_rules! call {
    ($self:ident, $window:ident, $control:ident => $call:expr) => {
        match &mut $self.algorithm {
            Algorithm::Rfc9260($control) => $call,
            Algorithm::Cubic($control) => $call,
            Algorithm::Custom($control) => {
                let before = $window.clone();
                $call;
                keep_accounts($window, &before);
            }
        }
    };
}

/// Restores the fields that a user's algorithm may not change, and makes sure that one
/// chunk fits the window.
fn keep_accounts(w: &mut Window, before: &Window) {
    w.flight = before.flight;
    w.lost = before.lost;
    w.pmdcs = before.pmdcs;
    w.cwnd = w.cwnd.max(w.pmdcs);
}

impl PathControl {
    /// Creates the congestion control of a path, and its window. `pmdcs` is the largest
    /// DATA chunk that the path takes, in bytes.
    pub(crate) fn begin(
        cfg: &Config,
        pmdcs: u32,
        ipv6: bool,
        now: Instant,
    ) -> (PathControl, Window) {
        let algorithm = match (&cfg.custom.congestion, cfg.congestion.algorithm) {
            (Some(custom), _) => Algorithm::Custom(custom.get().start()),
            (None, CongestionAlgorithm::Rfc9260) => Algorithm::Rfc9260(Rfc9260Control),
            (None, CongestionAlgorithm::Cubic(c)) => {
                Algorithm::Cubic(Box::new(CubicControl::new(c)))
            }
        };
        let mut control = PathControl {
            algorithm,
            interval: LossInterval::default(),
        };
        let cfg = &cfg.congestion;
        let mut w = rfc9260::initial_window(cfg, pmdcs, ipv6, now);
        let window = &mut w;
        call!(control, window, c => c.on_start(window, cfg));
        (control, w)
    }

    /// A SACK acknowledged this number of bytes of this path. Called only if paths are
    /// coupled.
    pub(crate) fn count_acknowledged(&mut self, bytes: u32) {
        self.interval.on_acked(bytes);
    }

    /// The most bytes that arrived between two losses.
    pub(crate) fn bytes_between_losses(&self) -> f64 {
        self.interval.longest()
    }

    /// A SACK acknowledged new data of this path.
    #[inline]
    pub(crate) fn on_ack(
        &mut self,
        window: &mut Window,
        ack: PathAck,
        at: Moment,
        cfg: &CongestionConfig,
    ) {
        call!(self, window, c => c.on_ack(window, ack, at, cfg));
    }

    /// Missing reports announced a loss.
    pub(crate) fn on_fast_retransmit(&mut self, window: &mut Window, cfg: &CongestionConfig) {
        self.interval.on_loss();
        call!(self, window, c => c.on_fast_retransmit(window, cfg));
    }

    /// T3-rtx expired.
    pub(crate) fn on_timeout(&mut self, window: &mut Window, cfg: &CongestionConfig) {
        self.interval.on_loss();
        call!(self, window, c => c.on_timeout(window, cfg));
    }

    /// The last reduction was spurious.
    pub(crate) fn on_spurious(&mut self, window: &mut Window, before: Reduced) {
        call!(self, window, c => c.on_spurious(window, before));
    }

    /// Nothing is in flight, and data is about to leave.
    pub(crate) fn on_idle(
        &mut self,
        window: &mut Window,
        now: Instant,
        rto: Duration,
        cfg: &CongestionConfig,
    ) {
        call!(self, window, c => c.on_idle(window, now, rto, cfg));
    }

    /// A burst begins, with at most `limit` bytes in flight.
    pub(crate) fn on_burst(&mut self, window: &mut Window, limit: u32) {
        call!(self, window, c => c.on_burst(window, limit));
    }

    /// A potentially failed path is active again, with a window of this number of
    /// PMDCS.
    pub(crate) fn on_return(&mut self, window: &mut Window, pmdcs: u32) {
        call!(self, window, c => c.on_return(window, pmdcs));
    }
}

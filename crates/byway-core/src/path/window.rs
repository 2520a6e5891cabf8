//! The congestion window of one path: plain numbers. The rules that change
//! them are in `cc`.

use crate::cc::coupled::LossInterval;
use crate::cc::cubic::Curve;
use crate::config::{CongestionConfig, InitialCwnd};
use crate::time::Instant;

/// cwnd and its companions, in bytes of DATA chunks, headers and padding
/// included (RFC 9260 section 7.2).
#[derive(Clone, Debug)]
pub struct Window {
    /// Congestion window.
    pub cwnd: u32,
    /// Slow start threshold.
    pub ssthresh: u32,
    /// Bytes acknowledged in congestion avoidance towards the next growth.
    pub partial_bytes_acked: u32,
    /// Bytes sent to this path and neither acknowledged nor taken for lost.
    pub flight: u32,
    /// Bytes sent to this path, taken for lost and awaiting retransmission, there
    /// or elsewhere.
    pub lost: u32,
    /// PMDCS: the largest DATA chunk, header included, that the path takes.
    pub pmdcs: u32,
    /// When the window was last used or decayed; starts at creation.
    pub(crate) idle_since: Instant,
    /// Whether it decayed since it was last used (the first decay also sets
    /// ssthresh).
    pub(crate) decayed: bool,
    /// Bytes between losses (`congestion.coupled = Olia`).
    pub(crate) interval: LossInterval,
    /// CUBIC's curve, once there was an acknowledgement or a loss with it.
    pub(crate) curve: Option<Box<Curve>>,
}

impl Window {
    /// Whether the path is in congestion avoidance, not in slow start (RFC 9260
    /// section 7.2.2).
    #[must_use]
    pub fn avoids_congestion(&self) -> bool {
        self.cwnd > self.ssthresh
    }

    /// Bytes in flight are taken for lost, and await retransmission.
    pub(crate) fn lose(&mut self, bytes: u32) {
        self.flight -= bytes;
        self.lost += bytes;
    }

    pub(crate) fn new(cfg: &CongestionConfig, pmdcs: u32, ipv6: bool, now: Instant) -> Window {
        let cwnd = match cfg.initial_cwnd {
            InitialCwnd::Rfc9260 => {
                let bytes = if ipv6 { 4344 } else { 4404 };
                (4 * pmdcs).min((2 * pmdcs).max(bytes))
            }
            InitialCwnd::Rfc4960 => (4 * pmdcs).min((2 * pmdcs).max(4380)),
            InitialCwnd::Pmdcs(n) => n.saturating_mul(pmdcs),
        };
        Window {
            cwnd,
            ssthresh: cfg.initial_ssthresh.unwrap_or(u32::MAX),
            partial_bytes_acked: 0,
            flight: 0,
            lost: 0,
            pmdcs,
            idle_since: now,
            decayed: false,
            interval: LossInterval::default(),
            curve: None,
        }
    }
}

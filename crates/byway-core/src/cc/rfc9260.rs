//! Slow start and congestion avoidance (RFC 9260 sections 7.2.1 to 7.2.3).
//!
//! Up to ssthresh the window grows by the acknowledged bytes, at most L PMDCS per SACK.
//! Above it, the window grows by one PMDCS for each acknowledged window. A loss halves
//! it, and a timeout sets it to one PMDCS. The differences between RFC 2960 and RFC 9260
//! are fields of the configuration.

use super::idle::floor;
use super::{CongestionControl, Moment, PathAck};
use crate::config::{CongestionConfig, CwndGrowth, InitialCwnd};
use crate::path::Window;
use crate::time::Instant;

/// The rules of RFC 9260 for a window, the default (`congestion.algorithm = Rfc9260`).
/// All their state is in the window.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Rfc9260Control;

impl CongestionControl for Rfc9260Control {
    /// Sections 7.2.1 and 7.2.2.
    #[inline]
    fn on_ack(&mut self, w: &mut Window, ack: PathAck, at: Moment, cfg: &CongestionConfig) {
        if !w.avoids_congestion() {
            slow_start(w, ack, cfg);
        } else if may_grow(ack, cfg) {
            w.partial_bytes_acked = w.partial_bytes_acked.saturating_add(ack.bytes);
            if w.partial_bytes_acked >= w.cwnd {
                if is_full(w, ack) {
                    w.partial_bytes_acked -= w.cwnd;
                    if !ack.in_recovery {
                        add(w, at.step);
                    }
                } else {
                    w.partial_bytes_acked = w.cwnd;
                }
            }
        }
        if ack.all_acked {
            w.partial_bytes_acked = 0;
        }
    }

    /// Section 7.2.3.
    fn on_fast_retransmit(&mut self, w: &mut Window, cfg: &CongestionConfig) {
        w.ssthresh = (w.cwnd / 2).max(floor(w, cfg));
        w.cwnd = w.ssthresh;
        w.partial_bytes_acked = 0;
    }

    /// Section 7.2.3.
    fn on_timeout(&mut self, w: &mut Window, cfg: &CongestionConfig) {
        w.ssthresh = (w.cwnd / 2).max(floor(w, cfg));
        w.cwnd = after_timeout(w, cfg);
        w.partial_bytes_acked = 0;
    }
}

/// The initial window of a path (section 7.2.1).
pub(crate) fn initial_window(
    cfg: &CongestionConfig,
    pmdcs: u32,
    ipv6: bool,
    now: Instant,
) -> Window {
    let cwnd = match cfg.initial_cwnd {
        InitialCwnd::Rfc9260 => {
            let bytes = if ipv6 { 4344 } else { 4404 };
            (4 * pmdcs).min((2 * pmdcs).max(bytes))
        }
        InitialCwnd::Rfc4960 => (4 * pmdcs).min((2 * pmdcs).max(4380)),
        InitialCwnd::Pmdcs(n) => n.saturating_mul(pmdcs),
    };
    Window::new(cwnd, cfg.initial_ssthresh.unwrap_or(u32::MAX), pmdcs, now)
}

/// Section 7.2.1: at most L PMDCS per SACK.
pub(super) fn slow_start(w: &mut Window, ack: PathAck, cfg: &CongestionConfig) {
    if may_grow(ack, cfg) && is_full(w, ack) && !ack.in_recovery {
        let most = cfg.slow_start_limit.saturating_mul(w.pmdcs);
        w.cwnd = w.cwnd.saturating_add(ack.bytes.min(most));
    }
}

fn may_grow(ack: PathAck, cfg: &CongestionConfig) -> bool {
    match cfg.growth {
        CwndGrowth::AnyNewAck => true,
        CwndGrowth::CumulativeAdvance => ack.cumulative_advanced,
    }
}

/// Whether the window was "fully utilized": no further packet could leave (rule B).
fn is_full(w: &Window, ack: PathAck) -> bool {
    ack.flight_before >= w.cwnd
}

/// Adds one PMDCS, or the part of it that coupled paths allow.
fn add(w: &mut Window, step: f64) {
    if step >= 1.0 {
        w.cwnd = w.cwnd.saturating_add(w.pmdcs);
    } else {
        let bytes = (step * f64::from(w.pmdcs)) as i32;
        w.cwnd = w.cwnd.saturating_add_signed(bytes).max(w.pmdcs);
    }
}

/// The window after a timeout.
pub(super) fn after_timeout(w: &Window, cfg: &CongestionConfig) -> u32 {
    cfg.cwnd_after_rto.max(1).saturating_mul(w.pmdcs)
}

#[cfg(test)]
mod tests {
    use super::super::idle::shrink_idle;
    use super::*;
    use crate::time::Duration;

    const PMDCS: u32 = 1468;
    const AT: Moment = Moment {
        now: Instant::ZERO,
        srtt: Duration::ZERO,
        round_trip: None,
        step: 1.0,
    };

    fn window(cwnd: u32, ssthresh: u32) -> Window {
        let mut w = initial_window(&CongestionConfig::default(), PMDCS, false, Instant::ZERO);
        w.cwnd = cwnd * PMDCS;
        w.ssthresh = ssthresh * PMDCS;
        w
    }

    fn full(chunks: u32, w: &Window) -> PathAck {
        PathAck {
            bytes: chunks * PMDCS,
            flight_before: w.cwnd,
            cumulative_advanced: true,
            ..PathAck::default()
        }
    }

    #[test]
    fn initial_windows() {
        let cfg = CongestionConfig::default();
        let of = |pmdcs, v6| initial_window(&cfg, pmdcs, v6, Instant::ZERO).cwnd;
        assert_eq!(of(1468, false), 4404);
        assert_eq!(of(1448, true), 4344);
        assert_eq!(of(500, false), 2000);
        assert_eq!(of(9000, false), 18_000);
    }

    /// What the initial window was before RFC 9260, and without a rule.
    #[test]
    fn initial_windows_of_other_rules() {
        for (initial_cwnd, pmdcs, expected) in [
            (InitialCwnd::Rfc4960, 1468, 4380),
            (InitialCwnd::Rfc4960, 500, 2000),
            (InitialCwnd::Rfc4960, 9000, 18_000),
            (InitialCwnd::Pmdcs(2), 1468, 2936),
        ] {
            let cfg = CongestionConfig {
                initial_cwnd,
                ..CongestionConfig::default()
            };
            let w = initial_window(&cfg, pmdcs, false, Instant::ZERO);
            assert_eq!(w.cwnd, expected, "{initial_cwnd:?} {pmdcs}");
        }
    }

    #[test]
    fn slow_start_grows_by_at_most_l_chunks_and_only_when_full() {
        let cfg = CongestionConfig::default();
        let mut w = window(4, 100);
        let ack = full(2, &w);
        Rfc9260Control.on_ack(&mut w, ack, AT, &cfg);
        assert_eq!(w.cwnd, 5 * PMDCS, "two chunks acknowledged, L = 1");
        let mut ack = full(2, &w);
        ack.flight_before = w.cwnd - 1;
        Rfc9260Control.on_ack(&mut w, ack, AT, &cfg);
        assert_eq!(w.cwnd, 5 * PMDCS, "the window was not full");
        let mut ack = full(2, &w);
        ack.in_recovery = true;
        Rfc9260Control.on_ack(&mut w, ack, AT, &cfg);
        assert_eq!(w.cwnd, 5 * PMDCS, "fast recovery");
    }

    #[test]
    fn rfc_2960_grows_only_when_the_cumulative_tsn_advances() {
        let cfg = CongestionConfig {
            growth: CwndGrowth::CumulativeAdvance,
            ..CongestionConfig::default()
        };
        let mut w = window(4, 100);
        let mut ack = full(1, &w);
        ack.cumulative_advanced = false;
        Rfc9260Control.on_ack(&mut w, ack, AT, &cfg);
        assert_eq!(w.cwnd, 4 * PMDCS);
    }

    #[test]
    fn congestion_avoidance_adds_one_chunk_a_window() {
        let cfg = CongestionConfig::default();
        let mut w = window(10, 4);
        for _ in 0..4 {
            let ack = full(2, &w);
            Rfc9260Control.on_ack(&mut w, ack, AT, &cfg);
        }
        assert_eq!(w.cwnd, 10 * PMDCS);
        let ack = full(2, &w);
        Rfc9260Control.on_ack(&mut w, ack, AT, &cfg);
        assert_eq!((w.cwnd, w.partial_bytes_acked), (11 * PMDCS, 0));
    }

    #[test]
    fn acknowledged_credit_is_capped_while_the_window_is_not_full() {
        let cfg = CongestionConfig::default();
        let mut w = window(3, 2);
        for _ in 0..9 {
            let ack = PathAck {
                bytes: PMDCS,
                ..PathAck::default()
            };
            Rfc9260Control.on_ack(&mut w, ack, AT, &cfg);
        }
        assert_eq!((w.cwnd, w.partial_bytes_acked), (3 * PMDCS, 3 * PMDCS));
    }

    #[test]
    fn losses_halve_and_timeouts_collapse_with_the_floor() {
        let cfg = CongestionConfig::default();
        let mut w = window(20, 100);
        Rfc9260Control.on_fast_retransmit(&mut w, &cfg);
        assert_eq!((w.cwnd, w.ssthresh), (10 * PMDCS, 10 * PMDCS));
        Rfc9260Control.on_timeout(&mut w, &cfg);
        assert_eq!((w.cwnd, w.ssthresh), (PMDCS, 5 * PMDCS));
        Rfc9260Control.on_timeout(&mut w, &cfg);
        assert_eq!(w.ssthresh, 4 * PMDCS, "floor of RFC 9260");
        let old = CongestionConfig {
            ssthresh_floor: 2,
            ..cfg
        };
        Rfc9260Control.on_timeout(&mut w, &old);
        assert_eq!(w.ssthresh, 2 * PMDCS, "floor of RFC 2960");
    }

    #[test]
    fn an_idle_window_halves_once_per_rto_and_remembers_ssthresh() {
        let cfg = CongestionConfig::default();
        let rto = Duration::from_secs(1);
        let mut w = window(32, 100);
        shrink_idle(&mut w, Instant::from_millis(999), rto, &cfg);
        assert_eq!(w.cwnd, 32 * PMDCS);
        shrink_idle(&mut w, Instant::from_millis(2500), rto, &cfg);
        assert_eq!((w.cwnd, w.ssthresh), (8 * PMDCS, 32 * PMDCS));
        shrink_idle(&mut w, Instant::from_millis(60_000), rto, &cfg);
        assert_eq!(w.cwnd, 4 * PMDCS, "the floor");
    }
}

//! CUBIC (RFC 9438), for `congestion.algorithm = Cubic`.
//!
//! RFC 9260 adds one PMDCS per round trip, so a path of 1 Gbit/s and 100 ms needs
//! minutes to recover from one loss. CUBIC makes the window a cubic function of the
//! time since the last loss, W(t) = C (t - K)^3 + W_max. It grows fast towards the
//! window of the last loss, slowly around it, and then fast again to find more room,
//! independent of the round-trip time. If RFC 9260 would grow faster on average, CUBIC
//! grows as RFC 9260 does (the Reno-friendly region). A loss takes 30 % of the window
//! instead of half. The default is RFC 9260 section 7.2.2.
//!
//! For SCTP, SMSS is PMDCS, and each destination has its own curve. RFC 9260 section
//! 7.2.1 says when a window is fully used. Time in which it was not fully used, or in
//! which the association was in fast recovery, does not count (section 5.8). Slow
//! start, L and the floor of ssthresh are those of RFC 9260. A spurious loss is undone
//! with `retransmission.undo_spurious` (section 4.9).

use super::hystart::{HyStart, Pace};
use super::{CongestionControl, Moment, PathAck, idle, rfc9260};
use crate::config::{CongestionConfig, Cubic, CwndGrowth};
use crate::path::{Reduced, Window};
use crate::time::{Duration, Instant};

/// C, in PMDCS/s^3.
const C: f64 = 0.4;
/// The part of the window that remains after a loss.
const BETA: f64 = 0.7;
/// With `BETA`, this growth has the same average window as one PMDCS per round trip
/// with a halved window (section 4.3).
const ALPHA: f64 = 3.0 * (1.0 - BETA) / (1.0 + BETA);

/// The rules of CUBIC for a window (`congestion.algorithm = Cubic`), with the path's
/// curve.
#[derive(Clone, Debug, Default)]
pub struct CubicControl {
    settings: Cubic,
    curve: Curve,
    /// The curve before the last loss, for the case that it was spurious (section 4.9).
    before: Option<Box<Curve>>,
    /// Until slow start ends for the first time.
    hystart: Option<HyStart>,
}

impl CubicControl {
    /// CUBIC with these settings, for a new path.
    #[must_use]
    pub fn new(settings: Cubic) -> CubicControl {
        CubicControl {
            hystart: settings.hystart.then(HyStart::default),
            settings,
            curve: Curve::default(),
            before: None,
        }
    }

    /// The window falls. The first of several reductions is what matters when they are
    /// undone, and they are undone soon or never.
    fn remember(&mut self) {
        self.before = Some(Box::new(self.curve.clone()));
    }

    /// Slow start of RFC 9260, at the pace of HyStart++ until the first loss (RFC 9406
    /// section 4.3).
    fn slow_start(&mut self, w: &mut Window, ack: PathAck, at: Moment, cfg: &CongestionConfig) {
        let pace = self
            .hystart
            .as_mut()
            .map_or(Pace::Divided(1), |h| h.on_ack(ack, at.round_trip));
        match pace {
            Pace::Divided(by) => {
                let bytes = ack.bytes / by;
                rfc9260::slow_start(w, PathAck { bytes, ..ack }, cfg);
            }
            Pace::Ends => {
                self.hystart = None;
                w.ssthresh = w.cwnd;
            }
        }
    }
}

impl CongestionControl for CubicControl {
    fn on_ack(&mut self, w: &mut Window, ack: PathAck, at: Moment, cfg: &CongestionConfig) {
        if !w.avoids_congestion() {
            self.slow_start(w, ack, at, cfg);
            return;
        }
        let curve = &mut self.curve;
        if ack.flight_before < w.cwnd || ack.in_recovery {
            curve.pause(at.now);
            return;
        }
        if cfg.growth == CwndGrowth::CumulativeAdvance && !ack.cumulative_advanced {
            return;
        }
        let cwnd = f64::from(w.cwnd) + curve.fraction;
        let grown = curve.grown(cwnd, w.pmdcs.into(), ack.bytes.into(), at);
        w.cwnd = grown as u32;
        curve.fraction = grown - f64::from(w.cwnd);
    }

    fn on_fast_retransmit(&mut self, w: &mut Window, cfg: &CongestionConfig) {
        self.hystart = None;
        self.remember();
        w.ssthresh = less(w, cfg);
        self.curve.on_loss(w.cwnd.into(), self.settings);
        w.cwnd = w.ssthresh;
    }

    /// Section 4.8: the next stage starts with a new plateau.
    fn on_timeout(&mut self, w: &mut Window, cfg: &CongestionConfig) {
        self.hystart = None;
        self.remember();
        w.ssthresh = less(w, cfg);
        self.curve = Curve {
            prior: w.cwnd.into(),
            ..Curve::default()
        };
        w.cwnd = rfc9260::after_timeout(w, cfg);
    }

    /// Section 4.9: the curve goes on as before. Time since the loss does not count.
    fn on_spurious(&mut self, w: &mut Window, before: Reduced) {
        if let Some(curve) = self.before.take() {
            self.curve = *curve;
        }
        w.cwnd = w.cwnd.max(before.cwnd);
        w.ssthresh = before.ssthresh;
    }

    /// As in RFC 9260; idle time does not count.
    fn on_idle(&mut self, w: &mut Window, now: Instant, rto: Duration, cfg: &CongestionConfig) {
        let before = w.cwnd;
        idle::shrink_idle(w, now, rto, cfg);
        self.curve.on_idle(now, w.cwnd != before);
    }
}

/// The state of CUBIC for a path. Windows are in bytes.
#[derive(Clone, Debug, Default)]
struct Curve {
    /// The plateau: the window before the last loss, or less.
    w_max: f64,
    /// The window before the last loss (cwnd_prior).
    prior: f64,
    /// The fraction of a byte that cwnd has gained but that is not added yet.
    fraction: f64,
    stage: Option<Stage>,
}

/// One stage of congestion avoidance: from its first growth to the next loss.
#[derive(Clone, Debug)]
struct Stage {
    /// The time t = 0, moved later by time that does not count.
    began: Instant,
    /// The time of the last update.
    seen: Instant,
    /// The time until the curve reaches its plateau, in seconds.
    k: f64,
    /// The window that RFC 9260 would have (W_est).
    friendly: f64,
}

impl Curve {
    /// The time since the last update does not count.
    fn pause(&mut self, now: Instant) {
        if let Some(s) = &mut self.stage {
            s.began += now.since(s.seen);
            s.seen = now;
        }
    }

    /// Nothing was in flight until now. `decayed`: the window decayed in this time.
    fn on_idle(&mut self, now: Instant, decayed: bool) {
        if decayed {
            self.stage = None;
        } else {
            self.pause(now);
        }
    }

    /// A loss. The plateau is the window at the loss (section 4.6), or less if the
    /// window did not reach the last plateau (section 4.7).
    fn on_loss(&mut self, cwnd: f64, cfg: Cubic) {
        self.w_max = if cfg.fast_convergence && cwnd < self.w_max {
            cwnd * (1.0 + BETA) / 2.0
        } else {
            cwnd
        };
        self.prior = cwnd;
        self.fraction = 0.0;
        self.stage = None;
    }

    /// Sections 4.2 to 4.5: the window after `bytes` were acknowledged.
    fn grown(&mut self, cwnd: f64, pmdcs: f64, bytes: f64, at: Moment) -> f64 {
        let c = C * pmdcs;
        let w_max = &mut self.w_max;
        let stage = self.stage.get_or_insert_with(|| {
            // Without a plateau above cwnd, the search for more room begins at once.
            *w_max = w_max.max(cwnd);
            Stage {
                began: at.now,
                seen: at.now,
                k: libm::cbrt((*w_max - cwnd) / c),
                friendly: cwnd,
            }
        });
        stage.seen = at.now;
        let curve = |t: f64| {
            let d = t - stage.k;
            c * d * d * d + *w_max
        };
        let t = at.now.since(stage.began).as_secs_f64();
        let alpha = if stage.friendly < self.prior {
            ALPHA
        } else {
            1.0
        };
        let friendly = stage.friendly + alpha * pmdcs * bytes / cwnd;
        let cubic = if curve(t) < friendly {
            friendly
        } else {
            let target = curve(t + at.srtt.as_secs_f64()).clamp(cwnd, 1.5 * cwnd);
            cwnd + (target - cwnd) / cwnd * bytes
        };
        stage.friendly = friendly;
        cubic.max(cwnd)
    }
}

fn less(w: &Window, cfg: &CongestionConfig) -> u32 {
    // With integers, so that the result is exact.
    let left = u64::from(w.cwnd) * 7 / 10;
    (left as u32).max(idle::floor(w, cfg))
}

#[cfg(test)]
mod tests;

//! The window of an idle path, and the least that it falls to (RFC 9260 section 7.2.1).

use crate::config::CongestionConfig;
use crate::path::Window;
use crate::time::{Duration, Instant};

/// The lowest value of ssthresh (section 7.2.3).
pub(super) fn floor(w: &Window, cfg: &CongestionConfig) -> u32 {
    cfg.ssthresh_floor.saturating_mul(w.pmdcs)
}

/// Section 7.2.1, last rule: a window that is not used is halved once per RTO, down to
/// the floor.
pub(super) fn shrink_idle(w: &mut Window, now: Instant, rto: Duration, cfg: &CongestionConfig) {
    if !cfg.idle_decay {
        return;
    }
    let least = floor(w, cfg);
    while now.since(w.idle_since()) >= rto && w.cwnd > least {
        if cfg.decay_sets_ssthresh && !w.has_decayed() {
            w.ssthresh = w.cwnd;
        }
        w.cwnd = (w.cwnd / 2).max(least);
        w.decayed_for(rto);
    }
}

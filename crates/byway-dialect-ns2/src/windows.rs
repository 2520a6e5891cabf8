//! How windows grow, are reduced at a timeout, and shrink when idle
//! (`partial_bytes_when_full`, `partial_bytes_late`, `lost_is_outstanding`,
//! `decays_above`, `decay_floor`, `keeps_ssthresh_at_one`, `timeout_floor`).

use crate::Ns2Config;
use crate::marks::Marks;
use byway_core::PathId;
use byway_core::config::FastRecovery;
use byway_core::dialect::{Fate, Growth, Inside, MAX_PATHS, Window};
use byway_core::time::Instant;
use std::collections::BTreeSet;

/// The module's state for windows.
#[derive(Debug, Default)]
pub(crate) struct Windows {
    /// When the window of each path is halved unless a packet leaves.
    pub(crate) shrink_at: [Option<Instant>; MAX_PATHS],
    /// Chunks acknowledged by gap blocks that partial_bytes_acked does not count yet
    /// (`partial_bytes_late`).
    pub(crate) uncounted: BTreeSet<u64>,
    /// Chunks acknowledged by gap blocks that partial_bytes_acked has counted. A late SACK may take
    /// the acknowledgement back, and the next one give it again: they count once.
    counted: Marks,
    /// Bytes of this SACK's gap blocks that have counted before.
    counted_before: [u32; MAX_PATHS],
}

/// Bytes that count as outstanding.
pub(crate) fn outstanding(cfg: &Ns2Config, w: &Window) -> u32 {
    let lost = if cfg.lost_is_outstanding { w.lost } else { 0 };
    w.flight + lost
}

impl Windows {
    /// The ledger, which begins at `base`, is about to apply a SACK.
    pub(crate) fn before_ledger(&mut self, base: u64) {
        self.counted.advance(base);
        self.counted_before = [0; MAX_PATHS];
    }

    /// A gap block acknowledges a chunk that partial_bytes_acked may count. Whether it has not yet.
    pub(crate) fn counts(&mut self, seq: u64, path: PathId, bytes: u32) -> bool {
        let is_new = self.counted.set(seq);
        if !is_new {
            self.counted_before[path.index()] += bytes;
        }
        is_new
    }

    /// Bytes of this SACK's gap blocks on a path that have counted before.
    pub(crate) fn counted_before(&self, path: PathId) -> u32 {
        self.counted_before[path.index()]
    }

    /// Halves the windows of paths that have sent nothing for more than an RTO, once for
    /// each RTO.
    pub(crate) fn shrink_idle(&mut self, cfg: &Ns2Config, inside: &mut Inside<'_>) {
        let usual = inside.cfg.congestion.ssthresh_floor;
        let floor = if cfg.decay_floor == 0 {
            usual
        } else {
            cfg.decay_floor
        };
        let now = inside.now;
        let ids: Vec<PathId> = inside.view().all().collect();
        for path in ids {
            let rto = inside.rto(path);
            while let Some(at) = self.shrink_at[path.index()].filter(|at| *at < now) {
                let w = inside.window_mut(path);
                if w.cwnd > cfg.decays_above.saturating_mul(w.pmdcs) {
                    w.cwnd = (w.cwnd / 2).max(floor.saturating_mul(w.pmdcs));
                }
                self.shrink_at[path.index()] = Some(at + rto);
            }
        }
    }

    /// A chunk leaves on a path.
    pub(crate) fn note_use(&mut self, cfg: &Ns2Config, inside: &Inside<'_>, path: PathId) {
        if cfg.decays_above > 0 {
            self.shrink_at[path.index()] = Some(inside.timeout(path));
        }
    }

    /// The cumulative TSN advanced. In congestion avoidance, chunks that gap blocks had
    /// acknowledged and that did not count yet count now.
    pub(crate) fn count_late_bytes(&mut self, inside: &mut Inside<'_>) {
        let waiting = core::mem::take(&mut self.uncounted);
        for seq in waiting {
            let record = inside.ledger().get(seq);
            let Some((path, bytes, fate)) = record.map(|r| (r.path, r.bytes, r.fate)) else {
                continue;
            };
            let w = inside.window_mut(path);
            if w.avoids_congestion() && fate == Fate::Acked {
                w.partial_bytes_acked = w.partial_bytes_acked.saturating_add(bytes);
            } else {
                self.uncounted.insert(seq);
            }
        }
    }
}

/// In congestion avoidance bytes count only while the window is full. `exit` is the exit
/// point of fast recovery.
pub(crate) fn grow_when_full(
    cfg: &Ns2Config,
    exit: u64,
    inside: &mut Inside<'_>,
    (path, growth): (PathId, &Growth),
    counted_before: u32,
) {
    let rule = inside.fast_recovery();
    let in_recovery = if cfg.cuts_beyond_exit {
        rule == FastRecovery::PerAssociation && inside.ledger().base() < exit
    } else {
        growth.in_recovery
    };
    let most = inside.cfg.congestion.slow_start_limit;
    let w = inside.window_mut(path);
    grow(w, growth, counted_before, in_recovery, most);
    if outstanding(cfg, w) == 0 {
        w.partial_bytes_acked = 0;
    }
}

/// T3-rtx expired: whether the window is reduced as RFC 9260 section 7.2.3 says.
pub(crate) fn falls_as_configured(cfg: &Ns2Config, inside: &mut Inside<'_>, path: PathId) -> bool {
    let floor = cfg.timeout_floor;
    let cwnd = inside.cfg.congestion.cwnd_after_rto.max(1);
    let w = inside.window_mut(path);
    if cfg.keeps_ssthresh_at_one && w.cwnd <= w.pmdcs {
        return false;
    }
    if floor > 0 {
        w.ssthresh = (w.cwnd / 2).max(floor.saturating_mul(w.pmdcs));
        w.cwnd = cwnd.saturating_mul(w.pmdcs);
        w.partial_bytes_acked = 0;
    }
    floor == 0
}

fn grow(w: &mut Window, growth: &Growth, counted_before: u32, in_recovery: bool, most: u32) {
    let full = growth.outstanding_before >= w.cwnd;
    let avoiding = w.avoids_congestion();
    if avoiding {
        let cumulative = if full {
            growth.bytes - growth.gap_bytes
        } else {
            0
        };
        let gaps = if growth.cumulative_advanced {
            growth.gap_bytes.saturating_sub(counted_before)
        } else {
            0
        };
        w.partial_bytes_acked = w.partial_bytes_acked.saturating_add(cumulative + gaps);
    }
    if !growth.cumulative_advanced || in_recovery || growth.bytes == 0 || !full {
        return;
    }
    if !avoiding {
        w.cwnd = w
            .cwnd
            .saturating_add(growth.bytes.min(most.saturating_mul(w.pmdcs)));
    } else if w.partial_bytes_acked >= w.cwnd {
        w.partial_bytes_acked -= w.cwnd;
        w.cwnd = w.cwnd.saturating_add(w.pmdcs);
    }
}

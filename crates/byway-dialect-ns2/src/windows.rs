//! How windows grow, fall at a timeout and shrink when idle
//! (`partial_bytes_when_full`, `partial_bytes_late`, `lost_is_outstanding`,
//! `decays_above`, `decay_floor`, `keeps_ssthresh_at_one`, `timeout_floor`).

use crate::ns2::Ns2;
use byway_core::PathId;
use byway_core::config::FastRecovery;
use byway_core::dialect::{Fate, Growth, Inside, MAX_PATHS, Window};
use byway_core::time::Instant;
use std::collections::BTreeSet;

/// What the module remembers for its windows.
#[derive(Debug, Default)]
pub(crate) struct Windows {
    /// When the window of each path is halved unless a packet leaves.
    pub(crate) shrink_at: [Option<Instant>; MAX_PATHS],
    /// Chunks of gap blocks that no partial bytes count yet, in order
    /// (`partial_bytes_late`).
    pub(crate) uncounted: BTreeSet<u64>,
}

impl Ns2 {
    /// Bytes that count as outstanding.
    pub(crate) fn outstanding_bytes(&self, w: &Window) -> u32 {
        let lost = if self.cfg.lost_is_outstanding {
            w.lost
        } else {
            0
        };
        w.flight + lost
    }

    /// Windows whose paths were quiet for more than an RTO are halved, once for
    /// each RTO.
    pub(crate) fn shrink_idle_windows(&mut self, inside: &mut Inside<'_>) {
        let (above, floor) = (self.cfg.decays_above, self.cfg.decay_floor);
        let usual = inside.cfg.congestion.ssthresh_floor;
        let now = inside.now;
        let ids: Vec<PathId> = inside.view().all().collect();
        for path in ids {
            let rto = inside.rto(path);
            while let Some(at) = self.windows.shrink_at[path.index()].filter(|at| *at < now) {
                let w = inside.window_mut(path);
                if w.cwnd > above.saturating_mul(w.pmdcs) {
                    let least = if floor == 0 { usual } else { floor };
                    w.cwnd = (w.cwnd / 2).max(least.saturating_mul(w.pmdcs));
                }
                self.windows.shrink_at[path.index()] = Some(at + rto);
            }
        }
    }

    /// A chunk leaves on a path.
    pub(crate) fn note_use(&mut self, inside: &Inside<'_>, path: PathId) {
        if self.cfg.decays_above > 0 {
            self.windows.shrink_at[path.index()] = Some(inside.timeout(path));
        }
    }

    /// In congestion avoidance bytes count only while the window is full.
    pub(crate) fn grow_when_full(&self, inside: &mut Inside<'_>, path: PathId, growth: &Growth) {
        let rule = inside.fast_recovery();
        let in_recovery = if self.cfg.cuts_beyond_exit {
            rule == FastRecovery::PerAssociation && inside.ledger().base() < self.reports.exit
        } else {
            growth.in_recovery
        };
        let most = inside.cfg.congestion.slow_start_limit;
        let w = inside.window_mut(path);
        grow_when_full(w, growth, in_recovery, most);
        if self.outstanding_bytes(w) == 0 {
            w.partial_bytes_acked = 0;
        }
    }

    /// The cumulative TSN advanced: in congestion avoidance what gap blocks had
    /// acknowledged before, and no bytes were counted for, counts now.
    pub(crate) fn count_late_bytes(&mut self, inside: &mut Inside<'_>) {
        let waiting = core::mem::take(&mut self.windows.uncounted);
        for seq in waiting {
            let Some((path, bytes, fate)) =
                inside.ledger().get(seq).map(|r| (r.path, r.bytes, r.fate))
            else {
                continue;
            };
            let w = inside.window_mut(path);
            if w.avoids_congestion() && fate == Fate::Acked {
                w.partial_bytes_acked = w.partial_bytes_acked.saturating_add(bytes);
            } else {
                self.windows.uncounted.insert(seq);
            }
        }
    }

    /// T3-rtx expired: whether the window falls as RFC 9260 section 7.2.3 says.
    pub(crate) fn falls_as_configured(&self, inside: &mut Inside<'_>, path: PathId) -> bool {
        let floor = self.cfg.timeout_floor;
        let cwnd = inside.cfg.congestion.cwnd_after_rto.max(1);
        let w = inside.window_mut(path);
        if self.cfg.keeps_ssthresh_at_one && w.cwnd <= w.pmdcs {
            return false;
        }
        if floor > 0 {
            w.ssthresh = (w.cwnd / 2).max(floor.saturating_mul(w.pmdcs));
            w.cwnd = cwnd.saturating_mul(w.pmdcs);
            w.partial_bytes_acked = 0;
        }
        floor == 0
    }
}

fn grow_when_full(w: &mut Window, growth: &Growth, in_recovery: bool, most: u32) {
    let full = growth.outstanding_before >= w.cwnd;
    let avoiding = w.avoids_congestion();
    if avoiding {
        let cumulative = if full {
            growth.bytes - growth.gap_bytes
        } else {
            0
        };
        let gaps = if growth.cumulative_advanced {
            growth.gap_bytes
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

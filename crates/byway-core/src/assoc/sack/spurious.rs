//! A window fell for losses that were none (`retransmission.undo_spurious`;
//! `policy/spurious.rs`).

use crate::assoc::{Association, Ctx};
use crate::dialect::Blocks;
use crate::path::{PathId, PathState, Reduced};
use crate::policy::retransmit::LossCause;
use crate::policy::spurious::{Reduction, Sign};
use crate::time::Instant;
use byway_wire::Sack;

/// Most duplicates of one SACK that are looked up.
const MAX_DUPLICATES: usize = 64;

impl Association {
    /// Whether a newer SACK has overtaken this one (`retransmission.undo_spurious` with
    /// concurrent multipath transfer): it comes back on a slower path, acknowledges nothing
    /// new and takes acknowledgements back. By RFC 9260 section 6.2.1 the peer would have
    /// reneged, and chunks that have arrived would count as lost. A peer that has says so
    /// again when it acknowledges what is in flight; with nothing in flight it is believed.
    pub(super) fn comes_late(&self, covered: u64, blocks: &Blocks) -> bool {
        self.send.concurrent.is_some()
            && self.cfg.retransmission.undo_spurious
            && covered == self.send.ledger.base()
            && self.paths.iter().any(|p| p.window().flight > 0)
            && self.send.ledger.only_takes_back(blocks)
    }

    /// The window of a path is about to fall for what is lost there.
    pub(in crate::assoc) fn remember_reduction(&mut self, now: Instant, id: PathId, sign: Sign) {
        if !self.cfg.retransmission.undo_spurious {
            return;
        }
        let (base, end) = (self.send.ledger.base(), self.send.ledger.end());
        let p = self.paths.get_mut(id);
        let w = p.window();
        let lasts = 2 * p.rtt.rto();
        let this = Reduction::new(sign, (w.cwnd, w.ssthresh), (now, lasts), end);
        let mut this = this.again(p.recovery.reduction.take().map(|r| *r), base);
        let cause = match sign {
            Sign::Loss => LossCause::FastRetransmit,
            Sign::Timeout => LossCause::Timeout,
        };
        let groups = self.send.ledger.lost().groups().iter();
        for g in groups.filter(|g| g.path == id && g.cause == cause) {
            for seq in g.seqs() {
                let reneged = self.send.ledger.get(seq).is_some_and(|r| r.reneged);
                this.lost(seq, reneged);
            }
        }
        p.recovery.reduction = Some(Box::new(this));
    }

    /// The peer reports chunks that it received twice. One that counted as lost was not.
    pub(super) fn refute_losses(&mut self, sack: &Sack<'_>) {
        if !self.paths.iter().any(|p| p.recovery.reduction.is_some()) {
            return;
        }
        let (base, end) = (self.send.ledger.base(), self.send.ledger.end());
        for tsn in sack.duplicates().take(MAX_DUPLICATES) {
            let Some(seq) = self.send.ledger.place_of(tsn) else {
                continue;
            };
            for p in self.paths.iter_mut() {
                if p.recovery.refute(seq, false) {
                    p.recovery.arrived_late(base, end);
                }
            }
        }
    }

    /// Undoes the reduction of a path's window if it was spurious. After a timeout, what
    /// did not leave again stays in flight. Returns whether there is such a chunk: T3-rtx is
    /// for the earliest of them, which may be earlier than all that the SACK names.
    pub(super) fn undo_spurious(&mut self, ctx: &mut Ctx<'_>, id: PathId) -> bool {
        let base = self.send.ledger.base();
        let p = self.paths.get_mut(id);
        let Some(reduction) = &mut p.recovery.reduction else {
            return false;
        };
        let verdict = reduction.verdict(ctx.now, base);
        reduction.sack_ends();
        let Some((cwnd, ssthresh)) = verdict else {
            return false;
        };
        p.recovery.end_as_spurious();
        p.on_spurious(Reduced { cwnd, ssthresh });
        self.stats.reductions_undone += 1;
        self.send.leave_recovery();
        // Where the path died since, what is back in flight would wait for T3-rtx, which has backed off, while another path
        // is active: it leaves there instead.
        let died = self.paths.get(id).state() != PathState::Active;
        let elsewhere = died && self.paths.view().alternate(id).is_some();
        let p = self.paths.get_mut(id);
        let mut revived = false;
        if !elsewhere {
            self.send.ledger.revive(id, LossCause::Timeout, |bytes| {
                p.chunk_revived(bytes);
                revived = true;
            });
        }
        if revived {
            // What answered after the timeout was sent before it.
            p.recovery.forget_newest();
            let earliest = self.send.ledger.first_in_flight(id, base);
            p.timers.set_earliest_in_flight(earliest);
            p.timers.set_t3(Some(p.rtt.timeout(ctx.now)));
        }
        self.observe_window(ctx, id);
        revived
    }
}

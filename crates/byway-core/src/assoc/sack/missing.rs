//! Step 3 of SACK reception: counts missing reports and marks chunks as lost (RFC 9260
//! section 7.2.4).

use super::path_sack::PathSack;
use crate::assoc::{Association, Ctx};
use crate::dialect::Blocks;
use crate::path::RackState;
use crate::policy::retransmit::LossCause;
use crate::send::ledger::Ledger;
use crate::send::missing::Missing;
use crate::send::record::{Applied, Record};
use crate::time::Instant;

impl Association {
    /// Counts missing reports. Chunks with enough of them are lost.
    #[inline]
    pub(super) fn report_missing(
        &mut self,
        ctx: &mut Ctx<'_>,
        (applied, newest_sent): (&Applied, Instant),
        blocks: &Blocks,
        on_path: &mut [PathSack],
    ) {
        if let Some(Some(lost)) = self.ask(ctx, |d, i| d.missing_reports(i, applied, blocks)) {
            self.lose_reported(ctx.now, on_path, |ledger, note| {
                for seq in lost {
                    ledger.lose_one(seq, LossCause::FastRetransmit, &mut *note);
                }
            });
            return;
        }
        if let (Some(highest_new), Some(last)) = (applied.highest_new, blocks.last()) {
            // In fast recovery, a SACK that advances the cumulative TSN reports all its
            // missing chunks, and not only those below the HTNA (section 7.2.4). With SFR
            // each path counts separately.
            let sfr = self.cfg.concurrent.as_ref().is_some_and(|c| c.sfr);
            // The state before this SACK: a SACK that reaches the exit point still belongs
            // to fast recovery here.
            let recovering = self.send.in_recovery();
            let all = recovering && applied.cumulative_advanced && !sfr;
            let missing = Missing {
                newest_sent,
                below: if all { last.1 - 1 } else { highest_new },
                highest_new,
                threshold: self.cfg.congestion.fast_retransmit_threshold,
                rule: self.cfg.retransmission.fast_retransmits,
                keeps_repeated: self.cfg.retransmission.fast_retransmits.repeats()
                    || self.cfg.retransmission.rack.is_some(),
                split: self.split(),
                by_time: self.reordering_paths(),
            };
            self.lose_reported(ctx.now, on_path, |ledger, note| {
                ledger.count_missing(&missing, note);
            });
        }
    }

    /// The paths whose chunks overtake each other: one bit each.
    fn reordering_paths(&self) -> u8 {
        if self.cfg.retransmission.rack.is_none() {
            return 0;
        }
        let sees = |rack: &RackState| rack.sees_reordering();
        let paths = self.paths.iter().enumerate();
        paths
            .filter(|(_, p)| p.recovery.rack.as_deref().is_some_and(sees))
            .fold(0, |bits, (i, _)| bits | 1 << i)
    }

    /// Calls `run`, which marks chunks as lost, and records each of them for its path.
    pub(super) fn lose_reported(
        &mut self,
        now: Instant,
        on_path: &mut [PathSack],
        run: impl FnOnce(&mut Ledger, &mut dyn FnMut(u64, &Record)),
    ) {
        let mut count = 0;
        let (paths, estimating) = (&mut self.paths, &mut self.optional.estimating);
        let estimate = self.cfg.failover.estimate.as_ref();
        let concurrent = self.send.concurrent.is_some();
        run(&mut self.send.ledger, &mut |seq, r| {
            let p = paths.get_mut(r.path);
            if let (Some(e), Some(cfg)) = (&mut *estimating, estimate) {
                e.lost(seq, r.path, p.window().flight, p, now, cfg);
            }
            p.recovery.count_lost(seq, r);
            p.lose_chunk(r.bytes, r.payload.len());
            let s = &mut on_path[r.path.index()];
            if p.timers.chunk_gone(seq) {
                s.t3.restart = true;
                s.t3.after = seq;
            }
            s.lost = true;
            s.new_loss_event |= p.recovery.is_new_event(seq);
            s.lost_again |=
                p.recovery.rack.is_some() && r.sends > 1 && p.recovery.is_cut_before(r.sent_at);
            if concurrent {
                p.counters.chunk_lost();
            }
            count += 1;
        });
        self.stats.fast_retransmits += count;
    }
}

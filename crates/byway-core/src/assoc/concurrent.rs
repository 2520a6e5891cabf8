//! Concurrent multipath transfer: calls the rules of `policy/concurrent` and keeps their
//! state.

use super::Association;
use super::sack::contains;
use crate::config::FastRecovery;
use crate::dialect::Blocks;
use crate::path::{PathId, PathsView};
use crate::policy::Scheduler;
use crate::policy::concurrent::cuc::Chunk;
use crate::policy::concurrent::{Cuc, dac};
use crate::policy::retransmit::LossCause;
use crate::send::concurrent::{Split, fast_recovery, split};
use crate::send::record::Fate;
use crate::time::Instant;

impl Association {
    /// Whether SACKs are delayed in spite of gaps, and count packets (DAC).
    pub(super) fn counts_packets(&self) -> bool {
        self.cfg.concurrent.as_ref().is_some_and(|c| c.dac)
    }

    /// The flags of a SACK that leaves now.
    pub(super) fn sack_flags(&self) -> u8 {
        if self.counts_packets() {
            dac::flags(self.recv.acker.answers())
        } else {
            0
        }
    }

    /// The path for the retransmission of a lost chunk.
    pub(super) fn target(
        &self,
        now: Instant,
        (cause, last): (LossCause, PathId),
        view: &PathsView<'_>,
    ) -> PathId {
        if let Some(custom) = &self.cfg.custom.retransmission {
            let to = custom.get().target(cause, last, view);
            return if self.is_confirmed(to) {
                to
            } else {
                view.data_path()
            };
        }
        match &self.cfg.concurrent {
            None => self.cfg.retransmission.target.target(cause, last, view),
            Some(_) if self.cfg.scheduler == Scheduler::Earliest => {
                self.earliest_path(now).unwrap_or(view.data_path())
            }
            Some(c) => c.rtx.target(last, view),
        }
    }

    /// The lost chunk `seq` of `from` was retransmitted on `to`. CUC must find its expected
    /// chunk again on both paths.
    pub(super) fn note_moved(&mut self, seq: u64, from: PathId, to: PathId) {
        let Some(c) = &mut self.send.concurrent else {
            return;
        };
        c.may_expect(to, seq);
        if from != to {
            c.find_expected(from);
        }
        if self
            .cfg
            .concurrent
            .as_ref()
            .is_some_and(|c| c.cuc == Cuc::V1)
        {
            c.find_expected(to);
        }
    }

    /// CUC: which pseudo cumulative TSNs a SACK advances. Called before the ledger
    /// applies the SACK.
    pub(super) fn advance_pseudo_cumulatives(&mut self, covered: u64, blocks: &Blocks) {
        let Some(c) = &mut self.send.concurrent else {
            return;
        };
        let version = self.cfg.concurrent.as_ref().map_or(Cuc::Off, |c| c.cuc);
        if version == Cuc::Off {
            return;
        }
        let ledger = &self.send.ledger;
        for seq in ledger.base()..covered {
            if let Some(r) = ledger.get(seq).filter(|r| r.fate != Fate::Acked) {
                c.acknowledge(r.path, seq);
            }
        }
        let Some(end) = blocks.last().map(|b| b.1 + 1) else {
            return;
        };
        for path in self.paths.ids() {
            let look = |seq| {
                let r = ledger.get(seq)?;
                let (here, acked) = (r.path == path, r.fate == Fate::Acked);
                Some(Chunk {
                    here,
                    again: r.sends > 1,
                    acked,
                    // Nobody asks for chunks of other paths. The search in many blocks is
                    // most of the work.
                    newly: here && !acked && contains(blocks, seq),
                })
            };
            c.advance(path, version, (covered, end), look);
        }
    }

    /// Whether the searches of CUC skip only what they may, for tests.
    pub(super) fn cuc_skips_rightly(&self) -> bool {
        let (Some(c), Some(cfg)) = (&self.send.concurrent, &self.cfg.concurrent) else {
            return true;
        };
        let ledger = &self.send.ledger;
        self.paths.ids().all(|path| {
            let look = |seq| {
                ledger.get(seq).map(|r| Chunk {
                    here: r.path == path,
                    again: r.sends > 1,
                    acked: r.fate == Fate::Acked,
                    newly: false,
                })
            };
            let cumulative = &c.cumulatives()[path.index()];
            cumulative.skips_rightly(cfg.cuc, ledger.base(), look)
        })
    }

    /// The scope of fast recovery.
    pub(super) fn fast_recovery(&self) -> FastRecovery {
        fast_recovery(&self.cfg, self.send.concurrent.is_some())
    }

    /// With concurrent multipath transfer, a path's fast recovery ends when no chunk before
    /// its exit point is in flight there. The other paths do not matter.
    pub(super) fn end_recovery(&mut self, path: PathId) {
        if self.send.concurrent.is_none() {
            return;
        }
        let p = self.paths.get_mut(path);
        let earliest = p.timers.earliest_in_flight().unwrap_or(u64::MAX);
        p.recovery.all_arrived_before(earliest);
        if p.window().lost == 0 {
            p.recovery.end_proportional_before(earliest);
        }
    }

    /// How the current SACK counts missing reports.
    pub(super) fn split(&self) -> Option<Split> {
        split(&self.cfg, self.send.concurrent.as_deref())
    }

    /// Whether the current SACK lets a path's window grow, if CUC decides it.
    pub(super) fn pseudo_cumulative_advanced(&self, path: PathId) -> Option<bool> {
        let c = self.send.concurrent.as_ref()?;
        let on = self
            .cfg
            .concurrent
            .as_ref()
            .is_some_and(|c| c.cuc != Cuc::Off);
        on.then(|| c.advanced(path).is_some())
    }
}

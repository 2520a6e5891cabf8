//! Step 3 of SACK reception: chunks that are overdue beside newer ones that were
//! acknowledged count as lost (`retransmission.rack`; RFC 8985 section 6).

use super::path_sack::PathSack;
use crate::assoc::{Association, Ctx};
use crate::observe::{Observation, Timer};
use crate::path::{MAX_PATHS, PathId, PathTimer};
use crate::policy::retransmit::LossCause;
use crate::send::record::Fate;
use crate::time::Instant;
use byway_wire::Sack;
use smallvec::SmallVec;

impl Association {
    /// Takes overdue chunks for lost, and sets the timers for those that may become
    /// overdue.
    #[inline(never)]
    pub(super) fn report_overdue(&mut self, now: Instant, on_path: &mut [PathSack]) {
        let newest = self
            .paths
            .iter()
            .filter_map(|p| p.recovery.rack.as_ref()?.newest());
        let Some(newest) = newest.max() else {
            return;
        };
        let mut next = [None::<Instant>; MAX_PATHS];
        // When each path counts a chunk as lost; read before the chunks are taken.
        let mut overdue = SmallVec::<[u64; 8]>::new();
        let paths = &self.paths;
        self.send.ledger.for_each_older(newest, |seq, r| {
            let p = paths.get(r.path);
            let Some(at) = p
                .recovery
                .rack
                .as_ref()
                .and_then(|k| k.overdue_at(seq, r, p.rtt.srtt()))
            else {
                return;
            };
            if at <= now {
                overdue.push(seq);
            } else {
                let next = &mut next[r.path.index()];
                *next = Some(next.map_or(at, |n| n.min(at)));
            }
        });
        for (id, at) in self.paths.ids().zip(next) {
            let timers = &mut self.paths.get_mut(id).timers;
            if timers.get(PathTimer::Reordering) != at {
                timers.set(PathTimer::Reordering, at);
            }
        }
        if !overdue.is_empty() {
            self.lose_reported(now, on_path, |ledger, note| {
                for seq in overdue {
                    ledger.lose_overdue(seq, &mut *note);
                }
            });
        }
    }

    /// The reordering window of a path has passed.
    pub(in crate::assoc) fn on_reordering_timer(&mut self, ctx: &mut Ctx<'_>, path: PathId) {
        self.paths
            .get_mut(path)
            .timers
            .set(PathTimer::Reordering, None);
        self.observe(ctx, || Observation::TimerFired {
            timer: Timer::Reordering,
            path: Some(path),
        });
        let mut on_path = SmallVec::<[PathSack; MAX_PATHS]>::new();
        on_path.resize(self.paths.len(), PathSack::default());
        self.report_overdue(ctx.now, &mut on_path);
        let recovering = self.still_in_recovery();
        for (i, s) in on_path.iter_mut().enumerate().filter(|(_, s)| s.lost) {
            let id = PathId(i as u8);
            s.ack.in_recovery = self.path_still_recovers(id, recovering);
            self.respond_to_loss(ctx.now, id, s);
            self.release_proportionally(id, s);
            self.restart_t3(ctx, id, s);
            self.observe_window(ctx, id);
        }
    }

    /// The peer reports chunks that it received twice: a tail probe among them repaired
    /// nothing.
    pub(super) fn note_duplicates(&mut self, now: Instant, sack: &Sack<'_>) {
        for p in self.paths.iter_mut() {
            let Some(rack) = &mut p.recovery.rack else {
                continue;
            };
            let Some(seq) = rack.tail_probe() else {
                continue;
            };
            let ledger = &self.send.ledger;
            if sack
                .duplicates()
                .any(|tsn| ledger.place_of(tsn) == Some(seq))
            {
                rack.end_tail_probe(now, true);
            }
        }
    }

    /// A tail probe that repaired a loss is a sign of congestion, as that loss would
    /// have been (RFC 8985 section 7.4).
    pub(super) fn judge_tail_probes(&mut self, now: Instant, recovering: bool) {
        for id in self.paths.ids() {
            let Some(rack) = &mut self.paths.get_mut(id).recovery.rack else {
                continue;
            };
            let Some(seq) = rack.tail_probe() else {
                continue;
            };
            let record = self.send.ledger.get(seq);
            if record.is_some_and(|r| r.fate != Fate::Acked) {
                continue;
            }
            let repaired = rack.end_tail_probe(now, false);
            if repaired && !self.path_still_recovers(id, recovering) {
                self.cut_window(now, id);
            }
        }
    }

    /// Repeats the oldest chunk in flight of a path on the same path, so that its
    /// acknowledgement shows what was lost (RFC 8985 section 7.3). Answers whether
    /// there is one.
    pub(in crate::assoc) fn send_tail_probe(&mut self, ctx: &Ctx<'_>, path: PathId) -> bool {
        let base = self.send.ledger.base();
        let Some(seq) = self.send.ledger.first_in_flight(path, base) else {
            return false;
        };
        self.send.ledger.ask_at_once(seq);
        self.lose_for_probe(path, seq, LossCause::FastRetransmit);
        if let Some(rack) = &mut self.paths.get_mut(path).recovery.rack {
            rack.sent_tail_probe(seq, ctx.now);
        }
        true
    }
}

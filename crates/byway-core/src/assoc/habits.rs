//! ns-2's habits ([`HabitsConfig`](crate::config::HabitsConfig)) as far as they
//! need the whole association.

use super::{Association, Ctx};
use crate::cc::{self, reno};
use crate::config::FastRecovery;
use crate::path::PathId;
use crate::send::habits::Release;
use crate::send::ledger::Fate;
use core::ops::Range;

impl Association {
    /// A packet came, a timer fired, or the user handed something over: what
    /// may leave is decided anew.
    #[inline]
    pub(super) fn begin_habit_event(&mut self, new_allowed: bool) {
        if self.send.habits.on {
            self.begin_event_of_habits(new_allowed);
        }
    }

    fn begin_event_of_habits(&mut self, new_allowed: bool) {
        let h = &mut self.send.habits;
        h.marked = Release::Nothing;
        h.target = None;
        h.new_allowed = new_allowed;
        if let Some(c) = &mut self.send.concurrent {
            c.class.begin_event();
        }
    }

    /// A SACK was applied; `lost`: it reported losses.
    pub(super) fn release_by_sack(&mut self, lost: bool) {
        let h = &mut self.send.habits;
        h.marked = if lost {
            Release::OnePacket
        } else {
            Release::Window
        };
        h.new_wanted = true;
        if !self.send.ledger.marks().is_empty() {
            h.burst = 0;
        }
    }

    /// T3-rtx expired.
    pub(super) fn release_by_timeout(&mut self) {
        let h = &mut self.send.habits;
        h.marked = Release::OnePacket;
        h.burst = 0;
    }

    /// The next marked chunk that the event may release, with its target: that
    /// of the event's first one.
    pub(super) fn next_clocked(&mut self, ctx: &mut Ctx<'_>) -> Option<(PathId, u64)> {
        if self.is_class() {
            return self.next_clocked_as_class(ctx);
        }
        let groups = self.send.ledger.marks().groups();
        let (seq, cause, last) = groups
            .iter()
            .filter_map(|g| Some((g.first()?, g.cause, g.path)))
            .min_by_key(|g| g.0)?;
        let rule = self.cfg.retransmission.target;
        let path = match self.send.habits.target {
            Some(path) => path,
            None if self.cfg.habits.keeps_destination => self.kept_target(cause, last),
            None => rule.target(cause, last, &self.paths.view()),
        };
        let h = &mut self.send.habits;
        h.target = Some(path);
        let w = &self.paths.get(path).window;
        let may = match h.marked {
            Release::Nothing => false,
            Release::OnePacket => {
                h.marked = Release::Nothing;
                true
            }
            Release::Window => w.flight < w.cwnd,
        };
        if may && h.exceeds_burst(self.cfg.congestion.max_burst) {
            // This one still leaves.
            h.marked = Release::Nothing;
        }
        may.then_some((path, seq))
    }

    /// The first chunk of each path among these that is not acknowledged.
    pub(super) fn first_outstanding(
        &self,
        among: Range<u64>,
    ) -> [Option<u64>; super::on_sack::MAX_PATHS] {
        let mut firsts = [None; super::on_sack::MAX_PATHS];
        for seq in among {
            if let Some(r) = self.send.ledger.get(seq)
                && r.fate != Fate::Acked
            {
                firsts[r.path.index()].get_or_insert(seq);
            }
        }
        firsts
    }

    /// A SACK reported losses: the window of the path of the first marked chunk
    /// beyond the exit point is cut, and the exit point moves to the end.
    pub(super) fn cut_beyond_exit(&mut self, ctx: &mut Ctx<'_>) {
        let mut cut = [false; super::on_sack::MAX_PATHS];
        for seq in self.send.ledger.base()..self.send.ledger.end() {
            let Some(r) = self.send.ledger.get(seq) else {
                break;
            };
            let path = r.path;
            let lost = matches!(r.fate, Fate::Marked(_));
            if !lost || cut[path.index()] || seq < self.send.habits.exit {
                continue;
            }
            cut[path.index()] = true;
            if self.fast_recovery() != FastRecovery::Off {
                self.send.habits.exit = self.highest_outstanding();
            }
            let p = self.paths.get_mut(path);
            cc::on_fast_retransmit(&mut p.window, &self.cfg.congestion);
            p.rtt_pending = false;
            self.observe_window(ctx, path);
        }
    }

    /// The cumulative TSN advanced: in congestion avoidance what gap blocks had
    /// acknowledged before, and no bytes were counted for, counts now.
    pub(super) fn count_late_bytes(&mut self) {
        let (ledger, paths) = (&self.send.ledger, &mut self.paths);
        self.send.habits.uncounted.retain(|seq| {
            let Some(r) = ledger.get(*seq).filter(|_| *seq >= ledger.base()) else {
                return false;
            };
            let w = &mut paths.get_mut(r.path).window;
            let counts = w.avoids_congestion() && r.fate == Fate::Acked;
            if counts {
                w.partial_bytes_acked = w.partial_bytes_acked.saturating_add(r.bytes);
            }
            !counts
        });
    }

    /// One past the highest sequence that was ever seen outstanding.
    pub(super) fn highest_outstanding(&mut self) -> u64 {
        let ledger = &self.send.ledger;
        let highest = (ledger.base()..ledger.end())
            .rev()
            .find(|seq| {
                ledger
                    .get(*seq)
                    .is_some_and(|r| !matches!(r.fate, Fate::Marked(_)))
            })
            .map_or(0, |seq| seq + 1);
        let h = &mut self.send.habits;
        h.highest_sent = h.highest_sent.max(highest);
        h.highest_sent
    }

    /// Windows whose paths were quiet for more than an RTO are halved, once for
    /// each.
    pub(super) fn decay_windows(&mut self, ctx: &Ctx<'_>) {
        let (above, least) = (self.cfg.habits.decays_above, self.cfg.habits.decay_floor);
        for p in self.paths.iter_mut() {
            while let Some(at) = p.decay_at.filter(|at| *at < ctx.now) {
                reno::on_decay(&mut p.window, above, least, &self.cfg.congestion);
                p.decay_at = Some(at + p.rtt.rto());
            }
        }
    }

    /// A chunk that was last sent on `from` is about to be sent again on `to`:
    /// T3-rtx of both.
    pub(super) fn restart_timers(&mut self, ctx: &Ctx<'_>, seq: u64, from: PathId, to: PathId) {
        let ledger = &self.send.ledger;
        let firsts = self.first_outstanding(ledger.base()..ledger.end());
        let first = |p: PathId| firsts[p.index()];
        if first(from) == Some(seq) {
            let p = self.paths.get_mut(from);
            if p.window.flight > 0 {
                p.t3 = Some(p.rtt.timeout(ctx.now));
            }
        }
        let p = self.paths.get_mut(to);
        let lowest = first(to).is_none_or(|f| seq < f);
        if lowest || p.t3.is_none() {
            p.t3 = Some(p.rtt.timeout(ctx.now));
        }
    }

    /// Whether the send window lets a packet begin with a chunk of so many
    /// bytes.
    pub(super) fn send_window_allows(&self, bytes: u32) -> bool {
        let window = self.cfg.habits.send_window;
        window == 0 || self.send.habits.window_left.unwrap_or(window) >= bytes
    }

    /// A new chunk takes its bytes of the send window.
    pub(super) fn take_send_window(&mut self, bytes: u32) {
        let window = self.cfg.habits.send_window;
        if window > 0 {
            let left = self.send.habits.window_left.unwrap_or(window);
            // The chunks of one packet may take more than is left; it is not
            // remembered, and they give all of it back.
            self.send.habits.window_left = Some(left.saturating_sub(bytes));
        }
    }
}

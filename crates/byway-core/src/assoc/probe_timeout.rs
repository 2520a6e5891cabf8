//! The probe timeout of a path: an acknowledgement is overdue, and later perhaps also
//! the heartbeat that probes the path (`policy/probe_timeout.rs`).

use super::{Association, Ctx};
use crate::observe::{Observation, Timer};
use crate::path::{PathId, PathState, PathTimer};
use crate::policy::ProbeTimeout;
use crate::policy::retransmit::LossCause;

impl Association {
    /// A path acknowledged something. The wait for the next acknowledgement starts again
    /// if one is due.
    #[inline]
    pub(super) fn await_acknowledgement(&mut self, ctx: &Ctx<'_>, path: PathId) {
        if self.cfg.failover.probe_timeout.is_some() {
            self.paths
                .get_mut(path)
                .timers
                .set(PathTimer::ProbeTimeout, None);
            self.note_owed_acknowledgement(ctx, path);
        }
    }

    /// Whether a chunk of this size, about to leave on a path, should ask for a SACK at
    /// once (the I bit, RFC 7053). It should if no later chunk will end the peer's
    /// SACK.Delay. This delay would hide a dead path and falsify the round trips that the
    /// probe timeout uses.
    pub(super) fn asks_at_once(&self, path: PathId, bytes: u32) -> bool {
        if self.cfg.failover.probe_timeout.is_none() || self.paths.len() < 2 {
            return false;
        }
        let w = self.paths.get(path).window();
        self.send.queue.is_empty() || w.flight + bytes <= w.pmdcs
    }

    /// Something was sent to a path, so an acknowledgement is due. Further data never
    /// makes it due later, but a second packet may make it due earlier, because it ends
    /// the peer's delay.
    #[inline]
    pub(super) fn note_owed_acknowledgement(&mut self, ctx: &Ctx<'_>, path: PathId) {
        if let Some(rule) = self.cfg.failover.probe_timeout {
            self.await_by(rule, ctx, path);
        }
    }

    fn await_by(&mut self, rule: ProbeTimeout, ctx: &Ctx<'_>, path: PathId) {
        let p = self.paths.get_mut(path);
        let Some(srtt) = p.rtt.srtt().filter(|_| p.window().flight > 0) else {
            return;
        };
        // Two small chunks may be in one packet. They count as two packets only if one
        // packet cannot hold both.
        let prompt = p.probe_timeout.asked_at_once() || p.window().flight > p.window().pmdcs;
        let at = ctx.now + rule.acknowledgement(srtt, p.rtt.rttvar(), prompt);
        let before = p.timers.get(PathTimer::ProbeTimeout);
        p.timers.set(
            PathTimer::ProbeTimeout,
            Some(before.map_or(at, |b| b.min(at))),
        );
    }

    /// An acknowledgement is overdue. The path becomes potentially failed, and a heartbeat
    /// probes it. Its oldest chunk and new data leave on another path.
    pub(super) fn on_probe_timeout(&mut self, ctx: &mut Ctx<'_>, path: PathId) {
        self.paths
            .get_mut(path)
            .timers
            .set(PathTimer::ProbeTimeout, None);
        let Some(rule) = self.cfg.failover.probe_timeout else {
            return;
        };
        let p = self.paths.get(path);
        let elsewhere = self.paths.view().alternate(path).is_some();
        if p.state() != PathState::Active || !p.is_confirmed() || !elsewhere {
            return;
        }
        self.observe(ctx, || Observation::TimerFired {
            timer: Timer::ProbeTimeout,
            path: Some(path),
        });
        self.stats.suspicions += 1;
        let base = self.send.ledger.base();
        if let Some(seq) = self.send.ledger.first_in_flight(path, base) {
            let p = self.paths.get_mut(path);
            self.send
                .ledger
                .lose_one(seq, LossCause::ProbeTimeout, |_, r| p.lose_chunk(r.bytes));
            match self.send.ledger.first_in_flight(path, seq) {
                None => p.timers.flight_gone(),
                earliest => p.timers.set_earliest_in_flight(earliest),
            }
            self.send.force_packet();
        }
        // Anything sent before may have arrived before the path died.
        self.paths.get_mut(path).errors.distrust_before(ctx.now);
        self.set_path_state(ctx, path, PathState::PotentiallyFailed);
        self.want_heartbeat(path);
        let moves_at = ctx.now + self.answer_time(rule, path);
        let p = self.paths.get_mut(path);
        p.timers.set(PathTimer::MoveHoldOff, Some(moves_at));
        self.choose_data_path(ctx, None);
    }

    /// The path answers again, so its losses in this time were due to congestion.
    pub(super) fn end_probe_timeout(&mut self, path: PathId) {
        let p = self.paths.get_mut(path);
        if p.timers.get(PathTimer::MoveHoldOff).is_some() {
            p.timers.set(PathTimer::MoveHoldOff, None);
            self.stats.needless_suspicions += 1;
        }
        if self.paths.get_mut(path).probe_timeout.take_delayed_cut() {
            self.cut_window(path);
        }
    }

    fn answer_time(&self, rule: ProbeTimeout, path: PathId) -> crate::time::Duration {
        let rtt = &self.paths.get(path).rtt;
        rule.answer(rtt.srtt().unwrap_or(rtt.rto()), rtt.rttvar())
    }

    /// The heartbeat is also overdue: all outstanding data of the path moves. The window
    /// does not change, because there is no sign of congestion.
    pub(super) fn on_move_hold_off(&mut self, ctx: &mut Ctx<'_>, path: PathId) {
        let p = self.paths.get_mut(path);
        p.timers.set(PathTimer::MoveHoldOff, None);
        if p.state() != PathState::PotentiallyFailed {
            return;
        }
        p.timers.flight_gone();
        p.rtt.forget_timed();
        let ledger = &mut self.send.ledger;
        ledger.lose_path_for(path, LossCause::ProbeTimeout, |_, r| {
            p.lose_chunk(r.bytes);
        });
        self.observe_window(ctx, path);
        self.choose_data_path(ctx, None);
    }
}

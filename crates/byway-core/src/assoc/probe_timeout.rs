//! The probe timeout of a path: an acknowledgement is overdue, and later perhaps also
//! the heartbeat that probes the path (`policy/probe_timeout.rs`).

use super::{Association, Ctx};
use crate::observe::{Observation, Timer};
use crate::path::{Path, PathId, PathState, PathTimer, PathTrouble};
use crate::policy::retransmit::LossCause;
use crate::policy::{DataMove, ProbeTimeout, Repeats, WaitsSince};
use crate::time::{Duration, Instant};

/// The first windows of slow start, in packets.
const FIRST_WINDOWS: u32 = 16;
/// What the packets of an initial window, and one that looks for the path MTU, take at 1 Mbit/s.
const FIRST_ROUND_TRIP: Duration = Duration::from_millis(50);

/// The round trip that is expected of what leaves now; `None` before the first sample. The packets of
/// the set-up are small, and in slow start each window has more packets than the one before. On a
/// slow link these packets take longer than all else, and SRTT follows too late.
pub(super) fn coming_round_trip(p: &Path, data_waits: bool) -> Option<Duration> {
    let w = p.window();
    let is_first = data_waits && w.cwnd <= w.ssthresh.min(FIRST_WINDOWS * w.pmdcs);
    // While chunks are repeated there may be no sample for SRTT, however long the queue becomes.
    let srtt = p.rtt.srtt()?.max(p.rtt.newest());
    Some(if is_first {
        srtt.max(FIRST_ROUND_TRIP)
    } else {
        srtt
    })
}

impl Association {
    /// A path acknowledged something. The wait for the next acknowledgement starts again
    /// if one is due.
    #[inline]
    pub(super) fn await_acknowledgement(&mut self, ctx: &Ctx<'_>, path: PathId) {
        if self.cfg.failover.probe_timeout.is_some() {
            let p = self.paths.get_mut(path);
            p.probe_timeout.acknowledged(ctx.now);
            p.timers.set(PathTimer::ProbeTimeout, None);
            self.note_owed_acknowledgement(ctx.now, path);
        }
    }

    /// Whether a chunk of this size, about to leave on a path, should ask for a SACK at
    /// once (the I bit, RFC 7053). It should if no later chunk will end the peer's
    /// SACK.Delay. This delay would hide a dead path and falsify the round trips that the
    /// probe timeout uses.
    pub(super) fn asks_at_once(&self, path: PathId, bytes: u32) -> bool {
        let Some(rule) = self.cfg.failover.probe_timeout else {
            return false;
        };
        if self.paths.len() < 2 && !rule.tail_probe {
            return false;
        }
        let w = self.paths.get(path).window();
        // A chunk of another path may be larger than a packet of this one.
        if self.send.queue.is_empty() || w.flight == 0 || w.flight + bytes <= w.pmdcs {
            return true;
        }
        // A path whose packets became larger keeps its cwnd, and one of them may fill that: what was in flight before
        // it has been asked for.
        w.flight < w.pmdcs && w.flight + bytes >= w.cwnd
    }

    /// Something was sent to a path, so an acknowledgement is due. Further data never
    /// makes it due later, but a second packet may make it due earlier, because it ends
    /// the peer's delay.
    #[inline]
    pub(super) fn note_owed_acknowledgement(&mut self, now: Instant, path: PathId) {
        if let Some(rule) = self.cfg.failover.probe_timeout {
            self.await_by(rule, now, path);
        }
    }

    fn await_by(&mut self, rule: ProbeTimeout, now: Instant, path: PathId) {
        let waits = !self.send.queue.is_empty();
        let p = self.paths.get_mut(path);
        let Some(srtt) = coming_round_trip(p, waits).filter(|_| p.window().flight > 0) else {
            return;
        };
        // Two small chunks may be in one packet. They count as two packets only if one
        // packet cannot hold both.
        let prompt = p.probe_timeout.asked_at_once() || p.window().flight > p.window().pmdcs;
        let wait = rule.acknowledgement(srtt, p.rtt.rttvar(), prompt);
        let mut at = now + wait * p.probe_timeout.backed_off();
        // What left before the first tail probe says nothing of the wait after it.
        if rule.since == WaitsSince::Sending
            && p.probe_timeout.backed_off() == 1
            && let Some(left) = self.send.ledger.second_unanswered(path)
        {
            let late = now + rule.lateness(srtt, p.rtt.rttvar());
            at = at.min(late.max(left + wait));
        }
        let before = p.timers.get(PathTimer::ProbeTimeout);
        p.timers.set(
            PathTimer::ProbeTimeout,
            Some(before.map_or(at, |b| b.min(at))),
        );
    }

    /// An acknowledgement is overdue: a heartbeat probes the path, and its oldest chunk
    /// leaves on another path. New data follows at once, or when the heartbeat is
    /// overdue, too. Without another path the oldest chunk is repeated on its own.
    pub(super) fn on_probe_timeout(&mut self, ctx: &mut Ctx<'_>, path: PathId) {
        self.paths
            .get_mut(path)
            .timers
            .set(PathTimer::ProbeTimeout, None);
        let Some(rule) = self.cfg.failover.probe_timeout else {
            return;
        };
        let p = self.paths.get(path);
        let doubted = p.timers.get(PathTimer::MoveHoldOff).is_some();
        if p.state() != PathState::Active || !p.is_confirmed() || doubted {
            return;
        }
        let Some(to) = self.paths.view().alternate(path) else {
            self.tail_probe(ctx, rule, path);
            return;
        };
        self.observe(ctx, || Observation::TimerFired {
            timer: Timer::ProbeTimeout,
            path: Some(path),
        });
        self.stats.suspicions += 1;
        let base = self.send.ledger.base();
        if let Some(seq) = self.send.ledger.first_in_flight(path, base) {
            self.lose_for_probe(path, seq, LossCause::ProbeTimeout);
        }
        if rule.repeats == Repeats::UntilAnswered {
            // As many as an initial window takes: a window grows only when it was full. The SACK
            // probably acknowledges them, too.
            let few = 3 * self.paths.get(to).window().pmdcs;
            let half = ctx.now - self.answer_time(rule, path) / 2;
            self.lose_first(path, half, self.paths.view().room(to).min(few));
        }
        // Anything sent before may have arrived before the path died.
        self.paths.get_mut(path).errors.distrust_before(ctx.now);
        self.blame(path, PathTrouble::Overdue);
        if rule.moves == DataMove::AtOnce {
            self.set_path_state(ctx, path, PathState::PotentiallyFailed);
        }
        self.want_heartbeat(path);
        // A short pause says nothing of the size of packets.
        if self.silent_at(path).is_none_or(|at| at <= ctx.now) {
            self.doubt_mtu(path);
        }
        let (srtt, rttvar) = self.expected_round_trip(path);
        let moves_at = ctx.now + rule.answer(srtt, rttvar);
        let lateness = rule.lateness(srtt, rttvar);
        let more = match rule.moves {
            DataMove::AtOnce => 0,
            DataMove::HeartbeatOverdue => rule.heartbeats.saturating_sub(1),
        };
        let p = self.paths.get_mut(path);
        let due = p.probe_timeout.ask(ctx.now, more, lateness, moves_at);
        p.timers.set(PathTimer::MoveHoldOff, Some(due));
        self.choose_data_path(ctx, None);
    }

    /// A path acknowledged something. If another one is silent, what is overdue there follows, as
    /// much as the window of this one takes.
    #[inline]
    pub(super) fn take_over(&mut self, now: Instant, to: PathId) {
        if let Some(rule) = self.cfg.failover.probe_timeout
            && rule.repeats == Repeats::UntilAnswered
            && self.send.concurrent.is_none()
        {
            self.take_over_from_silent(now, rule, to);
        }
    }

    fn take_over_from_silent(&mut self, now: Instant, rule: ProbeTimeout, to: PathId) {
        let view = self.paths.view();
        let silent = |path: &PathId| {
            let p = self.paths.get(*path);
            let doubted = p.timers.get(PathTimer::MoveHoldOff).is_some();
            doubted && p.state() == PathState::Active && view.alternate(*path) == Some(to)
        };
        if let Some(path) = self.paths.ids().find(silent) {
            // Younger ones may still be acknowledged in time, and show that the path works.
            let overdue = now - self.answer_time(rule, path);
            self.lose_first(path, overdue, view.room(to));
        }
    }

    /// The first chunks in flight that left before `before` leave again, until they fill so many bytes.
    fn lose_first(&mut self, path: PathId, before: Instant, mut bytes: u32) {
        let mut from = self.send.ledger.base();
        while bytes > 0
            && let Some(seq) = self.send.ledger.first_in_flight(path, from)
            && let Some(r) = self.send.ledger.get(seq)
            && r.sent_at < before
        {
            bytes = bytes.saturating_sub(r.bytes);
            from = seq + 1;
            self.lose_for_probe(path, seq, LossCause::ProbeTimeout);
        }
    }

    /// The oldest chunk of a path without an alternate leaves again, to show what was
    /// lost.
    fn tail_probe(&mut self, ctx: &mut Ctx<'_>, rule: ProbeTimeout, path: PathId) {
        let may = rule.tail_probe && self.paths.get(path).probe_timeout.may_probe_tail();
        if !may || !self.send_tail_probe(ctx, path) {
            return;
        }
        self.observe(ctx, || Observation::TimerFired {
            timer: Timer::ProbeTimeout,
            path: Some(path),
        });
        self.paths
            .get_mut(path)
            .probe_timeout
            .sent_tail_probe(ctx.now);
        self.doubt_mtu(path);
    }

    /// New data of the peer arrived on a path whose tail probes were not answered: the peer is there, and its SACKs may
    /// have gone to a path that is dead, or that it had not verified. So the next tail probe does not wait for its
    /// time, nor for T3-rtx when there is none left. Few of them leave: each restarts T3-rtx.
    #[cold]
    pub(super) fn probe_tail_when_heard(&mut self, ctx: &mut Ctx<'_>, path: PathId) {
        let Some(rule) = self.cfg.failover.probe_timeout.filter(|r| r.tail_probe) else {
            return;
        };
        let answer = self.answer_time(rule, path);
        let p = self.paths.get(path);
        if p.state() == PathState::Active
            && p.probe_timeout.may_probe_when_heard(ctx.now, answer)
            && self.send_tail_probe(ctx, path)
        {
            let p = self.paths.get_mut(path);
            p.probe_timeout.sent_when_heard(ctx.now);
        }
    }

    /// A chunk in flight leaves again, whatever the windows are.
    pub(super) fn lose_for_probe(&mut self, path: PathId, seq: u64, cause: LossCause) {
        let p = self.paths.get_mut(path);
        self.send
            .ledger
            .lose_one(seq, cause, |_, r| p.lose_chunk(r.bytes, r.payload.len()));
        match self.send.ledger.first_in_flight(path, seq) {
            None => p.timers.flight_gone(),
            earliest => p.timers.set_earliest_in_flight(earliest),
        }
        self.send.force_packet();
    }

    /// The path answers again, so its losses in this time were due to congestion.
    pub(super) fn end_probe_timeout(&mut self, now: Instant, path: PathId) {
        let p = self.paths.get_mut(path);
        p.probe_timeout.end_asking();
        if p.timers.get(PathTimer::MoveHoldOff).is_some() {
            p.timers.set(PathTimer::MoveHoldOff, None);
            self.stats.needless_suspicions += 1;
            if p.state() == PathState::Active {
                self.note_owed_acknowledgement(now, path);
            }
        }
        if self.paths.get_mut(path).probe_timeout.take_delayed_cut() {
            self.cut_window(now, path);
        }
    }

    /// When the acknowledgements of a path have been silent for as long as an answer takes. One that
    /// came on another path tells what had arrived before.
    fn silent_at(&self, path: PathId) -> Option<Instant> {
        let rule = self.cfg.failover.probe_timeout?;
        let p = self.paths.get(path);
        let last = p
            .probe_timeout
            .last_acknowledged()?
            .min(p.counters.last_heard()?);
        let waits = rule.since == WaitsSince::Sending;
        waits.then(|| last + self.answer_time(rule, path))
    }

    /// How long the answer to what has just left on a path may take.
    pub(super) fn answer_time(&self, rule: ProbeTimeout, path: PathId) -> Duration {
        let (srtt, rttvar) = self.expected_round_trip(path);
        rule.answer(srtt, rttvar)
    }

    /// SRTT, or the RTO before the first sample, and RTTVAR.
    fn expected_round_trip(&self, path: PathId) -> (Duration, Duration) {
        let rtt = &self.paths.get(path).rtt;
        (rtt.srtt().unwrap_or(rtt.rto()), rtt.rttvar())
    }

    /// The heartbeat is also overdue: all outstanding data of the path moves. The window
    /// does not change, because there is no sign of congestion. While older chunks are still
    /// acknowledged, only the heartbeat is lost.
    pub(super) fn on_move_hold_off(&mut self, ctx: &mut Ctx<'_>, path: PathId) {
        let p = self.paths.get_mut(path);
        if let Some(next) = p.probe_timeout.ask_again(ctx.now) {
            p.timers.set(PathTimer::MoveHoldOff, Some(next));
            if p.state() == PathState::Active {
                self.want_heartbeat(path);
            }
            return;
        }
        let silent_at = self.silent_at(path).filter(|at| *at > ctx.now);
        let p = self.paths.get_mut(path);
        p.timers.set(PathTimer::MoveHoldOff, silent_at);
        if silent_at.is_some() {
            return;
        }
        p.probe_timeout.end_asking();
        match p.state() {
            PathState::PotentiallyFailed => {}
            PathState::Active if self.paths.view().alternate(path).is_some() => {
                self.set_path_state(ctx, path, PathState::PotentiallyFailed);
            }
            _ => return,
        }
        self.take_flight_for_lost(path, LossCause::ProbeTimeout);
        self.observe_window(ctx, path);
        self.choose_data_path(ctx, None);
    }

    /// All that is in flight on a path counts as lost, for a reason that is no sign of
    /// congestion: the window does not change.
    pub(super) fn take_flight_for_lost(&mut self, path: PathId, cause: LossCause) {
        let p = self.paths.get_mut(path);
        p.timers.flight_gone();
        p.rtt.forget_timed();
        let ledger = &mut self.send.ledger;
        ledger.lose_path_for(path, cause, |_, r| {
            p.lose_chunk(r.bytes, r.payload.len());
        });
    }
}

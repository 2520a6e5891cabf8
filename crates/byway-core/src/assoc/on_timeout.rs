//! Timers (RFC 9260 section 6.3.3 and others).

use super::concurrent::note_outcome;
use super::{Association, Ctx};
use crate::api::LossReason;
use crate::config::FailedProbes;
use crate::observe::{Observation, Timer};
use crate::path::{Alarm, PathId, PathState};
use crate::policy::AfterRto;
use crate::time::Instant;
use smallvec::SmallVec;

impl Association {
    /// The earliest of all timers.
    pub(crate) fn next_timeout(&self) -> Option<Instant> {
        let mut next = Instant::FAR_FUTURE;
        let mut consider = |t: Option<Instant>| next = next.min(t.unwrap_or(Instant::FAR_FUTURE));
        consider(self.timers.earliest());
        if let Some(d) = &self.dialect {
            consider(d.deadline());
        }
        consider(self.recv.acker.timer());
        consider(self.send.probe_at);
        for p in self.paths.iter() {
            consider(p.t3);
            consider(p.alarms.earliest());
            consider(p.probe.map(|p| p.lost_at));
        }
        (next != Instant::FAR_FUTURE).then_some(next)
    }

    /// Fires every timer that is due, in a fixed order.
    pub(crate) fn handle_timeout(&mut self, ctx: &mut Ctx<'_>) {
        let now = ctx.now;
        let due = |t: Option<Instant>| t.is_some_and(|t| t <= now);
        if self.next_timeout().is_none_or(|t| t > now) {
            return;
        }
        if let Some(d) = &mut self.dialect {
            d.on_timer();
        }
        self.new_burst();
        self.begin_burst();
        if due(self.timers.t1) {
            self.on_t1(ctx);
        }
        if due(self.timers.t2) {
            self.on_t2(ctx);
        }
        if due(self.timers.t5) {
            self.on_t5(ctx);
        }
        if due(self.recv.acker.timer()) {
            self.recv.acker.on_timer();
            if let Some(d) = &mut self.dialect {
                d.on_sack_timer(&mut self.recv.acker);
            }
            self.observe(ctx, || Observation::TimerFired {
                timer: Timer::SackDelay,
                path: None,
            });
        }
        if due(self.send.probe_at) {
            self.send.probe_at = None;
            self.send.probe_now = true;
            self.observe(ctx, || Observation::TimerFired {
                timer: Timer::ZeroWindowProbe,
                path: None,
            });
        }
        if self.dialect.as_ref().is_some_and(|d| due(d.deadline())) {
            self.on_dialect_deadline(ctx);
        }
        for path in self.paths.ids() {
            if self.state.is_closed() {
                return;
            }
            let dialect = self.dialect.as_ref();
            let t3_first = dialect.is_some_and(|d| d.t3_goes_first());
            let t3_alone = dialect.is_some_and(|d| d.t3_goes_alone());
            if t3_first && due(self.paths.get(path).t3) {
                self.on_t3(ctx, path);
                if self.state.is_closed() || t3_alone {
                    return;
                }
            }
            let p = self.paths.get(path);
            if due(p.probe.map(|p| p.lost_at)) {
                self.on_heartbeat_lost(ctx, path);
            }
            if self.state.is_closed() {
                return;
            }
            if due(self.paths.get(path).t3) {
                self.on_t3(ctx, path);
                if t3_alone {
                    return;
                }
            }
            if due(self.paths.get(path).alarms.get(Alarm::Overdue)) {
                self.on_overdue(ctx, path);
            }
            if due(self.paths.get(path).alarms.get(Alarm::Moves)) {
                self.on_heartbeat_overdue(ctx, path);
            }
            if due(self.paths.get(path).alarms.get(Alarm::Doubt)) {
                self.look_at_doubted(ctx, path);
            }
            if let Some(at) = self
                .paths
                .get(path)
                .alarms
                .get(Alarm::Heartbeat)
                .filter(|t| *t <= now)
            {
                self.on_heartbeat_due(ctx, path, at);
            }
        }
    }

    /// The timer of a dialect expired.
    #[cold]
    fn on_dialect_deadline(&mut self, ctx: &mut Ctx<'_>) {
        if let Some(Some(path)) = self.ask(ctx, |d, i| d.on_deadline(i)) {
            self.observe(ctx, || Observation::TimerFired {
                timer: Timer::HeartbeatDue,
                path: Some(path),
            });
            self.want_heartbeat(path);
        }
    }

    /// Whether a lost heartbeat is repeated at once, as a dialect wants it.
    pub(super) fn repeats_heartbeats(&self) -> bool {
        self.dialect
            .as_ref()
            .is_some_and(|d| d.repeats_heartbeats())
    }

    /// T3-rtx expired (section 6.3.3; 8.1; 8.2; RFC 7829).
    fn on_t3(&mut self, ctx: &mut Ctx<'_>, path: PathId) {
        let cfg = self.cfg.clone();
        self.observe(ctx, || Observation::TimerFired {
            timer: Timer::T3Rtx,
            path: Some(path),
        });
        self.stats.timeouts += 1;
        // A window probe that was answered is no error (section 6.1, A), nor is
        // any chunk that the peer has no room for and answers.
        let closed = self.send.probing || self.send.a_rwnd == 0;
        let harmless = closed && self.send.probe_answered;
        self.send.probe_answered = false;
        let patience = self.surely_lost_after(path);
        let falls = self.ask(ctx, |d, i| d.on_t3(i, path, harmless));
        let p = self.paths.get_mut(path);
        p.t3 = None;
        p.alarms.set(Alarm::Overdue, None);
        p.timed = None;
        p.earliest = None;
        p.counters.timeouts += 1;
        if !harmless && falls != Some(false) {
            p.control.on_timeout(&mut p.window, &cfg.congestion);
        }
        p.one_packet |= !harmless;
        p.recover = None;
        p.rtt.back_off(&cfg.rto);
        if path == self.paths.data {
            // The window collapsed: the next loss is a new event.
            self.send.recover = None;
        }
        let concurrent = self.send.concurrent.is_some();
        let p = self.paths.get_mut(path);
        let flight = p.window.flight;
        let counts = self.estimating.is_some() && !harmless;
        let (mut largest, mut surely_lost) = (0, SmallVec::<[u64; 8]>::new());
        self.send.ledger.lose_path(path, |seq, r| {
            p.window.lose(r.bytes);
            largest = largest.max(r.bytes);
            if concurrent {
                note_outcome(&mut p.loss_rate, 1.0);
            }
            if counts && ctx.now.since(r.sent_at) >= patience {
                surely_lost.push(seq);
            }
        });
        if let (Some(e), Some(cfg)) = (&mut self.estimating, &cfg.failover.estimate) {
            for seq in surely_lost {
                e.lost(seq, path, flight, self.paths.get(path), ctx.now, cfg);
            }
        }
        self.send.forced_packet = true;
        self.ask(ctx, |d, i| d.after_t3(i, path));
        self.observe_rto(ctx, path, None);
        self.observe_window(ctx, path);
        if harmless {
            self.note_answer_without_room(path);
        } else {
            // cortes-2008: retransmissions need not decide on failure.
            let decides = self.detector(path).counts_timeouts();
            let limit = if decides {
                cfg.failure.path_max_retrans
            } else {
                u32::MAX
            };
            self.count_error(ctx, path, true, limit);
            if self.peer_is_unreachable(ctx) || !self.note_data_timeout(ctx, path, largest) {
                return;
            }
        }
        if !cfg.retransmission.new_data_at_rto {
            for p in self.paths.iter_mut() {
                p.burst_left = 0;
                p.burst_flight = Some(0);
            }
        }
        self.probe_after_timeout(path);
        if !harmless {
            self.begin_doubt(ctx, path);
        }
        self.choose_data_path(ctx, Some(path));
    }

    /// T3-rtx expired: whether a heartbeat follows (HAR; `hb.failed`).
    fn probe_after_timeout(&mut self, path: PathId) {
        let p = self.paths.get(path);
        let har = self.cfg.retransmission.after_rto == AfterRto::Heartbeat
            && self.paths.view().alternate(path).is_some();
        let failed = self.cfg.hb.failed == FailedProbes::OncePerRto
            && p.hb_enabled
            && p.state == PathState::Inactive;
        if !har && !failed {
            return;
        }
        if self.repeats_heartbeats() {
            // The one under way, if any, is given up without an error.
            self.paths.get_mut(path).probe = None;
        }
        self.want_heartbeat(path);
    }

    /// Section 8.1: whether the association's errors exceed their limit, and
    /// the association with them.
    pub(super) fn peer_is_unreachable(&mut self, ctx: &mut Ctx<'_>) -> bool {
        if self.errors <= self.cfg.failure.association_max_retrans {
            return false;
        }
        let reason = if self.data_is_dead() {
            LossReason::DataUnacknowledged
        } else {
            LossReason::PeerUnreachable
        };
        // Whoever is still in reach of a path that works is told.
        let reachable = self.paths.ids();
        let active = |p: &PathId| self.paths.get(*p).state == PathState::Active;
        if let Some(path) = reachable.into_iter().find(active) {
            self.paths.data = path;
            self.abort(ctx, reason, super::Told::User(b"unreachable"));
        } else {
            self.lose(ctx, reason);
        }
        true
    }
}

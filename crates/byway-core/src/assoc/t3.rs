//! T3-rtx expires (RFC 9260 section 6.3.3).

use super::concurrent::note_outcome;
use super::{Association, Ctx};
use crate::api::LossReason;
use crate::config::FailedProbes;
use crate::observe::{Observation, Timer};
use crate::path::{PathId, PathState, PathTimer};
use crate::policy::AfterRto;
use smallvec::SmallVec;

impl Association {
    /// T3-rtx expired (section 6.3.3; 8.1; 8.2; RFC 7829).
    pub(super) fn on_t3(&mut self, ctx: &mut Ctx<'_>, path: PathId) {
        let cfg = self.cfg.clone();
        self.observe(ctx, || Observation::TimerFired {
            timer: Timer::T3Rtx,
            path: Some(path),
        });
        self.stats.timeouts += 1;
        // A window probe that was answered is no error (section 6.1, A). The same holds
        // for any chunk that the peer answers but has no room for.
        let closed = self.send.probing || self.send.a_rwnd == 0;
        let harmless = closed && self.send.probe_answered;
        self.send.probe_answered = false;
        let patience = self.surely_lost_after(path);
        let falls = self.ask(ctx, |d, i| d.on_t3(i, path, harmless));
        let p = self.paths.get_mut(path);
        p.timers.t3 = None;
        p.timers.set(PathTimer::ProbeTimeout, None);
        p.rtt.timed = None;
        p.timers.earliest_in_flight = None;
        p.counters.timeouts += 1;
        if !harmless && falls != Some(false) {
            p.control.on_timeout(&mut p.window, &cfg.congestion);
        }
        p.recovery.one_packet |= !harmless;
        p.recovery.exit = None;
        p.rtt.back_off(&cfg.rto);
        if path == self.paths.data {
            // The window collapsed: the next loss is a new event.
            self.send.recover = None;
        }
        let concurrent = self.send.concurrent.is_some();
        let p = self.paths.get_mut(path);
        let flight = p.window.flight;
        let counts = self.optional.estimating.is_some() && !harmless;
        let (mut largest, mut surely_lost) = (0, SmallVec::<[u64; 8]>::new());
        self.send.ledger.lose_path(path, |seq, r| {
            p.window.lose(r.bytes);
            largest = largest.max(r.bytes);
            if concurrent {
                note_outcome(&mut p.counters.loss_rate, 1.0);
            }
            if counts && ctx.now.since(r.sent_at) >= patience {
                surely_lost.push(seq);
            }
        });
        if let (Some(e), Some(cfg)) = (&mut self.optional.estimating, &cfg.failover.estimate) {
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
            // cortes-2008: timeouts need not decide that a path failed.
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
                p.burst.packets_left = 0;
                p.burst.flight_limit = Some(0);
            }
        }
        self.probe_after_timeout(path);
        if !harmless {
            self.begin_probing(ctx, path);
        }
        self.choose_data_path(ctx, Some(path));
    }

    /// T3-rtx expired: whether a heartbeat follows (HAR; `hb.failed`).
    fn probe_after_timeout(&mut self, path: PathId) {
        let p = self.paths.get(path);
        let har = self.cfg.retransmission.after_rto == AfterRto::Heartbeat
            && self.paths.view().alternate(path).is_some();
        let failed = self.cfg.hb.failed == FailedProbes::OncePerRto
            && p.heartbeat.enabled
            && p.state == PathState::Inactive;
        if !har && !failed {
            return;
        }
        if self.repeats_heartbeats() {
            // The heartbeat in progress, if any, is given up without an error.
            self.paths.get_mut(path).end_heartbeat();
        }
        self.want_heartbeat(path);
    }

    /// Section 8.1: whether the association's errors exceed their limit. If so, the
    /// association ends.
    pub(super) fn peer_is_unreachable(&mut self, ctx: &mut Ctx<'_>) -> bool {
        if self.failure.errors <= self.cfg.failure.association_max_retrans {
            return false;
        }
        let reason = if self.data_is_dead() {
            LossReason::DataUnacknowledged
        } else {
            LossReason::PeerUnreachable
        };
        // A peer that an active path still reaches gets an ABORT.
        let reachable = self.paths.ids();
        let active = |p: &PathId| self.paths.get(*p).state == PathState::Active;
        if let Some(path) = reachable.into_iter().find(active) {
            self.paths.data = path;
            self.abort(
                ctx,
                reason,
                super::ending::AbortReason::User(b"unreachable"),
            );
        } else {
            self.lose(ctx, reason);
        }
        true
    }
}

//! T3-rtx expires (RFC 9260 section 6.3.3).

use super::{Association, Ctx};
use crate::api::LossReason;
use crate::config::FailedProbes;
use crate::observe::{Observation, Timer};
use crate::path::{PathId, PathState, PathTimer, PathTrouble};
use crate::policy::AfterRto;
use crate::policy::spurious::Sign;
use crate::time::Duration;
use smallvec::SmallVec;

impl Association {
    /// T3-rtx expired (sections 6.3.3, 8.1 and 8.2; RFC 7829). The window is reduced and
    /// the RTO doubles (E1, E2). All chunks in flight on the path are lost (E3). The path
    /// and the association have one more error.
    pub(super) fn on_t3(&mut self, ctx: &mut Ctx<'_>, path: PathId) {
        self.observe(ctx, || Observation::TimerFired {
            timer: Timer::T3Rtx,
            path: Some(path),
        });
        self.stats.timeouts += 1;
        // A window probe that was answered is no error (section 6.1, A). The same holds
        // for any chunk that the peer answers but has no room for.
        let harmless = self.send.timed_out_without_room();
        let patience = self.surely_lost_after(path);
        self.collapse_window(ctx, path, harmless);
        let largest = self.lose_flight(ctx, path, (!harmless).then_some(patience));
        self.send.force_packet();
        self.ask(ctx, |d, i| d.after_t3(i, path));
        self.observe_rto(ctx, path, None);
        self.observe_window(ctx, path);
        if harmless {
            self.note_answer_without_room(path);
        } else if !self.count_timeout(ctx, path, largest) {
            return;
        }
        if !self.cfg.retransmission.new_data_at_rto {
            for p in self.paths.iter_mut() {
                p.burst.end();
            }
        }
        self.probe_after_timeout(path);
        if !harmless {
            self.begin_probing(ctx, path);
        }
        self.doubt_mtu(path);
        self.choose_data_path(ctx, Some(path));
        self.begin_revival(ctx);
    }

    /// Rules E1 and E2: reduces the window, unless the timeout is `harmless`, and doubles
    /// the RTO.
    fn collapse_window(&mut self, ctx: &mut Ctx<'_>, path: PathId, harmless: bool) {
        let falls = self.ask(ctx, |d, i| d.on_t3(i, path, harmless));
        let p = self.paths.get_mut(path);
        p.timers.flight_gone();
        p.timers.set(PathTimer::ProbeTimeout, None);
        p.probe_timeout.timed_out();
        p.rtt.forget_timed();
        p.counters.timed_out();
        if !harmless && falls != Some(false) {
            self.remember_reduction(ctx.now, path, Sign::Timeout);
            let p = self.paths.get_mut(path);
            p.on_timeout(&self.cfg.congestion);
        }
        let p = self.paths.get_mut(path);
        p.recovery.on_timeout(harmless);
        p.rtt.back_off(&self.cfg.rto);
        if path == self.paths.data() {
            // The window collapsed: the next loss is a new event.
            self.send.leave_recovery();
        }
    }

    /// Rule E3: all chunks in flight on the path are lost. Those older than `patience`
    /// also count for the estimates. Returns the size of the largest chunk.
    fn lose_flight(&mut self, ctx: &Ctx<'_>, path: PathId, patience: Option<Duration>) -> u32 {
        let concurrent = self.send.concurrent.is_some();
        let patience = patience.filter(|_| self.optional.estimating.is_some());
        let p = self.paths.get_mut(path);
        let flight = p.window().flight;
        let (mut largest, mut surely_lost) = (0, SmallVec::<[u64; 8]>::new());
        self.send.ledger.lose_path(path, |seq, r| {
            p.recovery.count_lost(seq, r);
            p.lose_chunk(r.bytes, r.payload.len());
            largest = largest.max(r.bytes);
            if concurrent {
                p.counters.chunk_lost();
            }
            if patience.is_some_and(|patience| ctx.now.since(r.sent_at) >= patience) {
                surely_lost.push(seq);
            }
        });
        let estimate = self.cfg.failover.estimate.as_ref();
        if let (Some(e), Some(cfg)) = (&mut self.optional.estimating, estimate) {
            for seq in surely_lost {
                e.lost(seq, path, flight, self.paths.get(path), ctx.now, cfg);
            }
        }
        largest
    }

    /// Counts one more error of the path and of the association (sections 8.1 and 8.2).
    /// False if the association ended because of it.
    fn count_timeout(&mut self, ctx: &mut Ctx<'_>, path: PathId, largest: u32) -> bool {
        // With cortes-2008's detector, timeouts need not make a path inactive.
        let limit = if self.detector(path).counts_timeouts() {
            self.cfg.failure.path_max_retrans
        } else {
            u32::MAX
        };
        self.blame(path, PathTrouble::T3Rtx);
        self.count_error(ctx, path, true, limit);
        !self.peer_is_unreachable(ctx) && self.note_data_timeout(ctx, path, largest)
    }

    /// T3-rtx expired: sends a heartbeat if HAR or `hb.failed` asks for it.
    fn probe_after_timeout(&mut self, path: PathId) {
        let p = self.paths.get(path);
        let har = self.cfg.retransmission.after_rto == AfterRto::Heartbeat
            && self.paths.view().alternate(path).is_some();
        let failed = self.cfg.hb.failed == FailedProbes::OncePerRto
            && p.heartbeat.is_enabled()
            && p.state() == PathState::Inactive;
        if !har && !failed {
            return;
        }
        if self.repeats_heartbeats() {
            // An unanswered heartbeat is dropped without an error.
            self.paths.get_mut(path).end_heartbeat();
        }
        self.want_heartbeat(path);
    }

    /// Ends the association if its errors exceed the limit (section 8.1). Returns
    /// whether it ended.
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
        let active = |p: &PathId| self.paths.get(*p).state() == PathState::Active;
        if let Some(path) = reachable.into_iter().find(active) {
            self.paths.move_data(path);
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

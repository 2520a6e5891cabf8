//! ns-2's habits ([`HabitsConfig`](crate::config::HabitsConfig)) that concern
//! paths: where data goes after a failure, and when idle paths are probed.

use super::{Association, Ctx};
use crate::config::{Dormant, HbJitter};
use crate::observe::{Observation, Timer};
use crate::path::{Alarm, PathId, PathState};
use crate::policy::retransmit::LossCause;
use crate::time::Instant;
use rand::RngExt;

/// The one heartbeat timer of an association (`habits.one_heartbeat_timer`).
#[derive(Copy, Clone, Debug)]
pub(crate) struct HeartbeatRound {
    pub(crate) due: Instant,
    began: Instant,
}

impl Association {
    /// The destination behind `after` that has not failed, `after` itself at
    /// last; in the dormant state what its rule says.
    pub(super) fn next_destination(&self, after: PathId) -> PathId {
        let view = self.paths.view();
        let alive = |p: &PathId| view.state(*p) != PathState::Inactive;
        if let Some(p) = view.ring(after).find(alive) {
            return p;
        }
        match self.cfg.failover.dormant {
            Dormant::Hop => view.ring(after).next().unwrap_or(after),
            Dormant::Primary => view.primary(),
            Dormant::Last | Dormant::LeastErrors => after,
        }
    }

    /// Where what was lost on `last` goes by `habits.keeps_destination`.
    pub(super) fn kept_target(&self, cause: LossCause, last: PathId) -> PathId {
        let stays = self.cfg.retransmission.target.stays(cause);
        if stays && self.paths.get(last).state == PathState::Active {
            last
        } else {
            self.next_destination(last)
        }
    }

    /// Where new data goes by `habits.keeps_destination`: only the primary's
    /// recovery changes that here.
    pub(super) fn kept_destination(&self) -> PathId {
        let primary = self.paths.primary;
        if self.paths.get(primary).state == PathState::Active {
            primary
        } else {
            self.paths.data
        }
    }

    /// A path has just failed: new data leaves it, once.
    pub(super) fn leave_failed(&mut self, ctx: &mut Ctx<'_>, path: PathId) {
        if self.cfg.habits.keeps_destination && path == self.paths.data {
            let to = self.next_destination(path);
            self.move_data(ctx, to);
        }
    }

    /// All destinations are confirmed: the heartbeat timer starts.
    pub(super) fn begin_heartbeat_rounds(&mut self, ctx: &mut Ctx<'_>) {
        let confirmed = self.paths.iter().all(|p| p.confirmed);
        if !self.cfg.habits.one_heartbeat_timer || !self.cfg.hb.enabled || !confirmed {
            return;
        }
        for p in self.paths.iter_mut() {
            p.last_timed = ctx.now;
            p.alarms.set(Alarm::Heartbeat, None);
        }
        self.start_heartbeat_round(ctx, self.paths.primary);
    }

    /// The timer expired: the destination that was idle longest is probed, if
    /// it was idle all the time.
    pub(super) fn on_heartbeat_round(&mut self, ctx: &mut Ctx<'_>, round: HeartbeatRound) {
        let idle_since = |p: &PathId| self.paths.get(*p).last_timed;
        let Some(path) = self.paths.ids().min_by_key(idle_since) else {
            return;
        };
        if idle_since(&path) <= round.began {
            self.observe(ctx, || Observation::TimerFired {
                timer: Timer::HeartbeatDue,
                path: Some(path),
            });
            self.paths.get_mut(path).probe = None;
            self.want_heartbeat(path);
        }
        self.start_heartbeat_round(ctx, path);
    }

    fn start_heartbeat_round(&mut self, ctx: &mut Ctx<'_>, path: PathId) {
        let rto = self.paths.get(path).rtt.rto();
        let (interval, factor) = (self.cfg.hb.interval, ctx.rng.random_range(0.5..1.5));
        let wait = match self.cfg.hb.jitter {
            HbJitter::HalfRto => interval + rto.mul_f64(factor),
            HbJitter::HalfInterval => interval.mul_f64(factor) + rto,
            HbJitter::Off => interval + rto,
        };
        self.timers.heartbeat_round = Some(HeartbeatRound {
            due: ctx.now + wait,
            began: ctx.now,
        });
    }
}

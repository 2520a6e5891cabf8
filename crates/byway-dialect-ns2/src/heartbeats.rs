//! One timer for all heartbeats (`one_heartbeat_timer`).

use crate::ns2::Ns2;
use byway_core::PathId;
use byway_core::config::HbJitter;
use byway_core::dialect::Inside;
use byway_core::time::Instant;
use rand::RngExt;

/// The heartbeat timer, running.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Round {
    pub(crate) due: Instant,
    began: Instant,
}

/// Whether every address is confirmed.
pub(crate) fn all_confirmed(inside: &Inside<'_>) -> bool {
    let view = inside.view();
    view.all().all(|p| view.is_confirmed(p))
}

impl Ns2 {
    /// The timer starts once all destinations are confirmed.
    pub(crate) fn begin_rounds(&mut self, inside: &mut Inside<'_>) {
        let wanted = self.cfg.one_heartbeat_timer && inside.cfg.hb.enabled;
        if wanted && all_confirmed(inside) {
            inside.stop_heartbeat_timers();
            let primary = inside.view().primary();
            self.start_round(inside, primary);
        }
    }

    /// The timer expired: the destination that was idle longest is probed, if it
    /// was idle all the time.
    pub(crate) fn end_round(&mut self, inside: &mut Inside<'_>) -> Option<PathId> {
        let round = self.round?;
        let idle_since = |p: &PathId| inside.last_timed(*p);
        let path = inside.view().all().min_by_key(idle_since)?;
        let idle = idle_since(&path) <= round.began;
        if idle {
            inside.give_up_heartbeat(path);
        }
        self.start_round(inside, path);
        idle.then_some(path)
    }

    fn start_round(&mut self, inside: &mut Inside<'_>, path: PathId) {
        let (rto, factor) = (inside.rto(path), inside.rng.random_range(0.5..1.5));
        let hb = &inside.cfg.hb;
        let wait = match hb.jitter {
            HbJitter::HalfRto => hb.interval + rto.mul_f64(factor),
            HbJitter::HalfInterval => hb.interval.mul_f64(factor) + rto,
            HbJitter::Off => hb.interval + rto,
        };
        self.round = Some(Round {
            due: inside.now + wait,
            began: inside.now,
        });
    }
}

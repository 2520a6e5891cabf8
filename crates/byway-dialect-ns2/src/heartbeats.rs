//! One timer for all heartbeats (`one_heartbeat_timer`).

use byway_core::PathId;
use byway_core::config::HbJitter;
use byway_core::dialect::Inside;
use byway_core::time::Instant;
use rand::RngExt;

/// The heartbeat timer while it runs.
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

/// Starts the timer when all destinations are confirmed, if it is configured.
pub(crate) fn begin_rounds(round: &mut Option<Round>, wanted: bool, inside: &mut Inside<'_>) {
    if wanted && inside.cfg.hb.enabled && all_confirmed(inside) {
        inside.stop_heartbeat_timers();
        let primary = inside.view().primary();
        *round = Some(start(inside, primary));
    }
}

/// The timer expired. The destination that has been idle longest is probed, if it has
/// been idle since the timer started.
pub(crate) fn end_round(round: &mut Option<Round>, inside: &mut Inside<'_>) -> Option<PathId> {
    let began = round.as_ref()?.began;
    let idle_since = |p: &PathId| inside.last_timed(*p);
    let path = inside.view().all().min_by_key(idle_since)?;
    let idle = idle_since(&path) <= began;
    if idle {
        inside.give_up_heartbeat(path);
    }
    *round = Some(start(inside, path));
    idle.then_some(path)
}

fn start(inside: &mut Inside<'_>, path: PathId) -> Round {
    let (rto, factor) = (inside.rto(path), inside.rng.random_range(0.5..1.5));
    let hb = &inside.cfg.hb;
    let wait = match hb.jitter {
        HbJitter::HalfRto => hb.interval + rto.mul_f64(factor),
        HbJitter::HalfInterval => hb.interval.mul_f64(factor) + rto,
        HbJitter::Off => hb.interval + rto,
    };
    Round {
        due: inside.now + wait,
        began: inside.now,
    }
}

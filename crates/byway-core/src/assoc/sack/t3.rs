//! Step 4 of SACK reception, for each path: T3-rtx restarts, starts or stops (RFC
//! 9260 section 6.3.2).

use super::path_sack::PathSack;
use crate::assoc::{Association, Ctx};
use crate::path::PathId;

impl Association {
    /// T3-rtx of a path after a SACK. It stops when nothing is in flight there (rule R2).
    /// It restarts when the earliest chunk in flight was acknowledged (R3) or is lost. If
    /// it does not run, it starts when chunks are in flight again because the peer reneged
    /// (R4). A dialect may use other rules.
    pub(super) fn restart_t3(&mut self, ctx: &mut Ctx<'_>, id: PathId, s: &PathSack) {
        if self.dialect_says(|d| d.restarts_t3()) {
            let at = self.ask(ctx, |d, i| d.t3_after_sack(i, id));
            self.paths.get_mut(id).timers.set_t3(at.flatten());
            return;
        }
        let p = self.paths.get(id);
        // What the peer took back may be earlier than the earliest in flight.
        if !s.t3.restart && !s.t3.rescan && p.timers.earliest_in_flight().is_some() {
            return;
        }
        let earliest = if p.window().flight > 0 {
            let base = self.send.ledger.base();
            let from = if s.t3.rescan { base } else { s.t3.after };
            self.send.ledger.first_in_flight(id, from)
        } else {
            None
        };
        let p = self.paths.get_mut(id);
        p.timers.set_earliest_in_flight(earliest);
        p.timers.set_t3(match earliest {
            None => None,
            Some(_) if s.t3.restart => Some(p.rtt.timeout(ctx.now)),
            Some(_) => p.timers.t3().or(Some(p.rtt.timeout(ctx.now))),
        });
    }
}

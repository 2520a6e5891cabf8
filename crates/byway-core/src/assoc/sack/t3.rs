//! Step 4 of SACK reception, for each path: T3-rtx restarts or stops (RFC 9260
//! section 6.3.2).

use super::path_sack::PathSack;
use crate::assoc::{Association, Ctx};
use crate::path::PathId;

impl Association {
    /// Rules R2 and R3: T3-rtx of a path stops when nothing is in flight there,
    /// and restarts when the earliest chunk in flight was acknowledged or is lost. Rule
    /// R4: it runs if the peer took an acknowledgement back.
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

//! Step 4 of SACK reception, for each path: clears its errors if the acknowledged chunks
//! prove that it works (RFC 9260 section 8.2; RFC 7829 section 3.2; the detectors).

use super::path_sack::PathSack;
use crate::assoc::{Association, Ctx};
use crate::config::PfClear;
use crate::path::{PathId, PathState};

impl Association {
    /// Clears the errors of a path and may make it active again, if the SACK proves that
    /// it works.
    pub(super) fn clear_proven_errors(&mut self, ctx: &mut Ctx<'_>, id: PathId, s: &PathSack) {
        if s.proof.largest > 0 && !self.paths.get(id).dead_data.is_clear() {
            self.note_data_acknowledged(id, s.proof.largest);
        }
        if s.any_new {
            self.tell_detector_of_data(ctx, id, s.proof.clears);
        }
        if s.proof.clears {
            let returns = s.proof.unambiguous && self.data_makes_active(id);
            self.clear_errors(ctx, id, returns);
            let active = self.paths.get(id).state() == PathState::Active;
            if s.proof.unambiguous && active && !returns {
                // What left after the doubt arose arrived.
                self.end_probe_timeout(ctx.now, id);
                self.note_large_arrived(id, s.proof.largest);
            }
        }
    }

    /// Whether the path becomes active again when data is acknowledged that was never
    /// sent to another path (RFC 7829 section 3.2, rule 7; natarajan-2006 differs).
    pub(in crate::assoc) fn data_makes_active(&self, id: PathId) -> bool {
        let pf = self.cfg.failover.potentially_failed.as_ref();
        match self.paths.get(id).state() {
            PathState::PotentiallyFailed => pf.is_none_or(|pf| pf.clear == PfClear::Rfc7829),
            PathState::Inactive => !self.paths.get(id).dead_data.is_dead(),
            PathState::Active | PathState::Unconfirmed => false,
        }
    }
}

//! Which path takes a retransmission (caro-2003; caro-2004 section II.A; RFC 9260
//! section 6.4).
//!
//! AllRtxSame uses the path that lost the chunk. AllRtxAlt always uses another path.
//! FrSameRtoAlt stays on the path for fast retransmits, because a single loss causes
//! them, and moves to another path after timeouts, because the path may be dead. RFC
//! 2960 asked for AllRtxAlt; RFC 9260 asks for FrSameRtoAlt, the default.

use crate::path::{PathId, PathsView};
use core::fmt;

pub use super::target::{LossCause, RetransmitTarget};

/// Decides where lost chunks are sent again.
pub trait RetransmissionTarget: fmt::Debug + Send + Sync {
    /// The path for the retransmission of a chunk that was last sent on `last` and was
    /// lost for `cause`. The association asks several times while it builds a packet,
    /// so the same question must get the same answer. If the answer is an unconfirmed
    /// address or not a path, the chunk goes where new data goes.
    fn target(&self, cause: LossCause, last: PathId, paths: &PathsView<'_>) -> PathId;
}

impl RetransmissionTarget for RetransmitTarget {
    fn target(&self, cause: LossCause, last: PathId, paths: &PathsView<'_>) -> PathId {
        RetransmitTarget::target(*self, cause, last, paths)
    }
}

impl RetransmitTarget {
    /// Whether a chunk that was lost for `cause` stays on its path, if that path is
    /// active.
    #[must_use]
    pub fn stays(self, cause: LossCause) -> bool {
        match self {
            _ if cause == LossCause::ProbeTimeout => false,
            RetransmitTarget::AllRtxSame => true,
            RetransmitTarget::AllRtxAlt => false,
            RetransmitTarget::FrSameRtoAlt => cause == LossCause::FastRetransmit,
        }
    }

    /// The path for the retransmission of a chunk that was last sent on `last` and was
    /// lost for `cause`.
    ///
    /// With every policy a potentially failed path, or a backup, gets no retransmission while
    /// another path is active (RFC 7829 section 3.2, rule 3). The alternate is the active
    /// path that differs most from `last`. If there is none, it is the path of new data.
    #[must_use]
    pub fn target(self, cause: LossCause, last: PathId, paths: &PathsView<'_>) -> PathId {
        let stay = self.stays(cause);
        if stay && paths.is_preferred(last) {
            return last;
        }
        let doubted = cause == LossCause::ProbeTimeout;
        match paths.alternate(last) {
            Some(p) if !doubted && !paths.is_preferred(p) && paths.is_preferred(last) => last,
            Some(active) => active,
            None if stay && paths.is_usable(last) => last,
            None => paths.data_path(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::LossCause::{FastRetransmit, ProbeTimeout, Timeout};
    use super::RetransmitTarget::{AllRtxAlt, AllRtxSame, FrSameRtoAlt};
    use super::*;
    use crate::path::PathState;
    use crate::policy::testing::table;
    use PathState::{Active as A, Inactive as I, PotentiallyFailed as P, Unconfirmed as U};

    #[test]
    fn where_a_lost_chunk_goes() {
        // states, path in use, policy, cause, lost on, expected
        type Row<'a> = (&'a [PathState], u8, RetransmitTarget, LossCause, u8, u8);
        let rows: [Row<'_>; 14] = [
            (&[A, A], 0, AllRtxSame, FastRetransmit, 0, 0),
            (&[A, A], 0, AllRtxSame, Timeout, 0, 0),
            (&[A, A], 0, AllRtxAlt, FastRetransmit, 0, 1),
            (&[A, A], 0, AllRtxAlt, Timeout, 0, 1),
            (&[A, A], 0, FrSameRtoAlt, FastRetransmit, 0, 0),
            (&[A, A], 0, FrSameRtoAlt, Timeout, 0, 1),
            // From the alternate back to the primary.
            (&[A, A], 0, FrSameRtoAlt, Timeout, 1, 0),
            // Next in the order of the table.
            (&[A, A, A], 0, AllRtxAlt, Timeout, 1, 2),
            (&[A, I, A], 0, AllRtxAlt, Timeout, 0, 2),
            (&[A, U], 0, AllRtxAlt, Timeout, 0, 0),
            // A potentially failed path gets no data while another one is active.
            (&[P, A], 1, AllRtxSame, FastRetransmit, 0, 1),
            (&[P, A], 1, FrSameRtoAlt, FastRetransmit, 0, 1),
            (&[P, I], 0, AllRtxSame, Timeout, 0, 0),
            // All inactive: the path of new data.
            (&[I, I], 1, AllRtxSame, Timeout, 0, 1),
        ];
        for (k, (states, data, policy, cause, last, expected)) in rows.into_iter().enumerate() {
            let states: Vec<_> = states.iter().map(|s| (*s, 0)).collect();
            let t = table(&states, 0, data, 0);
            let target = policy.target(cause, PathId(last), &t.view());
            assert_eq!(target, PathId(expected), "row {k}");
        }
    }

    #[test]
    fn a_backup_gets_a_lost_chunk_only_while_no_other_path_is_active() {
        // states, the backup, policy, cause, lost on, expected
        type Row<'a> = (&'a [PathState], u8, RetransmitTarget, LossCause, u8, u8);
        let rows: [Row<'_>; 7] = [
            (&[A, A], 1, AllRtxAlt, FastRetransmit, 0, 0),
            (&[A, A], 1, AllRtxAlt, Timeout, 0, 0),
            (&[A, A], 0, AllRtxSame, FastRetransmit, 0, 1),
            (&[A, A, A], 1, AllRtxAlt, Timeout, 0, 2),
            (&[P, A], 1, AllRtxAlt, Timeout, 0, 1),
            (&[P, A], 1, AllRtxSame, Timeout, 1, 1),
            // The probe timeout doubts the path, though it is active yet.
            (&[A, A], 1, AllRtxSame, ProbeTimeout, 0, 1),
        ];
        for (k, (states, backup, policy, cause, last, expected)) in rows.into_iter().enumerate() {
            let states: Vec<_> = states.iter().map(|s| (*s, 0)).collect();
            let mut t = table(&states, 0, last, 0);
            t.set_backup(PathId(backup), true);
            let target = policy.target(cause, PathId(last), &t.view());
            assert_eq!(target, PathId(expected), "row {k}");
        }
    }
}

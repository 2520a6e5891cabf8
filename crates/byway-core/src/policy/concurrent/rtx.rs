//! Where CMT retransmits a lost chunk (Iyengar, Amer and Stewart, "Receive buffer
//! blocking in concurrent multipath transfer", GLOBECOM 2005; the CMT paper, section V;
//! natarajan-2006 section 3 for potentially failed paths).
//!
//! While a chunk is missing, later data fills the receive buffer, so its retransmission
//! should arrive soon. RTX-SAME stays on the path that lost it. RTX-ASAP takes any path
//! with room. RTX-CWND, RTX-SSTHRESH and RTX-LOSSRATE take the path with the largest
//! cwnd, the largest ssthresh or the lowest loss rate, and wait for room there. A
//! potentially failed path gets no retransmission while another path is active. The
//! papers break ties at random. Here the path with more room wins, then the next one
//! after the path of the loss, so that every run is the same. These rules replace
//! `retransmission.target` (RFC 9260 section 6.4). The default with CMT is RTX-SSTHRESH.

use super::choice::carries;
use crate::path::{PathId, PathsView};
use serde::{Deserialize, Serialize};

/// Where a lost chunk is sent again.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Default)]
pub enum RtxPolicy {
    /// RTX-SAME: to the destination that lost the chunk, until that destination fails.
    Same,
    /// RTX-ASAP: to the destination whose window has the most room.
    Asap,
    /// RTX-CWND: to the destination with the largest cwnd.
    Cwnd,
    /// RTX-SSTHRESH: to the destination with the largest ssthresh.
    #[default]
    Ssthresh,
    /// RTX-LOSSRATE: to the destination with the lowest estimated loss rate.
    LossRate,
}

impl RtxPolicy {
    /// The path for a chunk that `last` lost. Only RTX-ASAP checks whether the path has
    /// room now.
    #[must_use]
    pub fn target(self, last: PathId, paths: &PathsView<'_>) -> PathId {
        let candidates = || paths.ring(last).filter(|&p| carries(p, paths));
        let best = |key: &dyn Fn(PathId) -> u64| {
            // The ring ends with `last` itself. The first path wins a tie.
            candidates().reduce(|a, b| {
                let better = (key(b), paths.room(b)) > (key(a), paths.room(a));
                if better { b } else { a }
            })
        };
        let chosen = match self {
            RtxPolicy::Same if carries(last, paths) => Some(last),
            RtxPolicy::Same => candidates().next(),
            RtxPolicy::Asap => best(&|p| u64::from(paths.room(p))),
            RtxPolicy::Cwnd => best(&|p| u64::from(paths.cwnd(p))),
            RtxPolicy::Ssthresh => best(&|p| u64::from(paths.ssthresh(p))),
            // Loss in millionths, subtracted from a million, so that the lowest loss is
            // the largest value.
            RtxPolicy::LossRate => {
                best(&|p| 1_000_000 - (paths.loss_rate(p) * 1e6).clamp(0.0, 1e6) as u64)
            }
        };
        chosen.unwrap_or(paths.data_path())
    }
}

#[cfg(test)]
mod tests {
    use super::RtxPolicy::{Asap, Cwnd, LossRate, Same, Ssthresh};
    use super::*;
    use crate::path::PathState;
    use crate::policy::testing::table;
    use PathState::{Active as A, Inactive as I, PotentiallyFailed as P};

    /// State, cwnd, ssthresh, flight, loss rate.
    type Row = (PathState, u32, u32, u32, f32);

    fn target(policy: RtxPolicy, last: u8, data: u8, rows: &[Row]) -> u8 {
        let states: Vec<_> = rows.iter().map(|r| (r.0, 0)).collect();
        let mut t = table(&states, 0, data, 0);
        for (p, r) in t.iter_mut().zip(rows) {
            p.set_window((r.1, r.2, r.3), r.4);
        }
        policy.target(PathId(last), &t.view()).0
    }

    #[test]
    fn each_policy_takes_the_path_that_it_is_named_for() {
        let rows = [
            (A, 6000, 9000, 6000, 0.02),
            (A, 3000, 20_000, 0, 0.05),
            (A, 8000, 4000, 7000, 0.01),
        ];
        for (policy, last, expected) in [
            (Same, 0, 0),
            (Same, 2, 2),
            (Asap, 0, 1),
            (Cwnd, 0, 2),
            (Ssthresh, 0, 1),
            (LossRate, 0, 2),
        ] {
            assert_eq!(target(policy, last, 0, &rows), expected, "{policy:?}");
        }
    }

    #[test]
    fn suspect_and_dead_paths_get_nothing_while_another_is_active() {
        let rows = [
            (P, 9000, 9000, 0, 0.0),
            (A, 3000, 3000, 3000, 0.1),
            (I, 9000, 9000, 0, 0.0),
        ];
        for policy in [Same, Asap, Cwnd, Ssthresh, LossRate] {
            for last in 0..3 {
                assert_eq!(target(policy, last, 1, &rows), 1, "{policy:?}");
            }
        }
        // All are potentially failed: the path of the failover policy.
        let rows = [(P, 9000, 9000, 0, 0.0), (P, 3000, 3000, 0, 0.1)];
        for policy in [Same, Asap, Cwnd, Ssthresh, LossRate] {
            assert_eq!(target(policy, 0, 1, &rows), 1, "{policy:?}");
        }
    }

    #[test]
    fn among_equals_the_one_with_more_room_then_another_one() {
        let rows = [(A, 6000, 9000, 1000, 0.0), (A, 6000, 9000, 2000, 0.0)];
        assert_eq!(target(Ssthresh, 0, 0, &rows), 0);
        assert_eq!(target(Ssthresh, 1, 0, &rows), 0);
        let rows = [(A, 6000, 9000, 1000, 0.0), (A, 6000, 9000, 1000, 0.0)];
        assert_eq!(target(Ssthresh, 0, 0, &rows), 1);
        assert_eq!(target(Cwnd, 1, 0, &rows), 0);
    }
}

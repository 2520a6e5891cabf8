//! Which paths new data takes (CMT paper section III; natarajan-2006 section 3).
//!
//! Every active path may carry new data while its own window has room. Each event fills
//! the paths in turn; [`FillOrder`] says with which path it starts. If no path is
//! active, the failover policy chooses one path: the potentially failed path with the
//! fewest errors, or of several the last active one. So CMT-PF is never worse than CMT.
//! RFC 9260 uses one path at a time, and this is the default.

use crate::path::{PathId, PathState, PathsView};
use serde::{Deserialize, Serialize};

/// Which path is filled first when an event lets new data leave. It matters if the
/// peer's window has less room than the paths' windows, because the last path gets only
/// the rest. The first event starts with the primary.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Default)]
pub enum FillOrder {
    /// The path after the one that was filled last, as in the authors' simulator. If
    /// every event reaches all paths, it is always the same path.
    #[default]
    BehindLast,
    /// The path after the one that the last event started with. So the paths take turns,
    /// and no path always gets the rest. Inferred from natarajan-2006 figures 2 and 3;
    /// neither its text nor the CMT paper gives an order.
    InTurn,
}

/// Whether data, new or retransmitted, may go to a path now.
#[must_use]
pub fn carries(path: PathId, paths: &PathsView<'_>) -> bool {
    paths.is_preferred(path)
        || path == paths.data_path() && paths.is_usable(path) && !any_active(paths)
        || path == paths.data_path() && !any_usable(paths)
}

fn any_active(paths: &PathsView<'_>) -> bool {
    paths.all().any(|p| paths.state(p) == PathState::Active)
}

fn any_usable(paths: &PathsView<'_>) -> bool {
    paths.all().any(|p| paths.is_usable(p))
}

/// The paths that may carry new data, in the order in which they are filled, from
/// `first` on.
pub fn order<'a>(first: PathId, paths: &'a PathsView<'_>) -> impl Iterator<Item = PathId> + 'a {
    let n = paths.count() as u8;
    (0..n)
        .map(move |k| PathId((first.0 + k) % n))
        .filter(move |&p| carries(p, paths))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::testing::table;
    use PathState::{Active as A, Inactive as I, PotentiallyFailed as P, Unconfirmed as U};

    #[test]
    fn all_active_paths_in_a_round_else_the_failover_policys() {
        // states, path of the failover policy, first path, expected
        type Row<'a> = (&'a [PathState], u8, u8, &'a [u8]);
        let rows: [Row<'_>; 9] = [
            (&[A, A, A], 0, 0, &[0, 1, 2]),
            (&[A, A, A], 0, 2, &[2, 0, 1]),
            (&[A, P, A], 0, 1, &[2, 0]),
            (&[A, I], 0, 1, &[0]),
            (&[A, U], 0, 1, &[0]),
            // The exception: all paths are potentially failed.
            (&[P, P], 1, 0, &[1]),
            (&[P, I, P], 2, 0, &[2]),
            // Dormant.
            (&[I, I], 1, 0, &[1]),
            (&[I, I, I], 0, 2, &[0]),
        ];
        for (states, data, first, expected) in rows {
            let states: Vec<_> = states.iter().map(|s| (*s, 0)).collect();
            let t = table(&states, 0, data, 0);
            let found: Vec<u8> = order(PathId(first), &t.view()).map(|p| p.0).collect();
            assert_eq!(found, expected, "{states:?} from {first}");
        }
    }

    #[test]
    fn a_backup_is_filled_only_while_no_other_path_is_active() {
        let rows: [(&[PathState], &[u8], &[u8]); 4] = [
            (&[A, A, A], &[1], &[0, 2]),
            (&[A, A, A], &[0, 1], &[2]),
            (&[A, A, I], &[0, 1], &[0, 1]),
            (&[P, A, I], &[1], &[1]),
        ];
        for (states, backups, expected) in rows {
            let states: Vec<_> = states.iter().map(|s| (*s, 0)).collect();
            let mut t = table(&states, 0, 0, 0);
            for path in backups {
                t.set_backup(PathId(*path), true);
            }
            let found: Vec<u8> = order(PathId(0), &t.view()).map(|p| p.0).collect();
            assert_eq!(found, expected, "{states:?}, backups {backups:?}");
        }
    }
}

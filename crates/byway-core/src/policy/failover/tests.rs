use super::*;
use crate::policy::testing::table;
use PathState::{Active as A, Inactive as I, PotentiallyFailed as P, Unconfirmed as U};

#[test]
fn who_carries_new_data() {
    use Dormant::{Hop, Last, LeastErrors, Primary};
    // states with errors, primary, in use, last active, dormant, timed out, expected
    type Row<'a> = (&'a [(PathState, u32)], u8, u8, u8, Dormant, Option<u8>, u8);
    let rows: [Row<'_>; 14] = [
        (&[(A, 0), (A, 0)], 0, 0, 0, Hop, None, 0),
        (&[(P, 1), (A, 0)], 0, 0, 0, Hop, Some(0), 1),
        (&[(I, 6), (A, 0)], 0, 0, 0, Hop, Some(0), 1),
        // The primary is active again: data returns.
        (&[(A, 0), (A, 0)], 0, 1, 0, Hop, None, 0),
        // An alternate in use stays in use, even if another one is before it in the
        // table.
        (&[(I, 6), (A, 0), (A, 0)], 0, 2, 0, Hop, None, 2),
        // Unconfirmed addresses never carry data.
        (&[(I, 6), (U, 0), (A, 0)], 0, 0, 0, Hop, Some(0), 2),
        // All potentially failed: the path with the fewest errors, then the last active.
        (&[(P, 2), (P, 1)], 0, 0, 0, Hop, Some(0), 1),
        (&[(P, 1), (P, 1)], 0, 1, 1, Hop, Some(1), 1),
        // A potentially failed path is better than an inactive one.
        (&[(I, 6), (P, 4)], 0, 0, 0, Hop, Some(0), 1),
        // Dormant.
        (&[(I, 6), (I, 6)], 0, 1, 1, Hop, Some(1), 0),
        (&[(I, 6), (I, 6)], 0, 1, 1, Hop, Some(0), 1),
        (&[(I, 6), (I, 6), (I, 6)], 0, 1, 1, Primary, Some(1), 0),
        (&[(I, 6), (I, 6), (I, 6)], 0, 1, 2, Last, Some(1), 2),
        (&[(I, 8), (I, 7), (I, 6)], 0, 1, 1, LeastErrors, Some(1), 2),
    ];
    for (k, (states, primary, data, last, dormant, timed_out, expected)) in
        rows.into_iter().enumerate()
    {
        let cfg = FailoverConfig {
            dormant,
            ..FailoverConfig::default()
        };
        let t = table(states, primary, data, last);
        let chosen = data_path(&cfg, &t.view(), timed_out.map(PathId));
        assert_eq!(chosen, PathId(expected), "row {k}");
    }
}

#[test]
fn a_backup_carries_data_only_while_no_other_path_is_active() {
    // states, backups, primary, in use, expected, alternate of the one in use
    type Row<'a> = (&'a [PathState], &'a [u8], u8, u8, u8, Option<u8>);
    let rows: [Row<'_>; 8] = [
        (&[A, A], &[0], 0, 0, 1, Some(1)),
        (&[A, A], &[1], 0, 0, 0, Some(1)),
        (&[A, A], &[0, 1], 0, 1, 0, Some(0)),
        (&[P, A], &[1], 0, 0, 1, Some(1)),
        (&[A, P], &[0], 0, 1, 0, Some(0)),
        // Of two, the one that is no backup, also if it comes later.
        (&[P, A, A], &[1], 0, 0, 2, Some(2)),
        (&[P, A, A], &[1], 0, 1, 2, Some(2)),
        // A backup that is active is better than another path that may have failed.
        (&[I, P, A], &[2], 0, 1, 2, Some(2)),
    ];
    for (states, backups, primary, data, expected, alternate) in rows {
        let states: Vec<_> = states.iter().map(|s| (*s, 0)).collect();
        let mut t = table(&states, primary, data, data);
        for path in backups {
            t.set_backup(PathId(*path), true);
        }
        let chosen = data_path(&FailoverConfig::default(), &t.view(), None);
        let found = (chosen, t.view().alternate(PathId(data)));
        let wanted = (PathId(expected), alternate.map(PathId));
        assert_eq!(found, wanted, "{states:?}, backups {backups:?}");
    }
}

#[test]
fn when_a_failover_becomes_permanent() {
    use PrimarySwitch::{Cpt, CptHeartbeats, Never, Psmr};
    // rule, primary with its errors, heartbeats lost there since the failover,
    // state of the alternate, path in use, expected
    type Row = (
        PrimarySwitch,
        (PathState, u32),
        u32,
        PathState,
        u8,
        Option<u8>,
    );
    let rows: [Row; 16] = [
        (Never, (I, 99), 99, A, 1, None),
        (Cpt(5), (I, 6), 0, A, 1, Some(1)),
        (Cpt(6), (I, 6), 0, A, 1, None),
        // A potentially failed primary may still return, so only a failed one switches.
        (Cpt(0), (P, 1), 0, A, 1, None),
        (Psmr(5), (P, 6), 0, A, 1, Some(1)),
        (Psmr(6), (I, 6), 0, A, 1, None),
        // The primary is still in use: there is no other path to switch to.
        (Cpt(0), (I, 6), 0, A, 0, None),
        (CptHeartbeats(0), (I, 6), 6, A, 0, None),
        // With PMR 0 and CPT 0 the first timeout switches; by the paper's text a
        // heartbeat must be lost.
        (Cpt(0), (I, 1), 0, A, 1, Some(1)),
        (CptHeartbeats(0), (I, 1), 0, A, 1, None),
        (CptHeartbeats(0), (I, 2), 1, A, 1, Some(1)),
        // Data has also left a potentially failed primary (figure 13).
        (CptHeartbeats(1), (P, 3), 2, A, 1, Some(1)),
        (CptHeartbeats(2), (I, 9), 2, A, 1, None),
        // In the dormant state: by CPT yes, as figure 9 shows; by PSMR no.
        (Cpt(5), (I, 6), 0, I, 1, Some(1)),
        (CptHeartbeats(1), (I, 6), 2, I, 1, Some(1)),
        (Psmr(5), (I, 6), 0, I, 1, None),
    ];
    for (k, (primary_switch, primary, lost, alternate, data, expected)) in
        rows.into_iter().enumerate()
    {
        let cfg = FailoverConfig {
            primary_switch,
            ..FailoverConfig::default()
        };
        let mut t = table(&[primary, (alternate, 0)], 0, data, 0);
        let (state, errors) = primary;
        t.get_mut(PathId(0)).set_facts(state, errors, lost);
        assert_eq!(
            switch_primary(&cfg, &t.view()),
            expected.map(PathId),
            "row {k}"
        );
    }
}

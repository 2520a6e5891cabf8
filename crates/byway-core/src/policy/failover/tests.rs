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
        // The primary is back: so is the traffic.
        (&[(A, 0), (A, 0)], 0, 1, 0, Hop, None, 0),
        // An alternate in use stays in use, whatever comes before it.
        (&[(I, 6), (A, 0), (A, 0)], 0, 2, 0, Hop, None, 2),
        // Unconfirmed addresses never carry data.
        (&[(I, 6), (U, 0), (A, 0)], 0, 0, 0, Hop, Some(0), 2),
        // Suspects only: the fewest errors, then the last active.
        (&[(P, 2), (P, 1)], 0, 0, 0, Hop, Some(0), 1),
        (&[(P, 1), (P, 1)], 0, 1, 1, Hop, Some(1), 1),
        // A suspect is better than an inactive path.
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
        // Only a failed primary: a suspect one may still come back.
        (Cpt(0), (P, 1), 0, A, 1, None),
        (Psmr(5), (P, 6), 0, A, 1, Some(1)),
        (Psmr(6), (I, 6), 0, A, 1, None),
        // Still in use: nothing to switch to.
        (Cpt(0), (I, 6), 0, A, 0, None),
        (CptHeartbeats(0), (I, 6), 6, A, 0, None),
        // PMR 0 and CPT 0 switch with the first timeout; by the paper's text it
        // takes a lost heartbeat.
        (Cpt(0), (I, 1), 0, A, 1, Some(1)),
        (CptHeartbeats(0), (I, 1), 0, A, 1, None),
        (CptHeartbeats(0), (I, 2), 1, A, 1, Some(1)),
        // A suspect primary counts as left, too (figure 13).
        (CptHeartbeats(1), (P, 3), 2, A, 1, Some(1)),
        (CptHeartbeats(2), (I, 9), 2, A, 1, None),
        // In the dormant state, as figure 9 draws it; by PSMR not.
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
        t.get_mut(PathId(0)).errors.heartbeats_lost = lost;
        assert_eq!(
            switch_primary(&cfg, &t.view()),
            expected.map(PathId),
            "row {k}"
        );
    }
}

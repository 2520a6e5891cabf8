//! A peer that takes back what it acknowledged by gap blocks (RFC 9260 section 6.2.1, D4).

use crate::common::{A, Pair, Z, plain, probing};
use byway_core::config::{ConcurrentConfig, Config};
use byway_core::{Message, PathId};
use byway_wire::Tsn;

/// TSN 1 to 4 are under way, and nothing arrives. Also the TSN before them.
fn four_under_way(paths: usize, config: &Config) -> (Pair, Tsn) {
    let mut p = Pair::up(paths, config);
    p.lose(|q| q.from == Z || q.text.contains("DATA"));
    for _ in 0..4 {
        p.send(A, Message::new(0, vec![7; 1000]));
    }
    let before = p.reader.tsn(A, 0);
    (p, before)
}

/// The peer's SACK of TSN `cumulative` and of gap blocks, by the first path.
fn sack(p: &mut Pair, before: Tsn, cumulative: u32, gaps: &[(u16, u16)]) {
    let cumulative = Tsn(before.0.wrapping_add(cumulative));
    p.inject(A, 0, |b| b.sack(cumulative, 1 << 20, gaps, &[]));
}

/// TSN 1 is on path 1, TSN 2 and 3 are on path 0. What SACKs give and take on the one path
/// must leave T3-rtx of the other running: data outstanding is retransmitted at last.
#[test]
fn t3_runs_on_every_path_with_data_after_a_reneging_over_two() {
    for (cumulative, gaps) in [
        (1, &[(2, 2)][..]),
        (1, &[]),
        (0, &[(2, 3)]),
        (0, &[(3, 3)]),
        (2, &[]),
    ] {
        let mut p = Pair::up(2, &plain());
        p.lose(|q| q.from == Z || q.text.contains("DATA"));
        for path in [1, 0, 0] {
            let mut m = Message::new(0, vec![7; 1000]);
            m.path = Some(PathId(path));
            p.send(A, m);
        }
        let before = p.reader.tsn(A, 0);
        sack(&mut p, before, 0, &[(2, 2)]);
        sack(&mut p, before, 0, &[]);
        sack(&mut p, before, cumulative, gaps);
        let flight = p.path(A, 0).flight + p.path(A, 1).flight;
        assert_ne!(flight, 0, "something is outstanding");
        p.heal();
        p.take_drawings();
        p.run(5000);
        let sent = p.take_drawings_with(&["DATA"]);
        assert!(!sent.is_empty(), "{cumulative} {gaps:?}: stalled");
    }
}

/// With concurrent multipath transfer SACKs come back on several paths, and a newer one may
/// overtake an older one while the cumulative TSN stands still. The older one must not make
/// chunks outstanding that have arrived.
#[test]
fn a_sack_that_was_overtaken_takes_nothing_back() {
    // Whether spurious losses are undone, and what is in flight then in packets. TSN 1 is
    // missing, TSN 2 to 4 have arrived.
    for (undo, expected) in [(true, 1), (false, 2)] {
        let mut c = plain();
        c.concurrent = Some(ConcurrentConfig::default());
        c.retransmission.undo_spurious = undo;
        let (mut p, before) = four_under_way(2, &c);
        let flight_after = |p: &mut Pair, gaps: &[(u16, u16)]| {
            sack(p, before, 0, gaps);
            (p.path(A, 0).flight + p.path(A, 1).flight).div_ceil(1016)
        };
        assert_eq!(flight_after(&mut p, &[(2, 4)]), 1);
        assert_eq!(flight_after(&mut p, &[(2, 3)]), expected, "{undo}");
    }
}

/// A peer that has really reneged is believed when it acknowledges something else, or
/// when nothing is in flight.
#[test]
fn a_peer_that_reneges_is_believed_in_the_end() {
    let mut c = plain();
    c.concurrent = Some(ConcurrentConfig::default());
    c.retransmission.undo_spurious = true;
    let (mut p, before) = four_under_way(2, &c);
    sack(&mut p, before, 0, &[(2, 4)]);
    // TSN 1 arrives, and 3 is taken back.
    sack(&mut p, before, 2, &[(2, 2)]);
    assert_ne!(p.path(A, 0).flight + p.path(A, 1).flight, 0);
    // All has arrived; then 3 is taken back.
    sack(&mut p, before, 2, &[]);
    p.heal();
    p.take_drawings();
    p.run(5000);
    assert!(!p.take_drawings_with(&["DATA"]).is_empty(), "stalled");
}

/// What it takes back had arrived, so its time says nothing: missing reports and T3-rtx send it again, and loss detection by time
/// does not. One chunk left a thousand times in a second.
#[test]
fn a_peer_that_takes_back_over_and_over_gets_no_flood() {
    let (mut p, before) = four_under_way(1, &probing());
    for _ in 0..250 {
        p.run(2);
        sack(&mut p, before, 0, &[(2, 4)]);
        p.run(2);
        sack(&mut p, before, 0, &[]);
    }
    let drawn = p.take_drawings_with(&["DATA"]);
    for tsn in 1..=4 {
        let of = format!("DATA {tsn} ");
        let sent = drawn.iter().filter(|d| d.contains(&of)).count();
        assert!(
            (1..=8).contains(&sent),
            "TSN {tsn} left {sent} times in a second"
        );
    }
}

/// What it takes back is gone from it. That a retransmission is acknowledged sooner than the least round trip does not show
/// that the timeout was spurious then: the rest leaves as slow start lets it, and not one chunk for each T3-rtx. Its
/// SACKs have no gap blocks, so that nothing else finds the losses.
#[test]
fn a_timeout_after_a_reneging_is_never_spurious() {
    let mut c = probing();
    c.retransmission.undo_spurious = true;
    let (mut p, before) = four_under_way(1, &c);
    // A round trip of 50 ms.
    p.run(50);
    sack(&mut p, before, 0, &[(2, 4)]);
    sack(&mut p, before, 0, &[]);
    p.take_drawings();
    let (mut acked, mut waited) = (0, 0);
    while acked < 4 {
        p.run(1);
        let drawn = p.take_drawings_with(&["DATA"]).concat();
        // All that came in order.
        while drawn.contains(&format!("DATA {} ", acked + 1)) {
            acked += 1;
        }
        if !drawn.is_empty() {
            sack(&mut p, before, acked, &[]);
        }
        waited += 1;
        assert!(waited < 1100, "{acked} of 4 in {waited} ms");
    }
}

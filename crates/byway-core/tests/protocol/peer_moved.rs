//! Own data goes where the peer is heard. A mostly receives, on two paths with a round trip of
//! 20 ms; Z sends on path 0 until it fails.

use crate::common::{A, Fate, Pair, Z, assert_drawn, plain};
use byway_core::config::Config;
use byway_core::policy::{DataMove, ProbeTimeout, Rack, WaitsSince};
use byway_core::{PathId, PathState};

/// The rules of the preset `byway` for a path that falls silent.
pub(crate) fn config() -> Config {
    let mut c = plain();
    c.retransmission.rack = Some(Rack::default());
    c.failover.probe_timeout = Some(ProbeTimeout {
        since: WaitsSince::Sending,
        moves: DataMove::HeartbeatOverdue,
        tail_probe: true,
        ..ProbeTimeout::default()
    });
    c
}

/// Both sides know the round trip, and data of Z has come on path 0.
fn receiving(config: &Config) -> Pair {
    let mut p = Pair::up(2, config);
    for _ in 0..5 {
        p.send_many(A, 500, 1);
        p.send_many(Z, 1000, 4);
        p.run(200);
    }
    for side in [A, Z] {
        p.take_got(side);
        p.take_events(side);
    }
    p.take_drawings();
    p
}

/// Runs until something arrives at A; the time in milliseconds.
fn until_heard(p: &mut Pair) -> u64 {
    for millis in 0..2000 {
        if !p.take_got(A).is_empty() {
            return millis;
        }
        p.run(1);
    }
    panic!("nothing arrives");
}

/// N9: the last bytes of a file come over the other path, and the confirmation of the file
/// leaves there at once. On the dead path it would be lost and wait for a probe timeout.
#[test]
fn a_confirmation_leaves_where_the_last_data_came_from() {
    let mut p = receiving(&config());
    p.cut(&[0]);
    p.send_many(Z, 1000, 1);
    let heard = until_heard(&mut p);
    assert!(heard < 100, "{heard} ms");
    p.take_drawings();
    p.send_many(A, 100, 1);
    p.run(10);
    assert_eq!(p.take_got(Z).len(), 1, "after one way and no more");
    let drawn = p.take_drawings();
    let on_the_dead_path = drawn
        .iter()
        .filter(|d| d.contains("DATA") && d.contains("lost"));
    assert_eq!(on_the_dead_path.count(), 0, "{drawn:?}");
    assert_eq!(p.path_state(A, 0), PathState::PotentiallyFailed);
}

/// What left on the dead path just before leaves again as soon as the peer is heard elsewhere.
#[test]
fn what_left_on_the_dead_path_follows_when_the_peer_is_heard_elsewhere() {
    let mut p = receiving(&config());
    p.cut(&[0]);
    p.send_many(Z, 1000, 1);
    p.run(25);
    p.send_many(A, 100, 1);
    let heard = until_heard(&mut p);
    p.run(10);
    assert_eq!(p.take_got(Z).len(), 1, "{heard} ms and one way");
}

/// The path was only slow to be heard: its answer brings the data back within a round trip.
#[test]
fn a_heartbeat_brings_the_data_back_where_the_path_lives() {
    let mut p = receiving(&config());
    p.lose_once(&["DATA"]);
    p.send_many(Z, 1000, 1);
    until_heard(&mut p);
    p.send_many(A, 100, 1);
    p.run(10);
    assert_eq!(p.take_got(Z).len(), 1);
    p.run(30);
    assert_eq!(p.path_state(A, 0), PathState::Active);
    p.take_drawings();
    p.send_many(A, 100, 1);
    p.run(10);
    let drawn = p.take_drawings_with(&["A -> DATA"]);
    assert_eq!(drawn.len(), 1);
    assert!(!drawn[0].contains("path 1"), "{drawn:?}");
}

/// Nobody is doubted whose peer has its data on another path from the start, or is heard on
/// both.
#[test]
fn a_peer_that_sends_elsewhere_casts_no_doubt_by_itself() {
    let mut p = receiving(&config());
    p.with(Z, |now, e, id| e.set_primary(now, id, PathId(1)))
        .unwrap();
    // A packet of Z is on its way on path 0, too.
    p.with(Z, |now, e, id| e.request_heartbeat(now, id, PathId(0)))
        .unwrap();
    p.run(5);
    p.send_many(Z, 1000, 2);
    p.run(11);
    p.take_drawings();
    p.send_many(A, 100, 1);
    p.run(10);
    let drawn = p.take_drawings_with(&["A -> DATA"]);
    assert!(
        drawn.len() == 1 && !drawn[0].contains("path 1"),
        "{drawn:?}"
    );
    assert_eq!(p.path_state(A, 0), PathState::Active);
    // From now on it sends there and nowhere else: asked once, the path answers, and stays.
    for _ in 0..5 {
        p.send_many(Z, 1000, 2);
        p.run(200);
        p.send_many(A, 100, 1);
        p.run(200);
        assert_eq!(p.path_state(A, 0), PathState::Active);
    }
    let questions = p.take_drawings_with(&["A -> HEARTBEAT -> Z"]);
    assert!(questions.len() <= 1, "{questions:?}");
}

/// Without the probe timeout it is as RFC 9260 says: new data goes to the primary.
#[test]
fn without_the_probe_timeout_new_data_goes_to_the_primary() {
    let mut p = Pair::up(2, &plain());
    p.send_many(Z, 1000, 4);
    p.run(500);
    p.take_got(A);
    p.hand(|q| match (q.from, q.path) {
        (_, 0) => Fate::Lose,
        _ => Fate::Pass,
    });
    p.send_many(Z, 1000, 1);
    until_heard(&mut p);
    p.take_drawings();
    p.send_many(A, 100, 1);
    p.run(10);
    let drawn = p.take_drawings_with(&["A -> DATA"]);
    assert_drawn(&drawn, &["A -> DATA 1 -> lost"]);
}

//! Heartbeats are answered but data is not acknowledged (`failure.dead_data`): black
//! holes of the path MTU and faulty peers.

use crate::common::{A, Pair, Z, assert_drawn, loss, ms, plain};
use byway_core::{Config, Event, Observation, PathId, PathState};

fn with_heartbeats() -> Config {
    let mut c = plain();
    c.hb.enabled = true;
    c
}

fn gave_up(events: &[Event]) -> usize {
    let of = |e: &&Event| matches!(e, Event::PathDeadForData { .. });
    events.iter().filter(of).count()
}

/// Loses packets of more than 1000 bytes on path 0.
fn black_hole(p: &mut Pair) {
    p.lose(|q| q.path == 0 && q.bytes.len() > 1000);
}

#[test]
fn a_black_hole_of_the_mtu_is_left_after_three_timeouts_and_comes_back_by_a_full_packet() {
    let mut p = Pair::up(2, &with_heartbeats());
    p.timed = true;
    black_hole(&mut p);
    for _ in 0..4 {
        p.send_many(A, 1400, 1);
        p.run(1500);
    }
    // Each timeout makes the path potentially failed, and the answer to a heartbeat
    // makes it active again, until the third timeout. Then a heartbeat as large as a
    // packet is lost.
    assert_drawn(
        &p.take_drawings_with(&["A -> "]),
        &[
            "4000 ms A -> DATA 1 -> lost",
            "5000 ms A -> HEARTBEAT -> Z",
            "5000 ms A -> DATA 1 -> Z (path 1)",
            "5500 ms A -> DATA 2 -> lost",
            "6500 ms A -> HEARTBEAT -> Z",
            "6500 ms A -> DATA 2 -> Z (path 1)",
            "7000 ms A -> DATA 3 -> lost",
            "8000 ms A -> HEARTBEAT, PAD -> lost",
            "8000 ms A -> DATA 3 -> Z (path 1)",
            "8500 ms A -> DATA 4 -> Z (path 1)",
        ],
    );
    assert_eq!(gave_up(&p.take_events(A)), 1);
    assert_eq!(p.path_state(A, 0), PathState::Inactive);
    assert!(p.path(A, 0).dead_for_data);
    let full = p.sent.iter().find(|q| q.text == "HEARTBEAT, PAD").unwrap();
    // A packet of 1500 bytes with its IPv4 header.
    assert_eq!(full.bytes.len(), 1480);
    // Small heartbeats would be answered. The large ones continue and are not answered.
    p.run(100_000);
    let tries = p.take_drawings_with(&["A -> HEARTBEAT, PAD -> lost"]);
    assert!(tries.len() >= 2, "{tries:?}");
    assert!(p.path(A, 0).dead_for_data);
    p.heal();
    p.run(60_000);
    assert_eq!(p.path_state(A, 0), PathState::Active);
    assert!(!p.path(A, 0).dead_for_data);
    p.take_drawings();
    p.send_many(A, 1400, 1);
    assert_eq!(p.take_drawings_with(&["DATA 5 -> Z"]).len(), 1);
    assert!(p.path(A, 0).in_use);
}

#[test]
fn without_it_data_goes_back_to_the_black_hole_for_ever() {
    let mut c = with_heartbeats();
    c.failure.dead_data = None;
    let mut p = Pair::up(2, &c);
    black_hole(&mut p);
    for _ in 0..20 {
        p.send_many(A, 1400, 1);
        p.run(1500);
    }
    // Each message costs a timeout: no first transmission arrives.
    assert_eq!(p.take_drawings_with(&["-> lost"]).len(), 20);
    assert_eq!(gave_up(&p.take_events(A)), 0);
    assert_eq!(p.path_state(A, 0), PathState::Active);
}

#[test]
fn small_messages_that_pass_do_not_hide_that_large_ones_do_not() {
    // Without heartbeats the acknowledged small chunks show that the path is alive.
    let mut p = Pair::up(2, &plain());
    black_hole(&mut p);
    for _ in 0..3 {
        p.send_many(A, 1400, 1);
        p.run(1300);
        p.send_many(A, 50, 2);
        p.run(1000);
        p.with(A, |now, e, id| e.request_heartbeat(now, id, PathId(0)))
            .unwrap();
        p.run(100);
    }
    assert!(p.path(A, 0).dead_for_data);
    let noticed = |o: &Observation| *o == Observation::DeadForData { path: PathId(0) };
    assert!(p.take_observed(A).iter().any(noticed));
}

#[test]
fn misfortune_is_undone_at_once_by_the_full_heartbeat() {
    let mut p = Pair::up(2, &with_heartbeats());
    p.lose(|q| q.path == 0 && q.text.starts_with("DATA"));
    for _ in 0..3 {
        p.send_many(A, 1400, 1);
        p.run(1500);
    }
    assert_eq!(gave_up(&p.take_events(A)), 1);
    assert_eq!(p.path_state(A, 0), PathState::Active);
    assert!(!p.path(A, 0).dead_for_data);
}

#[test]
fn attack_message_that_silences_the_peers_sender_is_noticed_and_ends_the_association() {
    // Row 40: the peer answers heartbeats on both paths and never sends a SACK.
    let mut p = Pair::up(2, &with_heartbeats());
    p.lose(|q| q.from == Z && q.text.contains("SACK"));
    p.send_many(A, 1400, 3);
    let start = p.now;
    while p.state(A) != "CLOSED" {
        p.run(1000);
        assert!(p.now.since(start).as_secs() <= 120 + 60, "no end");
    }
    assert!(p.now.since(start).as_secs() >= 120, "too hasty");
    let events = p.take_events(A);
    assert!(gave_up(&events) >= 2);
    assert_eq!(
        loss(&events),
        "the peer answers heartbeats but acknowledges no data on any path (a black hole for \
         large packets, or a half-dead peer)"
    );
    // The peer receives an ABORT.
    p.run(100);
    assert_eq!(p.state(Z), "CLOSED");
}

/// Each timeout is followed by an answer of full size, which clears the path, not the peer.
#[test]
fn full_sized_answers_do_not_hide_that_no_data_is_acknowledged() {
    let mut c = with_heartbeats();
    c.hb.interval = ms(100);
    if let Some(rule) = &mut c.failure.dead_data {
        rule.timeouts = 1;
    }
    let mut p = Pair::up(1, &c);
    p.lose(|q| q.from == Z && q.text.contains("SACK"));
    p.send_many(A, 1400, 3);
    let start = p.now;
    while p.state(A) != "CLOSED" {
        p.run(1000);
        assert!(p.now.since(start).as_secs() <= 120 + 60, "no end");
    }
    assert!(loss(&p.take_events(A)).contains("acknowledges no data on any path"));
}

#[test]
fn a_black_hole_on_every_path_ends_the_association_and_says_so() {
    let mut p = Pair::up(2, &with_heartbeats());
    p.lose(|q| q.bytes.len() > 1000);
    p.send_many(A, 1400, 1);
    let start = p.now;
    while p.state(A) != "CLOSED" {
        p.run(1000);
        assert!(p.now.since(start).as_secs() <= 600, "no end");
    }
    assert!(loss(&p.take_events(A)).contains("acknowledges no data on any path"));
}

#[test]
fn a_peer_that_reads_nothing_is_not_half_dead() {
    let mut c = with_heartbeats();
    c.buffer.receive = 4000;
    let mut p = Pair::up(2, &c);
    p.reading = [true, false];
    p.send_many(A, 1400, 8);
    p.run(3_600_000);
    assert_eq!(p.state(A), "ESTABLISHED");
    assert_eq!(gave_up(&p.take_events(A)), 0);
}

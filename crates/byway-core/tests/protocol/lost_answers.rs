//! What is lost at the beginning and at the end of an association costs no second where probe timeouts with
//! tail probes are on (`assoc/answer.rs`). A round trip takes 20 ms here.

use crate::common::{A, Fate, Pair, Z, assert_drawn, endpoint, probing};
use byway_core::Event;
use byway_core::config::Config;
use byway_core::policy::ProbeTimeout;

/// A begins an association, and these packets are lost, each once.
fn set_up(c: &Config, lost: &[&str]) -> Pair {
    let mut p = Pair::of([endpoint(1, A, 1, c), endpoint(1, Z, 2, c)], 1);
    p.timed = true;
    p.lose_once(lost);
    p.connect(A, c);
    p
}

/// The answer to INIT has measured the round trip.
#[test]
fn a_lost_cookie_echo_costs_a_few_round_trips() {
    let mut p = set_up(&probing(), &["COOKIE ECHO"]);
    p.run(3000);
    assert_drawn(
        &p.take_drawings(),
        &[
            "0 ms A -> INIT -> Z",
            "10 ms Z -> INIT ACK -> A",
            "20 ms A -> COOKIE ECHO -> lost",
            "80 ms A -> COOKIE ECHO -> Z",
            "90 ms Z -> COOKIE ACK -> A",
        ],
    );
}

/// It leaves once more, and then T1-cookie counts from the first one.
#[test]
fn cookie_echo_leaves_once_more_before_t1_expires() {
    let mut p = set_up(&probing(), &["COOKIE ECHO"; 3]);
    p.run(3000);
    assert_drawn(
        &p.take_drawings_with(&["COOKIE ECHO"]),
        &[
            "20 ms A -> COOKIE ECHO -> lost",
            "80 ms A -> COOKIE ECHO -> lost",
            "1020 ms A -> COOKIE ECHO -> lost",
        ],
    );
}

/// Over a round trip of 400 ms T1-cookie expires before its answer is overdue by that. Then it alone counts.
#[test]
fn where_t1_is_sooner_nothing_leaves_beside_it() {
    let c = probing();
    let mut p = Pair::of([endpoint(1, A, 1, &c), endpoint(1, Z, 2, &c)], 1);
    p.timed = true;
    p.delay_ms = [200; 4];
    p.lose_once(&["COOKIE ECHO"; 2]);
    p.connect(A, &c);
    p.run(6000);
    assert_drawn(
        &p.take_drawings_with(&["COOKIE ECHO"]),
        &[
            "400 ms A -> COOKIE ECHO -> lost",
            "1400 ms A -> COOKIE ECHO -> lost",
            "3400 ms A -> COOKIE ECHO -> Z",
        ],
    );
}

/// An INIT that left twice measures nothing: its answer may be that to either.
#[test]
fn after_a_lost_init_cookie_echo_waits_for_t1() {
    let mut p = set_up(&probing(), &["INIT", "COOKIE ECHO"]);
    p.run(4000);
    assert_drawn(
        &p.take_drawings_with(&["COOKIE ECHO"]),
        &[
            "1020 ms A -> COOKIE ECHO -> lost",
            "2020 ms A -> COOKIE ECHO -> Z",
        ],
    );
}

/// A late answer is no harm: the peer answers the second COOKIE ECHO, too.
#[test]
fn a_cookie_ack_that_comes_late_is_no_harm() {
    let mut p = set_up(&probing(), &[]);
    p.hand(|p| match p.text.as_str() {
        "COOKIE ACK" => Fate::Late(100),
        _ => Fate::Pass,
    });
    p.run(3000);
    assert_eq!(p.take_drawings_with(&["COOKIE ECHO"]).len(), 2);
    assert_eq!((p.state(A), p.state(Z)), ("ESTABLISHED", "ESTABLISHED"));
    p.assert_carries_data();
}

/// An association whose round trips are known in both directions, at 5 s.
fn measured(c: &Config) -> Pair {
    let mut p = Pair::up(1, c);
    for _ in 0..10 {
        p.send_many(A, 40, 1);
        p.send_many(Z, 40, 1);
        p.run(100);
    }
    p.take_drawings();
    p.timed = true;
    p
}

#[test]
fn a_lost_packet_of_the_shutdown_costs_a_round_trip_and_a_margin() {
    for (lost, expected) in [
        (
            "SHUTDOWN 10",
            [
                "5000 ms A -> SHUTDOWN 10 -> lost",
                "5025 ms A -> SHUTDOWN 10 -> Z",
                "5035 ms Z -> SHUTDOWN ACK -> A",
                "5045 ms A -> SHUTDOWN COMPLETE -> Z",
            ]
            .as_slice(),
        ),
        (
            "SHUTDOWN ACK",
            &[
                "5000 ms A -> SHUTDOWN 10 -> Z",
                "5010 ms Z -> SHUTDOWN ACK -> lost",
                "5025 ms A -> SHUTDOWN 10 -> Z",
                "5035 ms Z -> SHUTDOWN ACK -> A",
                "5035 ms Z -> SHUTDOWN ACK -> A",
                "5045 ms A -> SHUTDOWN COMPLETE -> Z",
                "5045 ms A -> SHUTDOWN COMPLETE (T) -> Z",
            ],
        ),
        (
            "SHUTDOWN COMPLETE",
            &[
                "5000 ms A -> SHUTDOWN 10 -> Z",
                "5010 ms Z -> SHUTDOWN ACK -> A",
                "5020 ms A -> SHUTDOWN COMPLETE -> lost",
                "5035 ms Z -> SHUTDOWN ACK -> A",
                "5045 ms A -> SHUTDOWN COMPLETE (T) -> Z",
            ],
        ),
    ] {
        let mut p = measured(&probing());
        p.lose_once(&[lost]);
        p.shutdown(A);
        p.run(900);
        assert_drawn(&p.take_drawings(), expected);
        for side in [A, Z] {
            assert_eq!(p.take_events(side).last(), Some(&Event::ShutdownComplete));
        }
    }
}

/// One SHUTDOWN more, and then T2-shutdown and its back-off as ever.
#[test]
fn shutdown_leaves_once_more_before_t2_expires() {
    let mut p = measured(&probing());
    p.lose(|p| p.text.starts_with("SHUTDOWN"));
    p.shutdown(A);
    p.run(4000);
    assert_drawn(
        &p.take_drawings(),
        &[
            "5000 ms A -> SHUTDOWN 10 -> lost",
            "5025 ms A -> SHUTDOWN 10 -> lost",
            "6000 ms A -> SHUTDOWN 10 -> lost",
            "8000 ms A -> SHUTDOWN 10 -> lost",
        ],
    );
}

#[test]
fn without_tail_probes_nothing_leaves_before_its_timer_expires() {
    let mut c = probing();
    c.failover.probe_timeout = Some(ProbeTimeout::default());
    let mut p = set_up(&c, &["COOKIE ECHO"]);
    p.run(500);
    assert_eq!(p.take_drawings_with(&["COOKIE ECHO"]).len(), 1);
    let mut p = measured(&c);
    p.lose_once(&["SHUTDOWN"]);
    p.shutdown(A);
    p.run(500);
    assert_eq!(p.take_drawings_with(&["SHUTDOWN"]).len(), 1);
}

/// The first chunk leaves before any round trip is known. When the heartbeat of the establishment has measured
/// one, its acknowledgement is waited for.
#[test]
fn a_first_chunk_that_is_lost_before_a_round_trip_is_known_costs_a_few() {
    let mut c = probing();
    c.hb.enabled = true;
    c.hb.at_establishment = true;
    let mut p = set_up(&c, &["DATA 1"]);
    p.send_many(A, 40, 1);
    p.run(500);
    assert_drawn(
        &p.take_drawings_with(&["DATA"]),
        &["40 ms A -> DATA 1 I -> lost", "120 ms A -> DATA 1 I -> Z"],
    );
    assert_eq!(p.take_got(Z), [(0, 40)]);
}

/// Younger chunks are acknowledged, and one that was lost twice is all that is in flight. It fills a gap or is in order;
/// in order, the peer would wait for another packet, for 200 ms.
#[test]
fn a_retransmission_that_nothing_follows_asks_for_its_sack() {
    let mut p = measured(&probing());
    p.lose_once(&["DATA 12", "DATA 12"]);
    p.send_many(A, 1400, 3);
    for _ in 0..4 {
        p.run(5);
        p.send_many(A, 1400, 1);
    }
    p.run(500);
    assert_drawn(
        &p.take_drawings_with(&["DATA 12"]),
        &[
            "5000 ms A -> DATA 12 -> lost",
            "5025 ms A -> DATA 12 I -> lost",
            "5065 ms A -> DATA 12 I -> Z",
        ],
    );
}

//! Loss detection by time and tail probes (`policy/rack.rs`; RFC 8985). A round trip
//! takes 20 ms here, and the least reordering window is 5 ms.

use crate::common::{A, Pair, Z, assert_drawn, probing};
use byway_core::config::{Config, InitialCwnd};
use byway_core::policy::WaitsSince;

fn timed() -> Config {
    let mut c = probing();
    c.congestion.max_burst = None;
    c.congestion.initial_cwnd = InitialCwnd::Pmdcs(20);
    c.congestion.idle_decay = false;
    c
}

/// An association on one path whose round trips are known, at 5 s. Ten chunks were sent.
fn measured(c: &Config) -> Pair {
    let mut p = Pair::up(1, c);
    for _ in 0..10 {
        p.send_many(A, 40, 1);
        p.run(100);
    }
    p.take_drawings();
    p.take_got(Z);
    p.timed = true;
    p
}

#[test]
fn a_lost_retransmission_costs_a_round_trip_and_no_timeout() {
    let mut p = measured(&timed());
    p.lose_once(&["DATA 11", "DATA 11"]);
    for _ in 0..40 {
        p.send_many(A, 1400, 1);
        p.run(5);
    }
    p.run(200);
    assert_eq!(p.path(A, 0).timeouts, 0);
    assert_eq!(p.take_got(Z).len(), 40);
    // The same without: T3-rtx expires after a second.
    let mut c = timed();
    c.retransmission.rack = None;
    c.failover.probe_timeout = None;
    let mut p = measured(&c);
    p.lose_once(&["DATA 11", "DATA 11"]);
    for _ in 0..40 {
        p.send_many(A, 1400, 1);
        p.run(5);
    }
    p.run(200);
    assert_eq!(p.take_got(Z).len(), 0);
}

#[test]
fn a_lost_tail_is_repeated_after_a_round_trip_and_a_margin() {
    let mut p = measured(&timed());
    p.lose_once(&["DATA 11", "DATA 12", "DATA 13"]);
    p.send_many(A, 1400, 3);
    p.run(200);
    assert_drawn(
        &p.take_drawings(),
        &[
            "5000 ms A -> DATA 11 I -> lost",
            "5000 ms A -> DATA 12 -> lost",
            "5000 ms A -> DATA 13 I -> lost",
            // The tail probe: its answer shows that the others are overdue.
            "5025 ms A -> DATA 11 I -> Z",
            "5035 ms Z -> SACK 11 -> A",
            // Alone in flight, as 11 was.
            "5045 ms A -> DATA 12 I -> Z",
            "5045 ms A -> DATA 13 I -> Z",
            "5055 ms Z -> SACK 12 -> A",
            "5055 ms Z -> SACK 13 -> A",
        ],
    );
    // The loss was congestion: the window fell.
    assert!(p.path(A, 0).cwnd < 20 * 1468);
}

#[test]
fn a_tail_probe_that_arrives_twice_reduces_no_window() {
    let mut p = measured(&timed());
    let before = p.path(A, 0).cwnd;
    // The answer is late, the data is not lost.
    p.lose_once(&["SACK 11"]);
    p.send_many(A, 1400, 1);
    p.run(200);
    assert_drawn(
        &p.take_drawings(),
        &[
            "5000 ms A -> DATA 11 I -> Z",
            "5010 ms Z -> SACK 11 -> lost",
            "5025 ms A -> DATA 11 I -> Z",
            "5035 ms Z -> SACK 11 twice 11 -> A",
        ],
    );
    assert!(p.path(A, 0).cwnd >= before);
}

#[test]
fn tail_probes_back_off_until_t3_expires() {
    let mut p = measured(&timed());
    p.cut(&[0]);
    p.send_many(A, 1400, 1);
    p.run(1200);
    let drawn = p.take_drawings_with(&["DATA"]);
    let at: Vec<&str> = drawn.iter().filter_map(|d| d.split(' ').next()).collect();
    assert_eq!(at, ["5000", "5025", "5075", "5175", "5375", "5775"]);
}

/// As the preset `byway` has it: what leaves says when its answer is due.
fn since_sending() -> Config {
    let mut c = timed();
    let rule = c.failover.probe_timeout.as_mut().unwrap();
    rule.since = WaitsSince::Sending;
    c
}

/// A peer reported on the path that had died until it had verified this one, and so answered none of six probes that left
/// within 60 ms. The next packet was that of T3-rtx.
#[test]
fn tail_probes_back_off_whatever_else_is_in_flight() {
    let mut p = measured(&since_sending());
    p.cut(&[0]);
    p.send_many(A, 1400, 4);
    p.run(1200);
    let drawn = p.take_drawings_with(&["DATA 11"]);
    let at: Vec<&str> = drawn.iter().filter_map(|d| d.split(' ').next()).collect();
    assert_eq!(at, ["5000", "5025", "5075", "5175", "5375", "5775"]);
}

#[test]
fn the_peers_data_asks_for_a_tail_probe_a_few_times() {
    let mut p = measured(&since_sending());
    p.lose(|q| q.from == Z && q.text.contains("SACK"));
    p.send_many(A, 1400, 4);
    p.run(400);
    p.take_drawings();
    // Z is heard again. The wait for its answer is 25 ms, then 50 and 100; the probe that needs no reason leaves at 5775 ms.
    for _ in 0..35 {
        p.send_many(Z, 40, 1);
        p.run(10);
    }
    let mut drawn = p.take_drawings_with(&["DATA 11"]);
    drawn.retain(|d| d.contains("A ->"));
    let at: Vec<&str> = drawn.iter().filter_map(|d| d.split(' ').next()).collect();
    assert_eq!(at, ["5410", "5460", "5560"]);
    // The same with SACKs that arrive.
    p.heal();
    p.run(2000);
    assert_eq!(p.path(A, 0).flight, 0);
}

#[test]
fn reordering_within_the_window_is_no_loss() {
    let mut p = measured(&timed());
    let mut first = true;
    p.hand(move |q| {
        let late = first && q.text.starts_with("DATA 11");
        first &= !late;
        if late {
            crate::common::Fate::Late(4)
        } else {
            crate::common::Fate::Pass
        }
    });
    p.send_many(A, 1400, 2);
    p.run(100);
    assert_eq!(p.take_drawings_with(&["A -> DATA"]).len(), 2);
}

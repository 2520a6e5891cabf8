//! Failover by the papers' rules, packet by packet (caro-2006; RFC 7829).

use crate::common::{A, Pair, assert_drawn, plain};
use byway_core::config::{Config, Dormant, FailedProbes, PrimarySwitch};
use byway_core::{Event, PathState};

/// caro-2006's sender: PMR 0 without a suspect state, and a path that fails is
/// probed at once and once per RTO.
fn pmr_0() -> Config {
    let mut c = plain();
    c.failover.potentially_failed = None;
    c.failover.dormant = Dormant::Hop;
    c.failure.path_max_retrans = 0;
    c.hb.enabled = true;
    c.hb.failed = FailedProbes::OncePerRto;
    c
}

fn primaries(events: &[Event]) -> Vec<u8> {
    let of = |e: &Event| match e {
        Event::PrimaryChanged { to, .. } => Some(to.0),
        _ => None,
    };
    events.iter().filter_map(of).collect()
}

#[test]
fn counted_as_ns2_does_cpt_0_makes_the_first_timeout_permanent() {
    let mut c = pmr_0();
    c.failover.primary_switch = PrimarySwitch::Cpt(0);
    let mut p = Pair::up(2, &c);
    p.timed = true;
    p.lose_once(&["DATA 1"]);
    p.send_many(A, 10, 1);
    p.run(2000);
    assert_drawn(
        &p.take_drawings_with(&["DATA", "A -> HEARTBEAT -> "]),
        &[
            "4000 ms A -> DATA 1 -> lost",
            "5000 ms A -> HEARTBEAT -> Z",
            "5000 ms A -> DATA 1 -> Z (path 1)",
        ],
    );
    // The heartbeat was answered, but there is no going back.
    assert_eq!(p.path_state(A, 0), PathState::Active);
    assert_eq!(primaries(&p.take_events(A)), [1]);
    p.send_many(A, 10, 1);
    assert_drawn(
        &p.take_drawings_with(&["DATA"]),
        &["6000 ms A -> DATA 2 -> Z (path 1)"],
    );
}

#[test]
fn counted_as_the_text_says_cpt_0_takes_one_heartbeat_lost_after_the_failover() {
    let mut c = pmr_0();
    c.failover.primary_switch = PrimarySwitch::CptHeartbeats(0);
    let mut p = Pair::up(2, &c);
    p.timed = true;
    // The first failover is undone by the heartbeat that is answered.
    p.lose_once(&["DATA 1"]);
    p.send_many(A, 10, 1);
    p.run(1500);
    assert_drawn(
        &p.take_drawings_with(&["DATA", "A -> HEARTBEAT -> "]),
        &[
            "4000 ms A -> DATA 1 -> lost",
            "5000 ms A -> HEARTBEAT -> Z",
            "5000 ms A -> DATA 1 -> Z (path 1)",
        ],
    );
    assert!(p.path(A, 0).primary && p.path(A, 0).in_use);
    // The heartbeat after the second failover is lost, too.
    p.lose_once(&["DATA 2", "HEARTBEAT"]);
    p.send_many(A, 10, 1);
    p.run(2900);
    assert!(p.path(A, 0).primary, "one timeout is not enough");
    p.run(600);
    assert_drawn(
        &p.take_drawings_with(&["DATA", "A -> HEARTBEAT -> "]),
        &[
            "5500 ms A -> DATA 2 -> lost",
            "6500 ms A -> HEARTBEAT -> lost",
            "6500 ms A -> DATA 2 -> Z (path 1)",
            "8500 ms A -> HEARTBEAT -> Z",
        ],
    );
    // The primary is back, and is it no longer.
    assert_eq!(p.path_state(A, 0), PathState::Active);
    assert_eq!(primaries(&p.take_events(A)), [1]);
    p.send_many(A, 10, 1);
    assert_drawn(
        &p.take_drawings_with(&["DATA"]),
        &["9000 ms A -> DATA 3 -> Z (path 1)"],
    );
}

#[test]
fn heartbeats_lost_before_the_failover_do_not_count_by_the_text() {
    // PMR 2: two heartbeats are lost while the primary is active still.
    let lost = |switch| {
        let mut c = pmr_0();
        c.failure.path_max_retrans = 2;
        c.hb.interval = byway_core::time::Duration::from_secs(1);
        c.failover.primary_switch = switch;
        let mut p = Pair::up(2, &c);
        p.cut(&[0]);
        // No data: heartbeats alone.
        for _ in 0..10_000 {
            p.run(100);
            if p.path(A, 1).primary {
                break;
            }
        }
        assert_eq!(p.path_state(A, 0), PathState::Inactive);
        p.path(A, 0).error_count
    };
    assert_eq!(lost(PrimarySwitch::Cpt(3)), 4);
    assert_eq!(lost(PrimarySwitch::CptHeartbeats(3)), 3 + 4);
}

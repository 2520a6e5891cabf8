//! Failover by the papers' rules, packet by packet (caro-2006; RFC 7829).

use crate::common::{A, Pair, Z, assert_drawn, plain};
use byway_core::config::{
    Config, Custom, Dormant, FailedProbes, HbJitter, InitialCwnd, PrimarySwitch,
};
use byway_core::policy::probing::{Detection, Probing, ProbingStop};
use byway_core::time::Duration;
use byway_core::{Event, PathId, PathState};

/// The sender of caro-2006: PMR 0 without the potentially failed state; a failed path
/// is probed at once and once per RTO.
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
fn counted_as_the_paper_simulates_cpt_0_makes_the_first_timeout_permanent() {
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
    // The heartbeat was answered, but the failover is permanent.
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
    // The answer to the heartbeat ends the first failover.
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
    // The heartbeat after the second failover is lost as well.
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
    // The old primary is active again, but it is no longer the primary.
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
    // PMR 2: two heartbeats are lost while the primary is still active.
    let lost = |switch| {
        let mut c = pmr_0();
        c.failure.path_max_retrans = 2;
        c.hb.interval = Duration::from_secs(1);
        c.failover.primary_switch = switch;
        let mut p = Pair::up(2, &c);
        p.cut(&[0]);
        // No data: only heartbeats.
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

/// A scenario of caro-2006 figure 8. TSN 1 is lost on the primary. After its timeout the
/// first packet to the primary, the first one to the alternate, or both are lost. Both
/// round trips take 90 ms, as in the paper.
fn figure_8(pmr: u32, primary_lost: bool, alternate_lost: bool, edit: fn(&mut Config)) -> Pair {
    let mut c = Config::caro2006();
    c.hb.jitter = HbJitter::Off;
    c.failure.path_max_retrans = pmr;
    // The figure begins with windows of one packet and an RTO of one second, and new
    // data may leave at a timeout.
    c.congestion.initial_cwnd = InitialCwnd::Pmdcs(1);
    c.retransmission.new_data_at_rto = true;
    c.rto.initial = c.rto.min;
    edit(&mut c);
    let mut p = Pair::up(2, &c);
    p.delay_ms = [45; 4];
    p.timed = true;
    let mut first = true;
    let mut lost = [primary_lost, alternate_lost];
    p.lose(move |q| {
        q.from == A && (core::mem::take(&mut first) || core::mem::take(&mut lost[q.path]))
    });
    p
}

/// The packets that A and Z send in this number of milliseconds when A always has data.
fn drawn(mut p: Pair, millis: u64) -> Vec<String> {
    p.send_many(A, 1452, 40);
    p.run(millis);
    p.take_drawings()
}

fn as_it_is(_: &mut Config) {}

/// The sender of the figure retransmits TSN 1 only at timeouts.
fn no_fast_retransmits(c: &mut Config) {
    c.congestion.fast_retransmit_threshold = u8::MAX;
}

#[test]
fn figure_8_scenario_1_nothing_more_is_lost() {
    // PMR 0: the heartbeat is answered first, and TSN 2 goes to the primary.
    assert_drawn(
        &drawn(figure_8(0, false, false, as_it_is), 1200),
        &[
            "4000 ms A -> DATA 1 -> lost",
            "5000 ms A -> HEARTBEAT -> Z",
            "5000 ms A -> DATA 1 -> Z (path 1)",
            "5045 ms Z -> HEARTBEAT ACK -> A",
            "5090 ms A -> DATA 2 -> Z",
            "5135 ms Z -> SACK 2 -> A",
            "5180 ms A -> DATA 3 -> Z",
            "5180 ms A -> DATA 4 -> Z",
        ],
    );
    // PMR 1: TSN 2 leaves at the timeout, so this run is one packet ahead.
    assert_drawn(
        &drawn(figure_8(1, false, false, as_it_is), 1150),
        &[
            "4000 ms A -> DATA 1 -> lost",
            "5000 ms A -> DATA 1 -> Z (path 1)",
            "5000 ms A -> DATA 2 -> Z",
            "5045 ms Z -> SACK 2 -> A",
            "5090 ms A -> DATA 3 -> Z",
            "5090 ms A -> DATA 4 -> Z",
            "5135 ms Z -> SACK 4 -> A",
        ],
    );
}

#[test]
fn figure_8_scenario_2_the_first_to_the_alternate_is_lost() {
    let [pmr_0, pmr_1] = [0, 1].map(|pmr| {
        let drawn = drawn(figure_8(pmr, false, true, no_fast_retransmits), 2200);
        assert!(
            drawn.iter().any(|d| d == "6000 ms A -> DATA 1 -> Z"),
            "{drawn:?}"
        );
        drawn
    });
    // One packet per round trip goes to the primary, until TSN 1 times out again.
    assert_drawn(
        &pmr_0[..8],
        &[
            "4000 ms A -> DATA 1 -> lost",
            "5000 ms A -> HEARTBEAT -> Z",
            "5000 ms A -> DATA 1 -> lost (path 1)",
            "5045 ms Z -> HEARTBEAT ACK -> A",
            "5090 ms A -> DATA 2 -> Z",
            "5135 ms Z -> SACK 0 [2-2] -> A",
            "5180 ms A -> DATA 3 -> Z",
            "5225 ms Z -> SACK 0 [2-3] -> A",
        ],
    );
    assert_drawn(
        &pmr_1[..7],
        &[
            "4000 ms A -> DATA 1 -> lost",
            "5000 ms A -> DATA 1 -> lost (path 1)",
            "5000 ms A -> DATA 2 -> Z",
            "5045 ms Z -> SACK 0 [2-2] -> A",
            "5090 ms A -> DATA 3 -> Z",
            "5135 ms Z -> SACK 0 [2-3] -> A",
            "5180 ms A -> DATA 4 -> Z",
        ],
    );
}

#[test]
fn figure_8_scenario_2_ends_with_the_fourth_missing_report() {
    // In the paper TSN 1 waits for its second timeout, at 6000 ms. But each packet to
    // the primary reports it missing, and four reports take 360 ms. So with the fast
    // retransmits of RFC 2960, or the paper's Multiple Fast Retransmit, TSN 1 leaves
    // earlier.
    let drawn = drawn(figure_8(0, false, true, as_it_is), 1600);
    let again: Vec<&String> = drawn.iter().filter(|d| d.contains("DATA 1 ")).collect();
    assert_eq!(
        again,
        [
            "4000 ms A -> DATA 1 -> lost",
            "5000 ms A -> DATA 1 -> lost (path 1)",
            "5450 ms A -> DATA 1 -> Z (path 1)",
        ]
    );
}

#[test]
fn figure_8_scenario_3_the_first_to_the_primary_is_lost() {
    // PMR 0: data goes to the alternate until the second heartbeat, sent after an RTO of
    // 2 s, is answered.
    let pmr_0 = drawn(figure_8(0, true, false, as_it_is), 3200);
    assert_drawn(
        &pmr_0[..8],
        &[
            "4000 ms A -> DATA 1 -> lost",
            "5000 ms A -> HEARTBEAT -> lost",
            "5000 ms A -> DATA 1 -> Z (path 1)",
            "5245 ms Z -> SACK 1 -> A (path 1)",
            "5290 ms A -> DATA 2 -> Z (path 1)",
            "5290 ms A -> DATA 3 -> Z (path 1)",
            "5335 ms Z -> SACK 3 -> A (path 1)",
            "5380 ms A -> DATA 4 -> Z (path 1)",
        ],
    );
    let beats: Vec<&String> = pmr_0.iter().filter(|d| d.contains("HEARTBEAT")).collect();
    assert_eq!(
        beats[1..],
        [
            "7000 ms A -> HEARTBEAT -> Z",
            "7045 ms Z -> HEARTBEAT ACK -> A"
        ]
    );
    // PMR 1: nothing leaves until TSN 2 times out. Then data goes to the alternate.
    assert_drawn(
        &drawn(figure_8(1, true, false, as_it_is), 3100),
        &[
            "4000 ms A -> DATA 1 -> lost",
            "5000 ms A -> DATA 1 -> Z (path 1)",
            "5000 ms A -> DATA 2 -> lost",
            "5245 ms Z -> SACK 1 -> A (path 1)",
            "7000 ms A -> HEARTBEAT -> Z",
            "7000 ms A -> DATA 2 -> Z (path 1)",
            "7000 ms A -> DATA 3 -> Z (path 1)",
            "7045 ms Z -> HEARTBEAT ACK -> A",
            "7045 ms Z -> SACK 3 -> A (path 1)",
            "7090 ms A -> DATA 4 -> Z",
        ],
    );
}

#[test]
fn figure_8_scenario_4_both_are_lost() {
    // PMR 0: TSN 1 times out on the alternate and goes to the primary, where its
    // acknowledgement ends the failover. The paper's sender sends heartbeats only to the
    // primary.
    let mut p = figure_8(0, true, true, as_it_is);
    p.with(A, |now, e, id| {
        e.enable_heartbeat(now, id, PathId(1), false)
    })
    .unwrap();
    let pmr_0 = drawn(p, 2500);
    assert_drawn(
        &pmr_0[..8],
        &[
            "4000 ms A -> DATA 1 -> lost",
            "5000 ms A -> HEARTBEAT -> lost",
            "5000 ms A -> DATA 1 -> lost (path 1)",
            "6000 ms A -> DATA 1 -> Z",
            "6245 ms Z -> SACK 1 -> A",
            "6290 ms A -> DATA 2 -> Z",
            "6290 ms A -> DATA 3 -> Z",
            "6335 ms Z -> SACK 3 -> A",
        ],
    );
    // PMR 1: the paper says that nothing new leaves until TSN 2 times out. But when TSN 1
    // is acknowledged, two packets are in flight with a window of one. So the window
    // grows, and one packet leaves per round trip (RFC 2960 section 7.2.1).
    let pmr_1 = drawn(figure_8(1, true, true, no_fast_retransmits), 3100);
    assert_drawn(
        &pmr_1[..8],
        &[
            "4000 ms A -> DATA 1 -> lost",
            "5000 ms A -> DATA 1 -> lost (path 1)",
            "5000 ms A -> DATA 2 -> lost",
            "6000 ms A -> DATA 1 -> Z",
            "6245 ms Z -> SACK 1 -> A",
            "6290 ms A -> DATA 3 -> Z",
            "6335 ms Z -> SACK 1 [3-3] -> A",
            "6380 ms A -> DATA 4 -> Z",
        ],
    );
}

#[test]
fn a_failed_alternate_that_is_asked_answers_before_a_delayed_sack() {
    // Scenario 4 with PMR 0, and every failed destination is probed, as in the paper's
    // simulator. The alternate has also failed, and its answer arrives before the SACK of
    // TSN 1. So the transfer continues there, and not on the primary.
    let drawn = drawn(figure_8(0, true, true, as_it_is), 2200);
    assert_drawn(
        &drawn[3..8],
        &[
            "6000 ms A -> HEARTBEAT -> Z (path 1)",
            "6000 ms A -> DATA 1 -> Z",
            "6045 ms Z -> HEARTBEAT ACK -> A (path 1)",
            "6090 ms A -> DATA 2 -> Z (path 1)",
            "6135 ms Z -> SACK 2 -> A (path 1)",
        ],
    );
}

#[test]
fn a_failover_is_spurious_when_the_path_answers_at_once() {
    let counts = |p: &mut Pair| {
        let s = p.with(A, |_, e, id| e.stats(id)).unwrap();
        (s.failovers, s.failovers_away, s.spurious_failovers)
    };
    // A -> DATA 1 -> lost; A -> HEARTBEAT -> Z: the path was alive.
    let mut p = Pair::up(2, &pmr_0());
    p.lose_once(&["DATA 1"]);
    p.send_many(A, 10, 1);
    p.run(1500);
    assert_eq!(counts(&mut p), (2, 1, 1));
    // Its heartbeat is also lost, so it may be a failure.
    p.lose_once(&["DATA 2", "HEARTBEAT"]);
    p.send_many(A, 10, 1);
    p.run(9000);
    assert_eq!(p.path_state(A, 0), PathState::Active);
    assert_eq!(counts(&mut p), (4, 2, 1));
    // Hops between two dead paths are not spurious failovers either.
    p.cut(&[0, 1]);
    p.send_many(A, 10, 1);
    p.run(8000);
    assert_eq!(counts(&mut p).1, 3);
}

/// cortes-2008 with Dmax 4 s and four heartbeats, on a primary that dies.
fn probing(stop: ProbingStop, beside_pmr: bool) -> (Vec<String>, u64) {
    let mut c = pmr_0();
    c.failure.path_max_retrans = 1;
    c.failure.detection = Detection::Probing(Probing {
        dmax: Duration::from_secs(4),
        n: 4,
        stop,
        beside_pmr,
    });
    c.hb.failed = FailedProbes::AtInterval;
    let mut p = Pair::up(2, &c);
    p.timed = true;
    p.cut(&[0]);
    let began = p.now;
    p.send_many(A, 100, 1);
    while p.path_state(A, 0) == PathState::Active && p.now.since(began) < Duration::from_secs(300) {
        p.run(10);
    }
    let took = p.now.since(began).as_millis() as u64;
    (p.take_drawings(), took)
}

#[test]
fn reading_heartbeat_ack_and_reading_path_ack_find_the_path_dead_after_dmax() {
    for stop in [ProbingStop::HeartbeatAck, ProbingStop::PathAck] {
        let (drawn, took) = probing(stop, false);
        assert_drawn(
            &drawn,
            &[
                "4000 ms A -> DATA 1 -> lost",
                "5000 ms A -> HEARTBEAT -> lost",
                "5000 ms A -> DATA 1 -> Z (path 1)",
                // This SACK answers the retransmission. It proves nothing about the
                // primary.
                "5010 ms Z -> SACK 1 -> A (path 1)",
                "6000 ms A -> HEARTBEAT -> lost",
                "7000 ms A -> HEARTBEAT -> lost",
                "8000 ms A -> HEARTBEAT -> lost",
            ],
        );
        assert_eq!(took, 5000, "a timeout and Dmax");
    }
}

#[test]
fn reading_any_ack_stops_for_a_sack_of_the_alternate_and_misses_the_death() {
    let (drawn, took) = probing(ProbingStop::AnyAck, false);
    assert_drawn(
        &drawn[..4],
        &[
            "4000 ms A -> DATA 1 -> lost",
            "5000 ms A -> HEARTBEAT -> lost",
            "5000 ms A -> DATA 1 -> Z (path 1)",
            // This SACK wrongly stops the probing.
            "5010 ms Z -> SACK 1 -> A (path 1)",
        ],
    );
    // Ordinary heartbeats find the failure, an interval later.
    assert!(took > 5000, "{took}");
}

#[test]
fn pmr_counts_beside_the_probes_only_where_it_is_told_to() {
    // Two timeouts exceed PMR 1 after 3 s. Dmax would need 1 s and another 10 s.
    let inactive_after = |beside_pmr| {
        let mut c = pmr_0();
        c.failure.path_max_retrans = 1;
        c.failure.detection = Detection::Probing(Probing {
            beside_pmr,
            ..Probing::default()
        });
        let mut p = Pair::up(2, &c);
        p.cut(&[0]);
        let began = p.now;
        while p.path_state(A, 0) == PathState::Active {
            p.send_many(A, 10, 1);
            p.run(100);
        }
        p.now.since(began).as_millis() / 1000
    };
    assert_eq!((inactive_after(true), inactive_after(false)), (3, 11));
}

#[test]
fn a_detector_of_the_user_watches_every_path() {
    let mut c = pmr_0_with_pmr(5);
    c.custom = Custom::new().detection(Detection::ErrorCount);
    let mut p = Pair::up(2, &c);
    let refused = p.with(A, |now, e, id| {
        e.set_detection(now, id, PathId(0), Detection::ErrorCount)
    });
    let text = refused.unwrap_err().to_string();
    assert!(text.starts_with("custom.detection = ErrorCount"), "{text}");
}

#[test]
fn one_path_may_be_watched_otherwise_than_the_association() {
    let mut p = Pair::up(2, &pmr_0_with_pmr(5));
    let own = Detection::Probing(Probing {
        dmax: Duration::from_secs(2),
        n: 2,
        ..Probing::default()
    });
    p.with(A, |now, e, id| e.set_detection(now, id, PathId(0), own))
        .unwrap();
    let wrong = Detection::Probing(Probing {
        n: 0,
        ..Probing::default()
    });
    let refused = p.with(A, |now, e, id| e.set_detection(now, id, PathId(1), wrong));
    let text = refused.unwrap_err().to_string();
    assert!(
        text.starts_with("failure.detection = dmax 10 s with n 0"),
        "{text}"
    );
    p.cut(&[0, 1]);
    p.send_many(A, 10, 1);
    p.run(3100);
    // The primary fails by its own Dmax. The alternate has PMR 5.
    assert_eq!(p.path_state(A, 0), PathState::Inactive);
    assert_eq!(p.path_state(A, 1), PathState::Active);
}

/// The detectors come from the settings: a list in the order of the paths.
#[test]
fn settings_say_of_each_path_how_it_is_watched() {
    let probing = |secs| {
        Detection::Probing(Probing {
            dmax: Duration::from_secs(secs),
            n: 2,
            ..Probing::default()
        })
    };
    // The list has detectors for two of three paths. The third path uses `detection`.
    let mut c = pmr_0_with_pmr(5);
    c.failure.detection = probing(4);
    c.failure.path_detection = vec![probing(2), Detection::ErrorCount];
    let mut p = Pair::up(3, &c);
    p.cut(&[0, 1, 2]);
    p.send_many(A, 10, 1);
    let mut inactive = Vec::new();
    for tenth in 1..=160_u32 {
        p.run(100);
        for path in 0..3 {
            if p.path_state(A, path) == PathState::Inactive
                && !inactive.iter().any(|&(known, _)| known == path)
            {
                inactive.push((path, tenth / 10));
            }
        }
    }
    // 1 s to the first timeout and Dmax 2 s; then data goes to the others.
    assert_eq!(inactive.first(), Some(&(0, 3)), "{inactive:?}");
    assert!(!inactive.iter().any(|&(path, _)| path == 1), "{inactive:?}");
    assert!(inactive.iter().any(|&(path, _)| path == 2), "{inactive:?}");
}

fn pmr_0_with_pmr(pmr: u32) -> Config {
    let mut c = pmr_0();
    c.failure.path_max_retrans = pmr;
    c
}

#[test]
fn the_window_keeps_room_for_the_probes() {
    // The flight size when no more data may leave, with and without the detector.
    let flight = |detection| {
        let mut c = plain();
        c.failure.detection = detection;
        let mut p = Pair::up(2, &c);
        p.send_many(A, 1452, 100);
        let mut most = (0, 0);
        for _ in 0..50 {
            p.run(20);
            let s = p.path(A, 0);
            assert!(s.flight <= s.cwnd + 1452);
            if detection != Detection::ErrorCount && s.flight > 0 {
                assert!(s.flight + 280 <= s.cwnd, "{} of {}", s.flight, s.cwnd);
            }
            most = most.max((s.cwnd, s.flight));
        }
        most.0
    };
    let (with, without) = (
        flight(Detection::Probing(Probing::default())),
        flight(Detection::ErrorCount),
    );
    // A window counts as full if no packet fits into its rest, so it grows.
    assert!(with > 20_000 && without > 20_000, "{with} {without}");
}

/// The user has had enough of a detector that was wrong. Path 0 is silent, and on probation.
#[test]
fn without_its_detector_a_path_in_doubt_is_judged_by_its_errors() {
    let mut c = plain();
    c.failure.detection = Detection::Probing(Probing::default());
    let mut p = Pair::up(2, &c);
    p.cut(&[0]);
    p.send_many(A, 1000, 1);
    p.run(3000);
    let probes = |p: &mut Pair| p.take_drawings_with(&["A -> HEARTBEAT -> lost"]).len();
    assert!(probes(&mut p) > 0);
    p.with(A, |now, e, id| {
        e.set_detection(now, id, PathId(0), Detection::ErrorCount)
    })
    .unwrap();
    p.run(20_000);
    assert_eq!(probes(&mut p), 0);
    assert_ne!(p.path_state(A, 0), PathState::Inactive);
    assert_eq!(p.take_got(Z), [(0, 1000)]);
    p.heal();
    p.assert_carries_data();
}

//! The round trip and loss of each path are estimated, idle paths are probed, and the
//! estimates choose the primary (caro-2006 section IV.2; `failover.estimate`).

use crate::common::{A, Fate, Pair, assert_drawn, plain};
use byway_core::config::PrimarySwitch;
use byway_core::policy::{Choice, EstimateConfig};
use byway_core::{Config, Event, Observation, PathId, PathState};

fn estimating(edit: impl FnOnce(&mut EstimateConfig)) -> Config {
    let mut c = plain();
    let mut e = EstimateConfig {
        // A probe of 40 bytes for each packet of 1428.
        probe_share: 0.03,
        min_samples: 20,
        ..EstimateConfig::default()
    };
    edit(&mut e);
    c.failover.estimate = Some(e);
    c
}

/// Sends this number of full messages, one every 200 ms.
fn stream(p: &mut Pair, messages: usize) {
    for _ in 0..messages {
        p.send_many(A, 1400, 1);
        p.run(200);
    }
}

fn primaries(p: &mut Pair) -> Vec<u8> {
    let of = |e: &Event| match e {
        Event::PrimaryChanged { to, .. } => Some(to.0),
        _ => None,
    };
    p.take_events(A).iter().filter_map(of).collect()
}

#[test]
fn an_idle_path_is_probed_by_what_data_has_earned_and_not_without_data() {
    let c = estimating(|_| {});
    let mut p = Pair::up(2, &c);
    p.timed = true;
    stream(&mut p, 2);
    assert_drawn(
        &p.take_drawings(),
        &[
            "4000 ms A -> DATA 1 -> Z",
            "4000 ms A -> HEARTBEAT -> Z (path 1)",
            "4010 ms Z -> SACK 1 -> A",
            "4010 ms Z -> HEARTBEAT ACK -> A (path 1)",
            "4200 ms A -> DATA 2 -> Z",
            "4200 ms A -> HEARTBEAT -> Z (path 1)",
            "4210 ms Z -> HEARTBEAT ACK -> A (path 1)",
        ],
    );
    p.run(60_000);
    assert_eq!(p.take_drawings_with(&["HEARTBEAT"]), [""; 0]);
    let s = p.with(A, |_, e, id| e.stats(id)).unwrap();
    assert_eq!(
        (s.probes_sent, s.probes_answered, s.probe_bytes),
        (2, 2, 80)
    );
    let path = p.path(A, 1);
    assert_eq!((path.probes_sent, path.probe_bytes), (2, 80));
    let e = path.estimate.unwrap();
    assert_eq!(e.rtt.as_millis(), 20);
    // Each answer is two passages. Without losses the estimate is still above 0.
    assert!(e.samples > 3.9 && e.loss > 0.05, "{e:?}");
}

#[test]
fn without_the_setting_nothing_is_probed_and_nothing_told() {
    let mut p = Pair::up(2, &plain());
    stream(&mut p, 20);
    assert_eq!(p.take_drawings_with(&["HEARTBEAT"]), [""; 0]);
    assert_eq!(p.path(A, 1).estimate, None);
    let told = |o: &Observation| matches!(o, Observation::Estimate { .. });
    assert!(!p.take_observed(A).iter().any(told));
}

#[test]
fn a_lost_probe_is_a_sample_and_no_error() {
    let mut p = Pair::up(2, &estimating(|_| {}));
    stream(&mut p, 2);
    let rto = p.path(A, 1).rto;
    p.lose(|q| q.path == 1);
    stream(&mut p, 40);
    let path = p.path(A, 1);
    assert!(path.probes_sent > 20, "{path:?}");
    assert_eq!((path.error_count, path.state), (0, PathState::Active));
    assert_eq!(path.rto, rto, "its timeout does not back off");
    assert!(path.estimate.unwrap().loss > 0.5, "{path:?}");
}

#[test]
fn an_ordinary_heartbeat_counts_its_error_once_and_is_a_sample_too() {
    let mut c = estimating(|e| e.probe_share = 0.0);
    c.hb.enabled = true;
    c.hb.interval = crate::common::ms(1000);
    let mut p = Pair::up(2, &c);
    let before = p.path(A, 1).estimate.map_or(0.0, |e| e.samples);
    p.lose(|q| q.path == 1);
    while p.path(A, 1).error_count == 0 {
        p.run(100);
    }
    let path = p.path(A, 1);
    assert_eq!(path.error_count, 1);
    assert_eq!(path.state, PathState::PotentiallyFailed);
    let e = path.estimate.unwrap();
    assert!(
        e.samples > before + 1.9 && e.samples < before + 2.1,
        "{e:?}"
    );
}

#[test]
fn what_was_taken_for_lost_in_error_is_taken_back_by_its_duplicate() {
    let spurious = |count_back: bool| {
        let mut p = Pair::up(1, &estimating(|e| e.probe_share = 0.0));
        stream(&mut p, 30);
        // A's packet is three seconds late: T3-rtx expires, and the retransmission
        // arrives first.
        let mut first = true;
        p.hand(move |q| match () {
            () if q.text.starts_with("DATA") && core::mem::take(&mut first) => {
                if count_back {
                    Fate::Late(3000)
                } else {
                    Fate::Lose
                }
            }
            () => Fate::Pass,
        });
        p.send_many(A, 1400, 1);
        p.run(10_000);
        let twice = p.take_drawings_with(&["twice"]).len();
        assert_eq!(twice, usize::from(count_back));
        p.path(A, 0).estimate.unwrap().loss
    };
    let (really, in_error) = (spurious(false), spurious(true));
    assert!(really > 2.0 * in_error, "{really} {in_error}");
}

#[test]
fn the_better_path_becomes_the_primary_without_a_failure() {
    let mut p = Pair::up(2, &estimating(|_| {}));
    // One message in eight is lost on the primary, but no retransmission.
    let mut n = 0;
    p.lose(move |q| {
        n += u32::from(q.text.starts_with("DATA"));
        q.path == 0 && q.text.starts_with("DATA") && n % 8 == 0
    });
    let mut at = 0;
    while !p.path(A, 1).primary {
        stream(&mut p, 1);
        at += 1;
        assert!(at < 400, "{:?} {:?}", p.path(A, 0), p.path(A, 1));
    }
    assert_eq!(p.path_state(A, 0), PathState::Active);
    assert_eq!(primaries(&mut p), [1]);
    let s = p.with(A, |_, e, id| e.stats(id)).unwrap();
    assert_eq!(s.moved_by_estimate, 1);
    p.take_drawings();
    p.send_many(A, 1400, 1);
    let drawn = p.take_drawings_with(&["DATA"]);
    assert!(drawn[0].ends_with("(path 1)"), "{drawn:?}");
    // Path 0 is idle now. It is probed and does not become the primary again.
    stream(&mut p, 100);
    assert!(!p.take_drawings_with(&["HEARTBEAT -> Z"]).is_empty());
    assert_eq!(primaries(&mut p), [0; 0]);
}

#[test]
fn two_like_paths_stay_as_they_are() {
    let mut p = Pair::up(2, &estimating(|_| {}));
    let mut n = 0;
    p.lose(move |q| {
        n += 1;
        q.text != "HEARTBEAT ACK" && n % 11 == 0
    });
    stream(&mut p, 1000);
    assert_eq!(primaries(&mut p), [0; 0]);
}

#[test]
fn a_failover_becomes_permanent_only_to_a_path_that_is_better() {
    let permanent = |alternate_loses: bool| {
        let mut c = estimating(|e| e.choice = Choice::PermanentFailover);
        c.hb.enabled = true;
        c.failover.primary_switch = PrimarySwitch::Psmr(0);
        let mut p = Pair::up(2, &c);
        // The primary loses one packet in seven, the alternate one in three or
        // none.
        let mut n = [0, 0];
        p.lose(move |q| {
            n[q.path] += u32::from(q.from == A);
            let every = if q.path == 0 { 7 } else { 3 };
            q.from == A && n[q.path] % every == 0 && (q.path == 0 || alternate_loses)
        });
        for _ in 0..300 {
            // So rarely that only a timeout can repair a loss.
            p.send_many(A, 1400, 1);
            p.run(1500);
        }
        p.heal();
        p.run(60_000);
        assert_eq!(p.path_state(A, 0), PathState::Active);
        p.path(A, 1).primary
    };
    assert!(permanent(false));
    assert!(!permanent(true));
    // Without the estimate PSMR 0 makes both failovers permanent.
    let mut c = plain();
    c.hb.enabled = true;
    c.failover.primary_switch = PrimarySwitch::Psmr(0);
    let mut p = Pair::up(2, &c);
    p.lose_once(&["DATA 1"]);
    p.send_many(A, 1400, 1);
    p.run(1500);
    assert!(p.path(A, 1).primary);
    assert_eq!(primaries(&mut p), [1]);
    assert_eq!(p.path(A, 1).path, PathId(1));
}

#[test]
fn settings_that_decide_nothing_are_refused() {
    for (edit, expected) in [
        (
            (|e| e.choice = Choice::PermanentFailover) as fn(&mut EstimateConfig),
            "failover.estimate.choice = PermanentFailover: has nothing to judge",
        ),
        (|e| e.factor = 0.9, "failover.estimate.factor = 0.9"),
        (|e| e.factor = f64::NAN, "failover.estimate.factor = NaN"),
        (
            |e| e.probe_share = 1.5,
            "failover.estimate.probe_share = 1.5",
        ),
        (
            |e| e.probes_per_second = 0,
            "failover.estimate.probes_per_second = 0",
        ),
        (|e| e.min_samples = 6000, "failover.estimate.memory = 5000"),
    ] {
        let e = estimating(edit).check().unwrap_err().to_string();
        assert!(e.starts_with(expected), "{e}");
    }
}

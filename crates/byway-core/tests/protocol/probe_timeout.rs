//! The probe timeout, packet by packet (`policy/probe_timeout.rs`). A round trip
//! takes 20 ms here.

use crate::common::{A, Fate, Pair, Z, assert_drawn, ms, plain};
use byway_core::PathState;
use byway_core::config::{Config, InitialCwnd};
use byway_core::policy::{DataMove, ProbeTimeout, Rack, Repeats, WaitsSince};

fn watchful() -> Config {
    let mut c = plain();
    c.failover.probe_timeout = Some(ProbeTimeout::default());
    c.congestion.max_burst = None;
    c.congestion.initial_cwnd = InitialCwnd::Pmdcs(20);
    c.congestion.idle_decay = false;
    c
}

/// An association whose round trips are known, at 5 s.
fn measured(c: &Config) -> Pair {
    let mut p = Pair::up(2, c);
    for _ in 0..10 {
        p.send_many(A, 40, 1);
        p.run(100);
    }
    assert_eq!(p.path(A, 0).srtt, Some(ms(20)));
    p.take_drawings();
    p.take_got(Z);
    p.timed = true;
    p
}

#[test]
fn what_nothing_follows_asks_for_its_sack_and_the_rest_does_not() {
    let mut p = measured(&watchful());
    p.send_many(A, 1400, 4);
    p.run(100);
    assert_drawn(
        &p.take_drawings(),
        &[
            "5000 ms A -> DATA 11 I -> Z",
            "5000 ms A -> DATA 12 -> Z",
            "5000 ms A -> DATA 13 -> Z",
            "5000 ms A -> DATA 14 I -> Z",
            "5010 ms Z -> SACK 11 -> A",
            "5010 ms Z -> SACK 13 -> A",
            "5010 ms Z -> SACK 14 -> A",
        ],
    );
}

#[test]
fn a_single_message_moves_a_round_trip_and_a_margin_after_a_death() {
    let mut p = measured(&watchful());
    p.cut(&[0]);
    p.send_many(A, 40, 1);
    p.run(100);
    assert_drawn(
        &p.take_drawings(),
        &[
            "5000 ms A -> DATA 11 I -> lost",
            "5025 ms A -> HEARTBEAT -> lost",
            "5025 ms A -> DATA 11 I -> Z (path 1)",
            "5035 ms Z -> SACK 11 -> A (path 1)",
        ],
    );
    assert_eq!(p.take_got(Z), [(0, 40)]);
}

#[test]
fn without_the_probe_timeout_or_another_path_nothing_asks() {
    for (paths, watchful) in [(2, false), (1, true)] {
        let mut c = plain();
        c.failover.probe_timeout = watchful.then(ProbeTimeout::default);
        let mut p = Pair::up(paths, &c);
        p.send_many(A, 40, 1);
        p.run(300);
        assert_drawn(&p.take_drawings_with(&["DATA"]), &["A -> DATA 1 -> Z"]);
    }
}

#[test]
fn losses_of_a_suspect_path_count_as_congestion_when_it_answers() {
    for (dead, cwnd) in [(true, 20), (false, 10)] {
        let mut p = measured(&watchful());
        // Ten packets are lost. The heartbeat is also lost, or it is answered in time.
        p.hand(move |q| match q.text.as_str() {
            "HEARTBEAT" if dead => Fate::Lose,
            "HEARTBEAT" => Fate::Late(3),
            data if data.starts_with("DATA") && q.path == 0 => Fate::Lose,
            _ => Fate::Pass,
        });
        p.send_many(A, 1400, 10);
        p.run(26);
        // New data takes the other path and reports the others missing at 5046 ms.
        p.send_many(A, 1400, 4);
        p.run(21);
        assert_eq!(p.path(A, 0).cwnd, 20 * 1468);
        p.run(100);
        assert_eq!(p.path(A, 0).cwnd, cwnd * 1468, "dead: {dead}");
        assert_eq!(p.take_got(Z).len(), 14);
        let stats = p.with(A, |_, e, id| e.stats(id)).unwrap();
        assert_eq!(stats.fast_retransmits, 9);
        assert_eq!(stats.needless_suspicions, u64::from(!dead));
    }
}

/// The wait begins when a chunk leaves, and data moves when a heartbeat is overdue, too.
fn early(since: WaitsSince) -> Config {
    let mut c = watchful();
    c.failover.probe_timeout = Some(ProbeTimeout {
        since,
        moves: DataMove::HeartbeatOverdue,
        ..ProbeTimeout::default()
    });
    c.retransmission.rack = Some(Rack::default());
    c
}

/// A message of 40 bytes each 2 ms.
fn flow(p: &mut Pair, millis: u64) {
    for _ in 0..millis / 2 {
        p.send_many(A, 40, 1);
        p.run(2);
    }
}

#[test]
fn while_data_flows_a_heartbeat_asks_soon_after_the_last_sack() {
    // The last SACK arrives at 5060 ms. The second chunk after those that it acknowledges left
    // at 5044 ms, and a round trip and the margin are 25 ms.
    for (since, asked) in [
        (WaitsSince::Sending, "5069 ms"),
        (WaitsSince::Acknowledgement, "5085 ms"),
    ] {
        let mut p = measured(&early(since));
        flow(&mut p, 51);
        p.cut(&[0]);
        flow(&mut p, 60);
        let asks = p.take_drawings_with(&["HEARTBEAT"]);
        assert_eq!(asks[0], format!("{asked} A -> HEARTBEAT -> lost"));
    }
}

#[test]
fn a_lost_heartbeat_moves_nothing_while_data_arrives() {
    for since in [WaitsSince::Sending, WaitsSince::Acknowledgement] {
        let mut p = measured(&early(since));
        flow(&mut p, 50);
        // A round trip without SACKs, and the heartbeat that asks is lost.
        let mut sacks = 14;
        p.lose(move |q| {
            let sack = q.text.starts_with("SACK") && q.path == 0 && sacks > 0;
            sacks -= i32::from(sack);
            sack || q.text == "HEARTBEAT"
        });
        flow(&mut p, 3000);
        assert_eq!(p.path_state(A, 0), PathState::Active);
        assert_eq!(p.path(A, 0).error_count, 0);
        let stats = p.with(A, |_, e, id| e.stats(id)).unwrap();
        assert_eq!((stats.suspicions, stats.needless_suspicions), (1, 1));
        assert_eq!(elsewhere(&mut p).len(), 1, "the oldest chunk alone");
    }
}

/// What A sent on the second path.
fn elsewhere(p: &mut Pair) -> Vec<String> {
    let drawings = p.take_drawings_with(&["DATA"]);
    let on_second = |d: &&String| d.contains("A ->") && d.contains("path 1");
    drawings.iter().filter(on_second).cloned().collect()
}

#[test]
fn while_a_path_is_silent_what_is_overdue_follows_on_the_other_one() {
    // The path dies at 5061 ms, and Z has all up to 35. A SACK over the second path arrives at 5089 ms:
    // what left 25 ms before is overdue. At 5094 ms all data moves.
    let of = |tsns: core::ops::RangeInclusive<u32>| {
        let chunks: Vec<String> = tsns.map(|tsn| format!("DATA {tsn} I")).collect();
        chunks.join(", ")
    };
    let cases = [
        (
            Repeats::Oldest,
            vec![(5069, of(32..=32)), (5094, of(36..=57))],
        ),
        (
            Repeats::UntilAnswered,
            vec![
                (5069, of(32..=39)),
                (5089, of(40..=42)),
                (5094, of(43..=57)),
            ],
        ),
    ];
    for (repeats, expected) in cases {
        let mut c = early(WaitsSince::Sending);
        c.failover.probe_timeout.as_mut().unwrap().repeats = repeats;
        let mut p = measured(&c);
        flow(&mut p, 51);
        p.cut(&[0]);
        flow(&mut p, 60);
        let left = elsewhere(&mut p);
        for (drawing, (at, chunks)) in left.iter().zip(expected) {
            assert_eq!(*drawing, format!("{at} ms A -> {chunks} -> Z (path 1)"));
        }
    }
}

/// A single message is lost, or its SACK. A round trip and the margin are 25 ms.
#[test]
fn more_heartbeats_ask_before_data_moves_for_want_of_one() {
    // How many heartbeats there are, how many of them are lost, and what happens.
    for (heartbeats, lost, moves) in [(1, 0, false), (1, 1, true), (3, 2, false), (3, 3, true)] {
        let mut c = early(WaitsSince::Sending);
        c.failover.probe_timeout.as_mut().unwrap().heartbeats = heartbeats;
        let mut p = measured(&c);
        let (mut data, mut asks) = (1, lost);
        p.lose(move |q| {
            let left = match q.text.as_str() {
                text if text.starts_with("DATA") && q.path == 0 => &mut data,
                "HEARTBEAT" => &mut asks,
                _ => return false,
            };
            let lose = *left > 0;
            *left -= i32::from(lose);
            lose
        });
        p.send_many(A, 40, 1);
        p.run(400);
        let asked = p.take_drawings_with(&["A -> HEARTBEAT ->"]);
        // The margin of 5 ms has room for three.
        let expected = match heartbeats {
            1 => vec!["5025 ms"],
            _ => vec!["5025 ms", "5026 ms", "5028 ms"],
        };
        let at: Vec<String> = asked
            .iter()
            .map(|d| d.split(" A").next().unwrap().to_owned())
            .collect();
        assert_eq!(
            at[..expected.len()],
            expected,
            "{heartbeats} heartbeats, {lost} lost"
        );
        let stats = p.with(A, |_, e, id| e.stats(id)).unwrap();
        assert_eq!(
            stats.failovers,
            u64::from(moves),
            "{heartbeats} heartbeats, {lost} lost"
        );
        assert_eq!(stats.suspicions, 1);
        assert_eq!(p.take_got(Z).len(), 1);
    }
}

#[test]
fn a_lost_heartbeat_is_an_error_where_nothing_younger_arrived() {
    let mut p = measured(&early(WaitsSince::Sending));
    p.cut(&[0]);
    p.send_many(A, 40, 1);
    p.run(3000);
    assert_eq!(p.path_state(A, 0), PathState::PotentiallyFailed);
    assert!(p.path(A, 0).error_count > 0);
}

#[test]
fn a_chunk_lost_on_a_path_that_only_repeats_costs_a_round_trip() {
    // Nothing left first on the second path, so its heartbeat alone says how fast it answers.
    let mut c = early(WaitsSince::Sending);
    c.failover.probe_timeout.as_mut().unwrap().repeats = Repeats::UntilAnswered;
    c.hb.enabled = true;
    c.hb.at_establishment = true;
    let mut p = measured(&c);
    let mut lost = false;
    p.lose(move |q| {
        let once = q.path == 1 && q.text.starts_with("DATA 13") && !lost;
        lost |= once;
        q.path == 0 || once
    });
    p.send_many(A, 1400, 6);
    p.run(200);
    assert_eq!(
        elsewhere(&mut p),
        [
            "5025 ms A -> DATA 11 I -> Z (path 1)",
            "5025 ms A -> DATA 12 I -> Z (path 1)",
            "5025 ms A -> DATA 13 I -> lost (path 1)",
            "5025 ms A -> DATA 14 I -> Z (path 1)",
            "5025 ms A -> DATA 15 I -> Z (path 1)",
            "5045 ms A -> DATA 16 I -> Z (path 1)",
            // A round trip and the reordering window after it left.
            "5050 ms A -> DATA 13 I -> Z (path 1)",
        ]
    );
}

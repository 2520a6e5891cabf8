//! Concurrent multipath transfer (the CMT paper; natarajan-2006).

use crate::common::{A, Fate, Pair, Z, assert_drawn, endpoint, ms, plain};
use byway_core::Config;
use byway_core::config::{
    ConcurrentConfig, CwndGrowth, InitialCwnd, PfClear, PfConfig, PfReturnCwnd,
};
use byway_core::observe::Observation;
use byway_core::policy::{Cuc, FillOrder, RtxPolicy};
use byway_core::{AssocStats, Message, PathId, PathState};

/// Payload of a full packet.
const FULL: usize = 1452;
const PMDCS: u32 = 1468;

/// CMT with windows of this number of chunks; every packet is acknowledged.
fn cmt(cwnd: u32, change: impl FnOnce(&mut ConcurrentConfig)) -> Config {
    let mut c = plain();
    c.congestion.initial_cwnd = InitialCwnd::Pmdcs(cwnd);
    c.congestion.idle_decay = false;
    c.congestion.max_burst = None;
    c.sack.every = 1;
    c.failover.potentially_failed = None;
    let mut concurrent = ConcurrentConfig {
        dac: false,
        ..ConcurrentConfig::default()
    };
    change(&mut concurrent);
    c.concurrent = Some(concurrent);
    c
}

fn stats(p: &mut Pair) -> AssocStats {
    p.with(A, |_, e, id| e.stats(id)).unwrap()
}

fn cwnds(p: &Pair) -> Vec<u32> {
    (0..p.paths as u8)
        .map(|i| p.path(A, i).cwnd / PMDCS)
        .collect()
}

/// The DATA that `A` sends: first the chunk, then the path.
fn sent(p: &mut Pair) -> Vec<String> {
    let all = p.take_drawings_with(&["A -> DATA"]);
    let word = |d: &String| {
        let path = d.split("(path ").nth(1).and_then(|t| t.chars().next());
        let tsn = d.split("DATA ").nth(1).and_then(|t| t.split(' ').next());
        format!("{} on {}", tsn.unwrap_or("?"), path.unwrap_or('0'))
    };
    all.iter().map(word).collect()
}

#[test]
fn new_data_fills_every_path_in_turn() {
    let mut p = Pair::up(3, &cmt(2, |_| ()));
    p.send_many(A, FULL, 9);
    p.run(15);
    assert_drawn(
        &p.take_drawings(),
        &[
            "A -> DATA 1 -> Z",
            "A -> DATA 2 -> Z",
            "A -> DATA 3 -> Z (path 1)",
            "A -> DATA 4 -> Z (path 1)",
            "A -> DATA 5 -> Z (path 2)",
            "A -> DATA 6 -> Z (path 2)",
            "Z -> SACK 1 -> A",
            "Z -> SACK 2 -> A",
            "Z -> SACK 3 -> A (path 1)",
            "Z -> SACK 4 -> A (path 1)",
            "Z -> SACK 5 -> A (path 2)",
            "Z -> SACK 6 -> A (path 2)",
        ],
    );
    p.run(300);
    assert_eq!(p.take_got(Z).len(), 9);
}

#[test]
fn without_it_one_path_carries_everything() {
    let mut c = cmt(2, |_| ());
    c.concurrent = None;
    let mut p = Pair::up(2, &c);
    p.send_many(A, FULL, 6);
    p.run(300);
    assert!(sent(&mut p).iter().all(|d| d.ends_with("on 0")));
}

#[test]
fn a_message_bound_to_a_path_stays_there() {
    let mut p = Pair::up(2, &cmt(2, |_| ()));
    for _ in 0..2 {
        let mut m = Message::new(0, vec![0; FULL]);
        m.path = Some(PathId(1));
        p.send(A, m);
    }
    assert_eq!(sent(&mut p), ["1 on 1", "2 on 1"]);
}

#[test]
fn a_receiver_that_knows_nothing_of_it_serves_as_well() {
    // Only A uses CMT. Z acknowledges as RFC 9260 requires.
    let config = cmt(10, |c| c.dac = true);
    let ends = [endpoint(2, A, 1, &config), endpoint(2, Z, 2, &plain())];
    let mut p = Pair::of(ends, 2);
    p.connect(A, &config);
    p.run(4000);
    p.take_drawings();
    p.lose_once(&["DATA 2"]);
    p.send_many(A, FULL, 20);
    p.run(1000);
    let drawn = p.take_drawings();
    assert!(drawn.iter().all(|d| !d.contains("answers")));
    assert_eq!(p.take_got(Z).len(), 20);
    let s = stats(&mut p);
    assert_eq!((s.fast_retransmits, s.timeouts), (1, 0));
}

/// Two paths of 10 and 60 ms, eight chunks on each, nothing lost.
fn over_unequal_paths(sfr: bool) -> AssocStats {
    let mut p = Pair::up(2, &cmt(4, |c| c.sfr = sfr));
    // The slow path is filled first, so all data on the fast one arrives early.
    p.delay_ms = [60, 10, 10, 10];
    p.send_many(A, FULL, 8);
    p.run(500);
    assert_eq!(p.take_got(Z).len(), 8);
    stats(&mut p)
}

#[test]
fn split_fast_retransmit_repeats_nothing_that_is_merely_late() {
    assert_eq!(over_unequal_paths(true).fast_retransmits, 0);
    assert!(over_unequal_paths(false).fast_retransmits > 0);
}

#[test]
fn split_fast_retransmit_finds_what_its_own_path_reports() {
    let mut p = Pair::up(2, &cmt(5, |c| c.rtx = RtxPolicy::Same));
    p.delay_ms = [10, 60, 10, 10];
    p.lose_once(&["DATA 1", "DATA 6"]);
    p.send_many(A, FULL, 10);
    p.run(100);
    assert_drawn(
        &p.take_drawings_with(&["DATA 1 ", "DATA 6 ", "SACK"])[..],
        &[
            "A -> DATA 1 -> lost",
            "A -> DATA 6 -> lost (path 1)",
            "Z -> SACK 0 [2-2] -> A",
            "Z -> SACK 0 [2-3] -> A",
            "Z -> SACK 0 [2-4] -> A",
            "Z -> SACK 0 [2-5] -> A",
            "A -> DATA 1 -> Z",
            "Z -> SACK 5 -> A",
            "Z -> SACK 5 [7-7] -> A (path 1)",
            "Z -> SACK 5 [7-8] -> A (path 1)",
            "Z -> SACK 5 [7-9] -> A (path 1)",
            "Z -> SACK 5 [7-10] -> A (path 1)",
        ],
    );
    p.run(300);
    assert_eq!(p.take_got(Z).len(), 10);
    // Each path had its own loss and its own fast recovery.
    assert_eq!(stats(&mut p).fast_retransmits, 2);
}

/// Windows of both paths while the first chunk of path 0 is missing and path 1
/// continues.
fn growth(cuc: Cuc) -> Vec<u32> {
    let mut c = cmt(2, |c| c.cuc = cuc);
    c.congestion.growth = CwndGrowth::CumulativeAdvance;
    let mut p = Pair::up(2, &c);
    p.hand(|q| match q.text.as_str() {
        "DATA 1" | "DATA 2" => Fate::Late(200),
        _ => Fate::Pass,
    });
    p.send_many(A, FULL, 40);
    p.run(70);
    cwnds(&p)
}

#[test]
fn a_pseudo_cumulative_tsn_lets_each_window_grow_by_itself() {
    // The cumulative TSN waits for chunk 1: by RFC 2960 nothing grows.
    assert_eq!(growth(Cuc::Off), [2, 2]);
    assert_eq!(growth(Cuc::V1), [2, 16]);
    assert_eq!(growth(Cuc::V2), [2, 16]);
}

/// The window of path 1 when chunk 1 is lost on path 0, retransmitted there and lost
/// again, while new data is sent.
fn growth_behind_a_repetition(cuc: Cuc) -> u32 {
    let mut c = cmt(6, |c| c.cuc = cuc);
    c.congestion.growth = CwndGrowth::CumulativeAdvance;
    let mut p = Pair::up(2, &c);
    p.lose(|q| q.text == "DATA 1");
    p.send_many(A, FULL, 200);
    p.run(100);
    p.path(A, 1).cwnd / PMDCS
}

#[test]
fn version_2_does_not_wait_for_what_was_repeated() {
    assert_eq!(growth_behind_a_repetition(Cuc::V1), 6);
    assert_eq!(growth_behind_a_repetition(Cuc::V2), 90);
}

#[test]
fn delayed_acknowledgements_wait_in_spite_of_gaps_and_say_how_many_they_answer() {
    let mut c = cmt(4, |c| c.dac = true);
    c.sack.every = 2;
    let mut p = Pair::up(2, &c);
    p.send_many(A, FULL, 1);
    p.run(100);
    p.take_drawings();
    p.timed = true;
    p.delay_ms = [10, 60, 10, 10];
    p.send_many(A, FULL, 7);
    p.run(400);
    assert_drawn(
        &p.take_drawings_with(&["SACK"]),
        &[
            "4110 ms Z -> SACK 1 [6-7] answers 2 -> A",
            "4160 ms Z -> SACK 2 [6-8] answers 2 -> A (path 1)",
            "4160 ms Z -> SACK 4 [6-8] answers 2 -> A (path 1)",
            "4360 ms Z -> SACK 8 answers 1 -> A (path 1)",
        ],
    );
}

#[test]
fn a_sack_that_answers_two_packets_is_two_reports() {
    let mut c = cmt(5, |c| c.dac = true);
    c.sack.every = 2;
    let mut p = Pair::up(2, &c);
    p.send_many(A, FULL, 1);
    p.run(100);
    p.take_drawings();
    p.lose_once(&["DATA 2"]);
    p.send_many(A, FULL, 5);
    p.run(50);
    // The second of two SACKs is the third report.
    assert_drawn(
        &p.take_drawings(),
        &[
            "A -> DATA 2 -> lost (path 1)",
            "A -> DATA 3 -> Z (path 1)",
            "A -> DATA 4 -> Z (path 1)",
            "A -> DATA 5 -> Z (path 1)",
            "A -> DATA 6 -> Z (path 1)",
            "Z -> SACK 1 [3-4] answers 2 -> A (path 1)",
            "Z -> SACK 1 [3-6] answers 2 -> A (path 1)",
            "A -> DATA 2 -> Z",
        ],
    );
}

/// The path for the retransmission of a chunk that path 0 lost. Path 1 is slow, so its
/// window is small, but it lost nothing. Path 2 had an early loss and has grown since.
fn repeated_on(rtx: RtxPolicy) -> String {
    let mut c = cmt(8, |c| c.rtx = rtx);
    c.congestion.initial_ssthresh = Some(20 * PMDCS);
    c.buffer.send = 4 << 20;
    c.buffer.receive = 4 << 20;
    let mut p = Pair::up(3, &c);
    p.delay_ms = [20, 150, 10, 10];
    p.lose_once(&["DATA 17"]);
    p.send_many(A, FULL, 2500);
    p.run(300);
    let lost = std::rc::Rc::new(std::cell::RefCell::new(None));
    let name = lost.clone();
    p.lose(move |q| {
        let first = q.path == 0 && q.from == A && name.borrow().is_none();
        if first {
            *name.borrow_mut() = Some(q.text.clone());
        }
        first
    });
    p.take_drawings();
    p.run(400);
    let lost = lost.borrow().clone().unwrap();
    let again = p.take_drawings_with(&[&format!("-> {lost} ->")]);
    match again[1].split_once("(path ") {
        Some((_, path)) => path.trim_end_matches(')').to_owned(),
        None => "0".to_owned(),
    }
}

#[test]
fn each_policy_repeats_where_it_says() {
    for (rtx, expected) in [
        (RtxPolicy::Same, "0"),
        // The other paths are full.
        (RtxPolicy::Asap, "1"),
        (RtxPolicy::Cwnd, "2"),
        (RtxPolicy::Ssthresh, "1"),
        (RtxPolicy::LossRate, "1"),
    ] {
        assert_eq!(repeated_on(rtx), expected, "{rtx:?}");
    }
}

/// CMT-PF: a path is potentially failed after one timeout, and only a heartbeat makes it
/// active again.
fn cmt_pf(cwnd: u32, returns: u32) -> Config {
    let mut c = cmt(cwnd, |_| ());
    c.hb.enabled = true;
    c.failover.potentially_failed = Some(PfConfig {
        clear: PfClear::HeartbeatAck,
        return_cwnd: PfReturnCwnd::Pmdcs(returns),
        ..PfConfig::default()
    });
    c
}

#[test]
fn while_all_paths_are_potentially_failed_one_carries_data() {
    let mut p = Pair::up(2, &cmt_pf(2, 1));
    p.timed = true;
    p.cut(&[0, 1]);
    p.send_many(A, FULL, 4);
    p.run(5000);
    let pf = PathState::PotentiallyFailed;
    assert_eq!((p.path_state(A, 0), p.path_state(A, 1)), (pf, pf));
    assert_drawn(
        &p.take_drawings(),
        &[
            "4000 ms A -> DATA 1 -> lost",
            "4000 ms A -> DATA 2 -> lost",
            "4000 ms A -> DATA 3 -> lost (path 1)",
            "4000 ms A -> DATA 4 -> lost (path 1)",
            "5000 ms A -> HEARTBEAT -> lost",
            "5000 ms A -> HEARTBEAT -> lost (path 1)",
            // One error each: the last active path carries data.
            "5000 ms A -> DATA 1 -> lost (path 1)",
            "7000 ms A -> HEARTBEAT -> lost",
            "7000 ms A -> HEARTBEAT -> lost (path 1)",
            // Two errors there, three on the other path.
            "7000 ms A -> DATA 1 -> lost",
        ],
    );
}

/// The window of path 0 when a heartbeat has made it active again.
fn window_after_return(returns: u32) -> u32 {
    let mut p = Pair::up(2, &cmt_pf(2, returns));
    p.cut(&[0]);
    p.send_many(A, FULL, 2);
    p.run(1100);
    assert_eq!(p.path_state(A, 0), PathState::PotentiallyFailed);
    p.heal();
    p.run(3000);
    assert_eq!(p.path_state(A, 0), PathState::Active);
    p.path(A, 0).cwnd / PMDCS
}

#[test]
fn a_heartbeat_brings_a_path_back_with_one_or_two_chunks() {
    assert_eq!((window_after_return(1), window_after_return(2)), (1, 2));
}

/// Natarajan-2006 figures 2 and 3: two paths, windows of two, a receive buffer of
/// five chunks; path 1 of the paper (0 here) dies just after TSN 2 has left.
fn figure(pf: bool, order: FillOrder) -> (Vec<String>, Pair) {
    let mut c = Config::rfc2960();
    c.hb.jitter = byway_core::config::HbJitter::Off;
    c.hb.enabled = pf;
    c.congestion.initial_cwnd = InitialCwnd::Pmdcs(2);
    c.congestion.fast_retransmit_threshold = 3;
    c.congestion.burst_rule = byway_core::config::BurstRule::ShrinkWindow;
    c.congestion.idle_decay = false;
    c.sack.every = 1;
    c.buffer.receive = 5 * FULL as u32;
    c.buffer.receive_overhead = 0;
    c.buffer.peer_overhead = 0;
    c.concurrent = cmt(2, |c| c.order = order).concurrent;
    if pf {
        c.failover.potentially_failed = cmt_pf(2, 1).failover.potentially_failed;
    }
    let mut p = Pair::up(2, &c);
    p.timed = true;
    p.reader.window_unit = Some(FULL as u32);
    p.lose(|q| q.path == 0 && q.text != "DATA 1");
    p.send_many(A, FULL, 20);
    p.run(3500);
    (p.take_drawings(), p)
}

#[test]
fn figure_2_of_natarajan_2006() {
    let (drawn, mut p) = figure(false, FillOrder::InTurn);
    assert_drawn(
        &drawn,
        &[
            "4000 ms A -> DATA 1 -> Z",
            "4000 ms A -> DATA 2 -> lost",
            "4000 ms A -> DATA 3 -> Z (path 1)",
            "4000 ms A -> DATA 4 -> Z (path 1)",
            "4010 ms Z -> SACK 1 R5 -> lost",
            "4010 ms Z -> SACK 1 [3-3] R4 -> A (path 1)",
            "4010 ms Z -> SACK 1 [3-4] R3 -> A (path 1)",
            "4020 ms A -> DATA 5 -> Z (path 1)",
            "4020 ms A -> DATA 6 -> Z (path 1)",
            "4030 ms Z -> SACK 1 [3-5] R2 -> A (path 1)",
            "4030 ms Z -> SACK 1 [3-6] R1 -> A (path 1)",
            // Blocked until the first timeout.
            "5020 ms A -> DATA 2 -> Z (path 1)",
            "5030 ms Z -> SACK 6 R5 -> A (path 1)",
            "5040 ms A -> DATA 7 -> lost",
            "5040 ms A -> DATA 8 -> Z (path 1)",
            "5040 ms A -> DATA 9 -> Z (path 1)",
            "5040 ms A -> DATA 10 -> Z (path 1)",
            "5040 ms A -> DATA 11 -> Z (path 1)",
            "5050 ms Z -> SACK 6 [8-8] R4 -> A (path 1)",
            "5050 ms Z -> SACK 6 [8-9] R3 -> A (path 1)",
            "5050 ms Z -> SACK 6 [8-10] R2 -> A (path 1)",
            "5050 ms Z -> SACK 6 [8-11] R1 -> A (path 1)",
            // Blocked again, twice as long.
            "7040 ms A -> DATA 7 -> Z (path 1)",
            "7050 ms Z -> SACK 11 R5 -> A (path 1)",
            // After the figure: it is the turn of path 1 to be first. Max.Burst allows
            // four chunks, and the dead path gets the rest.
            "7060 ms A -> DATA 12 -> Z (path 1)",
            "7060 ms A -> DATA 13 -> Z (path 1)",
            "7060 ms A -> DATA 14 -> Z (path 1)",
            "7060 ms A -> DATA 15 -> Z (path 1)",
            "7060 ms A -> DATA 16 -> lost",
            "7070 ms Z -> SACK 12 R5 -> A (path 1)",
            "7070 ms Z -> SACK 13 R5 -> A (path 1)",
            "7070 ms Z -> SACK 14 R5 -> A (path 1)",
            "7070 ms Z -> SACK 15 R5 -> A (path 1)",
            "7080 ms A -> DATA 17 -> Z (path 1)",
            "7080 ms A -> DATA 18 -> Z (path 1)",
            "7080 ms A -> DATA 19 -> Z (path 1)",
            "7080 ms A -> DATA 20 -> Z (path 1)",
            "7090 ms Z -> SACK 15 [17-17] R4 -> A (path 1)",
            "7090 ms Z -> SACK 15 [17-18] R3 -> A (path 1)",
            "7090 ms Z -> SACK 15 [17-19] R2 -> A (path 1)",
            "7090 ms Z -> SACK 15 [17-20] R1 -> A (path 1)",
        ],
    );
    // C2 of the figure grows in slow start, and Max.Burst reduces it.
    assert_eq!(windows(&mut p, 1)[..4], [3, 4, 5, 4]);
    // In the figure C1 stays at 2 until the timeout makes it 1. With CUC (and RFC
    // 9260) the acknowledgement of TSN 1 lets it grow, because the window was full.
    assert_eq!(windows(&mut figure(false, FillOrder::InTurn).1, 0), [3, 1]);
}

/// TSNs 5 and 6 of the figures with the default order, as the authors' simulator sends them.
#[test]
fn behind_the_last_path_figure_2_goes_on_at_path_0() {
    let (drawn, _) = figure(false, FillOrder::BehindLast);
    let sent = |d: &&String| d.contains(" A -> DATA ");
    let sent: Vec<&String> = drawn.iter().filter(sent).skip(4).take(2).collect();
    let expected = ["4020 ms A -> DATA 5 -> lost", "4020 ms A -> DATA 6 -> lost"];
    assert_eq!(sent, expected);
}

/// Each event sends three chunks, and each path has room for two. So the last path gets
/// only the rest.
#[test]
fn paths_take_turns_at_being_first() {
    let rounds = |order| {
        let mut c = cmt(10, |c| c.order = order);
        c.congestion.max_burst = Some(2);
        let mut p = Pair::up(2, &c);
        let mut all = Vec::new();
        for _ in 0..4 {
            p.send_many(A, FULL, 3);
            p.run(300);
            all.push(
                sent(&mut p)
                    .iter()
                    .map(|s| s[s.len() - 1..].to_owned())
                    .collect::<String>(),
            );
        }
        all
    };
    assert_eq!(rounds(FillOrder::BehindLast), ["001", "001", "001", "001"]);
    assert_eq!(rounds(FillOrder::InTurn), ["001", "110", "001", "110"]);
}

/// CMT-PF of figure 3.
const FIGURE_3: &[&str] = &[
    "4000 ms A -> DATA 1 -> Z",
    "4000 ms A -> DATA 2 -> lost",
    "4000 ms A -> DATA 3 -> Z (path 1)",
    "4000 ms A -> DATA 4 -> Z (path 1)",
    "4010 ms Z -> SACK 1 R5 -> lost",
    "4010 ms Z -> SACK 1 [3-3] R4 -> A (path 1)",
    "4010 ms Z -> SACK 1 [3-4] R3 -> A (path 1)",
    "4020 ms A -> DATA 5 -> Z (path 1)",
    "4020 ms A -> DATA 6 -> Z (path 1)",
    "4030 ms Z -> SACK 1 [3-5] R2 -> A (path 1)",
    "4030 ms Z -> SACK 1 [3-6] R1 -> A (path 1)",
    // The timeout makes path 0 potentially failed: it gets only heartbeats.
    "5020 ms A -> HEARTBEAT -> lost",
    "5020 ms A -> DATA 2 -> Z (path 1)",
    "5030 ms Z -> SACK 6 R5 -> A (path 1)",
    "5040 ms A -> DATA 7 -> Z (path 1)",
    "5040 ms A -> DATA 8 -> Z (path 1)",
    "5040 ms A -> DATA 9 -> Z (path 1)",
    "5040 ms A -> DATA 10 -> Z (path 1)",
    "5050 ms Z -> SACK 7 R5 -> A (path 1)",
    "5050 ms Z -> SACK 8 R5 -> A (path 1)",
    "5050 ms Z -> SACK 9 R5 -> A (path 1)",
    "5050 ms Z -> SACK 10 R5 -> A (path 1)",
    "5060 ms A -> DATA 11 -> Z (path 1)",
    "5060 ms A -> DATA 12 -> Z (path 1)",
    "5060 ms A -> DATA 13 -> Z (path 1)",
    "5060 ms A -> DATA 14 -> Z (path 1)",
    "5060 ms A -> DATA 15 -> Z (path 1)",
    "5070 ms Z -> SACK 11 R5 -> A (path 1)",
    "5070 ms Z -> SACK 12 R5 -> A (path 1)",
    "5070 ms Z -> SACK 13 R5 -> A (path 1)",
    "5070 ms Z -> SACK 14 R5 -> A (path 1)",
    "5070 ms Z -> SACK 15 R5 -> A (path 1)",
    "5080 ms A -> DATA 16 -> Z (path 1)",
    "5080 ms A -> DATA 17 -> Z (path 1)",
    "5080 ms A -> DATA 18 -> Z (path 1)",
    "5080 ms A -> DATA 19 -> Z (path 1)",
    "5080 ms A -> DATA 20 -> Z (path 1)",
    "5090 ms Z -> SACK 16 R5 -> A (path 1)",
    "5090 ms Z -> SACK 17 R5 -> A (path 1)",
    "5090 ms Z -> SACK 18 R5 -> A (path 1)",
    "5090 ms Z -> SACK 19 R5 -> A (path 1)",
    "5090 ms Z -> SACK 20 R5 -> A (path 1)",
    "7020 ms A -> HEARTBEAT -> lost",
];

#[test]
fn figure_3_of_natarajan_2006() {
    let (drawn, mut p) = figure(true, FillOrder::InTurn);
    assert_drawn(&drawn, FIGURE_3);
    assert_eq!(p.path_state(A, 0), PathState::PotentiallyFailed);
    // CMT-PF was blocked once, until the timeout. CMT is still blocked.
    let blocked = [
        stats(&mut p),
        stats(&mut figure(false, FillOrder::InTurn).1),
    ]
    .map(|s| s.rwnd_blocked);
    assert!(
        blocked[0] < ms(1100) && blocked[1] > ms(2900),
        "{blocked:?}"
    );
}

/// The windows that a path had, in chunks, without repeats.
fn windows(p: &mut Pair, of: u8) -> Vec<u32> {
    let cwnd = |o: Observation| match o {
        Observation::Window { path, cwnd, .. } if path.0 == of => Some(cwnd / PMDCS),
        _ => None,
    };
    let mut all: Vec<u32> = p.take_observed(A).into_iter().filter_map(cwnd).collect();
    all.dedup();
    all
}

#[test]
fn one_path_is_refused() {
    let mut c = cmt(2, |_| ());
    c.setup.max_paths = 1;
    let e = c.check().unwrap_err().to_string();
    assert!(e.starts_with("setup.max_paths = 1: concurrent"), "{e}");
}

//! Retransmission, round trips and congestion windows (RFC 9260 sections 6.3 and 7.2).

use crate::common::{A, Fate, Pair, Z, assert_drawn, ms, plain};
use byway_core::Config;
use byway_core::config::{FastRecovery, InitialCwnd, RttSampling};
use byway_core::observe::Observation;

#[test]
fn the_third_missing_report_repeats_a_chunk() {
    let mut c = plain();
    c.congestion.max_burst = None;
    c.congestion.initial_cwnd = byway_core::config::InitialCwnd::Pmdcs(10);
    c.congestion.idle_decay = false;
    let mut p = Pair::up(1, &c);
    p.lose_once(&["DATA 1"]);
    p.send_many(A, 1400, 5);
    p.run(60);
    assert_drawn(
        &p.take_drawings(),
        &[
            "A -> DATA 1 -> lost",
            "A -> DATA 2 -> Z",
            "A -> DATA 3 -> Z",
            "A -> DATA 4 -> Z",
            "A -> DATA 5 -> Z",
            "Z -> SACK 0 [2-2] -> A",
            "Z -> SACK 0 [2-3] -> A",
            "Z -> SACK 0 [2-4] -> A",
            "Z -> SACK 0 [2-5] -> A",
            "A -> DATA 1 -> Z",
            "Z -> SACK 5 -> A",
        ],
    );
    let path = p.path(A, 0);
    assert_eq!((path.cwnd, path.ssthresh), (5 * 1468, 5 * 1468));
}

#[test]
fn missing_reports_count_below_the_highest_newly_acknowledged_alone() {
    // HTNA: a SACK that newly acknowledges nothing above a chunk does not report it
    // missing.
    let mut c = plain();
    c.congestion.max_burst = None;
    let mut p = Pair::up(1, &c);
    p.hand(|q| match q.text.as_str() {
        "DATA 3" => Fate::Late(500),
        _ => Fate::Pass,
    });
    p.send_many(A, 1400, 3);
    p.run(30);
    for _ in 0..10 {
        let (cumulative, window) = (p.reader.tsn(A, 2), 1 << 20);
        p.inject(A, 0, |b| b.sack(cumulative, window, &[], &[]));
    }
    assert_eq!(
        p.with(A, |_, e, id| e.stats(id)).unwrap().fast_retransmits,
        0
    );
}

#[test]
fn losses_of_one_window_halve_cwnd_once() {
    let mut c = plain();
    c.congestion.max_burst = None;
    c.congestion.initial_cwnd = byway_core::config::InitialCwnd::Pmdcs(20);
    c.congestion.idle_decay = false;
    let mut p = Pair::up(1, &c);
    p.lose_once(&["DATA 1", "DATA 6", "DATA 9"]);
    p.send_many(A, 1400, 20);
    p.run(300);
    assert_eq!(p.take_got(Z).len(), 20);
    let stats = p.with(A, |_, e, id| e.stats(id)).unwrap();
    assert_eq!((stats.fast_retransmits, stats.timeouts), (3, 0));
    assert_eq!(p.path(A, 0).cwnd, 10 * 1468);
}

#[test]
fn t3_doubles_and_counts_errors_and_success_clears_them() {
    let mut p = Pair::up(1, &plain());
    p.timed = true;
    p.cut(&[0]);
    p.send_many(A, 100, 1);
    p.run(8000);
    assert_drawn(
        &p.take_drawings_with(&["DATA"]),
        &[
            "4000 ms A -> DATA 1 -> lost",
            "5000 ms A -> DATA 1 -> lost",
            "7000 ms A -> DATA 1 -> lost",
            "11000 ms A -> DATA 1 -> lost",
        ],
    );
    let path = p.path(A, 0);
    assert!(path.error_count >= 3);
    assert_eq!(path.rto, ms(8000));
    assert_eq!(path.cwnd, 1468);
    p.heal();
    p.run(9000);
    assert_eq!(p.path(A, 0).error_count, 0);
    assert_eq!(p.take_got(Z), [(0, 100)]);
}

fn samples(p: &mut Pair) -> Vec<u64> {
    let sample = |o: Observation| match o {
        Observation::Rto {
            sample: Some(s), ..
        } => Some(s.as_millis() as u64),
        _ => None,
    };
    p.take_observed(A).into_iter().filter_map(sample).collect()
}

#[test]
fn one_round_trip_gives_one_sample_and_a_repeated_chunk_none() {
    let mut p = Pair::up(1, &plain());
    p.send_many(A, 1400, 2);
    p.run(300);
    assert_eq!(samples(&mut p), [20]);
    // Karn: a chunk that was sent twice gives no sample.
    p.lose_once(&["DATA 3"]);
    p.send_many(A, 1400, 1);
    p.run(3000);
    assert_eq!(samples(&mut p), []);
}

#[test]
fn every_chunk_gives_a_sample_where_the_papers_simulator_is_followed() {
    let mut c = plain();
    c.rto.sampling = RttSampling::EveryChunk;
    c.sack.every = 1;
    let mut p = Pair::up(1, &c);
    p.send_many(A, 1400, 3);
    p.run(300);
    assert_eq!(samples(&mut p), [20, 20, 20]);
}

#[test]
fn an_idle_window_decays_before_it_is_used_again() {
    let mut c = plain();
    c.congestion.initial_cwnd = byway_core::config::InitialCwnd::Pmdcs(400);
    let mut p = Pair::up(1, &c);
    p.send_many(A, 100, 1);
    p.run(250);
    let before = p.path(A, 0).cwnd;
    p.run(2200);
    p.send_many(A, 100, 1);
    let path = p.path(A, 0);
    // Three RTOs passed before the first use and two more before the second. ssthresh
    // keeps the earlier window.
    let (at_first, at_second) = (400 * 1468 / 8, 400 * 1468 / 32);
    assert_eq!(before, at_first);
    assert_eq!((path.cwnd, path.ssthresh), (at_second, at_first));
}

#[test]
fn max_burst_limits_what_one_event_releases() {
    for (most, sent) in [(Some(1), 1), (Some(4), 4), (None, 9)] {
        let mut c = plain();
        c.congestion.initial_cwnd = byway_core::config::InitialCwnd::Pmdcs(20);
        c.congestion.idle_decay = false;
        c.congestion.max_burst = most;
        let mut p = Pair::up(1, &c);
        p.send_many(A, 1400, 9);
        assert_eq!(p.take_drawings().len(), sent);
    }
}

#[test]
fn slow_start_doubles_a_full_window_each_round_trip() {
    let mut c = plain();
    c.sack.every = 1;
    c.congestion.max_burst = None;
    let mut p = Pair::up(1, &c);
    p.send_many(A, 1452, 200);
    let windows: Vec<u32> = (0..4)
        .map(|_| {
            let w = p.path(A, 0).cwnd;
            p.run(20);
            w / 1468
        })
        .collect();
    assert_eq!(windows, [3, 6, 12, 24]);
}

#[test]
fn a_peer_that_takes_acknowledgements_back_gets_its_chunks_again() {
    let mut p = Pair::up(1, &plain());
    p.lose(|q| q.from == Z);
    p.send_many(A, 1400, 3);
    let (cumulative, window) = (p.reader.tsn(A, 0), 1 << 20);
    p.inject(A, 0, |b| b.sack(cumulative, window, &[(2, 3)], &[]));
    assert_eq!(p.path(A, 0).flight, 1416);
    p.inject(A, 0, |b| b.sack(cumulative, window, &[], &[]));
    assert_eq!(p.path(A, 0).flight, 3 * 1416);
    assert!(
        p.take_discards(A)
            .contains(&"the peer took acknowledgements back")
    );
    p.heal();
    p.run(3000);
    assert_eq!(p.take_got(Z).len(), 3);
    assert!(p.take_events(A).contains(&byway_core::Event::Drained));
}

#[test]
fn without_a_recovery_each_loss_of_a_window_halves_it() {
    // RFC 2960's text.
    for (recovery, ssthresh) in [(FastRecovery::PerAssociation, 8), (FastRecovery::Off, 4)] {
        let mut c = Config::rfc2960();
        c.congestion.initial_cwnd = InitialCwnd::Pmdcs(16);
        c.congestion.max_burst = None;
        c.congestion.idle_decay = false;
        c.congestion.fast_recovery = recovery;
        let mut p = Pair::up(1, &c);
        p.lose_once(&["DATA 1", "DATA 6"]);
        p.send_many(A, 1452, 12);
        p.run(100);
        assert_eq!(p.path(A, 0).ssthresh, ssthresh * 1468, "{recovery:?}");
    }
}

//! The presets rfc9260 and rfc2960, and how their behaviour differs.

use crate::common::{A, Pair, Z, assert_drawn, plain};
use byway_core::config::{Config, HbJitter, RttSampling};
use byway_core::{PathId, PathState};

fn old() -> Config {
    let mut c = Config::rfc2960();
    c.hb.jitter = HbJitter::Off;
    c.hb.enabled = false;
    c
}

fn both() -> [(&'static str, Config); 2] {
    [("rfc9260", plain()), ("rfc2960", old())]
}

#[test]
fn the_first_wait_is_one_second_or_three() {
    let waits = both().map(|(_, c)| {
        let mut p = Pair::new(1, &c);
        p.cut(&[0]);
        p.connect(A, &c);
        p.ends[A].poll_timeout().unwrap().as_nanos() / 1_000_000
    });
    assert_eq!(waits, [1000, 3000]);
}

#[test]
fn the_initial_window_is_4404_bytes_or_two_chunks() {
    let windows = both().map(|(_, c)| {
        let p = Pair::up(1, &c);
        let path = p.path(A, 0);
        (path.cwnd, path.ssthresh)
    });
    assert_eq!(windows, [(4404, u32::MAX), (2936, 65_536)]);
}

#[test]
fn a_chunk_is_repeated_after_three_missing_reports_or_four() {
    let reports = both().map(|(_, mut c)| {
        c.congestion.initial_cwnd = byway_core::config::InitialCwnd::Pmdcs(10);
        c.congestion.idle_decay = false;
        c.congestion.max_burst = None;
        c.retransmission.target = byway_core::policy::RetransmitTarget::AllRtxSame;
        let mut p = Pair::up(1, &c);
        p.lose_once(&["DATA 1"]);
        p.send_many(A, 1400, 8);
        p.timed = true;
        let mut reports = 0;
        for (i, hole) in (2..=7u16).enumerate() {
            let (cumulative, window) = (p.reader.tsn(A, 0), 60_000);
            p.inject(A, 0, |b| b.sack(cumulative, window, &[(2, hole)], &[]));
            reports = i + 1;
            if p.take_drawings_with(&["DATA 1 "])
                .iter()
                .any(|d| !d.contains("lost"))
            {
                break;
            }
        }
        reports
    });
    assert_eq!(reports, [3, 4]);
}

#[test]
fn after_a_timeout_data_leaves_a_path_at_once_or_stays() {
    // The potentially failed state of RFC 7829 is on in only one of them.
    let states = both().map(|(_, c)| {
        let mut p = Pair::up(2, &c);
        p.cut(&[0]);
        p.send_many(A, 100, 1);
        p.run(1200);
        (p.path_state(A, 0), p.path(A, 1).in_use)
    });
    assert_eq!(
        states,
        [
            (PathState::PotentiallyFailed, true),
            (PathState::Active, false)
        ]
    );
}

#[test]
fn fast_retransmissions_stay_on_their_path_or_move() {
    let moved = both().map(|(_, mut c)| {
        c.congestion.initial_cwnd = byway_core::config::InitialCwnd::Pmdcs(10);
        c.congestion.idle_decay = false;
        c.congestion.max_burst = None;
        let mut p = Pair::up(2, &c);
        p.lose_once(&["DATA 1"]);
        p.send_many(A, 1400, 7);
        p.run(50);
        let again = p.take_drawings_with(&["DATA 1 "]);
        assert_eq!(again.len(), 2, "{again:?}");
        again[1].contains("path 1")
    });
    assert_eq!(moved, [false, true]);
}

#[test]
fn the_floor_of_ssthresh_is_four_chunks_or_two() {
    let floors = both().map(|(_, c)| {
        let mut p = Pair::up(1, &c);
        p.cut(&[0]);
        p.send_many(A, 100, 1);
        p.run(3200);
        p.path(A, 0).ssthresh / 1468
    });
    assert_eq!(floors, [4, 2]);
}

#[test]
fn the_fields_that_differ() {
    let (new, old) = (Config::rfc9260(), Config::rfc2960());
    assert_eq!(new.rto.sampling, RttSampling::OncePerRound);
    assert_eq!(old.rto.sampling, RttSampling::EveryChunk);
    assert!(!new.failure.idle_heartbeats_count && old.failure.idle_heartbeats_count);
    assert_eq!((new.buffer.receive, old.buffer.receive), (1 << 20, 65_536));
    assert_eq!(
        (new.buffer.peer_overhead, old.buffer.peer_overhead),
        (0, 16)
    );
    assert!(
        Config::preset("rfc4960")
            .unwrap_err()
            .to_string()
            .contains("rfc9260, rfc2960, caro2006 and caro2006-proposed")
    );
    for c in [new, old] {
        c.check().unwrap();
    }
}

#[test]
fn both_speak_with_each_other() {
    for (a, z) in [(plain(), old()), (old(), plain())] {
        let mut p = Pair::new(2, &z);
        p.connect(A, &a);
        p.lose_once(&["DATA 5", "DATA 9", "SACK 4"]);
        p.run(4000);
        p.take_drawings();
        p.send_many(A, 1400, 40);
        p.send_many(Z, 1400, 40);
        p.run(60_000);
        assert_eq!((p.take_got(A).len(), p.take_got(Z).len()), (40, 40));
        p.with(A, |now, e, id| e.set_primary(now, id, PathId(1)))
            .unwrap();
        p.take_drawings();
        p.send_many(A, 10, 1);
        p.run(300);
        assert_drawn(
            &p.take_drawings(),
            &["A -> DATA 41 -> Z (path 1)", "Z -> SACK 41 -> A (path 1)"],
        );
    }
}

//! After a loss: proportional rate reduction, pacing, and losses that were none
//! (`cc/prr.rs`, `policy/pacing.rs`, `policy/spurious.rs`). A round trip takes 20 ms here.

use crate::common::{A, Fate, Pair, plain};
use byway_core::config::{Config, InitialCwnd};
use byway_core::policy::{Pacing, Rack};

const PMDCS: u32 = 1468;

fn wide() -> Config {
    let mut c = plain();
    c.retransmission.rack = Some(Rack::default());
    c.congestion.max_burst = None;
    c.congestion.initial_cwnd = InitialCwnd::Pmdcs(20);
    c.congestion.idle_decay = false;
    // So that the peer delays no answer.
    c.sack.every = 1;
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
    p.timed = true;
    p
}

/// This chunk arrives later by so many milliseconds, the first time.
fn delay(p: &mut Pair, chunk: &'static str, by: u64) {
    let mut first = true;
    p.hand(move |q| {
        let late = first && q.text.starts_with(chunk);
        first &= !late;
        if late { Fate::Late(by) } else { Fate::Pass }
    });
}

fn undone(p: &mut Pair) -> u64 {
    let stats = p.with(A, |_, e, id| e.stats(id));
    stats.unwrap().reductions_undone
}

/// How often this chunk left.
fn sendings(drawn: &[String], chunk: &str) -> usize {
    drawn.iter().filter(|d| d.contains(chunk)).count()
}

#[test]
fn a_chunk_that_was_overtaken_costs_no_window() {
    for undo in [false, true] {
        let mut c = wide();
        c.retransmission.undo_spurious = undo;
        let mut p = measured(&c);
        let before = p.path(A, 0).cwnd;
        delay(&mut p, "DATA 11", 12);
        p.send_many(A, 1400, 10);
        p.run(200);
        assert_eq!(sendings(&p.take_drawings(), "A -> DATA 11 "), 2);
        assert_eq!(undone(&mut p), u64::from(undo));
        assert_eq!(p.path(A, 0).cwnd >= before, undo, "{undo}");
    }
}

#[test]
fn the_reordering_window_grows_and_missing_reports_say_nothing_then() {
    let mut c = wide();
    c.retransmission.undo_spurious = true;
    let mut p = measured(&c);
    delay(&mut p, "DATA 11", 12);
    p.send_many(A, 1400, 10);
    p.run(200);
    p.take_drawings();
    // More than one share (5 ms) of the round trip, and less than two.
    delay(&mut p, "DATA 21", 8);
    p.send_many(A, 1400, 10);
    p.run(200);
    assert_eq!(sendings(&p.take_drawings(), "A -> DATA 21 "), 1);
    // A real loss is noticed by time.
    p.lose_once(&["DATA 31"]);
    p.send_many(A, 1400, 10);
    p.run(200);
    assert_eq!(sendings(&p.take_drawings(), "A -> DATA 31 "), 2);
    assert_eq!(p.path(A, 0).timeouts, 0);
}

#[test]
fn a_late_answer_to_a_timeout_gives_the_window_back() {
    for undo in [false, true] {
        let mut c = wide();
        c.retransmission.undo_spurious = undo;
        let mut p = measured(&c);
        let before = p.path(A, 0).cwnd;
        p.hand(|q| {
            if q.text.starts_with("SACK") {
                Fate::Late(1100)
            } else {
                Fate::Pass
            }
        });
        p.send_many(A, 1400, 6);
        p.run(3000);
        let drawn = p.take_drawings();
        assert_eq!(p.path(A, 0).timeouts, 1);
        // A SACK answers one chunk of six. The next ones leave before the second SACK.
        let again = (14..17)
            .filter(|n| sendings(&drawn, &format!("A -> DATA {n} ")) > 1)
            .count();
        assert_eq!(again == 0, undo, "{drawn:?}");
        assert_eq!(undone(&mut p), u64::from(undo));
        assert_eq!(p.path(A, 0).cwnd >= before, undo);
    }
}

#[test]
fn a_burst_of_losses_is_repaired_at_the_rate_of_delivery() {
    let most_at_once = |proportional: bool| {
        let mut c = wide();
        c.congestion.proportional_rate_reduction = proportional;
        let mut p = measured(&c);
        let mut lost: Vec<String> = (12..27).map(|n| format!("DATA {n}")).collect();
        p.lose(move |q| {
            let found = lost.iter().position(|l| q.text == *l);
            found.inspect(|i| drop(lost.swap_remove(*i))).is_some()
        });
        p.send_many(A, 1400, 20);
        p.run(15);
        p.take_drawings();
        p.run(8);
        p.take_drawings_with(&["A -> DATA"]).len()
    };
    let (plain, proportional) = (most_at_once(false), most_at_once(true));
    assert!(plain >= 9, "{plain}");
    assert!((1..=6).contains(&proportional), "{proportional}");
}

#[test]
fn a_paced_window_leaves_in_a_part_of_the_round_trip() {
    let leave = |pacing: Option<Pacing>| {
        let mut c = wide();
        c.congestion.pacing = pacing;
        let mut p = measured(&c);
        p.send_many(A, 1400, 20);
        let at_once = p.take_drawings_with(&["A -> DATA"]).len();
        p.run(10);
        (at_once, p.take_drawings_with(&["A -> DATA"]).len())
    };
    assert_eq!(leave(None), (20, 0));
    // 20 packets of slow start in 10 ms; 10 of them may leave at once, and one more
    // begins.
    assert_eq!(leave(Some(Pacing::default())), (11, 9));
}

#[test]
fn what_max_burst_holds_back_leaves_at_the_paths_rate() {
    let leave = |pacing: Option<Pacing>| {
        let mut c = wide();
        c.congestion.max_burst = Some(4);
        c.congestion.pacing = pacing;
        let mut p = measured(&c);
        p.lose(|q| q.text.starts_with("SACK"));
        p.send_many(A, 1400, 16);
        p.run(19);
        p.take_drawings_with(&["A -> DATA"]).len()
    };
    assert_eq!(leave(None), 4);
    assert_eq!(leave(Some(Pacing::default())), 16);
}

#[test]
fn the_window_is_that_of_the_standard_when_all_is_off() {
    let mut p = measured(&wide());
    p.lose_once(&["DATA 11"]);
    p.send_many(A, 1400, 10);
    p.run(200);
    assert!(p.path(A, 0).cwnd < 11 * PMDCS);
}

//! Timestamps (caro-2004 section II.B): which packets carry them, what is echoed, and
//! what the echo measures.

use crate::common::{A, Pair, Z, assert_drawn, ms, plain};
use byway_core::config::Config;

fn stamped() -> Config {
    let mut c = plain();
    c.rto.timestamps = true;
    c.failover.potentially_failed = None;
    c
}

#[test]
fn packets_are_stamped_where_both_sides_want_it() {
    for (ours, theirs, expected) in [
        (
            true,
            true,
            ["A -> TS, DATA 1 -> Z", "Z -> echo, SACK 1 -> A"],
        ),
        (true, false, ["A -> DATA 1 -> Z", "Z -> SACK 1 -> A"]),
        (false, true, ["A -> DATA 1 -> Z", "Z -> SACK 1 -> A"]),
    ] {
        let of = |wants| if wants { stamped() } else { plain() };
        let mut p = Pair::new(1, &of(theirs));
        p.connect(A, &of(ours));
        p.run(100);
        p.take_drawings();
        p.send_many(A, 10, 1);
        p.run(300);
        assert_drawn(&p.take_drawings(), &expected);
    }
}

#[test]
fn a_full_packet_has_12_bytes_less_payload() {
    let mut p = Pair::up(1, &stamped());
    assert_eq!(p.path(A, 0).cwnd, 4404);
    p.send_many(A, 1440, 1);
    p.send_many(A, 1441, 1);
    p.run(300);
    let drawn = p.take_drawings_with(&["DATA"]);
    assert_drawn(
        &drawn,
        &[
            "A -> TS, DATA 1 -> Z",
            "A -> TS, DATA 2 begin -> Z",
            "A -> TS, DATA 3 end -> Z",
        ],
    );
    let longest = p.sent.iter().map(|q| q.bytes.len()).max();
    assert_eq!(longest, Some(1480), "1500 bytes with the IP header");
}

#[test]
fn the_first_of_two_packets_is_echoed_so_the_delay_of_the_sack_counts() {
    let mut p = Pair::up(1, &stamped());
    p.send_many(A, 10, 1);
    p.run(300);
    p.send_many(A, 10, 1);
    p.run(100);
    p.send_many(A, 10, 1);
    p.run(300);
    // 7/8 of the first sample, 20 ms, and 1/8 of the second, 120 ms.
    assert_eq!(p.path(A, 0).srtt, Some(ms(20) * 7 / 8 + ms(120) / 8));
}

#[test]
fn a_retransmission_measures_its_path() {
    for timestamps in [true, false] {
        let mut c = stamped();
        c.rto.timestamps = timestamps;
        let mut p = Pair::up(2, &c);
        let before = p.path(A, 1).srtt;
        p.cut(&[0]);
        p.send_many(A, 10, 1);
        p.run(1500);
        let measured = p.path(A, 1).srtt != before;
        assert_eq!(measured, timestamps, "{before:?} {:?}", p.path(A, 1).srtt);
    }
}

#[test]
fn the_answer_to_the_first_sending_is_no_sample_of_the_second() {
    let mut p = Pair::up(1, &stamped());
    p.send_many(A, 10, 1);
    p.run(300);
    let before = p.path(A, 0).srtt;
    // The SACK is slower than the RTO, so the chunk is retransmitted. Then the answer to
    // its first transmission acknowledges it.
    p.delay_ms[0] = 600;
    p.send_many(A, 10, 1);
    p.run(1450);
    assert_drawn(
        &p.take_drawings_with(&["DATA 2"]),
        &["A -> TS, DATA 2 -> Z", "A -> TS, DATA 2 -> Z"],
    );
    assert_eq!(p.path(A, 0).srtt, before);
    assert_eq!(p.path(A, 0).rto, ms(2000), "the timer stays backed off");
    assert_eq!(p.take_got(Z).len(), 2);
}

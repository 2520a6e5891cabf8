//! Attacks by DATA and SACK of a peer, or of somebody who guesses.

use crate::common::stranger::{cookie_echo, data};
use crate::common::{A, Fate, Pair, Passing, Z, address, assert_drawn, packet, plain};
use byway_core::config::BufferTuning;
use byway_core::{Config, Event};
use byway_wire::{Data, Tsn};

#[test]
fn attack_sack_of_what_was_never_sent_ends_the_association() {
    // The last one denies a TSN and reports it in the same breath.
    let rows: [(u32, &[(u16, u16)]); 5] = [
        (4, &[]),
        (0, &[(2, 4)]),
        (2, &[(2, 2)]),
        (1 << 30, &[]),
        (0, &[(1, 2)]),
    ];
    for (cumulative, gaps) in rows {
        let mut p = Pair::up(1, &plain());
        p.lose(|q| q.from == Z);
        p.send_many(A, 1400, 3);
        p.take_drawings();
        let tsn = p.reader.tsn(A, cumulative);
        p.inject(A, 0, |b| b.sack(tsn, 1500, gaps, &[]));
        assert_drawn(&p.take_drawings(), &["A -> ABORT: Protocol Violation -> Z"]);
    }
    let mut p = Pair::up(1, &plain());
    let tsn = p.reader.tsn(A, 1);
    p.inject(A, 0, |b| b.shutdown(tsn));
    assert_drawn(&p.take_drawings(), &["A -> ABORT: Protocol Violation -> Z"]);
}

#[test]
fn attack_ack_splitting_does_not_open_the_window_faster() {
    // Section 7.2.1 counts bytes, and at most one PMDCS per SACK; these are less.
    const CHUNKS: u32 = 20;
    let grown = |splits: u32| {
        let mut p = Pair::up(1, &plain());
        p.lose(|q| q.from == Z);
        // More than the window takes, so that it is full whenever a SACK comes.
        p.send_many(A, 40, 400);
        let before = p.path(A, 0).cwnd;
        for n in 0..splits {
            let tsn = p.reader.tsn(A, (n + 1) * CHUNKS / splits);
            p.inject(A, 0, |b| b.sack(tsn, 1 << 20, &[], &[]));
        }
        p.path(A, 0).cwnd - before
    };
    let whole = grown(1);
    assert!(whole > 0, "the window is full, so it grows");
    for splits in [2, 4, 10, CHUNKS] {
        assert!(grown(splits) <= whole, "{splits}: {}", grown(splits));
    }
}

#[test]
fn attack_gap_blocks_and_duplicates_without_end_end_no_association() {
    let mut p = Pair::up(1, &plain());
    p.lose(|q| q.from == Z);
    p.send_many(A, 1400, 3);
    let gaps: Vec<(u16, u16)> = (0..16_000).map(|_| (2, 3)).collect();
    let tsn = p.reader.tsn(A, 0);
    p.inject(A, 0, |b| b.sack(tsn, 1500, &gaps, &[]));
    assert_eq!(p.state(A), "ESTABLISHED");
    let twice: Vec<Tsn> = (0..16_000).map(Tsn).collect();
    p.inject(A, 0, |b| {
        b.sack(tsn, 1500, &[(3, 2), (0, 9), (2, 3)], &twice)
    });
    assert_eq!(p.state(A), "ESTABLISHED");
    // The chunk announces more blocks than it has.
    p.inject(A, 0, |b| {
        b.raw(3, 0, &[0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff])
    });
    assert_eq!(p.state(A), "ESTABLISHED");
}

#[test]
fn attack_reneging_brings_chunks_back_to_their_path() {
    let mut p = Pair::up(2, &plain());
    p.lose(|q| q.from == Z);
    p.send_many(A, 1400, 3);
    let tsn = p.reader.tsn(A, 0);
    for gaps in [&[(2, 3)][..], &[], &[(3, 3)], &[(2, 2)], &[]] {
        p.inject(A, 0, |b| b.sack(tsn, 1 << 20, gaps, &[]));
    }
    assert_eq!(p.path(A, 0).flight, 3 * 1416);
    p.heal();
    p.run(5000);
    assert_eq!(p.take_got(Z).len(), 3);
}

#[test]
fn attack_serial_numbers_wrap_at_2_to_the_16_without_harm() {
    let mut p = Pair::up(1, &plain());
    for _ in 0..660 {
        p.send_many(A, 4, 100);
        p.run(300);
    }
    let got = core::mem::take(&mut p.got[Z]);
    assert_eq!(got.len(), 66_000);
    let ssns = got.iter().map(|r| usize::from(r.ssn));
    assert!(ssns.enumerate().all(|(i, ssn)| ssn == i % 65_536));
}

/// Fragments of one byte from messages that never end, each after a gap, and between them one message of `read` bytes that is
/// read. The fragments that the last SACK has, and whether the window is closed.
fn hoards(c: &Config, read: usize) -> (usize, bool) {
    let mut p = Pair::up(1, c);
    // The other half of the attacker would not understand what is acknowledged.
    p.lose(|q| q.from == Z);
    let payload = vec![7; read];
    for n in 1..2000u32 {
        let tsn = p.reader.tsn(A, 3 * n);
        p.inject(Z, 0, |b| {
            b.data(&Data {
                ssn: n as u16,
                end: false,
                ..data(tsn)
            });
        });
        // The buffer is looked at every ten milliseconds.
        if read > 0 && n % 20 == 0 {
            p.run(10);
            // Right behind a beginning it would be a violation.
            let tsn = p.reader.tsn(A, 3 * n + 2);
            p.inject(Z, 0, |b| {
                b.data(&Data {
                    unordered: true,
                    payload: &payload,
                    ..data(tsn)
                });
            });
        }
    }
    let sack = |q: &&Passing| q.text.starts_with("SACK");
    let last = p.sent.iter().rev().find(sack).unwrap();
    let most = p.sent.iter().map(|q| q.text.matches('[').count());
    (most.max().unwrap(), last.text.ends_with("closed"))
}

#[test]
fn attack_fragment_hoarding_is_bounded_and_tells_an_honest_window() {
    let mut c = plain();
    c.buffer.receive = 10_000;
    // 49 bytes for each fragment, and at most twice the buffer.
    let bound = 2 * 10_000 / 49 + 1;
    let (most, closed) = hoards(&c, 0);
    assert!(closed && most <= bound, "{most} of {bound}");
    // A buffer that tunes itself does not grow for it: nobody reads anything.
    c.buffer.tuning = Some(BufferTuning::default());
    let (most, closed) = hoards(&c, 0);
    assert!(closed && most <= bound, "{most} of {bound}");
    // What waits while something is read is what a slower path makes wait: up to `buffer.tuning.receive`.
    assert!(!hoards(&c, 1).1, "98,000 bytes are room");
    c.buffer.tuning = Some(BufferTuning {
        receive: 12_000,
        ..BufferTuning::default()
    });
    let bound = 2 * 12_000 / 49 + 1;
    let (most, closed) = hoards(&c, 1);
    assert!(closed && most <= bound, "{most} of {bound}");
}

/// A DATA chunk of one byte, for stream 0.
fn one_byte(p: &mut Pair, n: u32, (begin, end): (bool, bool)) {
    let tsn = p.reader.tsn(A, n);
    p.inject(Z, 0, |b| {
        b.data(&Data {
            ssn: n as u16,
            begin,
            end,
            ..data(tsn)
        });
    });
}

#[test]
fn attack_fragments_that_never_began_are_a_violation() {
    // Only ends of messages, in order: they would be acknowledged and never delivered.
    let mut p = Pair::up(1, &plain());
    one_byte(&mut p, 1, (false, true));
    assert!(p.sent.last().unwrap().text.starts_with("ABORT"));
    // The same behind a gap: nothing is wrong until it fills.
    let mut p = Pair::up(1, &plain());
    one_byte(&mut p, 2, (false, true));
    assert!(!p.sent.iter().any(|q| q.text.starts_with("ABORT")));
    one_byte(&mut p, 1, (true, true));
    assert!(p.sent.last().unwrap().text.starts_with("ABORT"));
}

#[test]
fn attack_self_referencing_reassembly_is_a_violation() {
    // A message begins inside another one.
    let mut p = Pair::up(1, &plain());
    for n in 1..=2u32 {
        let tsn = p.reader.tsn(A, n);
        p.inject(Z, 0, |b| {
            b.data(&Data {
                end: false,
                ..data(tsn)
            });
        });
    }
    assert_eq!(p.state(Z), "CLOSED");
    assert!(
        p.take_drawings()
            .contains(&"Z -> ABORT: Protocol Violation -> A".to_owned())
    );
}

#[test]
fn attack_packets_queued_for_a_path_that_went_away_go_nowhere() {
    // A restart from one address leaves only one path. What waited for the second path
    // is gone, and its id is refused.
    let mut p = Pair::up(2, &plain());
    // The heartbeat itself is lost: whom it reached after his restart, he would abort the association.
    p.cut(&[1]);
    p.with(Z, |now, e, id| {
        e.request_heartbeat(now, id, byway_core::PathId(1))
    })
    .unwrap();
    p.heal();
    p.replace(A, 7, &plain());
    p.ends[A] = crate::common::endpoint(1, A, 7, &plain());
    p.paths = 1;
    p.connect(A, &plain());
    p.run(100);
    assert_eq!(p.with(Z, |_, e, id| e.paths(id)).len(), 1);
    let is_restart = |e: &Event| matches!(e, Event::Restarted { .. });
    assert!(p.take_events(Z).iter().any(is_restart));
    // Its answer is waited for no more, and nothing follows it.
    p.take_drawings();
    p.send_many(Z, 10, 1);
    p.run(60_000);
    let mut sent = p.take_drawings();
    sent.retain(|drawn| drawn.starts_with("Z -> "));
    assert_drawn(&sent, &["Z -> DATA 1 -> A"]);
    let gone = p.with(Z, |now, e, id| {
        e.set_primary(now, id, byway_core::PathId(1))
    });
    assert_eq!(
        gone.unwrap_err().to_string(),
        "path 1 does not exist; the association has paths 0 to 0"
    );
}

// A HEARTBEAT is asked for over the second path, one arrives over it, and so does the COOKIE ECHO of a restart without
// it, before anything is sent: the HEARTBEAT and the answer of the old life have no path any more.
#[test]
fn attack_an_answer_that_waits_for_a_path_goes_with_it_when_the_peer_restarts() {
    let mut p = Pair::up(2, &plain());
    let tag = p.reader.tags[Z];
    let (_, echo) = cookie_echo(&mut p, address(0, A), 77, |_| {});
    let heartbeat = packet(A, tag, |b| b.heartbeat(&[7; 17]));
    p.take_drawings();
    let (now, z) = (p.now, &mut p.ends[Z]);
    let id = p.ids[Z].unwrap();
    z.request_heartbeat(now, id, byway_core::PathId(1)).unwrap();
    z.handle_datagram(now, address(1, A), address(1, Z), &heartbeat);
    z.handle_datagram(now, address(0, A), address(0, Z), &echo);
    p.pump(Z);
    assert_drawn(&p.take_drawings(), &["Z -> COOKIE ACK -> A"]);
    p.run(5000);
    assert_drawn(&p.take_drawings(), &[]);
}

#[test]
fn attack_forced_path_switch_leaves_the_primary_where_it_is() {
    // RFC 7829 section 8: losses that an attacker causes move data, but the
    // primary stays and traffic returns to it.
    let mut c = plain();
    c.hb.enabled = true;
    let mut p = Pair::up(2, &c);
    for _ in 0..5 {
        p.cut(&[0]);
        p.send_many(A, 10, 1);
        p.run(1500);
        p.heal();
        p.run(20_000);
    }
    assert!(p.path(A, 0).primary && p.path(A, 0).in_use);
    assert_eq!(p.take_got(Z).len(), 5);
}

#[test]
fn attack_changed_packets_never_change_a_message() {
    let mut p = Pair::up(1, &plain());
    let mut n = 0usize;
    p.hand(move |q| {
        n += 1;
        let mut bytes = q.bytes.clone();
        let at = n * 31 % bytes.len();
        if n.is_multiple_of(3) {
            bytes[at] ^= 1 << (n % 8);
            Fate::Changed(bytes)
        } else {
            Fate::Pass
        }
    });
    p.send_many(A, 700, 100);
    p.run(600_000);
    let got = core::mem::take(&mut p.got[Z]);
    assert_eq!(got.len(), 100);
    assert!(
        got.iter()
            .enumerate()
            .all(|(i, r)| r.payload.iter().all(|b| *b == i as u8))
    );
    assert!(p.ends[Z].endpoint_stats().bad_checksums > 0);
}

//! User message interleaving and stream schedulers (RFC 8260).

use crate::common::stranger::data;
use crate::common::{A, Fate, Pair, Z, assert_drawn, endpoint, loss, plain, probing};
use byway_core::policy::StreamScheduler;
use byway_core::time::Instant;
use byway_core::{Config, Event, Message};
use byway_wire::{Data, IData, SkippedMessage, Tsn};

/// Settings of both sides: messages interleave, and streams take turns.
fn interleaving() -> Config {
    let mut c = plain();
    c.streams.interleaving = true;
    c.streams.scheduler = StreamScheduler::RoundRobin;
    c
}

fn message(stream: u16, len: usize) -> Message {
    Message::new(stream, vec![stream as u8; len])
}

fn hand_over(p: &mut Pair, messages: Vec<Message>) {
    p.with(A, |now, e, id| {
        for m in messages {
            e.send(now, id, m).unwrap();
        }
    });
}

/// A message of one byte in I-DATA, for stream 0.
fn i_data(tsn: Tsn, mid: u32) -> IData<'static> {
    IData {
        tsn,
        stream_id: 0,
        mid,
        ppid_or_fsn: 0,
        unordered: false,
        begin: true,
        end: true,
        immediate: false,
        payload: b"x",
    }
}

#[test]
fn messages_of_two_streams_interleave() {
    let mut p = Pair::up(1, &interleaving());
    assert!(p.ends[A].interleaves(p.id(A)) && p.ends[Z].interleaves(p.id(Z)));
    hand_over(
        &mut p,
        vec![message(0, 3000), message(1, 2000), message(2, 10)],
    );
    p.run(50);
    assert_drawn(
        &p.take_drawings(),
        &[
            "A -> I-DATA 1 m0 begin -> Z",
            "A -> I-DATA 2 s1 m0 begin -> Z",
            "A -> I-DATA 3 s2 m0, I-DATA 4 m0 f1 -> Z",
            "Z -> SACK 1 -> A",
            "Z -> SACK 4 -> A",
            "A -> I-DATA 5 s1 m0 f1 end, I-DATA 6 m0 f2 end -> Z",
        ],
    );
    p.run(300);
    assert_eq!(p.take_got(Z), [(2, 10), (1, 2000), (0, 3000)]);
}

#[test]
fn without_both_sides_data_is_used_and_a_scheduler_needs_nobody() {
    let mut without = interleaving();
    without.streams.interleaving = false;
    for (ours, theirs, expected) in [
        (interleaving(), interleaving(), true),
        (interleaving(), plain(), false),
        (plain(), interleaving(), false),
        (without, plain(), false),
    ] {
        let ends = [endpoint(1, A, 1, &ours), endpoint(1, Z, 2, &theirs)];
        let mut p = Pair::of(ends, 1);
        p.connect(A, &ours);
        p.run(1000);
        p.take_drawings();
        for side in [A, Z] {
            assert_eq!(p.ends[side].interleaves(p.id(side)), expected);
        }
        hand_over(&mut p, vec![message(0, 3000), message(1, 10)]);
        p.run(500);
        let kind = if expected { " I-DATA " } else { " DATA " };
        let drawn = p.take_drawings_with(&["DATA"]);
        assert!(drawn.iter().all(|d| d.contains(kind)), "{drawn:?}");
        assert_eq!(p.take_got(Z).len(), 2);
    }
}

#[test]
fn the_chunk_of_the_other_kind_is_a_violation() {
    // Whether I-DATA was agreed on, the reason, and what the peer does.
    type Row<'a> = (bool, &'a str, &'a dyn Fn(&mut Pair));
    let rows: [Row<'_>; 5] = [
        (true, "DATA, although I-DATA was agreed on", &|p| {
            let tsn = p.reader.tsn(A, 1);
            p.inject(Z, 0, |b| b.data(&data(tsn)));
        }),
        (true, "FORWARD-TSN, although I-DATA was agreed on", &|p| {
            let tsn = p.reader.tsn(A, 1);
            p.inject(Z, 0, |b| b.raw(192, 0, &tsn.0.to_be_bytes()));
        }),
        (false, "I-DATA, which was not agreed on", &|p| {
            let tsn = p.reader.tsn(A, 1);
            p.inject(Z, 0, |b| b.i_data(&i_data(tsn, 0)));
        }),
        (false, "I-FORWARD-TSN, which was not agreed on", &|p| {
            let tsn = p.reader.tsn(A, 1);
            p.inject(Z, 0, |b| b.i_forward_tsn(tsn, &[]));
        }),
        // Behind a message that is as it should be.
        (true, "DATA, although I-DATA was agreed on", &|p| {
            let (one, two) = (p.reader.tsn(A, 1), p.reader.tsn(A, 2));
            p.inject(Z, 0, |b| {
                b.i_data(&i_data(one, 0));
                b.data(&data(two));
            });
        }),
    ];
    for (agreed, expected, attack) in rows {
        let peers = if agreed { interleaving() } else { plain() };
        let ends = [
            endpoint(1, A, 1, &peers),
            endpoint(1, Z, 2, &interleaving()),
        ];
        let mut p = Pair::of(ends, 1);
        p.connect(A, &peers);
        p.run(1000);
        p.take_drawings();
        attack(&mut p);
        assert_drawn(&p.take_drawings(), &["Z -> ABORT: Protocol Violation -> A"]);
        let why = loss(&p.take_events(Z));
        assert!(why.contains(expected), "{why}, not {expected}");
    }
}

#[test]
fn without_interleaving_its_chunks_are_unknown() {
    let mut p = Pair::up(1, &plain());
    let tsn = p.reader.tsn(A, 1);
    p.inject(Z, 0, |b| b.i_data(&i_data(tsn, 0)));
    p.inject(Z, 0, |b| b.i_forward_tsn(tsn, &[]));
    assert_drawn(
        &p.take_drawings(),
        &["Z -> ERROR: Unrecognized Chunk Type -> A"; 2],
    );
    assert_eq!(p.state(Z), "ESTABLISHED");
}

#[test]
fn attack_fragments_that_contradict_each_other_end_the_association() {
    // MID, FSN (0 for a first one), first, last; in TSN order.
    type Row<'a> = &'a [(u32, u32, bool, bool)];
    let rows: [Row<'_>; 7] = [
        &[(0, 0, false, true)],
        &[(0, 0, true, false), (0, 0, true, false)],
        &[(0, 1, false, false), (0, 1, false, true)],
        &[(0, 4, false, true), (0, 5, false, false)],
        &[(0, 5, false, false), (0, 4, false, true)],
        &[(0, 0, true, true), (0, 1, false, true)],
        &[(7, 0, true, true), (7, 0, true, true)],
    ];
    for row in rows {
        let mut p = Pair::up(1, &interleaving());
        for (n, &(mid, fsn, begin, end)) in row.iter().enumerate() {
            assert_eq!(p.state(Z), "ESTABLISHED", "{row:?}");
            let tsn = p.reader.tsn(A, 1 + n as u32);
            p.inject(Z, 0, |b| {
                b.i_data(&IData {
                    ppid_or_fsn: fsn,
                    begin,
                    end,
                    ..i_data(tsn, mid)
                });
            });
        }
        assert_eq!(p.state(Z), "CLOSED", "{row:?}");
        let last = p.take_drawings().pop().unwrap();
        assert_eq!(last, "Z -> ABORT: Protocol Violation -> A", "{row:?}");
    }
}

#[test]
fn attack_interleaved_fragments_without_end_are_bounded() {
    let mut c = interleaving();
    c.buffer.receive = 10_000;
    // Fragments of one byte that begin no message, and of messages that never end.
    for begin in [false, true] {
        let mut p = Pair::up(1, &c);
        p.reading[Z] = false;
        for n in 1..3000u32 {
            let tsn = p.reader.tsn(A, n);
            p.inject(Z, 0, |b| {
                b.i_data(&IData {
                    stream_id: (n % 10) as u16,
                    ppid_or_fsn: 1,
                    begin,
                    end: false,
                    ..i_data(tsn, n)
                });
            });
        }
        let memory = p.ends[Z].memory_of(p.id(Z)).unwrap();
        assert!(memory < 120_000, "{memory}");
        let last = p.sent.iter().rev().find(|q| q.text.starts_with("SACK"));
        assert!(last.unwrap().text.ends_with("closed"));
        assert_eq!(p.state(Z), "ESTABLISHED");
    }
}

#[test]
fn empty_i_data_and_streams_that_do_not_exist_are_treated_as_those_of_data() {
    let mut p = Pair::up(1, &interleaving());
    let (one, two) = (p.reader.tsn(A, 1), p.reader.tsn(A, 2));
    p.inject(Z, 0, |b| {
        b.i_data(&IData {
            stream_id: 99,
            immediate: true,
            ..i_data(one, 0)
        });
    });
    p.inject(Z, 0, |b| {
        b.i_data(&IData {
            payload: b"",
            ..i_data(two, 0)
        });
    });
    assert_drawn(
        &p.take_drawings(),
        &[
            "Z -> ERROR: Invalid Stream Identifier -> A",
            "Z -> SACK 1 -> A",
            "Z -> ABORT: No User Data -> A",
        ],
    );
}

/// When the last byte of a message of stream 1 arrives, in milliseconds after it was sent behind
/// one of 400 kB on stream 0; and when that one does.
fn delay_behind_a_long_message(interleaving: bool, scheduler: StreamScheduler) -> (u64, u64) {
    let mut c = plain();
    c.streams.interleaving = interleaving;
    c.streams.scheduler = scheduler;
    let mut p = Pair::up(1, &c);
    let start = p.now;
    hand_over(&mut p, vec![message(0, 400_000), message(1, 100)]);
    let mut arrived = [None, None];
    for _ in 0..3000 {
        p.run(1);
        for (stream, _) in p.take_got(Z) {
            arrived[usize::from(stream)] = Some(p.now);
        }
    }
    let after = |at: Option<Instant>| at.unwrap().since(start).as_millis() as u64;
    (after(arrived[1]), after(arrived[0]))
}

#[test]
fn a_small_message_does_not_wait_for_a_long_one_of_another_stream() {
    use StreamScheduler::{FairCapacity, FirstCome, Priority, RoundRobin, WeightedFair};
    for scheduler in [RoundRobin, FairCapacity, WeightedFair, Priority] {
        // A chunk of the long message, and then its turn: one way is 10 ms.
        let (small, _) = delay_behind_a_long_message(true, scheduler);
        assert!(small <= 12, "{scheduler:?}: {small} ms");
        // Without interleaving the long message has begun, and is finished first.
        let (small, long) = delay_behind_a_long_message(false, scheduler);
        assert!(small >= long && long > 80, "{scheduler:?}: {small}, {long}");
    }
    let (small, long) = delay_behind_a_long_message(true, FirstCome);
    assert!(small >= long && long > 80, "{small}, {long}");
}

#[test]
fn values_of_streams_are_priorities_or_weights() {
    let mut c = interleaving();
    c.streams.scheduler = StreamScheduler::WeightedFair;
    let mut p = Pair::up(1, &c);
    p.with(A, |now, e, id| {
        e.set_stream_value(now, id, 1, 3).unwrap();
        e.set_stream_value(now, id, 10, 1).unwrap_err();
        for stream in [0, 1] {
            e.send(now, id, message(stream, 200_000)).unwrap();
        }
    });
    p.run(5000);
    let chunks = p.sent.iter().filter(|q| q.from == A);
    let first: Vec<_> = chunks.take(80).collect();
    let of_one = first.iter().filter(|q| q.text.contains(" s1 ")).count();
    assert!((58..=62).contains(&of_one), "{of_one} of 80");
    assert_eq!(p.take_got(Z), [(1, 200_000), (0, 200_000)]);
}

#[test]
fn lost_chunks_are_sent_again_as_they_were() {
    for config in [interleaving(), {
        let mut c = probing();
        c.streams = interleaving().streams;
        c
    }] {
        let mut p = Pair::up(2, &config);
        p.lose_once(&[
            "I-DATA 1 ",
            "I-DATA 5 ",
            "I-DATA 6 ",
            "I-DATA 20",
            "SACK 30",
        ]);
        let mut all: Vec<Message> = (0..10).map(|s| message(s, 7000 + usize::from(s))).collect();
        let mut loose = message(3, 5000);
        loose.unordered = true;
        all.push(loose);
        hand_over(&mut p, all);
        p.run(20_000);
        let mut got = p.take_got(Z);
        got.sort_unstable();
        let mut expected: Vec<(u16, usize)> = (0..10).map(|s| (s, 7000 + usize::from(s))).collect();
        expected.push((3, 5000));
        expected.sort_unstable();
        assert_eq!(got, expected);
    }
}

#[test]
fn data_moves_to_another_path_and_goes_on() {
    let mut p = Pair::up(2, &interleaving());
    p.cut(&[0]);
    hand_over(
        &mut p,
        vec![message(0, 20_000), message(1, 20_000), message(2, 5)],
    );
    p.run(30_000);
    let mut got = p.take_got(Z);
    got.sort_unstable();
    assert_eq!(got, [(0, 20_000), (1, 20_000), (2, 5)]);
}

#[test]
fn long_messages_of_many_streams_get_through_a_small_buffer() {
    let mut c = interleaving();
    c.setup.outbound_streams = 40;
    c.buffer.receive = 20_000;
    let mut p = Pair::up(1, &c);
    p.lose_once(&["I-DATA 3 ", "I-DATA 9 ", "I-DATA 17 "]);
    hand_over(&mut p, (0..40).map(|s| message(s, 20_000)).collect());
    p.run(120_000);
    let mut bytes = vec![0; 40];
    let mut ends = 0;
    for r in core::mem::take(&mut p.got[Z]) {
        let stream = usize::from(r.stream);
        assert_eq!(r.first, bytes[stream] == 0);
        assert!(r.payload.iter().all(|b| usize::from(*b) == stream));
        bytes[stream] += r.payload.len();
        ends += usize::from(r.last);
    }
    assert_eq!((bytes, ends), (vec![20_000; 40], 40));
}

#[test]
fn the_peer_gives_messages_up() {
    let mut p = Pair::up(1, &interleaving());
    // A has sent nothing of this.
    p.lose(|q| q.from == Z);
    let tsn = |p: &Pair, n| p.reader.tsn(A, n);
    // The first chunk of stream 0 is lost, its last one has come; a message of stream 1 waits.
    let (two, three) = (tsn(&p, 2), tsn(&p, 3));
    p.inject(Z, 0, |b| {
        b.i_data(&IData {
            ppid_or_fsn: 1,
            begin: false,
            ..i_data(two, 0)
        });
        b.i_data(&IData {
            stream_id: 1,
            ..i_data(three, 1)
        });
    });
    let skipped = [(0, false, 0), (1, false, 0), (1, true, 9), (77, false, 3)];
    let skipped = skipped.map(|(stream_id, unordered, mid)| SkippedMessage {
        stream_id,
        unordered,
        mid,
    });
    p.inject(Z, 0, |b| b.i_forward_tsn(two, &skipped));
    assert_eq!(p.take_got(Z), [(1, 1)]);
    // An old one is acknowledged, and one that is too far ahead is not.
    p.inject(Z, 0, |b| b.i_forward_tsn(two, &[]));
    let far = tsn(&p, 90_000);
    p.inject(Z, 0, |b| b.i_forward_tsn(far, &[]));
    let four = tsn(&p, 4);
    p.inject(Z, 0, |b| b.i_data(&i_data(four, 1)));
    p.run(300);
    assert_eq!(p.take_got(Z), [(0, 1)]);
    let drawn = p.take_drawings();
    assert_eq!(drawn.last().unwrap(), "Z -> SACK 4 -> lost");
    assert_eq!(p.state(Z), "ESTABLISHED");
    assert_eq!(p.take_discards(Z), ["I-FORWARD-TSN too far ahead"]);
}

#[test]
fn the_user_hears_of_a_message_in_parts_that_the_peer_gives_up() {
    let mut c = interleaving();
    c.buffer.partial_delivery_point = 1;
    let mut p = Pair::up(1, &c);
    let (one, two) = (p.reader.tsn(A, 1), p.reader.tsn(A, 2));
    p.inject(Z, 0, |b| {
        b.i_data(&IData {
            end: false,
            ..i_data(one, 0)
        });
    });
    let part = &p.got[Z][0];
    assert!(part.first && !part.last);
    p.take_events(Z);
    let skipped = SkippedMessage {
        stream_id: 0,
        unordered: false,
        mid: 0,
    };
    p.inject(Z, 0, |b| b.i_forward_tsn(two, &[skipped]));
    let told = Event::PartsGivenUp {
        stream: 0,
        unordered: false,
    };
    assert_eq!(p.take_events(Z), [told]);
}

#[test]
fn what_a_lost_association_has_not_delivered_is_put_together() {
    let mut p = Pair::up(1, &interleaving());
    // The first packets arrive and are acknowledged, the others do not.
    let mut packets = 0;
    p.hand(move |q| {
        packets += usize::from(q.from == A);
        if q.from == A && packets > 3 {
            Fate::Lose
        } else {
            Fate::Pass
        }
    });
    let mut all = vec![message(0, 6000), message(1, 6000), message(2, 6000)];
    for (n, m) in all.iter_mut().enumerate() {
        (m.ppid, m.context) = (100 + n as u32, 1 + n as u64);
    }
    hand_over(&mut p, all);
    p.run(60);
    p.with(A, |now, e, id| e.abort(now, id, b"enough")).unwrap();
    let lost = p.take_events(A).into_iter().find_map(|e| match e {
        Event::Lost {
            undelivered_messages,
            ..
        } => Some(undelivered_messages),
        _ => None,
    });
    assert_eq!(lost, Some(3));
    let undelivered = p.with(A, |_, e, id| {
        core::iter::from_fn(|| e.take_undelivered(id)).collect::<Vec<_>>()
    });
    assert_eq!(undelivered.len(), 3);
    for u in &undelivered {
        let n = u.stream;
        assert_eq!((u.ppid, u.context), (100 + u32::from(n), 1 + u64::from(n)));
        assert!(u.sent && u.ssn == 0);
        assert_eq!(u.acknowledged as usize + u.payload.len(), 6000, "{n}");
        assert!(u.payload.iter().all(|b| u16::from(*b) == n));
    }
    let acknowledged: u64 = undelivered.iter().map(|u| u.acknowledged).sum();
    assert!(acknowledged > 2000, "{acknowledged}");
    assert_eq!(p.ends[A].memory_of(p.id(A)).map(|m| m < 20_000), Some(true));
}

#[test]
fn a_restart_agrees_anew_on_interleaving() {
    // The peer comes back without interleaving, and then with it.
    let mut p = Pair::up(1, &interleaving());
    hand_over(&mut p, vec![message(0, 100)]);
    p.run(300);
    for (seed, config, expected) in [(7, plain(), false), (8, interleaving(), true)] {
        p.replace(A, seed, &config);
        p.connect(A, &config);
        p.run(2000);
        assert_eq!(p.ends[Z].interleaves(p.id(Z)), expected);
        assert_eq!(p.ends[A].interleaves(p.id(A)), expected);
        p.take_got(Z);
        p.assert_carries_data();
    }
}

#[test]
fn the_last_chunk_asks_for_an_acknowledgement_and_the_association_ends() {
    let mut p = Pair::up(1, &interleaving());
    hand_over(&mut p, vec![message(0, 3000), message(1, 10)]);
    p.shutdown(A);
    p.run(1000);
    assert_eq!(p.state(A), "CLOSED");
    assert_eq!(p.take_got(Z).len(), 2);
}

#[test]
fn a_stream_of_which_nothing_waits_is_not_refused_because_of_others() {
    let refused = |p: &mut Pair, stream, len| {
        p.with(A, |now, e, id| {
            let checked = e.check_send(id, stream, len).is_err();
            assert_eq!(e.send(now, id, message(stream, len)).is_err(), checked);
            checked
        })
    };
    for (scheduler, beside) in [
        (StreamScheduler::RoundRobin, true),
        (StreamScheduler::FirstCome, false),
    ] {
        let mut c = interleaving();
        c.streams.scheduler = scheduler;
        c.buffer.send = 100_000;
        let mut p = Pair::up(1, &c);
        p.lose(|_| true);
        p.send(A, message(0, 100_000));
        // Of stream 0 something waits. What is too long, or beyond twice the buffer, is refused, too.
        assert!(refused(&mut p, 0, 10));
        assert!(refused(&mut p, 1, 65_537));
        assert_eq!(refused(&mut p, 1, 50_000), !beside);
        assert_eq!(refused(&mut p, 2, 50_000), !beside);
        assert!(refused(&mut p, 3, 1));
        if beside {
            assert!(refused(&mut p, 1, 1), "something waits");
        }
    }
}

#[test]
fn the_user_hears_when_nothing_waits_any_more_of_a_stream_that_was_refused() {
    for (scheduler, expected) in [
        (StreamScheduler::RoundRobin, true),
        (StreamScheduler::FirstCome, false),
    ] {
        let mut c = interleaving();
        c.streams.scheduler = scheduler;
        c.buffer.send = 100_000;
        let mut p = Pair::up(1, &c);
        let sent = p.with(A, |now, e, id| {
            e.send(now, id, message(0, 99_000)).unwrap();
            e.send(now, id, message(1, 900)).unwrap();
            e.send(now, id, message(1, 900)).is_ok()
        });
        assert!(!sent);
        p.take_events(A);
        // A round trip: much of stream 0 waits still.
        p.run(25);
        let told = p.take_events(A).contains(&Event::Writable);
        assert_eq!(told, expected, "{scheduler:?}");
        p.run(3000);
        assert!(told || p.take_events(A).contains(&Event::Writable));
    }
}

/// An INIT of somebody else lists I-DATA alone, or both chunks.
#[test]
fn i_forward_tsn_is_agreed_on_by_itself() {
    for (types, expected) in [(&[64][..], "ABORT"), (&[64, 194][..], "SACK")] {
        let c = interleaving();
        let mut p = Pair::new(1, &c);
        let source = crate::common::address(0, A);
        let tag = crate::common::stranger::set_up(&mut p, source, 77, |w| {
            w.supported_extensions(types);
        });
        let last = |p: &Pair| p.sent.last().unwrap().text.clone();
        p.inject_tagged(Z, 0, tag, |b| b.i_data(&i_data(Tsn(1), 0)));
        assert!(last(&p).starts_with("SACK"), "{}", last(&p));
        // An answer is due to the second one at once.
        for _ in 0..2 {
            p.inject_tagged(Z, 0, tag, |b| b.i_forward_tsn(Tsn(3), &[]));
        }
        assert!(last(&p).starts_with(expected), "{}", last(&p));
    }
}

/// A chunk of DATA of a stranger whose INIT listed nothing.
#[test]
fn a_stranger_without_interleaving_is_served_with_data() {
    let c = interleaving();
    let mut p = Pair::new(1, &c);
    let source = crate::common::address(0, A);
    let tag = crate::common::stranger::set_up(&mut p, source, 77, |_| {});
    p.inject_tagged(Z, 0, tag, |b| {
        b.data(&Data {
            payload: b"hello",
            ..data(Tsn(1))
        });
    });
    assert_eq!(p.take_got(Z), [(0, 5)]);
}

/// RFC 9260 section 9.2: Z has acknowledged that the peer sends nothing more.
#[test]
fn what_the_peer_gives_up_after_its_shutdown_is_discarded() {
    let mut p = Pair::up(1, &interleaving());
    p.lose(|q| q.text == "SHUTDOWN ACK");
    p.shutdown(A);
    p.run(50);
    assert_eq!(p.state(Z), "SHUTDOWN-ACK-SENT");
    p.take_discards(Z);
    let first = p.reader.tsn(A, 1);
    p.inject(Z, 0, |b| b.i_forward_tsn(first, &[]));
    let why = "I-FORWARD-TSN in a state that takes no data";
    assert_eq!(p.take_discards(Z), [why]);
    assert_eq!(p.state(Z), "SHUTDOWN-ACK-SENT");
}

/// The user has said which stream matters: three bytes of stream 1 for each of stream 0, until a value of 0 makes them equal
/// again. A peer that restarts changes nothing of that.
#[test]
fn the_values_of_streams_outlive_a_restart() {
    let mut c = interleaving();
    c.streams.scheduler = StreamScheduler::WeightedFair;
    let mut p = Pair::up(1, &c);
    p.with(Z, |now, e, id| e.set_stream_value(now, id, 1, 3))
        .unwrap();
    p.replace(A, 7, &c);
    p.connect(A, &c);
    p.run(2000);
    for (value, expected) in [(None, 58..=62), (Some(0), 38..=42)] {
        p.sent.clear();
        p.with(Z, |now, e, id| {
            if let Some(value) = value {
                e.set_stream_value(now, id, 1, value).unwrap();
            }
            for stream in [0, 1] {
                e.send(now, id, message(stream, 200_000)).unwrap();
            }
        });
        p.run(5000);
        let chunks = p.sent.iter().filter(|q| q.text.starts_with("I-DATA"));
        let of_one = chunks.take(80).filter(|q| q.text.contains(" s1 ")).count();
        assert!(expected.contains(&of_one), "{of_one} of 80");
        assert_eq!(p.take_got(A).len(), 2);
    }
}

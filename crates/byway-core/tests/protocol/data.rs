//! Data transfer and acknowledgements (RFC 9260 sections 6.2 to 6.10).

use crate::common::stranger::data;
use crate::common::{A, Fate, Pair, Z, addresses, assert_drawn, plain};
use byway_core::{Endpoint, EndpointConfig, Message, Observation};
use byway_wire::Data;

fn message(stream: u16, len: usize) -> Message {
    Message::new(stream, vec![7; len])
}

fn hand_over(p: &mut Pair, messages: Vec<Message>) {
    p.with(A, |now, e, id| {
        for m in messages {
            e.send(now, id, m).unwrap();
        }
    });
}

#[test]
fn small_messages_share_a_packet() {
    let mut p = Pair::up(1, &plain());
    hand_over(
        &mut p,
        vec![message(0, 100), message(1, 200), message(0, 300)],
    );
    p.run(50);
    assert_drawn(
        &p.take_drawings(),
        &["A -> DATA 1, DATA 2 s1, DATA 3 -> Z", "Z -> SACK 3 -> A"],
    );
    assert_eq!(p.take_got(Z), [(0, 100), (1, 200), (0, 300)]);
}

#[test]
fn a_long_message_is_cut_and_put_together() {
    let mut p = Pair::up(1, &plain());
    hand_over(&mut p, vec![message(0, 3000)]);
    p.run(50);
    assert_drawn(
        &p.take_drawings(),
        &[
            "A -> DATA 1 begin -> Z",
            "A -> DATA 2 middle -> Z",
            "A -> DATA 3 end -> Z",
            "Z -> SACK 1 -> A",
            "Z -> SACK 3 -> A",
        ],
    );
    assert_eq!(p.take_got(Z), [(0, 3000)]);
}

#[test]
fn the_first_data_is_acknowledged_at_once_then_after_200_ms_or_two_packets() {
    let mut p = Pair::up(1, &plain());
    p.timed = true;
    let start = p.now.as_nanos() / 1_000_000;
    assert_eq!(start, 4000);
    p.send_many(A, 1000, 1);
    p.run(500);
    p.send_many(A, 1000, 1);
    p.run(500);
    p.send_many(A, 1000, 2);
    p.run(1000);
    assert_drawn(
        &p.take_drawings(),
        &[
            "4000 ms A -> DATA 1 -> Z",
            "4010 ms Z -> SACK 1 -> A",
            "4500 ms A -> DATA 2 -> Z",
            "4710 ms Z -> SACK 2 -> A",
            "5000 ms A -> DATA 3 -> Z",
            "5000 ms A -> DATA 4 -> Z",
            "5010 ms Z -> SACK 4 -> A",
        ],
    );
}

#[test]
fn the_i_bit_asks_for_an_acknowledgement_at_once() {
    let mut p = Pair::up(1, &plain());
    let mut m = message(0, 10);
    m.immediate_ack = true;
    hand_over(&mut p, vec![m]);
    p.run(30);
    assert_drawn(
        &p.take_drawings(),
        &["A -> DATA 1 I -> Z", "Z -> SACK 1 -> A"],
    );
}

#[test]
fn a_gap_is_reported_at_once_and_its_filling_too() {
    let mut p = Pair::up(1, &plain());
    p.hand(|q| match q.text.as_str() {
        "DATA 2" => Fate::Late(50),
        _ => Fate::Pass,
    });
    p.send_many(A, 1400, 3);
    p.run(100);
    assert_drawn(
        &p.take_drawings(),
        &[
            "A -> DATA 1 -> Z",
            "A -> DATA 2 -> Z",
            "A -> DATA 3 -> Z",
            "Z -> SACK 1 -> A",
            "Z -> SACK 1 [3-3] -> A",
            "Z -> SACK 3 -> A",
        ],
    );
}

#[test]
fn duplicates_are_listed_in_the_next_sack() {
    let mut p = Pair::up(1, &plain());
    p.hand(|q| match q.text.as_str() {
        "DATA 1" => Fate::Twice,
        _ => Fate::Pass,
    });
    p.send_many(A, 1400, 1);
    p.run(100);
    assert_drawn(
        &p.take_drawings(),
        &[
            "A -> DATA 1 -> Z",
            "Z -> SACK 1 -> A",
            "Z -> SACK 1 twice 1 -> A",
        ],
    );
    assert_eq!(p.take_got(Z), [(0, 1400)]);
}

#[test]
fn order_holds_within_a_stream_and_only_there() {
    let mut p = Pair::up(1, &plain());
    p.lose_once(&["DATA 1"]);
    let mut loose = message(0, 1204);
    loose.unordered = true;
    hand_over(
        &mut p,
        vec![message(0, 1201), message(0, 1202), message(1, 1203), loose],
    );
    p.run(20);
    // The first message of stream 0 is missing. The second one waits; the others do not.
    assert_eq!(p.take_got(Z), [(1, 1203), (0, 1204)]);
    p.run(3000);
    assert_eq!(p.take_got(Z), [(0, 1201), (0, 1202)]);
}

#[test]
fn many_streams_each_in_order() {
    let mut c = plain();
    c.setup.outbound_streams = 500;
    let mut p = Pair::up(1, &c);
    p.lose_once(&["DATA 3", "DATA 90", "DATA 700"]);
    let all = (0..1000usize).map(|i| message((i % 500) as u16, 10 + i));
    hand_over(&mut p, all.collect());
    p.run(20_000);
    let got = p.take_got(Z);
    assert_eq!(got.len(), 1000);
    for stream in 0..500u16 {
        let of: Vec<usize> = got.iter().filter(|g| g.0 == stream).map(|g| g.1).collect();
        assert_eq!(of, [10 + usize::from(stream), 510 + usize::from(stream)]);
    }
}

#[test]
fn a_message_longer_than_every_buffer_is_handed_over_in_parts() {
    let mut c = plain();
    c.buffer.receive = 8000;
    c.buffer.send = 3000;
    let mut p = Pair::up(1, &c);
    hand_over(&mut p, vec![message(4, 50_000)]);
    p.run(60_000);
    let got = core::mem::take(&mut p.got[Z]);
    assert_eq!(got.iter().map(|r| r.payload.len()).sum::<usize>(), 50_000);
    assert!(got.len() > 5);
    assert!(got[0].first && !got[0].last);
    assert!(got[1..].iter().all(|r| !r.first && r.stream == 4));
    assert!(got.last().unwrap().last);
    assert!(got[..got.len() - 1].iter().all(|r| !r.last));
}

#[test]
fn data_for_a_stream_that_does_not_exist_is_acknowledged_and_reported() {
    let mut p = Pair::up(1, &plain());
    let tsn = p.reader.tsn(A, 1);
    p.inject(Z, 0, |b| {
        b.data(&Data {
            stream_id: 99,
            immediate: true,
            payload: b"nobody reads this",
            ..data(tsn)
        });
    });
    assert_drawn(
        &p.take_drawings(),
        &[
            "Z -> ERROR: Invalid Stream Identifier -> A",
            "Z -> SACK 1 -> A",
        ],
    );
    assert_eq!(p.take_got(Z), []);
}

#[test]
fn data_without_data_ends_the_association() {
    let mut p = Pair::up(1, &plain());
    let tsn = p.reader.tsn(A, 1);
    p.inject(Z, 0, |b| {
        b.data(&Data {
            payload: b"",
            ..data(tsn)
        });
    });
    assert_drawn(&p.take_drawings(), &["Z -> ABORT: No User Data -> A"]);
}

#[test]
fn unknown_chunk_types_by_their_upper_two_bits() {
    for (kind, answer, goes_on) in [
        (0x3f, None, false),
        (
            0x7f,
            Some("Z -> ERROR: Unrecognized Chunk Type -> A"),
            false,
        ),
        (0xbf, None, true),
        (0xff, Some("Z -> ERROR: Unrecognized Chunk Type -> A"), true),
    ] {
        let mut p = Pair::up(1, &plain());
        p.inject(Z, 0, |b| {
            b.raw(kind, 0, b"news");
            b.heartbeat(b"there?");
        });
        let mut expected: Vec<&str> = answer.into_iter().collect();
        if goes_on {
            expected.push("Z -> HEARTBEAT ACK -> A");
        }
        assert_drawn(&p.take_drawings(), &expected);
    }
}

#[test]
fn a_heartbeat_is_answered_with_its_information_to_where_it_came_from() {
    let mut p = Pair::up(2, &plain());
    p.inject(Z, 1, |b| b.heartbeat(b"any information"));
    assert_drawn(&p.take_drawings(), &["Z -> HEARTBEAT ACK -> A (path 1)"]);
    assert!(p.sent[0].bytes.windows(15).any(|w| w == b"any information"));
}

#[test]
fn a_heartbeat_of_two_parameters_is_returned_whole() {
    let mut p = Pair::up(1, &plain());
    let two = [
        &[0, 1, 0, 8][..],
        b"here",
        &[0x80, 9, 0, 9],
        b"there",
        &[0; 3],
    ]
    .concat();
    p.inject(Z, 0, |b| b.raw(4, 0, &two));
    assert_drawn(&p.take_drawings(), &["Z -> HEARTBEAT ACK -> A"]);
    assert!(p.sent[0].bytes.ends_with(&two));
}

/// What both ends observe of a transfer with a lost packet.
fn observed(details: bool) -> [Vec<Observation>; 2] {
    let end = |side: usize| {
        let config = EndpointConfig {
            accepted: plain(),
            observe: true,
            observe_details: details,
            ..EndpointConfig::new([5001, 5002][side], addresses(1, side), [7; 32])
        };
        Endpoint::new(config).expect("the settings are sound")
    };
    let mut p = Pair::of([end(A), end(Z)], 1);
    p.connect(A, &plain());
    p.lose_once(&["DATA 3"]);
    p.send_many(A, 1000, 12);
    p.run(4000);
    assert_eq!(p.got[Z].len(), 12);
    [A, Z].map(|side| p.take_observed(side))
}

#[test]
fn without_details_observations_are_the_same_but_for_three_kinds() {
    let detail = |o: &Observation| {
        matches!(
            o,
            Observation::Window { .. }
                | Observation::SackSent { .. }
                | Observation::Delivered { .. }
        )
    };
    let (all, few) = (observed(true), observed(false));
    for (mut all, few) in all.into_iter().zip(few) {
        let before = all.len();
        all.retain(|o| !detail(o));
        assert!(all.len() < before, "there were some");
        assert_eq!(all, few);
    }
}

/// Queues that are empty keep room for a few messages; an association that is idle does not need it. Those of a
/// greeting, up to 4096 bytes, go with its last SACK.
#[test]
fn an_idle_association_gives_the_memory_of_its_queues_back() {
    let mut config = plain();
    config.hb.enabled = true;
    for (count, until) in [
        (3, 1000),
        (60, config.hb.interval.as_millis() as u64 + 4000),
    ] {
        let mut p = Pair::up(1, &config);
        let memory = |p: &Pair| [A, Z].map(|side| p.ends[side].memory_of(p.id(side)).unwrap());
        let fresh = memory(&p);
        for side in [A, Z] {
            p.send_many(side, 100, count);
        }
        let used = memory(&p);
        // It has to fall below this.
        assert!(
            (0..2).all(|side| used[side] > fresh[side] + 300),
            "{used:?} {fresh:?}"
        );
        if count > 3 {
            p.run(1000);
            let kept = memory(&p);
            assert!(
                (0..2).all(|side| kept[side] > fresh[side] + 300),
                "{kept:?}"
            );
        }
        p.run(until);
        let idle = memory(&p);
        // The numbers of the stream, both ways.
        assert!(
            (0..2).all(|side| idle[side] <= fresh[side] + 64),
            "{count} messages: {idle:?} {fresh:?}"
        );
        // And it goes on as before.
        let before = p.got[Z].len();
        p.send_many(A, 100, 3);
        p.run(1000);
        assert_eq!(p.got[Z].len(), before + 3);
    }
}

/// A message whose first fragment has one byte, and comes before its turn. The second one is the last to arrive, and joins a
/// head that has no buffer of its own to a long rest that has one.
#[test]
fn a_tiny_head_joins_a_long_rest() {
    for second in [1, 1000] {
        let mut p = Pair::up(1, &plain());
        let lens = [5, 1, second, 1000, 1000, 1000];
        for n in [2, 4, 5, 6, 3, 1] {
            let tsn = p.reader.tsn(A, n);
            let payload = vec![n as u8; lens[n as usize - 1]];
            p.inject(Z, 0, |b| {
                b.data(&Data {
                    ssn: u16::from(n > 1),
                    begin: n <= 2,
                    end: n == 1 || n == 6,
                    payload: &payload,
                    ..data(tsn)
                });
            });
        }
        let of = |n: u8| vec![n; lens[usize::from(n) - 1]];
        let long: Vec<u8> = (2..=6).flat_map(of).collect();
        let got: Vec<_> = p.got[Z].iter().map(|r| r.payload.to_vec()).collect();
        assert_eq!(got, [of(1), long]);
    }
}

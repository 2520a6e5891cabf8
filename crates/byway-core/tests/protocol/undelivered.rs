//! What a lost association could not deliver, message by message (RFC 9260 sections 11.2.2,
//! 11.1.14 and 11.1.15).

use crate::common::{A, Pair, Z, plain};
use byway_core::{AssocId, Endpoint, Event, Message, Undelivered};

/// A message whose bytes say where they stand in it.
fn message(stream: u16, len: usize, context: u64) -> Message {
    let payload: Vec<u8> = (0..len).map(|i| (i / 7) as u8).collect();
    let mut m = Message::new(stream, payload);
    (m.ppid, m.context) = (u32::from(stream) + 100, context);
    m
}

fn taken(e: &mut Endpoint, id: AssocId) -> Vec<Undelivered> {
    core::iter::from_fn(|| e.take_undelivered(id)).collect()
}

/// Aborts A; what it had not delivered, which is as much as its event says.
fn abort(p: &mut Pair) -> Vec<Undelivered> {
    p.take_events(A);
    p.with(A, |now, e, id| e.abort(now, id, b"enough")).unwrap();
    let all = p.with(A, |_, e, id| taken(e, id));
    let events = p.take_events(A);
    let told = events.iter().find_map(|e| match e {
        Event::Lost {
            undelivered_messages,
            ..
        } => Some(*undelivered_messages),
        _ => None,
    });
    assert_eq!(told, Some(all.len() as u64));
    all
}

// A -> DATA 1 -> lost      the whole first message
// A -> DATA 2 -> lost      of the second one, three parts
// A -> DATA 3 -> lost
// A -> DATA 4 -> lost
// Z -> SACK 2 -> A
#[test]
fn each_message_says_what_of_it_was_acknowledged() {
    let mut p = Pair::up(1, &plain());
    p.lose(|q| q.from == Z || q.text.contains("DATA"));
    p.send(A, message(1, 100, 11));
    p.send(A, message(2, 10_000, 22));
    p.send(A, message(3, 50, 33));
    let second = p.reader.tsn(A, 2);
    p.inject(A, 0, |b| b.sack(second, 1 << 20, &[], &[]));
    let all = abort(&mut p);
    let facts: Vec<_> = all
        .iter()
        .map(|u| (u.stream, u.ssn, u.ppid, u.context, u.sent))
        .collect();
    assert_eq!(facts, [(2, 0, 102, 22, true), (3, 0, 103, 33, false)]);
    let begun = &all[0];
    assert!(begun.acknowledged > 1000, "{begun:?}");
    let whole = message(2, 10_000, 22).payload;
    assert_eq!(begun.payload, whole[begun.acknowledged as usize..]);
    assert_eq!(all[1].payload, message(3, 50, 33).payload);
    assert_eq!(all[1].acknowledged, 0);
}

// Z -> SACK 0 [2-3] -> A
#[test]
fn what_gap_blocks_alone_acknowledge_is_unacknowledged() {
    let mut p = Pair::up(1, &plain());
    p.lose(|q| q.from == Z || q.text.contains("DATA"));
    for context in 1..=3 {
        p.send(A, message(0, 500, context));
    }
    let none = p.reader.tsn(A, 0);
    p.inject(A, 0, |b| b.sack(none, 1 << 20, &[(2, 3)], &[]));
    let contexts: Vec<u64> = abort(&mut p).iter().map(|u| u.context).collect();
    assert_eq!(contexts, [1, 2, 3]);
}

/// Two lanes, several streams, a message in parts that has lost some of them to a timeout, and
/// what waits behind a full window.
#[test]
fn all_messages_come_once_and_those_of_a_stream_in_order() {
    let mut p = Pair::up(2, &plain());
    p.lose(|q| q.text.contains("DATA"));
    for n in 0..60u64 {
        let mut m = message((n % 4) as u16, if n % 5 == 0 { 6000 } else { 300 }, n + 1);
        m.unordered = n % 7 == 0;
        m.path = (n % 9 == 0).then_some(byway_core::PathId(1));
        p.send(A, m);
        if n == 30 {
            p.run(1500);
        }
    }
    let all = abort(&mut p);
    let mut contexts: Vec<u64> = all.iter().map(|u| u.context).collect();
    contexts.sort_unstable();
    assert_eq!(contexts, (1..=60).collect::<Vec<_>>());
    for stream in 0..4 {
        let ordered = all.iter().filter(|u| u.stream == stream && !u.unordered);
        let ssns: Vec<u16> = ordered.map(|u| u.ssn).collect();
        assert!(ssns.is_sorted(), "{ssns:?}");
    }
    let waits = all.iter().filter(|u| !u.sent);
    assert!(waits.count() > 10);
    assert!(all.iter().all(|u| u.acknowledged == 0));
    assert!(p.with(A, |_, e, id| e.take_undelivered(id)).is_none());
}

#[test]
fn nothing_is_taken_from_an_association_that_lives_or_ended_gracefully() {
    let mut p = Pair::up(1, &plain());
    p.lose(|q| q.text.contains("DATA"));
    p.send(A, message(0, 100, 1));
    assert_eq!(p.with(A, |_, e, id| e.take_undelivered(id)), None);
    p.heal();
    p.run(3000);
    p.shutdown(A);
    p.run(3000);
    assert_eq!(p.take_events(A).last(), Some(&Event::ShutdownComplete));
    assert_eq!(p.with(A, |_, e, id| e.take_undelivered(id)), None);
}

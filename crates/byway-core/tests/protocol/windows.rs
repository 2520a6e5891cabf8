//! The peer's window: closing, probing, opening (RFC 9260 sections 6.1 and 6.2).

use crate::common::{A, PORTS, Pair, Z, addresses, plain};
use byway_core::config::BufferTuning;
use byway_core::observe::Observation;
use byway_core::{Config, Endpoint, EndpointConfig};

/// A pair with a full window: the reader at Z does not read.
fn closed(receive: u32) -> Pair {
    let mut c: Config = plain();
    c.buffer.receive = receive;
    c.buffer.receive_overhead = 0;
    let mut p = Pair::up(1, &c);
    p.reading[Z] = false;
    p.send_many(A, 1000, 12);
    p.run(500);
    p
}

#[test]
fn a_full_window_stops_the_sender() {
    let mut p = closed(8000);
    let all = p.take_drawings();
    assert!(all.last().unwrap().contains("SACK 8 closed"), "{all:?}");
    assert_eq!(p.path(A, 0).flight, 0);
}

#[test]
fn a_closed_window_is_probed_after_one_rto_and_then_with_back_off() {
    let mut p = closed(8000);
    p.timed = true;
    p.take_drawings();
    p.run(40_000);
    let probes = p.take_drawings_with(&["DATA"]);
    let at: Vec<u64> = probes
        .iter()
        .map(|d| d.split(' ').next().unwrap().parse().unwrap())
        .collect();
    let waits: Vec<u64> = at.windows(2).map(|w| w[1] - w[0]).collect();
    assert_eq!(waits, [1000, 2000, 4000, 8000, 16_000], "{probes:?}");
    assert!(probes.iter().all(|d| d.contains("DATA 9")), "one chunk");
}

#[test]
fn a_window_that_stays_closed_for_a_day_does_not_end_the_association() {
    let mut p = closed(8000);
    p.run(24 * 3600 * 1000);
    assert_eq!((p.state(A), p.state(Z)), ("ESTABLISHED", "ESTABLISHED"));
    assert_eq!(p.path(A, 0).error_count, 0);
    p.reading[Z] = true;
    p.read(Z);
    p.pump(Z);
    p.run(100_000);
    assert_eq!(p.take_got(Z).len(), 12);
}

/// Found by random tests: two lost probes, with any time between them, ended the
/// association as if nothing had been answered in between.
#[test]
fn probes_of_a_closed_window_that_are_lost_now_and_then_do_not_end_the_association() {
    let mut c: Config = plain();
    c.hb.enabled = true;
    c.buffer.receive = 8000;
    c.buffer.receive_overhead = 0;
    let mut p = Pair::up(2, &c);
    p.reading[Z] = false;
    p.send_many(A, 1000, 12);
    p.run(500);
    let mut probes = 0;
    p.lose(move |q| {
        probes += u32::from(q.text.contains("DATA 9"));
        q.text.contains("DATA 9") && probes % 4 == 1
    });
    p.run(24 * 3600 * 1000);
    assert_eq!((p.state(A), p.state(Z)), ("ESTABLISHED", "ESTABLISHED"));
    assert!(!p.path(A, 0).dead_for_data && !p.path(A, 1).dead_for_data);
    p.heal();
    p.reading[Z] = true;
    p.read(Z);
    p.pump(Z);
    p.run(100_000);
    assert_eq!(p.take_got(Z).len(), 12);
}

#[test]
fn a_closed_window_whose_probes_nobody_answers_ends_the_association() {
    let mut p = closed(8000);
    p.cut(&[0]);
    p.run(3600 * 1000);
    assert_eq!(p.state(A), "CLOSED");
}

#[test]
fn reading_opens_the_window_and_says_so() {
    let mut p = closed(8000);
    p.take_drawings();
    p.reading[Z] = true;
    p.read(Z);
    p.pump(Z);
    p.run(300);
    let all = p.take_drawings();
    assert_eq!(all[0], "Z -> SACK 8 -> A");
    assert!(all[1].starts_with("A -> DATA 9"), "{all:?}");
    assert_eq!(p.take_got(Z).len(), 12);
}

#[test]
fn tiny_messages_against_a_sleeping_reader_do_not_end_the_association() {
    // Their overhead closes the window while more of them are in flight.
    let mut c = plain();
    c.buffer.receive = 1500;
    c.buffer.receive_overhead = 256;
    let mut p = Pair::up(1, &c);
    p.reading[Z] = false;
    p.send_many(A, 1, 13);
    p.run(3_600_000);
    assert_eq!(p.state(A), "ESTABLISHED");
    p.reading[Z] = true;
    p.read(Z);
    p.pump(Z);
    p.run(100_000);
    assert_eq!(p.take_got(Z).len(), 13);
}

#[test]
fn what_is_missing_in_front_of_a_hoard_finds_room() {
    let mut c = plain();
    c.buffer.receive = 1500;
    let mut p = Pair::up(1, &c);
    p.lose_once(&["DATA 1"]);
    for _ in 0..200 {
        p.send_many(A, 1, 1);
    }
    p.run(200_000);
    assert_eq!(p.take_got(Z).len(), 200);
}

#[test]
fn the_send_buffer_refuses_and_calls_when_there_is_room() {
    let mut c = plain();
    c.buffer.send = 2500;
    let mut p = Pair::up(1, &c);
    p.send_many(A, 1000, 2);
    let refused = p.with(A, |now, e, id| {
        e.send(now, id, byway_core::Message::new(0, vec![0; 1000]))
    });
    assert_eq!(
        refused.unwrap_err().to_string(),
        "the send buffer is full (2000 of 2500 bytes); wait for Writable"
    );
    p.run(100);
    assert!(p.take_events(A).contains(&byway_core::Event::Writable));
}

/// With tuning, what is in flight does not count against `buffer.send`, up to
/// `buffer.tuning.send`.
#[test]
fn a_tuned_send_buffer_counts_what_waits() {
    // The limit of the tuning, and how many messages of 1000 bytes are accepted at once: cwnd
    // lets five leave.
    for (tuning, expected) in [(None, 3), (Some(5000), 5), (Some(100_000), 8)] {
        let mut c = plain();
        c.buffer.send = 3000;
        c.buffer.tuning = tuning.map(|send| BufferTuning {
            send,
            ..BufferTuning::default()
        });
        let mut p = Pair::up(1, &c);
        p.lose(|q| q.from == Z);
        let mut accepted = 0;
        while p.with(A, |now, e, id| {
            let message = byway_core::Message::new(0, vec![0; 1000]);
            e.send(now, id, message).is_ok()
        }) {
            accepted += 1;
        }
        let in_flight = p.path(A, 0).flight / 1016;
        assert_eq!(accepted, expected, "{tuning:?}, {in_flight} in flight");
    }
}

/// A connected to Z, whose memory has this ceiling.
fn connected(c: &byway_core::config::Config, max_memory: usize) -> Pair {
    let end = |side: usize, max_memory| {
        Endpoint::new(EndpointConfig {
            accepted: c.clone(),
            max_memory,
            observe: true,
            ..EndpointConfig::new(PORTS[side], addresses(1, side), [side as u8; 32])
        })
    };
    let mut p = Pair::of([end(A, 256 << 20).unwrap(), end(Z, max_memory).unwrap()], 1);
    p.connect(A, c);
    p.run(1000);
    p
}

/// The windows that A has heard of.
fn windows(p: &mut Pair) -> impl DoubleEndedIterator<Item = u32> + use<> {
    let window = |o| match o {
        Observation::SackReceived { a_rwnd, .. } => Some(a_rwnd),
        _ => None,
    };
    p.take_observed(A).into_iter().filter_map(window)
}

/// The largest window that Z advertises while 2 MB arrive, with this `max_memory`. It begins
/// with 20,000 bytes.
fn largest_window(max_memory: usize, change: impl FnOnce(&mut Pair)) -> u32 {
    let mut c = plain();
    // Only a heartbeat tells the receiver the round trip.
    (c.hb.enabled, c.hb.at_establishment) = (true, true);
    c.buffer.receive = 20_000;
    c.buffer.send = 4 << 20;
    c.buffer.tuning = Some(BufferTuning::default());
    let mut p = connected(&c, max_memory);
    change(&mut p);
    p.send_many(A, 1000, 2000);
    p.run(3000);
    windows(&mut p).max().unwrap()
}

/// The receive buffer grows with what the reader takes, up to a sixteenth of the endpoint's
/// memory. A reader that takes nothing makes nothing grow.
#[test]
fn a_tuned_receive_buffer_grows_with_the_reader() {
    let all = 256 << 20;
    assert!(largest_window(all, |_| ()) > 100_000);
    assert_eq!(largest_window(16 * 30_000, |_| ()), 30_000);
    let idle = largest_window(all, |p| p.reading[Z] = false);
    assert!(idle <= 20_000, "{idle}");
}

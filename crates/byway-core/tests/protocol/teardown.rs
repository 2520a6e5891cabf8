//! Graceful shutdown and abort (RFC 9260 section 9).

use crate::common::{A, Pair, Z, assert_drawn, loss, ms, plain};
use byway_core::time::{Duration, Instant};
use byway_core::{Event, LossReason, Message};

#[test]
fn three_packets_end_an_association() {
    let mut p = Pair::up(1, &plain());
    p.shutdown(A);
    p.run(100);
    assert_drawn(
        &p.take_drawings(),
        &[
            "A -> SHUTDOWN 0 -> Z",
            "Z -> SHUTDOWN ACK -> A",
            "A -> SHUTDOWN COMPLETE -> Z",
        ],
    );
    assert_eq!(p.take_events(A), [Event::ShutdownComplete]);
    assert_eq!(
        p.take_events(Z),
        [Event::PeerShutdown, Event::ShutdownComplete]
    );
    assert_eq!(
        p.ends[A].association_count() + p.ends[Z].association_count(),
        0
    );
}

#[test]
fn everything_handed_over_is_delivered_first_on_both_sides() {
    let mut p = Pair::up(1, &plain());
    p.send_many(A, 1000, 20);
    p.send_many(Z, 1000, 20);
    p.shutdown(A);
    p.shutdown(Z);
    p.run(3000);
    assert_eq!((p.take_got(A).len(), p.take_got(Z).len()), (20, 20));
    assert!(p.take_events(A).contains(&Event::ShutdownComplete));
    assert!(p.take_events(Z).contains(&Event::ShutdownComplete));
}

#[test]
fn the_peer_finishes_its_data_after_shutdown() {
    let mut p = Pair::up(1, &plain());
    p.send_many(Z, 1400, 30);
    p.shutdown(A);
    p.run(3000);
    assert_eq!(p.take_got(A).len(), 30);
    let all = p.take_drawings();
    // Each packet with DATA is answered with SHUTDOWN and SACK.
    assert!(
        all.iter().any(|d| d.starts_with("A -> SHUTDOWN 2, SACK 2")),
        "{all:?}"
    );
    assert_eq!(p.take_events(A).last(), Some(&Event::ShutdownComplete));
}

#[test]
fn both_shut_down_at_once() {
    let mut p = Pair::up(1, &plain());
    p.shutdown(A);
    p.shutdown(Z);
    p.run(100);
    assert_drawn(
        &p.take_drawings(),
        &[
            "A -> SHUTDOWN 0 -> Z",
            "Z -> SHUTDOWN 0 -> A",
            "Z -> SHUTDOWN ACK -> A",
            "A -> SHUTDOWN ACK -> Z",
            "A -> SHUTDOWN COMPLETE -> Z",
            "Z -> SHUTDOWN COMPLETE -> A",
        ],
    );
    for side in [A, Z] {
        let told = [Event::PeerShutdown, Event::ShutdownComplete];
        assert_eq!(p.take_events(side), told);
    }
}

/// A has ended and answers no more. Whoever hears that the peer has shut down, and that nothing of what it
/// sent is missing, knows that only the last packet is.
#[test]
fn both_shut_down_at_once_and_the_end_of_it_is_lost() {
    let mut c = plain();
    c.failure.association_max_retrans = 2;
    let mut p = Pair::up(1, &c);
    p.lose(|q| q.from == A && !q.text.starts_with("SHUTDOWN 0"));
    p.shutdown(A);
    p.shutdown(Z);
    p.run(100);
    let now = p.now;
    let id = p.id(A);
    assert_eq!(p.state(A), "CLOSED");
    p.ends[A].release(now, id);
    p.lose(|q| q.from == A);
    p.run(10_000);
    assert_drawn(
        &p.take_drawings(),
        &[
            "A -> SHUTDOWN 0 -> Z",
            "Z -> SHUTDOWN 0 -> A",
            "Z -> SHUTDOWN ACK -> A",
            "A -> SHUTDOWN ACK -> lost",
            "A -> SHUTDOWN COMPLETE -> lost",
            "Z -> SHUTDOWN ACK -> A",
            "A -> SHUTDOWN COMPLETE (T) -> lost",
            "Z -> SHUTDOWN ACK -> A",
            "A -> SHUTDOWN COMPLETE (T) -> lost",
        ],
    );
    let lost = Event::Lost {
        reason: LossReason::PeerUnreachable,
        undelivered_messages: 0,
    };
    let told = p.take_events(Z);
    assert_eq!(
        [&told[0], &told[told.len() - 1]],
        [&Event::PeerShutdown, &lost]
    );
}

#[test]
fn t2_repeats_what_was_lost() {
    for lost in ["SHUTDOWN 0", "SHUTDOWN ACK", "SHUTDOWN COMPLETE"] {
        let mut p = Pair::up(1, &plain());
        p.lose_once(&[lost]);
        p.shutdown(A);
        p.run(3000);
        assert_eq!(
            p.take_events(A).last(),
            Some(&Event::ShutdownComplete),
            "{lost}"
        );
        assert_eq!(
            p.take_events(Z).last(),
            Some(&Event::ShutdownComplete),
            "{lost}"
        );
    }
}

#[test]
fn a_lost_shutdown_complete_is_repeated_out_of_the_blue() {
    let mut p = Pair::up(1, &plain());
    p.lose_once(&["SHUTDOWN COMPLETE"]);
    p.shutdown(A);
    p.run(3000);
    assert_drawn(
        &p.take_drawings(),
        &[
            "A -> SHUTDOWN 0 -> Z",
            "Z -> SHUTDOWN ACK -> A",
            "A -> SHUTDOWN COMPLETE -> lost",
            "Z -> SHUTDOWN ACK -> A",
            "A -> SHUTDOWN COMPLETE (T) -> Z",
        ],
    );
}

#[test]
fn a_shutdown_that_nobody_answers_ends_with_association_max_retrans() {
    let mut c = plain();
    c.failure.association_max_retrans = 4;
    let mut p = Pair::up(1, &c);
    p.cut(&[0]);
    p.shutdown(A);
    p.run(60_000);
    assert_eq!(p.take_drawings_with(&["SHUTDOWN"]).len(), 1 + 4);
    assert_eq!(
        loss(&p.take_events(A)),
        "the peer could not be reached on any path (Association.Max.Retrans exceeded)"
    );
}

/// Found in a simulation: the peer's heartbeats restarted T2 each time, and a finished
/// transfer ended as unreachable.
#[test]
fn heartbeats_of_the_peer_do_not_hold_off_t2() {
    let mut c = plain();
    c.hb.enabled = true;
    c.hb.interval = ms(500);
    let mut p = Pair::up(1, &c);
    let mut lost = 0;
    p.lose(move |q| {
        let hit = q.text.starts_with("SHUTDOWN") && lost < 2;
        lost += u32::from(hit);
        hit
    });
    p.shutdown(A);
    p.run(20_000);
    assert_eq!(p.take_drawings_with(&["SHUTDOWN 0"]).len(), 3);
    assert_eq!(p.take_events(A).last(), Some(&Event::ShutdownComplete));
}

#[test]
fn t5_ends_a_shutdown_that_takes_too_long() {
    // Every SHUTDOWN is lost, but other packets show that the peer is alive.
    let mut c = plain();
    c.rto.max = c.rto.initial;
    let mut p = Pair::up(1, &c);
    p.lose(|q| q.text.starts_with("SHUTDOWN"));
    p.shutdown(A);
    let mut left = 10;
    while left > 0 {
        p.run(900);
        // Any packet clears the error counter (section 9.2).
        p.inject(A, 0, |b| b.cookie_ack());
        left -= 1;
    }
    assert_eq!(p.state(A), "CLOSED");
    let told = p.take_drawings_with(&["ABORT"]);
    assert_drawn(&told, &["A -> ABORT: User-Initiated Abort -> Z"]);
}

#[test]
fn an_abort_ends_both_sides_at_once_and_says_why() {
    let mut p = Pair::up(1, &plain());
    p.cut(&[0]);
    p.send_many(A, 10, 3);
    p.heal();
    p.with(A, |now, e, id| e.abort(now, id, b"had enough"))
        .unwrap();
    p.run(100);
    assert_eq!(
        p.take_drawings_with(&["ABORT"]),
        ["A -> ABORT: User-Initiated Abort -> Z"]
    );
    assert_eq!(
        p.take_events(A),
        [Event::Lost {
            reason: LossReason::AbortedLocally,
            undelivered_messages: 3,
        }]
    );
    assert_eq!(loss(&p.take_events(Z)), "the peer aborted: had enough");
}

#[test]
fn what_has_arrived_is_read_after_the_end_until_it_is_released() {
    let mut p = Pair::up(1, &plain());
    p.reading[Z] = false;
    p.send_many(A, 10, 2);
    p.shutdown(A);
    p.run(1000);
    let id = p.id(Z);
    assert_eq!(p.state(Z), "CLOSED");
    assert!(p.ends[Z].receive(id).is_some());
    let now = p.now;
    p.ends[Z].release(now, id);
    assert!(p.ends[Z].receive(id).is_none());
    assert_eq!(p.ends[Z].state_name(id), None);
    assert!(p.ends[Z].send(now, id, Message::new(0, vec![1])).is_err());
    // The next association has another id.
    p.connect(A, &plain());
    p.run(100);
    assert_ne!(p.id(Z), id);
    assert_eq!(p.id(Z).index(), id.index());
}

/// A shuts down while the reader at Z has left its window closed. T5 is five seconds.
fn shutting_down_at_a_closed_window() -> Pair {
    let mut c = plain();
    (c.buffer.receive, c.rto.max) = (10_000, c.rto.initial);
    let mut p = Pair::up(1, &c);
    p.reading[Z] = false;
    p.send_many(A, 1400, 20);
    p.run(500);
    p.shutdown(A);
    p
}

#[test]
fn a_window_that_stays_closed_does_not_hold_a_shutdown_for_ever() {
    let mut p = shutting_down_at_a_closed_window();
    assert_eq!(p.state(A), "SHUTDOWN-PENDING");
    // Five times RTO.Max is five seconds. Probes of the closed window are answered.
    p.run(4000);
    assert_eq!(p.state(A), "SHUTDOWN-PENDING");
    p.run(4000);
    assert_eq!(p.state(A), "CLOSED");
    let told = p.take_drawings_with(&["ABORT"]);
    assert_drawn(&told, &["A -> ABORT: User-Initiated Abort -> Z"]);
}

#[test]
fn a_reader_that_goes_on_slowly_is_waited_for() {
    let mut p = shutting_down_at_a_closed_window();
    // Every four seconds it reads all that it has.
    for _ in 0..6 {
        p.run(4000);
        p.read(Z);
    }
    p.run(4000);
    assert_eq!(p.take_got(Z).len(), 20);
    assert_eq!(p.take_events(A).last(), Some(&Event::ShutdownComplete));
}

type Way = (&'static str, fn(&mut Pair));

/// What a peer does while A wants to end, each with data that it has not taken, four times in the
/// five seconds of T5.
const WAYS: [Way; 5] = [
    ("says nothing", |p| p.cut(&[0])),
    ("answers and takes nothing", |_| {}),
    ("takes a message in four seconds", |p| {
        if p.now.since(Instant::ZERO).as_secs().is_multiple_of(4) {
            let id = p.id(Z);
            p.with(Z, |_, e, _| e.receive(id));
        }
    }),
    ("sends data without end", |p| p.send_many(Z, 100, 1)),
    ("restarts", |p| {
        p.replace(Z, 9, &patient());
        p.connect(Z, &patient());
    }),
];

fn patient() -> byway_core::Config {
    let mut c = plain();
    (c.buffer.receive, c.rto.max) = (10_000, c.rto.initial);
    c.setup.keep_on_restart = true;
    c.failure.association_max_retrans = 1000;
    c.failure.path_max_retrans = 1000;
    c
}

// A -> DATA, DATA, ... -> Z, which does what it likes, and A wants to end: 50 times RTO.Max, which
// is one second
#[test]
fn a_shutdown_ends_in_a_stated_time_whatever_the_peer_does() {
    for (way, act) in WAYS {
        let mut p = Pair::up(1, &patient());
        p.reading[Z] = false;
        p.send_many(A, 1400, 200);
        p.run(500);
        p.shutdown(A);
        let begun = p.now;
        while p.state(A) != "CLOSED" {
            let took = p.now.since(begun);
            assert!(took <= Duration::from_secs(51), "{way}: {}", p.state(A));
            act(&mut p);
            p.run(1000);
        }
        if way.starts_with("takes") {
            // It was not ended before: there was progress all the time.
            assert!(p.now.since(begun) >= Duration::from_secs(50), "{way}");
        }
    }
}

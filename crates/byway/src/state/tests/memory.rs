//! What is kept for an association outside the core is in its account.

use super::stranger::Stranger;
use super::{State, at, state};
use crate::error::Closed;
use byway_core::{AssocId, Event, LossReason};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Poll, Wake, Waker};

const MAX_MEMORY: usize = 4 << 20;
/// A control character, which is escaped with five.
const REASON: [u8; 128] = [1; 128];

fn crowd(state: &mut State, associations: u16) -> Vec<Stranger> {
    (0..associations)
        .map(|n| {
            let address = SocketAddr::from(([10, 0, 1, (n % 50) as u8], 2000 + n));
            // As the rate of answers allows.
            Stranger::up(state, at(u64::from(n) * 10), address)
        })
        .collect()
}

/// The association that waits, which the application holds from now on.
fn accepted(state: &mut State) -> AssocId {
    match state.poll_accept(Waker::noop()) {
        Poll::Ready(Some(id)) => id,
        _ => panic!("an association waits"),
    }
}

/// What the entries keep, counted one by one.
fn kept(state: &State) -> usize {
    state.entries.values().map(|entry| entry.memory()).sum()
}

// ERRORs of four causes, each with a long reason of control characters, for as long as the user is
// told of them:
// Z -> ERROR(reason x 4) -> A, again and again; nobody accepts
#[test]
fn what_strangers_say_in_a_backlog_is_charged_and_stays_below_the_ceiling() {
    let mut state = state(1024, |c| c.max_memory = MAX_MEMORY);
    let crowd = crowd(&mut state, 200);
    let begun = state.core.memory();
    let mut said = 0;
    for second in 3..63 {
        for stranger in &crowd {
            for _ in 0..8 {
                stranger.send(&mut state, at(second * 1000), |b| {
                    b.error(|causes| {
                        for _ in 0..4 {
                            causes.protocol_violation(&REASON);
                        }
                    });
                });
                said += 4 * 5 * REASON.len();
            }
        }
        // What associations hold in the core comes on top.
        let (account, kept) = (state.core.memory(), kept(&state));
        assert!(account >= kept, "{kept} bytes are kept, {account} charged");
        assert!(account <= MAX_MEMORY + (64 << 10), "{account}");
    }
    assert!(said > 100 * MAX_MEMORY / 4);
    assert!(state.core.memory() > begun + (200 << 10), "they are kept");
}

// Z -> ABORT(reason) -> A, which holds a handle and reads no events
#[test]
fn the_reason_of_an_end_is_charged_until_the_handle_is_dropped() {
    let mut state = state(8, |_| {});
    let stranger = &crowd(&mut state, 1)[0];
    let id = accepted(&mut state);
    let before = state.core.memory();
    stranger.send(&mut state, at(1000), |b| {
        b.abort(false, |causes| {
            for _ in 0..4 {
                causes.user_initiated_abort(&REASON);
            }
        });
    });
    // The text of the event, and that of the closing reason.
    let text = 4 * 5 * REASON.len();
    let entry = &state.entries[&id];
    assert!(entry.memory() > 2 * text, "{}", entry.memory());
    assert!(state.core.memory() >= entry.memory());
    while let Some(event) = state.next_event(id) {
        if let Event::Lost { reason, .. } = event {
            assert!(matches!(reason, LossReason::AbortedByPeer(t) if t.len() >= text));
        }
    }
    assert!(state.core.memory() < before + 2 * text);
    state.drop_association(at(1000), id);
    // The tag of its spent cookie, and the queue of answers.
    let rest = state.core.memory();
    assert!(rest < 1024, "{rest}");
}

#[test]
fn what_the_application_keeps_is_charged_and_shed_with_the_association() {
    let mut state = state(8, |c| c.max_memory = MAX_MEMORY);
    let mut crowd = crowd(&mut state, 3);
    let ids: Vec<_> = (0..3).map(|_| accepted(&mut state)).collect();
    let now = at(1000);
    // One of them has unread messages, too.
    for _ in 0..20 {
        crowd[1].say(&mut state, now, 1000);
    }
    let before = state.core.memory();
    state.charge_application(now, ids[1], 0, 1 << 20);
    state.charge_application(now, ids[2], 0, 500_000);
    assert_eq!(state.core.memory(), before + (1 << 20) + 500_000);
    state.charge_application(now, ids[2], 500_000, 400_000);
    assert_eq!(state.core.memory(), before + (1 << 20) + 400_000);
    // More than one host may use: the one that holds most is let go, and only that one.
    state.charge_application(now, ids[1], 1 << 20, MAX_MEMORY);
    let closed = |state: &State, n: usize| state.entries[&ids[n]].closed.is_some();
    assert_eq!([0, 1, 2].map(|n| closed(&state, n)), [false, true, false]);
    assert_eq!(state.core.endpoint_stats().shed, 1);
    assert!(state.core.memory() < before + 400_000 + 4096);
    // It drops its messages late, and nobody is shed for it.
    state.charge_application(now, ids[1], MAX_MEMORY, MAX_MEMORY - 1);
    state.charge_application(now, ids[1], MAX_MEMORY - 1, 0);
    crowd[0].say(&mut state, now, 1);
    assert_eq!(state.core.association_count(), 2);
    let lost = std::iter::from_fn(|| state.next_event(ids[1])).last();
    assert!(matches!(
        lost,
        Some(Event::Lost {
            reason: LossReason::OutOfMemory,
            ..
        })
    ));
}

// Z -> DATA, SHUTDOWN -> A, which is let go with the message unread: that is no end in good order
#[test]
fn what_was_shed_with_unread_messages_was_not_shut_down() {
    let mut state = state(8, |c| c.max_memory = MAX_MEMORY);
    let mut crowd = crowd(&mut state, 1);
    let id = accepted(&mut state);
    let now = at(1000);
    crowd[0].say(&mut state, now, 1000);
    crowd[0].shut_down(&mut state, now);
    assert!(state.peer_has_shut_down(id));
    state.charge_application(now, id, 0, MAX_MEMORY);
    assert_eq!(state.core.endpoint_stats().shed, 1);
    assert!(!state.peer_has_shut_down(id));
    assert!(matches!(
        state.poll_closed(id, Waker::noop()),
        Poll::Ready(Closed::Lost {
            reason: LossReason::OutOfMemory,
            ..
        })
    ));
}

// Z -> DATA, SHUTDOWN, SHUTDOWN COMPLETE -> A, where nobody accepts, and memory becomes scarce
#[test]
fn what_waits_to_be_accepted_and_has_ended_gives_way() {
    let mut state = state(64, |c| c.max_memory = MAX_MEMORY);
    let mut crowd = crowd(&mut state, 50);
    let now = at(1000);
    for _ in 0..100 {
        crowd[0].say(&mut state, now, 1000);
    }
    crowd[0].shut_down(&mut state, now);
    crowd[0].hear(&mut state, now);
    crowd[0].send(&mut state, now, |b| b.shutdown_complete(false));
    // Who accepts it can still read all of it.
    let ended = state.incoming[0];
    assert!(state.entries[&ended].closed.is_some());
    assert!(state.core.memory_of(ended).is_some_and(|m| m > 100_000));
    // Each of the others keeps less.
    let others: Vec<_> = state.incoming.iter().skip(1).copied().collect();
    for id in &others {
        state.charge_application(now, *id, 0, 77_000);
    }
    assert_eq!(state.core.endpoint_stats().shed, 1);
    assert_eq!(state.incoming, others, "it left the backlog");
    assert!(!state.entries.contains_key(&ended));
    assert_eq!(state.core.memory_of(ended), None);
}

// Z -> DATA, ABORT -> A, whose application holds it and reads late
#[test]
fn who_reads_late_what_an_ended_association_left_is_told_that_it_was_lost() {
    let mut state = state(8, |c| c.max_memory = MAX_MEMORY);
    let mut crowd = crowd(&mut state, 1);
    let id = accepted(&mut state);
    let now = at(1000);
    crowd[0].say(&mut state, now, 1000);
    crowd[0].send(&mut state, now, |b| b.abort(false, |_| {}));
    let why = |state: &State| match &state.entries[&id].closed {
        Some(Closed::Lost { reason, .. }) => reason.clone(),
        other => panic!("{other:?}"),
    };
    assert!(matches!(why(&state), LossReason::AbortedByPeer(_)));
    state.charge_application(now, id, 0, MAX_MEMORY);
    assert_eq!(why(&state), LossReason::OutOfMemory);
    assert_eq!(state.core.endpoint_stats().shed, 1);
}

/// How often it was woken.
#[derive(Default)]
struct Woken(AtomicUsize);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// The last of a crowd goes when its handle is dropped, for which no packet comes and no timer runs.
#[test]
fn who_waits_for_free_memory_is_woken_as_a_crowd_goes() {
    let mut state = state(1024, |_| {});
    let crowd = crowd(&mut state, 200);
    state.turn(at(3000));
    let full = state.core.memory();
    let accepted = core::iter::from_fn(|| match state.poll_accept(Waker::noop()) {
        Poll::Ready(id) => id,
        Poll::Pending => None,
    });
    let ids: Vec<_> = accepted.collect();
    assert_eq!(ids.len(), 200);
    let woken = Arc::new(Woken::default());
    let waker = Waker::from(woken.clone());
    let seen = state.falls.all();
    assert!(state.falls.poll(seen, &waker).is_pending());
    for stranger in &crowd {
        stranger.send(&mut state, at(4000), |b| b.abort(false, |_| {}));
    }
    for id in ids {
        state.drop_association(at(4000), id);
    }
    state.wake.drain(..).for_each(Waker::wake);
    assert_eq!(woken.0.load(Ordering::Relaxed), 1);
    let Poll::Ready(fallen) = state.falls.poll(seen, &waker) else {
        panic!("it has fallen from {full}");
    };
    // The tags of 200 spent cookies, and the queue of answers.
    let rest = state.core.memory();
    assert!(rest < 32 << 10, "{rest}");
    assert!(
        fallen as usize > full - rest - (64 << 10),
        "{fallen} of {full}"
    );
}

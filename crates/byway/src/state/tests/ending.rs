//! How an association ended, when the last packets of its shutdown were lost.

use super::stranger::Stranger;
use super::{at, state};
use crate::error::Closed;
use byway_core::LossReason;
use std::net::SocketAddr;
use std::task::{Poll, Waker};

/// Who shuts down.
#[derive(Copy, Clone, PartialEq)]
enum Ends {
    Nobody,
    This,
    Stranger,
    Both,
}

/// How the association of a stranger ended who fell silent after this.
fn end(ends: Ends) -> Closed {
    let mut state = state(8, |_| {});
    let address = SocketAddr::from(([10, 0, 1, 1], 2000));
    let mut stranger = Stranger::up(&mut state, at(0), address);
    let Poll::Ready(Some(id)) = state.poll_accept(Waker::noop()) else {
        panic!("an association waits");
    };
    stranger.say(&mut state, at(1000), 100);
    if matches!(ends, Ends::This | Ends::Both) {
        state
            .command(at(2000), id, |core| core.shutdown(at(2000), id))
            .unwrap();
        stranger.hear(&mut state, at(2000));
    }
    if matches!(ends, Ends::Stranger | Ends::Both) {
        stranger.shut_down(&mut state, at(2000));
    }
    for second in 2..3600 {
        stranger.hear(&mut state, at(second * 1000));
        if let Some(closed) = state.entries[&id].closed.clone() {
            return closed;
        }
    }
    panic!("it has not ended");
}

// Z -> DATA, SHUTDOWN -> A, A -> SHUTDOWN ACK -> Z, Z -> SHUTDOWN COMPLETE -> lost; Z's program has ended.
// Or A -> SHUTDOWN -> Z before, and Z -> SHUTDOWN ACK -> lost, too.
#[test]
fn a_lost_shutdown_complete_loses_nothing() {
    assert_eq!(end(Ends::Stranger), Closed::Gracefully);
    assert_eq!(end(Ends::Both), Closed::Gracefully);
    let lost = Closed::Lost {
        reason: LossReason::PeerUnreachable,
        undelivered_messages: 0,
    };
    // Whether it had more to say, nobody knows.
    assert_eq!(end(Ends::This), lost);
    assert_eq!(end(Ends::Nobody), lost);
}

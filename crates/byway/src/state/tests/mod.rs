//! The state without sockets and without a clock, and strangers who send it what they like.

mod ending;
mod memory;
mod overview;
mod refusals;
mod stranger;

use super::State;
use crate::encapsulation::Place;
use crate::outbox::Outbox;
use byway_core::EndpointConfig;
use byway_core::time::Instant;
use std::net::SocketAddr;

/// The SCTP port of the state.
const PORT: u16 = 7;

fn here() -> SocketAddr {
    SocketAddr::from(([10, 0, 0, 1], 9899))
}

fn at(ms: u64) -> Instant {
    Instant::from_millis(ms)
}

/// A state of one socket; so many associations may wait to be accepted.
fn state(backlog: usize, change: impl FnOnce(&mut EndpointConfig)) -> State {
    let mut config = EndpointConfig::new(PORT, vec![here()], [7; 32]);
    change(&mut config);
    let core = byway_core::Endpoint::new(config).unwrap();
    let place = Place {
        address: here(),
        raw: false,
    };
    State::new(core, vec![place], Outbox::new(vec![8]), backlog)
}

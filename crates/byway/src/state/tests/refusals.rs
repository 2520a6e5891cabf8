//! What the socket layer refuses and drops is counted by rule.

use super::stranger::Stranger;
use super::{at, here, state};
use byway_core::Rule;
use byway_wire::{Packet, chunk_type};
use std::net::SocketAddr;

#[test]
fn an_association_beyond_the_backlog_is_counted_and_told_why() {
    let mut state = state(2, |_| {});
    let address = |n| SocketAddr::from(([10, 0, 1, n], 2000));
    for n in 0..2 {
        Stranger::up(&mut state, at(0), address(n));
    }
    let told = Stranger::up(&mut state, at(0), address(2)).told;
    let said = told.iter().any(|bytes| {
        let mut chunks = Packet::parse(bytes).unwrap().chunks().flatten();
        chunks.any(|c| c.kind == chunk_type::ABORT)
            && String::from_utf8_lossy(bytes).contains("too many unaccepted associations")
    });
    assert!(said, "{told:?}");
    let refusals = state.core.take_refusals();
    assert_eq!(refusals.len(), 1);
    assert_eq!((refusals[0].rule, refusals[0].count), (Rule::Backlog, 1));
    assert_eq!(refusals[0].last, address(2));
    // What was set up while the endpoint closed is refused by another rule.
    state.open = false;
    Stranger::up(&mut state, at(0), address(3));
    let counts = state.core.endpoint_stats().refusals;
    assert_eq!(
        (counts.of(Rule::Backlog), counts.of(Rule::NotAccepting)),
        (1, 1)
    );
}

#[test]
fn datagrams_from_port_0_and_those_that_wait_too_long_are_counted() {
    let mut state = state(2, |_| {});
    let nowhere = SocketAddr::from(([10, 0, 1, 1], 0));
    state.arrive(at(0), nowhere, 0, [&b"one"[..], b"two"].into_iter());
    state.overflowed(7, here());
    let refusals = state.core.take_refusals();
    let rules: Vec<_> = refusals.iter().map(|r| (r.rule, r.count, r.last)).collect();
    assert_eq!(
        rules,
        [(Rule::PortZero, 2, nowhere), (Rule::SendQueue, 7, here())]
    );
    assert_eq!(state.stats.datagrams_received, 2);
    assert_eq!(state.stats.datagrams_overflowed, 7);
}

//! A deterministic network simulator: hosts, routers and links with queues,
//! losses, outages and cross traffic, in virtual time.
//!
//! [`net`] is the network alone and says how to drive it. In short:
//!
//! - [`net::TopologyBuilder`]: `add_host(name, addresses)`, `add_router(name)`,
//!   `add_link(from, to, LinkConfig)` (one way), `add_duplex`, `add_route`,
//!   `add_traffic`, then `build(seed)`.
//! - [`net::LinkConfig`]: rate or delivery trace, delay, drop-tail queue, loss
//!   model, reordering, duplication, corruption, changes at set times, capture.
//! - [`net::Network`]: `send(now, Outgoing)`, `add_timer`/`set_timer`,
//!   `pop_until(limit)` giving [`net::Event`]s, counters per link, a log of
//!   every packet's fate, `write_pcapng`.
//!
//! The same topology, seed and calls give the same events on every machine.
#![forbid(unsafe_code)]

pub mod host;
pub mod net;
mod simulation;

pub use simulation::{HostId, Simulation};

/// The example of the README, as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

//! A deterministic network simulator: hosts, routers and links with queues,
//! losses, outages and cross traffic, in virtual time.
//!
//! - [`net::TopologyBuilder`] collects hosts, routers, one-way links, routes and
//!   cross traffic, and builds a [`net::Network`] from a seed.
//! - [`net::LinkConfig`] describes a link: rate or delivery trace, propagation
//!   delay, drop-tail queue, loss model, reordering, duplication, corruption,
//!   scheduled changes, capture.
//! - [`net::Network`] carries packets of any kind and reports arrivals and timers.
//!   It has counters per link, a log of every packet and pcapng captures. [`net`]
//!   says how to drive it without SCTP.
//! - [`Simulation`] puts SCTP endpoints and [applications](host::Application) on
//!   the hosts of a network.
//!
//! The same topology, seeds and calls give the same events on every machine.
//!
//! ```
//! use byway_core::time::{Duration, Instant};
//! use byway_core::{Config, EndpointConfig, Message};
//! use byway_sim::Simulation;
//! use byway_sim::host::Idle;
//! use byway_sim::net::{LinkConfig, QueueLimit, Rate, TopologyBuilder};
//! use std::net::SocketAddr;
//!
//! let (a, b): (SocketAddr, SocketAddr) = ("10.0.0.1:0".parse()?, "10.0.0.2:0".parse()?);
//! let mut topology = TopologyBuilder::new();
//! let node_a = topology.add_host("a", &[a.ip()]);
//! let node_b = topology.add_host("b", &[b.ip()]);
//! let link = LinkConfig::new(Rate::mbps(10), Duration::from_millis(25))
//!     .queue(QueueLimit::Packets(50));
//! topology.add_duplex(node_a, node_b, link);
//!
//! // `Idle` hosts do nothing: the example calls their endpoints itself.
//! let mut sim = Simulation::new(topology.build(1)?);
//! let client = sim.add_host(node_a, EndpointConfig::new(5000, vec![a], [1; 32]), Idle)?;
//! sim.add_host(node_b, EndpointConfig::new(5001, vec![b], [2; 32]), Idle)?;
//!
//! let association = sim.with_endpoint(client, |now, endpoint| {
//!     endpoint.connect(now, &[b], 5001, Config::default())
//! })?;
//! // The handshake takes two round trips of 50 ms.
//! sim.run_until(Instant::from_millis(110));
//! assert_eq!(sim.endpoint(client).state_name(association), Some("ESTABLISHED"));
//!
//! sim.with_endpoint(client, |now, endpoint| {
//!     endpoint.send(now, association, Message::new(0, "hello"))
//! })?;
//! sim.run_until(Instant::from_millis(1000));
//! assert_eq!(sim.endpoint(client).buffered(association), Some(0));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

pub mod host;
pub mod net;
pub mod pcapng;
mod simulation;

pub use simulation::{HostId, Simulation};

/// The example of the README, as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

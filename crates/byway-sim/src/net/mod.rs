//! The network: hosts, routers and one-way links in virtual time.
//!
//! [`TopologyBuilder`] collects the parts and checks them, [`Network`] runs them.
//! The network knows nothing of SCTP endpoints. A host is a name and up to 255
//! interfaces with addresses; the caller handles its events.
//!
//! ```
//! use byway_sim::net::{Event, LinkConfig, Outgoing, QueueLimit, Rate, TopologyBuilder};
//! use byway_core::time::{Duration, Instant};
//!
//! let (a_address, b_address) = ("10.0.0.1".parse()?, "10.0.0.2".parse()?);
//! let mut topology = TopologyBuilder::new();
//! let a = topology.add_host("a", &[a_address]);
//! let b = topology.add_host("b", &[b_address]);
//! let link = LinkConfig::new(Rate::mbps(10), Duration::from_millis(25))
//!     .queue(QueueLimit::Packets(50));
//! topology.add_duplex(a, b, link);
//! let mut net = topology.build(1)?;
//!
//! let mut payload = net.buffer();
//! payload.extend_from_slice(&[0; 1480]);
//! net.send(Instant::ZERO, Outgoing::new(a_address, b_address, payload))?;
//! let retransmission = net.add_timer(a, 3);
//! net.set_timer(retransmission, Some(Instant::from_millis(1000)));
//!
//! // 1500 bytes at 10 Mb/s take 1.2 ms.
//! let (at, event) = net.pop().expect("a packet is in flight");
//! assert_eq!(at, Instant::from_nanos(26_200_000));
//! let Event::Arrived(arrival) = event else { unreachable!() };
//! assert_eq!((arrival.node, arrival.payload.len()), (b, 1480));
//! net.recycle(arrival.payload);
//! assert!(matches!(net.pop(), Some((_, Event::Timer { token: 3, .. }))));
//! assert!(net.pop().is_none());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Driving it
//! In a loop, take the next event with [`Network::pop_until`] and let the host
//! react at that time with [`Network::send`] and [`Network::set_timer`]. Events
//! come in order of time. At the same nanosecond packets come before timers,
//! packets in the order of their links' numbers, timers in the order of their
//! ids. Sending at a time before the last event is an error.
//!
//! # Following packets ahead of time
//! All changes of a link are known when the network is built. So the fate of a
//! packet on a link can be computed before the packet reaches it, as long as
//! packets are offered in the order of their arrival. That is true for a link fed
//! by one host interface, or by one other link that keeps order. Over such links
//! a packet is followed when it is sent, and only its arrival at the host, or at
//! the first link where flows meet, becomes an event. Results do not depend on
//! this (a test compares), except for simultaneous packets on links that take no
//! time at all.
//!
//! # Randomness
//! Every link has separate random streams, derived from the seed, the link's number and
//! the kind of effect. Every source of cross traffic has its own stream, too.

mod address;
mod capture;
mod clock;
mod error;
mod event;
mod flow;
mod hash;
mod ids;
mod link;
mod log;
mod network;
mod packet;
mod rng;
mod route;
#[cfg(test)]
mod tests;
mod timer;
mod topology;
mod traffic;

pub use capture::Capture;
pub use error::{SendError, TopologyError};
pub use event::Simultaneous;
pub use ids::{LinkId, NodeId, Port, TimerId, TrafficId};
pub use link::{
    Corrupt, DeliveryTrace, Duplicate, LinkChange, LinkConfig, LossModel, PacketMatch, Policer,
    QueueLimit, Rate, Reorder, TsnDrop,
};
pub use log::{DropReason, LinkCounters, LogEntry, LogKind};
pub(crate) use network::HostEvent;
pub use network::{Arrival, Event, Network, Outgoing};
pub use topology::TopologyBuilder;
pub use traffic::{CARO_2003_SIZES, TrafficConfig, TrafficCounters};

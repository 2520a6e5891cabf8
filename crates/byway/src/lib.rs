//! Multihomed SCTP (RFC 9260) over UDP (RFC 6951), or directly over IP, for tokio.
//!
//! An [`Endpoint`] owns one SCTP port on one or more local addresses, with one UDP
//! socket per address ([`Encapsulation`] says what else is possible). It connects to peers and accepts their [`Association`]s.
//! An association carries messages on numbered [`Stream`]s over all paths
//! between the two hosts, and moves the traffic when a path fails.
//!
//! ```
//! use byway::{Endpoint, EndpointOptions, Message};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let server = Endpoint::bind(EndpointOptions::new(["127.0.0.1:0".parse()?]).sctp_port(7))?;
//! let client = Endpoint::bind(EndpointOptions::new(["127.0.0.1:0".parse()?]))?;
//!
//! let echo = tokio::spawn({
//!     let server = server.clone();
//!     async move {
//!         let association = server.accept().await.expect("the endpoint is open");
//!         while let Some(received) = association.recv().await {
//!             let echo = Message::new(received.stream, received.payload);
//!             association.send(echo).await.expect("the client waits for it");
//!         }
//!         association.closed().await
//!     }
//! });
//!
//! let association = client.connect(&server.local_addresses(), 7).await?;
//! association.send(Message::new(0, "over and out")).await?;
//! let received = association.recv().await.expect("the echo");
//! assert_eq!(received.payload, "over and out");
//! association.shutdown().await?;
//! assert_eq!(echo.await?, byway::Closed::Gracefully);
//! # Ok(())
//! # }
//! ```
//!
//! The protocol is in [`byway_core`], which does no IO. This crate adds the
//! sockets, the clock and the system's random number generator. One task of the
//! runtime, the driver, sends and receives datagrams in batches with
//! segmentation offload. Handles call the core directly under a lock, so a
//! message does not cost a task switch.
//!
//! Packets are sent with the Don't Fragment bit. How large a path lets them be is searched, from
//! 1200 bytes up to the MTU of its interface, IP and UDP headers included; `pmtu` of [`Config`]
//! is an upper bound.
//!
//! # When handles are dropped
//! Handles are cheap to clone. Dropping the last handle of an association starts a
//! graceful shutdown in the background: queued messages are still delivered, and
//! what the peer still sends is discarded. Dropping the last handle of an
//! endpoint stops accepting and aborts the associations that have not been
//! accepted; the others continue. The background work needs the runtime: before
//! `main` returns, await [`Association::shutdown`] or [`Endpoint::close`].

#![forbid(unsafe_code)]

mod association;
mod batch;
mod bind;
mod busy_peers;
mod by_card;
mod cards;
mod claim;
mod driver;
mod encapsulation;
mod endpoint;
mod error;
mod events;
mod fragment;
mod freed;
#[cfg(fuzzing)]
#[doc(hidden)]
pub mod fuzzing;
mod icmp;
mod inbox;
mod kernel_drops;
mod kernel_sctp;
mod netlink;
mod outbox;
mod overview;
mod pages;
mod quoted;
mod raw;
mod raw_port;
mod refused;
mod routes;
mod scoped;
mod shared;
#[cfg(test)]
mod skipped;
mod socket;
mod socket_queue;
mod spare;
mod state;
mod steering;
mod strangers;
mod stream;
mod wakers;
mod watch;
mod watcher;
mod wildcard;
mod workers;

pub use association::{Association, Charge};
pub use byway_core::{
    AssocId, AssocStats, CommandError, Config, ConfigError, EndpointStats, Event, LossReason,
    Message, NOTHING_LISTENS, PathId, PathState, PathStats, PathTrouble, Received, Rule,
    RuleCounts, Undelivered, host_of, policy::StreamScheduler, text,
};
pub use cards::cards_beside_routes;
pub use encapsulation::Encapsulation;
pub use endpoint::{Endpoint, EndpointOptions};
pub use error::{BindError, Closed, ConnectError, SendError};
pub use events::Events;
pub use freed::Freed;
pub use overview::{Latest, Overview};
pub use scoped::{shown_address, shown_host};
pub use state::DriverStats;
pub use stream::{ByteStream, Stream};
pub use watcher::{Passing, Watcher};

/// The example of the README, as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

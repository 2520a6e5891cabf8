//! A multihomed SCTP (RFC 9260) protocol core without IO, clock, threads or
//! global randomness.
//!
//! An [`Endpoint`] holds the associations of one SCTP port. Datagrams, commands
//! and the time go in; datagrams, events and the next timeout come out. The
//! same core runs in a simulator, over emulated paths and over real sockets,
//! and the same seed and inputs give the same bytes.
//!
//! All settings are in one plain structure, [`Config`], with the names of the RFC
//! and of the papers. The papers' mechanisms are in [`policy`], one file each. A
//! user's own congestion control ([`cc`]), retransmission target, failover and
//! detection are values of [`config::Custom`].
#![forbid(unsafe_code)]

pub mod api;
mod assoc;
mod auth;
pub mod cc;
pub mod config;
pub mod dialect;
mod endpoint;
pub mod observe;
mod outbox;
pub mod path;
pub mod policy;
mod recv;
mod refusals;
pub mod routes;
mod scope;
mod send;
pub mod text;
pub mod time;
pub mod units;

pub use bytes::Bytes;

pub use api::{
    AddressChange, AddressError, AssocId, AssocStats, CommandError, ConnectError, Event,
    IcmpMessage, LossReason, Message, PathEstimateStats, PathStats, Received, SendFailure,
    Transmit, Undelivered,
};
pub use config::{ChecksumMode, Config, ConfigError, EndpointConfig};
pub use endpoint::{Endpoint, EndpointStats, NOTHING_LISTENS, host_of};
pub use observe::{Observation, Observed};
pub use path::{PathId, PathState, PathTrouble};
pub use refusals::{Refusal, Rule, RuleCounts};
pub use routes::Routes;
pub use scope::{is_link_local, is_private};

/// The example of the README, as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

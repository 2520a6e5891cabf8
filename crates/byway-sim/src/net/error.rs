//! The errors of building a network and of sending.

use super::ids::{LinkId, Port};
use core::fmt;
use std::net::IpAddr;
use thiserror::Error;

/// Why a topology cannot be built.
#[derive(Debug, Error, Clone, PartialEq)]
#[non_exhaustive]
pub enum TopologyError {
    /// A host was added without an interface.
    #[error("host \"{host}\" has {count} interfaces; a host needs 1 to 255")]
    InterfaceCount {
        /// The host's name.
        host: String,
        /// How many interfaces it was given.
        count: usize,
    },
    /// An address belongs to two interfaces.
    #[error("address {0} is used twice; every interface needs its own")]
    DuplicateAddress(IpAddr),
    /// A link, route or address names an interface that does not exist.
    #[error("{what} names {port}, which does not exist; a router has only interface 0")]
    NoSuchPort {
        /// What named it, for example "link 3".
        what: String,
        /// The port that does not exist.
        port: Port,
    },
    /// An address was used that no interface has.
    #[error("{what} names address {address}, which no interface has")]
    NoSuchAddress {
        /// What named it, for example "traffic source 2".
        what: String,
        /// The address.
        address: IpAddr,
    },
    /// An explicit route uses a link that does not start at its router.
    #[error("the route at {at} uses link {}, which does not start there", .link.0)]
    RouteNotHere {
        /// Where the route was to apply.
        at: Port,
        /// The link it names.
        link: LinkId,
    },
    /// Explicit routes send packets in a circle.
    #[error("packets to {to} circle for ever at link {}; check the explicit routes", .link.0)]
    RoutingLoop {
        /// The destination interface.
        to: Port,
        /// A link in the circle.
        link: LinkId,
    },
    /// A number is outside its range.
    #[error("{what}: {name} is {value}, but must be {range}")]
    OutOfRange {
        /// What has the value, for example "link 3".
        what: String,
        /// The setting's name.
        name: &'static str,
        /// Its value.
        value: f64,
        /// The values that are allowed.
        range: &'static str,
    },
    /// There are more parts than the event queue can number.
    #[error("{count} {what}; at most {max} are possible")]
    TooMany {
        /// "links" or "traffic sources".
        what: &'static str,
        /// How many there are.
        count: usize,
        /// How many are possible.
        max: u32,
    },
}

/// Why [`Network::send`](crate::net::Network::send) refused a packet.
#[derive(Debug, Error, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum SendError {
    /// No interface has the source address, and no interface was named.
    #[error("no interface has the source address {0}; name the interface to send from with `via`")]
    UnknownSource(IpAddr),
    /// The interface named with `via` does not exist or belongs to a router.
    #[error("{0} is not an interface of a host")]
    NoSuchInterface(Port),
    /// Source and destination are of different families.
    #[error("source {src} and destination {dst} are of different address families")]
    MixedFamilies {
        /// The source address.
        src: IpAddr,
        /// The destination address.
        dst: IpAddr,
    },
    /// There are events before the packet's time that have not been taken.
    #[error("the packet is to leave at {at} ns, but an event at {next} ns has not been taken")]
    EventsPending {
        /// When the packet was to leave, in nanoseconds.
        at: u64,
        /// Time of the next event, in nanoseconds.
        next: u64,
    },
    /// The packet would leave before the last event.
    #[error("the packet is to leave at {at} ns, but it is already {now} ns")]
    InThePast {
        /// When the packet was to leave, in nanoseconds.
        at: u64,
        /// The network's time, in nanoseconds.
        now: u64,
    },
}

/// A value out of range, found by code that does not know the number of its link or
/// source.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct BadValue {
    pub(crate) name: &'static str,
    pub(crate) value: f64,
    pub(crate) range: &'static str,
}

impl BadValue {
    pub(crate) fn of(self, what: impl fmt::Display) -> TopologyError {
        TopologyError::OutOfRange {
            what: what.to_string(),
            name: self.name,
            value: self.value,
            range: self.range,
        }
    }
}

pub(crate) fn check_probability(name: &'static str, p: f64) -> Result<(), BadValue> {
    if (0.0..=1.0).contains(&p) {
        Ok(())
    } else {
        Err(BadValue {
            name,
            value: p,
            range: "0 to 1",
        })
    }
}

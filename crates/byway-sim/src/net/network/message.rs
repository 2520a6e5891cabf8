//! What hosts send into the network, and what it reports to them.

use crate::net::ids::{LinkId, NodeId, Port, TimerId};
use byway_core::Bytes;
use byway_core::time::Instant;
use std::net::{IpAddr, SocketAddr};

/// A packet that a host sends.
#[derive(Debug, Clone)]
pub struct Outgoing {
    /// Source address; it also selects the interface unless `via` does.
    pub src: IpAddr,
    /// Destination address.
    pub dst: IpAddr,
    /// The SCTP packet, preferably in a buffer from [`Network::buffer`](crate::net::Network::buffer).
    pub payload: Vec<u8>,
    /// Bytes on the wire; default: payload plus 20 (IPv4) or 40 (IPv6).
    pub wire_size: Option<u32>,
    /// A number that the sender chooses. The log and the arrival repeat it. Default: 0.
    pub meta: u64,
    /// Interface to send from, for packets with a foreign source address. Default: the source's.
    pub via: Option<Port>,
}

impl Outgoing {
    /// A packet with the default size on the wire.
    #[must_use]
    pub const fn new(src: IpAddr, dst: IpAddr, payload: Vec<u8>) -> Outgoing {
        Outgoing {
            src,
            dst,
            payload,
            wire_size: None,
            meta: 0,
            via: None,
        }
    }
}

/// A packet that reached a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arrival {
    /// The host.
    pub node: NodeId,
    /// The host's interface, from 0.
    pub interface: u8,
    /// The link it came over.
    pub link: LinkId,
    /// Source address.
    pub src: IpAddr,
    /// Destination address.
    pub dst: IpAddr,
    /// The SCTP packet. Give the buffer back with [`Network::recycle`](crate::net::Network::recycle).
    pub payload: Vec<u8>,
    /// Bytes on the wire.
    pub wire_size: u32,
    /// [`Outgoing::meta`] of the packet.
    pub meta: u64,
    /// The packet's number, in order of sending.
    pub packet: u64,
    /// When it was sent.
    pub sent_at: Instant,
    /// Whether a link flipped bits of the payload, so its checksum would not match.
    pub corrupted: bool,
    /// Whether it is a copy made by a link.
    pub duplicate: bool,
}

/// What [`Network::pop`](crate::net::Network::pop) reports to hosts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// A packet arrived.
    Arrived(Arrival),
    /// A timer has expired; it is no longer set.
    Timer {
        /// The timer's node.
        node: NodeId,
        /// The timer.
        timer: TimerId,
        /// The token it was added with.
        token: u64,
    },
}

/// An event for a host, with a packet left in its slot.
#[derive(Copy, Clone, Debug)]
pub(crate) enum HostEvent {
    /// A packet arrived at the end of a link.
    Arrived { link: u32, slot: u32 },
    /// A timer is due.
    Timer {
        node: NodeId,
        timer: TimerId,
        token: u64,
    },
}

/// A packet that has arrived, borrowed from its slot.
#[derive(Debug)]
pub(crate) struct ArrivedPacket<'a> {
    pub(crate) node: NodeId,
    pub(crate) src: &'a SocketAddr,
    pub(crate) dst: &'a SocketAddr,
    pub(crate) payload: &'a [u8],
    /// The user data that follows `payload` and was not copied into it.
    pub(crate) tail: &'a Bytes,
    pub(crate) corrupted: bool,
}

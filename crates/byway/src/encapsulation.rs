//! What carries SCTP packets: UDP, or IP itself.

use std::net::SocketAddr;

/// What carries the packets of an endpoint. The port of a peer's address says which of the
/// two a path uses, as in the socket API of RFC 6951 (section 6.1): its UDP encapsulation
/// port, or 0 for SCTP directly over IP.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Hash)]
pub enum Encapsulation {
    /// UDP (RFC 6951). It needs no privilege and passes translators (NAT).
    #[default]
    Udp,
    /// None: SCTP is protocol 132 of IPv4 and IPv6 (RFC 9260). It needs Linux and
    /// `CAP_NET_RAW`, and the kernel's own SCTP must not be loaded
    /// ([`EndpointOptions::beside_kernel_sctp`](crate::EndpointOptions::beside_kernel_sctp)).
    /// All addresses have port 0.
    None,
    /// Both, as each address of a peer wants it. An answer leaves as the packet came. A path
    /// on which the peer is heard without UDP stops using UDP (RFC 6951 section 5.4).
    Both,
}

impl Encapsulation {
    /// Whether packets may leave in UDP.
    pub(crate) const fn has_udp(self) -> bool {
        !matches!(self, Encapsulation::None)
    }

    /// Whether packets may leave without UDP.
    pub(crate) const fn has_raw(self) -> bool {
        !matches!(self, Encapsulation::Udp)
    }
}

/// What a socket is bound to.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// The local address as the core knows it: its port is the UDP port, 0 if the endpoint has
    /// none. The two sockets of one address have the same.
    pub(crate) address: SocketAddr,
    /// Whether it is a raw socket.
    pub(crate) raw: bool,
}

impl Place {
    /// Whether packets from this address to that destination leave here.
    pub(crate) fn carries(&self, source: SocketAddr, destination: SocketAddr) -> bool {
        self.address == source && self.raw == (destination.port() == 0)
    }
}

/// Each address once, in this order.
pub(crate) fn addresses(places: impl IntoIterator<Item = Place>) -> Vec<SocketAddr> {
    let mut all: Vec<SocketAddr> = Vec::new();
    for place in places {
        if !all.contains(&place.address) {
            all.push(place.address);
        }
    }
    all
}

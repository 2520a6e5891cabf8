//! Who watches an endpoint: its packets, and what happens to its associations.

use byway_core::observe::Observed;
use byway_core::time::Instant;
use byway_core::{AssocId, Event};
use std::fmt;
use std::net::SocketAddr;

/// An SCTP packet that has come, or that the kernel has taken.
#[derive(Copy, Clone, Debug)]
pub struct Passing<'a> {
    /// Whether it left this host.
    pub sent: bool,
    /// The local address; its port is the UDP port, where there is UDP.
    pub local: SocketAddr,
    /// The peer's address, alike.
    pub remote: SocketAddr,
    /// Whether UDP carried it.
    pub udp: bool,
    /// From the common header of SCTP on. What came may be anything.
    pub packet: &'a [u8],
}

/// Watches an endpoint ([`EndpointOptions::watcher`](crate::EndpointOptions::watcher)).
///
/// Everything waits meanwhile: the task that moves the packets, and for [`observed`](Self::observed),
/// [`event`](Self::event) and packets that came also the lock of the endpoint. So a watcher must not block,
/// write to a disk or call a handle of the endpoint; it passes things on to a thread of its own.
pub trait Watcher: fmt::Debug + Send + Sync {
    /// Whether [`packet`](Self::packet) is called. Asked when the endpoint is bound.
    fn wants_packets(&self) -> bool {
        false
    }

    /// A packet came, before anything is done about it, or was given to the kernel. Of packets that leave in
    /// one call of which the kernel refused some, all are shown.
    fn packet(&self, passing: Passing<'_>) {
        let _ = passing;
    }

    /// Whether [`observed`](Self::observed) and [`event`](Self::event) are called. Asked when
    /// the endpoint is bound.
    fn wants_observations(&self) -> bool {
        false
    }

    /// What the core observed since the last call, oldest first. `core` answers questions about it, such as
    /// the addresses of a path.
    fn observed(&self, observed: &[Observed], core: &byway_core::Endpoint) {
        let _ = (observed, core);
    }

    /// Something happened to an association. What was observed before has been told.
    fn event(&self, at: Instant, association: AssocId, event: &Event, core: &byway_core::Endpoint) {
        let _ = (at, association, event, core);
    }
}

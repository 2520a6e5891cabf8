//! The parts of a network.

use crate::net::address::AddressTable;
use crate::net::capture::Capture;
use crate::net::event::Simultaneous;
use crate::net::ids::Port;
use crate::net::link::Link;
use crate::net::route::{Graph, Routes};
use crate::net::traffic::TrafficSource;

/// What [`TopologyBuilder::build`](crate::net::TopologyBuilder::build) passes on.
pub(crate) struct Parts {
    pub(crate) ports: Vec<Port>,
    pub(crate) columns: Vec<u32>,
    pub(crate) first_vertex: Vec<u32>,
    pub(crate) names: Vec<String>,
    pub(crate) wires: Vec<Wire>,
    pub(crate) addresses: AddressTable,
    pub(crate) links: Vec<Link>,
    pub(crate) graph: Graph,
    pub(crate) routes: Routes,
    pub(crate) sources: Vec<TrafficSource>,
    pub(crate) log: bool,
    pub(crate) simultaneous: Simultaneous,
}

/// What the network needs to know of a link for every packet.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wire {
    /// The vertex at its end.
    pub(crate) to: u32,
    /// Whether that vertex is a router.
    pub(crate) to_router: bool,
    /// Whether packets may be followed onto this link ahead of time.
    pub(crate) ahead: bool,
    pub(crate) capture: Capture,
}

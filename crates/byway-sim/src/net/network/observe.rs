//! Queries about a network: names, routes, counters, log, captures.

use super::Network;
use crate::net::capture::Capture;
use crate::net::ids::{LinkId, NodeId, Port, TrafficId};
use crate::net::link::Link;
use crate::net::log::{LinkCounters, LogEntry};
use crate::net::traffic::TrafficCounters;
use byway_core::time::Instant;
use std::io;
use std::net::IpAddr;

impl Network {
    /// A node's name.
    #[must_use]
    pub fn name(&self, node: NodeId) -> &str {
        self.parts
            .names
            .get(node.index())
            .map_or("", String::as_str)
    }

    /// A link's name in captures: the names of its ends, with the interface number if a
    /// host has several.
    #[must_use]
    pub fn link_name(&self, link: LinkId) -> String {
        let Some((from, to, _)) = self.parts.graph.links.get(link.index()) else {
            return String::new();
        };
        let name = |vertex: u32| {
            let port = self.parts.ports[vertex as usize];
            let first = self.parts.first_vertex[port.node.index()];
            let several = self.parts.first_vertex[port.node.index() + 1] - first > 1;
            match several {
                true => format!("{}.{}", self.name(port.node), port.interface),
                false => self.name(port.node).to_owned(),
            }
        };
        format!("{} > {}", name(*from), name(*to))
    }

    /// The host and interface that have an address.
    #[must_use]
    pub fn port_of(&self, address: IpAddr) -> Option<Port> {
        let vertex = self.parts.addresses.vertex(&address)?;
        Some(self.parts.ports[vertex as usize])
    }

    /// Cost of the way from an interface to an address; `None` without a route.
    #[must_use]
    pub fn route_cost(&self, from: impl Into<Port>, to: IpAddr) -> Option<u64> {
        let from = self.vertex(from.into())?;
        let target = self.parts.addresses.vertex(&to)?;
        let column = self.parts.columns[target as usize];
        self.parts.routes.cost(&self.parts.graph, from, column)
    }

    /// Whether packets may be followed onto this link ahead of time, without an event.
    #[must_use]
    pub fn is_followed_ahead(&self, link: LinkId) -> bool {
        self.parts.wires.get(link.index()).is_some_and(|w| w.ahead)
    }

    /// A link's totals; zeros for a link that does not exist.
    #[must_use]
    pub fn counters(&self, link: LinkId) -> LinkCounters {
        let link = self.parts.links.get(link.index());
        link.map(Link::counters).unwrap_or_default()
    }

    /// A cross traffic source's totals; zeros for a source that does not exist.
    #[must_use]
    pub fn traffic_counters(&self, source: TrafficId) -> TrafficCounters {
        let source = self.parts.sources.get(source.index());
        source.map(|s| s.counters).unwrap_or_default()
    }

    /// Number of links.
    #[must_use]
    pub fn link_count(&self) -> usize {
        self.parts.links.len()
    }

    /// Packets for which there was no route.
    #[must_use]
    pub const fn unroutable(&self) -> u64 {
        self.unroutable
    }

    /// Packets that are in the network now.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.pool.in_flight()
    }

    /// Takes the log up to now, in order of time. It is empty unless
    /// [`record_log`](crate::net::TopologyBuilder::record_log) was switched on.
    /// Entries of one instant are in the order of link and packet number.
    pub fn take_log(&mut self) -> Vec<LogEntry> {
        let mut log = std::mem::take(&mut self.log);
        log.sort_by_key(|e| (e.at, e.link, e.packet, e.copy));
        let horizon = self.horizon();
        self.log = log.split_off(log.partition_point(|e| e.at <= horizon));
        log
    }

    /// The time up to which logs and captures show packets, which are followed ahead of
    /// time: now, or the end if there are no more events.
    fn horizon(&self) -> Instant {
        match self.events.next_time() {
            Some(_) => self.now(),
            None => Instant::FAR_FUTURE,
        }
    }

    /// Writes the captured packets of all links with a [`Capture`], up to now, as one
    /// pcapng file. Each link is an interface. Packets are in order of time, which counts
    /// from 1970.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn write_pcapng(&self, out: &mut impl io::Write) -> io::Result<()> {
        let captured: Vec<(u32, String)> = (0..self.link_count() as u32)
            .filter(|i| self.parts.wires[*i as usize].capture != Capture::Off)
            .map(|i| (i, self.link_name(LinkId(i))))
            .collect();
        self.captured
            .write(&captured, self.horizon().as_nanos(), out)
    }
}

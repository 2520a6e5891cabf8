//! A host sends a packet.

use super::Network;
use super::message::Outgoing;
use crate::net::address::NOWHERE;
use crate::net::error::SendError;
use crate::net::flow::{Ends, Flow, Key, Way};
use crate::net::ids::Port;
use crate::net::packet::Content;
use byway_core::time::Instant;
use byway_core::{Bytes, Transmit};
use std::mem;
use std::net::SocketAddr;

impl Network {
    /// Sends a packet at `now` and returns its number. It is not an error if the network
    /// then loses it or has no route.
    ///
    /// Events up to `now` must have been taken first, because a host might answer them
    /// with earlier packets.
    ///
    /// # Errors
    /// When the packet cannot leave: see [`SendError`]. Its buffer is recycled.
    pub fn send(&mut self, now: Instant, mut packet: Outgoing) -> Result<u64, SendError> {
        let (src, dst) = ((packet.src, 0).into(), (packet.dst, 0).into());
        let sent = match packet.via {
            None => self.route(now, (&src, &dst)),
            // Not cached, because packets with foreign addresses are rare.
            Some(port) => self.route_via(now, (&src, &dst), port),
        };
        let sent = sent.map(|flow| {
            let slot = self.pool.claim();
            mem::swap(&mut self.pool.get_mut(slot).payload, &mut packet.payload);
            self.now = now.as_nanos();
            self.enter(&flow, slot);
            let new = self.pool.get_mut(slot);
            new.meta = packet.meta;
            new.wire_size = packet.wire_size.unwrap_or(new.wire_size);
            self.set_off(&flow.way, slot)
        });
        // Its own buffer, or the one that the slot had before.
        self.recycle(packet.payload);
        sent
    }

    /// Sends the packet that `write` puts into a slot: its bytes, and the user data after
    /// them, which is not copied. The packet stays in the slot until it arrives. Nothing is
    /// sent if `write` returns `None`.
    #[inline(always)]
    pub(crate) fn send_written(
        &mut self,
        write: impl FnOnce(&mut Vec<u8>, &mut Bytes) -> Option<Transmit>,
    ) -> Option<Result<u64, SendError>> {
        let slot = self.pool.claim();
        let packet = self.pool.get_mut(slot);
        let Some(transmit) = write(&mut packet.payload, &mut packet.tail) else {
            self.pool.discard(slot);
            return None;
        };
        // A known flow is borrowed and not copied, because this runs for every packet.
        let ends = (&transmit.source, &transmit.destination);
        let flow = match self.flows.find(ends) {
            Some(flow) if self.plain && flow.way.whole => flow,
            _ => return Some(self.send_slot(ends, slot)),
        };
        let id = self.next_packet;
        self.next_packet += 1;
        flow.address(packet);
        packet.set_off(self.now, id);
        let mut at = self.now;
        let mut link = 0;
        for &next in flow.way.links() {
            link = next;
            let fate = self.parts.links[link as usize].pass(at, packet);
            if fate.lost.is_some() {
                self.pool.discard(slot);
                return Some(Ok(id));
            }
            at = fate.at;
        }
        if self.transmitters.is_empty() {
            self.events.push_hop(at, link, slot);
        } else {
            // Every hop is an event here, so only the first link is needed.
            self.transmit_or_wait(link, slot);
        }
        Some(Ok(id))
    }

    /// Sends a packet that is already in its slot.
    #[inline(never)]
    fn send_slot(&mut self, ends: Ends<'_>, slot: u32) -> Result<u64, SendError> {
        match self.known_route(ends) {
            Ok(flow) => {
                self.enter(&flow, slot);
                Ok(self.set_off(&flow.way, slot))
            }
            Err(error) => {
                self.pool.discard(slot);
                Err(error)
            }
        }
    }

    /// Completes a packet of a host whose bytes are in its slot.
    fn enter(&mut self, flow: &Flow, slot: u32) {
        let packet = self.pool.get_mut(slot);
        flow.address(packet);
        packet.set_off(self.now, self.next_packet);
        self.next_packet += 1;
    }

    /// Whether a host may send at `now`.
    #[inline]
    fn check_time(&self, now: Instant) -> Result<(), SendError> {
        let at = now.as_nanos();
        if at < self.now {
            return Err(SendError::InThePast { at, now: self.now });
        }
        match self.events.next_time() {
            Some(next) if next < at => Err(SendError::EventsPending { at, next }),
            _ => Ok(()),
        }
    }

    /// How packets get from one address to another.
    fn route(&mut self, now: Instant, ends: Ends<'_>) -> Result<Flow, SendError> {
        self.check_time(now)?;
        self.known_route(ends)
    }

    fn known_route(&mut self, ends: Ends<'_>) -> Result<Flow, SendError> {
        match self.flows.find(ends) {
            Some(flow) => Ok(*flow),
            None => self.new_route(ends),
        }
    }

    #[cold]
    fn new_route(&mut self, ends: Ends<'_>) -> Result<Flow, SendError> {
        let (src, dst) = (ends.0.ip(), ends.1.ip());
        if src.is_ipv4() != dst.is_ipv4() {
            return Err(SendError::MixedFamilies { src, dst });
        }
        let addresses = &mut self.parts.addresses;
        let number = addresses.find(&src).ok_or(SendError::UnknownSource(src))?;
        let vertex = match addresses.vertex_of(number) {
            NOWHERE => return Err(SendError::UnknownSource(src)),
            vertex => vertex,
        };
        let dst = addresses.intern(dst);
        let flow = self.flow_from(vertex, (*ends.0, *ends.1), (number, dst));
        self.flows.put(flow);
        Ok(flow)
    }

    fn route_via(&mut self, now: Instant, ends: Ends<'_>, port: Port) -> Result<Flow, SendError> {
        self.check_time(now)?;
        let (src, dst) = (ends.0.ip(), ends.1.ip());
        if src.is_ipv4() != dst.is_ipv4() {
            return Err(SendError::MixedFamilies { src, dst });
        }
        let vertex = self
            .vertex(port)
            .filter(|v| !self.parts.graph.forwards[*v as usize])
            .ok_or(SendError::NoSuchInterface(port))?;
        let addresses = &mut self.parts.addresses;
        let numbers = (addresses.intern(src), addresses.intern(dst));
        let ends = (*ends.0, *ends.1);
        Ok(self.flow_from(vertex, ends, numbers))
    }

    /// The flow between two numbered addresses whose packets enter at `vertex`.
    fn flow_from(
        &self,
        vertex: u32,
        ends: (SocketAddr, SocketAddr),
        (src, dst): (u32, u32),
    ) -> Flow {
        let target = self.parts.addresses.vertex_of(dst);
        let mut flow = Flow {
            ends,
            key: Key::of((&ends.0, &ends.1)),
            src,
            dst,
            // Not used without a route.
            column: u32::MAX,
            header: if ends.0.is_ipv4() { 20 } else { 40 },
            way: Way::default(),
        };
        if target == NOWHERE || target == vertex {
            return flow;
        }
        let column = self.parts.columns[target as usize];
        flow.column = column;
        let mut next = self.parts.routes.next(vertex, column);
        while let Some(link) = next {
            if !flow.way.push(link) {
                break;
            }
            let wire = self.parts.wires[link as usize];
            let after = wire
                .to_router
                .then(|| self.parts.routes.next(wire.to, column))
                .flatten();
            next = after.filter(|&n| self.parts.wires[n as usize].ahead);
            // The way ends at a host, or where flows meet.
            flow.way.whole = next.is_none() && (after.is_some() || !wire.to_router);
        }
        flow
    }

    pub(super) fn vertex(&self, port: Port) -> Option<u32> {
        let node = port.node.index();
        let vertex = *self.parts.first_vertex.get(node)? + u32::from(port.interface);
        (vertex < *self.parts.first_vertex.get(node + 1)?).then_some(vertex)
    }

    /// Starts a packet. Returns its number.
    #[inline]
    fn set_off(&mut self, way: &Way, slot: u32) -> u64 {
        let id = self.pool.get(slot).id;
        match way.get(0) {
            Some(link) => self.follow(self.now, link, slot, way),
            None => self.no_route(self.now, slot),
        }
        id
    }

    /// The flow of each source of cross traffic.
    pub(super) fn flows_of_sources(&self) -> Vec<Flow> {
        let socket = |number| *self.parts.addresses.socket(number);
        let sources = self.parts.sources.iter();
        sources
            .map(|s| self.flow_from(s.from, (socket(s.src), socket(s.dst)), (s.src, s.dst)))
            .collect()
    }

    /// Sends a packet of a source of cross traffic.
    pub(super) fn emit_background(&mut self, source: u32, size: u32) {
        let slot = self.pool.claim();
        let packet = self.pool.get_mut(slot);
        let flow = &self.traffic[source as usize];
        flow.address(packet);
        packet.set_off(self.now, self.next_packet);
        self.next_packet += 1;
        packet.content = Content::Background;
        packet.wire_size = size;
        packet.meta = u64::from(source);
        if !(self.plain && self.transmitters.is_empty() && flow.way.whole) {
            let way = flow.way;
            self.set_off(&way, slot);
            return;
        }
        let mut at = self.now;
        let mut link = 0;
        for &next in flow.way.links() {
            link = next;
            let fate = self.parts.links[link as usize].pass(at, packet);
            if fate.lost.is_some() {
                return self.pool.discard(slot);
            }
            at = fate.at;
        }
        let wire = self.parts.wires[link as usize];
        if wire.to_router {
            // Flows meet there.
            self.events.push_hop(at, link, slot);
        } else {
            self.end_background(at, wire, slot);
        }
    }
}

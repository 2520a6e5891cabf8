//! A host sends a packet.

use super::{Network, Outgoing};
use crate::net::address::NOWHERE;
use crate::net::error::SendError;
use crate::net::flow::{Ends, Flow, Way};
use crate::net::ids::Port;
use crate::net::packet::Content;
use byway_core::Bytes;
use byway_core::time::Instant;
use std::mem;
use std::net::SocketAddr;

impl Network {
    /// Sends a packet at `now` and returns its number. That the network then
    /// loses it, or has no route, is no error.
    ///
    /// Events up to `now` must have been taken first, as a host might answer
    /// them with earlier packets.
    ///
    /// # Errors
    /// When the packet cannot leave: see [`SendError`]. Its buffer is recycled.
    pub fn send(&mut self, now: Instant, mut packet: Outgoing) -> Result<u64, SendError> {
        let (src, dst) = ((packet.src, 0).into(), (packet.dst, 0).into());
        let sent = match packet.via {
            None => self.route(now, (&src, &dst)),
            // Not remembered: who sends with foreign addresses does so rarely.
            Some(port) => self.route_via(now, (&src, &dst), port),
        };
        let sent = sent.map(|route| {
            let slot = self.pool.claim();
            mem::swap(&mut self.pool.get_mut(slot).payload, &mut packet.payload);
            self.enter(now, &route, slot);
            let new = self.pool.get_mut(slot);
            new.meta = packet.meta;
            new.wire_size = packet.wire_size.unwrap_or(new.wire_size);
            self.set_off(&route.way, slot)
        });
        // Its own, or the one that the slot had before.
        self.recycle(packet.payload);
        sent
    }

    /// A slot for a packet that a host is about to write.
    #[inline]
    pub(crate) fn claim(&mut self) -> u32 {
        self.pool.claim()
    }

    /// Where the bytes of that packet are written, and what stands apart.
    #[inline]
    pub(crate) fn blank(&mut self, slot: u32) -> (&mut Vec<u8>, &mut Bytes) {
        let packet = self.pool.get_mut(slot);
        (&mut packet.payload, &mut packet.tail)
    }

    /// What [`send`](Network::send) does, for a packet with nothing special that
    /// was written into its slot.
    #[inline]
    pub(crate) fn send_slot(
        &mut self,
        now: Instant,
        ends: Ends<'_>,
        slot: u32,
    ) -> Result<u64, SendError> {
        match self.route(now, ends) {
            Ok(route) => {
                self.enter(now, &route, slot);
                Ok(self.set_off(&route.way, slot))
            }
            Err(error) => {
                self.pool.discard(slot);
                Err(error)
            }
        }
    }

    /// Completes a packet of a host whose bytes stand in its slot.
    #[inline]
    fn enter(&mut self, now: Instant, route: &Route, slot: u32) {
        self.now = now.as_nanos();
        let packet = self.pool.get_mut(slot);
        packet.src = route.src;
        packet.dst = route.dst;
        packet.column = route.column;
        let length = packet.payload.len() + packet.tail.len();
        packet.wire_size = length as u32 + route.header;
        packet.meta = 0;
        packet.id = self.next_packet;
        self.next_packet += 1;
        packet.sent_at = self.now;
        packet.content = Content::Sctp;
        packet.corrupted = false;
        packet.duplicate = false;
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
    #[inline]
    fn route(&mut self, now: Instant, ends: Ends<'_>) -> Result<Route, SendError> {
        self.check_time(now)?;
        let place = self.flows.place(ends);
        if let Some(flow) = self.flows.get(place, ends) {
            return Ok(Route::of(flow));
        }
        self.new_route(place, ends)
    }

    #[cold]
    fn new_route(&mut self, place: usize, ends: Ends<'_>) -> Result<Route, SendError> {
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
        Ok(Route::of(self.flows.put(place, flow)))
    }

    fn route_via(&mut self, now: Instant, ends: Ends<'_>, port: Port) -> Result<Route, SendError> {
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
        Ok(Route::of(&self.flow_from(vertex, ends, numbers)))
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
            src,
            dst,
            column: None,
            way: Way::default(),
        };
        if target == NOWHERE || target == vertex {
            return flow;
        }
        let column = self.parts.columns[target as usize];
        flow.column = Some(column);
        let mut next = self.parts.routes.next(vertex, column);
        while let Some(link) = next {
            if !flow.way.push(link) {
                break;
            }
            let wire = self.parts.wires[link as usize];
            next = wire
                .to_router
                .then(|| self.parts.routes.next(wire.to, column))
                .flatten()
                .filter(|&n| self.parts.wires[n as usize].ahead);
        }
        flow
    }

    pub(super) fn vertex(&self, port: Port) -> Option<u32> {
        let node = port.node.index();
        let vertex = *self.parts.first_vertex.get(node)? + u32::from(port.interface);
        (vertex < *self.parts.first_vertex.get(node + 1)?).then_some(vertex)
    }

    /// Sends a packet on its way; its number.
    #[inline]
    fn set_off(&mut self, way: &Way, slot: u32) -> u64 {
        let id = self.pool.get(slot).id;
        match way.get(0) {
            Some(link) => self.follow(self.now, link, slot, way),
            None => self.no_route(self.now, slot),
        }
        id
    }

    /// Sends a packet of cross traffic, whose way is not remembered, from `vertex`.
    pub(super) fn emit_background(
        &mut self,
        vertex: u32,
        (src, dst): (u32, u32),
        size: u32,
        source: u64,
    ) {
        let socket = |number| *self.parts.addresses.socket(number);
        let flow = self.flow_from(vertex, (socket(src), socket(dst)), (src, dst));
        let route = Route::of(&flow);
        let slot = self.pool.claim();
        self.enter(Instant::from_nanos(self.now), &route, slot);
        let packet = self.pool.get_mut(slot);
        packet.content = Content::Background;
        packet.wire_size = size;
        packet.meta = source;
        self.set_off(&route.way, slot);
    }
}

/// What sending needs of a flow.
struct Route {
    src: u32,
    dst: u32,
    column: u32,
    /// Bytes of the IP header.
    header: u32,
    way: Way,
}

impl Route {
    #[inline]
    fn of(flow: &Flow) -> Route {
        Route {
            src: flow.src,
            dst: flow.dst,
            // Without a column there is no way either, and nobody looks at it.
            column: flow.column.unwrap_or(u32::MAX),
            header: if flow.ends.0.is_ipv4() { 20 } else { 40 },
            way: flow.way,
        }
    }
}

//! Running the network: the next event for a host.

use super::Network;
use super::message::{Arrival, ArrivedPacket, Event, HostEvent};
use super::parts::Wire;
use crate::net::event::Scheduled;
use crate::net::flow::Way;
use crate::net::ids::{LinkId, TimerId};
use crate::net::packet::Content;
use crate::net::timer::Due;
use byway_core::time::Instant;

impl Network {
    /// The time of the next event; `None` if there is none. The event may be
    /// invisible to hosts, for example a packet that arrives at a router.
    #[must_use]
    pub fn next_event_time(&self) -> Option<Instant> {
        self.events.next_time().map(Instant::from_nanos)
    }

    /// Cuts a link now, whatever its schedule says, or gives it back to its schedule. What is offered to
    /// a link that is cut is dropped ([`DropReason::LinkDown`]), and its queue is empty. What is on the wire
    /// still arrives: [`Arrival::sent_at`] tells who cuts what to drop. A link that does not exist is ignored.
    ///
    /// [`DropReason::LinkDown`]: crate::net::DropReason::LinkDown
    pub fn cut(&mut self, link: LinkId, cut: bool) {
        let now = self.now;
        if let Some(link) = self.parts.links.get_mut(link.index()) {
            link.cut(now, cut);
        }
    }

    /// Runs the network up to the next event for a host and returns it with its time.
    ///
    /// Does not return if only endless sources of cross traffic are left. Use
    /// [`pop_until`](Network::pop_until) then.
    pub fn pop(&mut self) -> Option<(Instant, Event)> {
        self.pop_until(Instant::FAR_FUTURE)
    }

    /// Like [`pop`](Network::pop), but handles no event later than `limit`. If there is
    /// none up to then, the time becomes `limit`.
    pub fn pop_until(&mut self, limit: Instant) -> Option<(Instant, Event)> {
        let happened = self.next_host_event(limit)?;
        let event = match happened {
            HostEvent::Arrived { link, slot } => Event::Arrived(self.arrival(link, slot)),
            HostEvent::Timer { node, timer, token } => Event::Timer { node, timer, token },
        };
        Some((self.now(), event))
    }

    /// [`pop_until`](Network::pop_until), with the packet left in its slot.
    pub(crate) fn next_host_event(&mut self, limit: Instant) -> Option<HostEvent> {
        let limit = limit.as_nanos();
        loop {
            let Some((at, what)) = self.events.pop_until(limit) else {
                self.events.all_taken(limit);
                if limit != Instant::FAR_FUTURE.as_nanos() {
                    self.now = self.now.max(limit);
                    self.events.advance_clock(self.now);
                }
                return None;
            };
            self.now = at;
            match what {
                Scheduled::Hop { link, packet } => {
                    if self.arrives_at_host(link, packet) {
                        return Some(HostEvent::Arrived { link, slot: packet });
                    }
                }
                Scheduled::TransmissionEnd { link } => self.end_transmission(link),
                Scheduled::Traffic { source } => self.emit_traffic(source),
                Scheduled::Timer { timer } => {
                    if let Some(timer) = self.timer_due(timer) {
                        return Some(timer);
                    }
                }
            }
        }
    }

    /// A packet arrives at the end of a link. Returns whether it is for a host there. If
    /// not, it is forwarded or dropped.
    fn arrives_at_host(&mut self, link: u32, slot: u32) -> bool {
        let Wire { to, to_router, .. } = self.parts.wires[link as usize];
        let packet = self.pool.get(slot);
        if to_router {
            match self.parts.routes.next(to, packet.column) {
                Some(next)
                    if self.plain
                        && !self.transmitters.is_empty()
                        && packet.content == Content::Sctp =>
                {
                    self.pass_as_scheduled(next, slot);
                }
                Some(next) if self.plain && self.transmitters.is_empty() => {
                    self.follow_unknown(self.now, next, slot);
                }
                Some(next) => self.follow(self.now, next, slot, &Way::default()),
                None => self.no_route(self.now, slot),
            }
            return false;
        }
        if self.parts.columns[to as usize] != packet.column {
            // The host is not the destination, and hosts do not forward.
            self.no_route(self.now, slot);
            return false;
        }
        true
    }

    /// The packet in a slot that has arrived at the end of `link`. The caller must
    /// [discard](Network::discard) it afterwards.
    #[inline]
    pub(crate) fn arrived(&self, link: u32, slot: u32) -> ArrivedPacket<'_> {
        let to = self.parts.wires[link as usize].to;
        let packet = self.pool.get(slot);
        ArrivedPacket {
            node: self.parts.ports[to as usize].node,
            src: self.parts.addresses.socket(packet.src),
            dst: self.parts.addresses.socket(packet.dst),
            payload: &packet.payload,
            tail: &packet.tail,
            corrupted: packet.corrupted,
        }
    }

    /// Frees the slot of a packet that has arrived.
    #[inline]
    pub(crate) fn discard(&mut self, slot: u32) {
        self.pool.discard(slot);
    }

    /// Takes a packet that has arrived out of its slot.
    fn arrival(&mut self, link: u32, slot: u32) -> Arrival {
        let to = self.parts.wires[link as usize].to;
        let port = self.parts.ports[to as usize];
        let payload = self.pool.take_payload(slot);
        let packet = self.pool.get(slot);
        Arrival {
            node: port.node,
            interface: port.interface,
            link: LinkId(link),
            src: self.parts.addresses.address(packet.src),
            dst: self.parts.addresses.address(packet.dst),
            payload,
            wire_size: packet.wire_size,
            meta: packet.meta,
            packet: packet.id,
            sent_at: Instant::from_nanos(packet.sent_at),
            corrupted: packet.corrupted,
            duplicate: packet.duplicate,
        }
    }

    /// A source of cross traffic sends its next packet.
    fn emit_traffic(&mut self, number: u32) {
        let source = &mut self.parts.sources[number as usize];
        let Some((size, next)) = source.emit(self.now) else {
            return;
        };
        self.events.push_traffic(next, number);
        self.emit_background(number, size);
    }

    /// An entry of a timer came up. Returns the event if the timer has expired.
    fn timer_due(&mut self, number: u32) -> Option<HostEvent> {
        let timer = TimerId(number);
        match self.timers.due(timer, self.now) {
            Due::Now { node, token } => Some(HostEvent::Timer { node, timer, token }),
            Due::Later(at, seconds) => {
                self.events.push_timer(at, seconds, number);
                None
            }
            Due::Never => None,
        }
    }
}

//! Following a packet over links, ahead of time where possible.

use super::Network;
use super::parts::Wire;
use crate::net::capture::Capture;
use crate::net::flow::Way;
use crate::net::ids::LinkId;
use crate::net::link::Fate;
use crate::net::log::{DropReason, LogEntry, LogKind};
use crate::net::packet::Content;
use byway_core::time::Instant;

impl Network {
    /// Drops a packet without a route.
    pub(super) fn no_route(&mut self, at: u64, slot: u32) {
        self.unroutable += 1;
        self.note((at, at), None, slot, LogKind::Dropped(DropReason::NoRoute));
        self.pool.discard(slot);
    }

    /// Offers the packet to `link` at time `at`, and follows it over all further
    /// links onto which no other packet can come before it. `way` holds these
    /// links, `link` included, as far as they are known.
    #[inline]
    pub(super) fn follow(&mut self, at: u64, link: u32, slot: u32, way: &Way) {
        if self.plain && self.transmitters.is_empty() {
            return self.follow_plain(at, link, slot, way);
        }
        self.follow_watched(at, link, slot, way);
        while let Some((at, link, slot)) = self.pending.pop() {
            if let Some(next) = self.next_ahead(at, link, slot) {
                self.follow_watched(at, next, slot, &Way::default());
            }
        }
    }

    /// Without a log, captures or copies.
    fn follow_plain(&mut self, mut at: u64, mut link: u32, slot: u32, way: &Way) {
        let packet = self.pool.get_mut(slot);
        // After the loop: the last known link, or `link` if none is known.
        for &next in way.links() {
            link = next;
            let fate = self.parts.links[link as usize].pass(at, packet);
            if fate.lost.is_some() {
                return self.pool.discard(slot);
            }
            at = fate.at;
        }
        if way.whole && packet.content == Content::Sctp {
            return self.events.push_hop(at, link, slot);
        }
        if way.links().is_empty() {
            return self.follow_unknown(at, link, slot);
        }
        if let Some(next) = self.next_ahead(at, link, slot) {
            self.follow_unknown(at, next, slot);
        }
    }

    /// Follows a packet over links that are looked up one by one, without a log, captures or
    /// copies.
    #[inline(never)]
    pub(super) fn follow_unknown(&mut self, mut at: u64, mut link: u32, slot: u32) {
        let packet = self.pool.get_mut(slot);
        let wire = loop {
            let fate = self.parts.links[link as usize].pass(at, packet);
            if fate.lost.is_some() {
                return self.pool.discard(slot);
            }
            at = fate.at;
            let wire = self.parts.wires[link as usize];
            if !wire.to_router {
                break wire;
            }
            match self.parts.routes.next(wire.to, packet.column) {
                Some(next) if self.parts.wires[next as usize].ahead => link = next,
                Some(_) => break wire,
                None => return self.no_route(at, slot),
            }
        };
        if !wire.to_router && packet.content == Content::Background {
            self.end_background(at, wire, slot);
        } else {
            self.events.push_hop(at, link, slot);
        }
    }

    /// With a log, captures, copies or scheduled transmissions.
    fn follow_watched(&mut self, mut at: u64, mut link: u32, slot: u32, way: &Way) {
        for place in 1.. {
            if self.watched && self.parts.wires[link as usize].capture == Capture::Sent {
                self.capture(at, link, slot);
            }
            let packet = self.pool.get_mut(slot);
            let running = &mut self.parts.links[link as usize];
            let fate = running.pass(at, packet);
            if let Some(fate) = running.take_copy() {
                let copy = self.pool.duplicate(slot);
                if self.record(at, link, copy, fate) {
                    self.pending.push((fate.at, link, copy));
                }
            }
            if self.watched {
                if !self.record(at, link, slot, fate) {
                    return;
                }
            } else if fate.lost.is_some() {
                return self.pool.discard(slot);
            }
            let arrival = fate.at;
            if !self.transmitters.is_empty() && self.pool.get(slot).content == Content::Sctp {
                return self.transmit_or_wait(link, slot);
            }
            let next = match way.get(place) {
                Some(next) => next,
                None => match self.next_ahead(arrival, link, slot) {
                    Some(next) => next,
                    None => return,
                },
            };
            at = arrival;
            link = next;
        }
    }

    /// Records a packet's fate on a link. Returns whether it arrives.
    fn record(&mut self, at: u64, link: u32, slot: u32, fate: Fate) -> bool {
        if let Some(reason) = fate.lost {
            self.note((at, fate.at), Some(link), slot, LogKind::Dropped(reason));
            self.pool.discard(slot);
            return false;
        }
        let arrives = Instant::from_nanos(fate.at);
        self.note((at, at), Some(link), slot, LogKind::Forwarded { arrives });
        if self.parts.wires[link as usize].capture == Capture::Delivered {
            self.capture(fate.at, link, slot);
        }
        true
    }

    /// Copies a packet into the capture.
    #[cold]
    fn capture(&mut self, at: u64, link: u32, slot: u32) {
        let packet = self.pool.get(slot);
        let addresses = &self.parts.addresses;
        let ends = (addresses.address(packet.src), addresses.address(packet.dst));
        self.captured.add(at, link, packet, ends);
    }

    /// The next link if the packet may be followed onto it. Otherwise queues its
    /// arrival at the end of `link`, or drops it if there is no route.
    #[inline]
    fn next_ahead(&mut self, arrival: u64, link: u32, slot: u32) -> Option<u32> {
        let wire = self.parts.wires[link as usize];
        if wire.to_router {
            let column = self.pool.get(slot).column;
            match self.parts.routes.next(wire.to, column) {
                Some(next) if self.parts.wires[next as usize].ahead => return Some(next),
                Some(_) => {}
                None => {
                    self.no_route(arrival, slot);
                    return None;
                }
            }
        }
        if !wire.to_router && self.pool.get(slot).content == Content::Background {
            self.end_background(arrival, wire, slot);
        } else {
            self.events.push_hop(arrival, link, slot);
        }
        None
    }

    /// Cross traffic arrives at a host. It is only counted, which needs no event.
    pub(super) fn end_background(&mut self, at: u64, wire: Wire, slot: u32) {
        let packet = self.pool.get(slot);
        if self.parts.columns[wire.to as usize] != packet.column {
            return self.no_route(at, slot);
        }
        let counters = &mut self.parts.sources[packet.meta as usize].counters;
        counters.arrived_packets += 1;
        counters.arrived_bytes += u64::from(packet.wire_size);
        self.pool.discard(slot);
    }

    /// Writes an entry into the log, if there is one.
    #[inline]
    fn note(&mut self, (offered, at): (u64, u64), link: Option<u32>, slot: u32, what: LogKind) {
        if self.parts.log {
            let packet = self.pool.get(slot);
            self.log.push(LogEntry {
                at: Instant::from_nanos(at),
                offered: Instant::from_nanos(offered),
                link: link.map(LinkId),
                packet: packet.id,
                copy: packet.duplicate,
                meta: packet.meta,
                wire_size: packet.wire_size,
                what,
            });
        }
    }
}

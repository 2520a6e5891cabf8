//! The running network: packets in, arrivals and timers out.

mod message;
mod observe;
mod send;

pub use message::{Arrival, Event, Outgoing};

use super::address::AddressTable;
use super::capture::{Capture, CaptureBuffer};
use super::event::{EventQueue, Key, Simultaneous, What, seconds};
use super::flow::{Flows, Way};
use super::ids::{LinkId, NodeId, Port, TimerId};
use super::link::{Fate, Link};
use super::log::{DropReason, LogEntry, LogKind};
use super::packet::{Content, Pool};
use super::route::{Graph, Routes};
use super::timer::{Due, Timers};
use super::traffic::Source;
use byway_core::Bytes;
use byway_core::time::Instant;
use std::collections::VecDeque;
use std::net::SocketAddr;

/// What [`TopologyBuilder::build`](super::TopologyBuilder::build) hands over.
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
    pub(crate) sources: Vec<Source>,
    pub(crate) log: bool,
    pub(crate) simultaneous: Simultaneous,
}

/// What the network needs to know of a link at every packet.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wire {
    /// The vertex at its end.
    pub(crate) to: u32,
    /// Whether that is a router.
    pub(crate) to_router: bool,
    /// Whether packets may be followed onto this link ahead of time.
    pub(crate) ahead: bool,
    pub(crate) capture: Capture,
}

/// A running network. See the [module](super) for how to drive it.
pub struct Network {
    now: u64,
    parts: Parts,
    events: EventQueue,
    timers: Timers,
    pool: Pool,
    next_packet: u64,
    unroutable: u64,
    log: Vec<LogEntry>,
    captured: CaptureBuffer,
    /// Copies made by links on the way, not yet followed.
    pending: Vec<(u64, u32, u32)>,
    /// Each link's transmissions, with [`Simultaneous::AsScheduled`].
    turns: Vec<Turn>,
    flows: Flows,
    /// There is a log or a capture to be written.
    watched: bool,
    /// Nobody looks on, and no link makes copies.
    plain: bool,
}

/// What a host has to hear of.
#[derive(Copy, Clone, Debug)]
pub(crate) enum Happened {
    /// A packet arrived at the end of a link.
    Arrived { link: u32, slot: u32 },
    /// A timer is due.
    Timer {
        node: NodeId,
        timer: TimerId,
        token: u64,
    },
}

/// What a host's endpoint needs of a packet.
#[derive(Debug)]
pub(crate) struct Arrived<'a> {
    pub(crate) node: NodeId,
    pub(crate) src: &'a SocketAddr,
    pub(crate) dst: &'a SocketAddr,
    pub(crate) payload: &'a [u8],
    /// What follows `payload`.
    pub(crate) tail: &'a Bytes,
    pub(crate) corrupted: bool,
}

/// A link's transmissions where their order counts.
#[derive(Debug, Default)]
struct Turn {
    /// When the last one ends; queued while packets wait.
    free: Key,
    waiting: VecDeque<u32>,
}

impl Network {
    pub(crate) fn new(parts: Parts) -> Network {
        let mut events = EventQueue::new(parts.links.len(), parts.simultaneous);
        let turns = match parts.simultaneous {
            Simultaneous::ByLink => 0,
            Simultaneous::AsScheduled => parts.links.len(),
        };
        for (i, source) in parts.sources.iter().enumerate() {
            events.push_traffic(source.start, i as u32);
        }
        let watched = parts.log || parts.wires.iter().any(|w| w.capture != Capture::Off);
        let copies = parts.links.iter().any(Link::makes_copies);
        Network {
            now: 0,
            plain: !watched && !copies,
            events,
            timers: Timers::default(),
            pool: Pool::default(),
            next_packet: 0,
            unroutable: 0,
            log: Vec::new(),
            captured: CaptureBuffer::default(),
            pending: Vec::new(),
            watched,
            flows: Flows::new(parts.addresses.len()),
            turns: std::iter::repeat_with(Turn::default).take(turns).collect(),
            parts,
        }
    }

    /// Time of the last event.
    #[must_use]
    pub const fn now(&self) -> Instant {
        Instant::from_nanos(self.now)
    }

    /// An empty buffer for a payload, reused if possible.
    #[must_use]
    pub fn buffer(&mut self) -> Vec<u8> {
        self.pool.buffer()
    }

    /// Takes back the buffer of a payload that is no longer needed.
    pub fn recycle(&mut self, buffer: Vec<u8>) {
        self.pool.recycle(buffer);
    }

    fn no_route(&mut self, at: u64, slot: u32) {
        self.unroutable += 1;
        self.note((at, at), None, slot, LogKind::Dropped(DropReason::NoRoute));
        self.pool.discard(slot);
    }

    /// Offers the packet to `link` at time `at`, and follows it over all
    /// further links that nobody else can feed before it gets there. `way`:
    /// these links, `link` included, as far as they are known.
    #[inline]
    fn follow(&mut self, at: u64, link: u32, slot: u32, way: &Way) {
        if self.plain && self.turns.is_empty() {
            return self.follow_plain(at, link, slot, way);
        }
        self.follow_watched(at, link, slot, way);
        while let Some((at, link, slot)) = self.pending.pop() {
            if let Some(next) = self.next_ahead(at, link, slot) {
                self.follow_watched(at, next, slot, &Way::default());
            }
        }
    }

    fn follow_plain(&mut self, mut at: u64, mut link: u32, slot: u32, way: &Way) {
        let packet = self.pool.get_mut(slot);
        // The last link of the way that is known; `link` if none is.
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
        self.follow_unknown(at, link, slot, way.links().is_empty());
    }

    /// Over links that are looked up one by one; `first` if the packet has not
    /// passed `link` yet.
    #[inline(never)]
    fn follow_unknown(&mut self, mut at: u64, mut link: u32, slot: u32, first: bool) {
        let mut ahead = first;
        loop {
            if core::mem::replace(&mut ahead, true) {
                let packet = self.pool.get_mut(slot);
                let fate = self.parts.links[link as usize].pass(at, packet);
                if fate.lost.is_some() {
                    return self.pool.discard(slot);
                }
                at = fate.at;
            }
            match self.next_ahead(at, link, slot) {
                Some(next) => link = next,
                None => return,
            }
        }
    }

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
                if self.settle(at, link, copy, fate) {
                    self.pending.push((fate.at, link, copy));
                }
            }
            if self.watched {
                if !self.settle(at, link, slot, fate) {
                    return;
                }
            } else if fate.lost.is_some() {
                return self.pool.discard(slot);
            }
            let arrival = fate.at;
            if !self.turns.is_empty() && self.pool.get(slot).content == Content::Sctp {
                return self.take_turn(link, slot);
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

    /// Offers a packet to a link where transmissions take turns and nobody looks on.
    #[inline]
    fn pass_in_turn(&mut self, link: u32, slot: u32) {
        let packet = self.pool.get_mut(slot);
        let fate = self.parts.links[link as usize].pass(self.now, packet);
        if fate.lost.is_some() {
            return self.pool.discard(slot);
        }
        self.take_turn(link, slot);
    }

    /// A packet is transmitted now, or waits for those before it.
    fn take_turn(&mut self, link: u32, slot: u32) {
        let turn = &mut self.turns[link as usize];
        if !turn.waiting.is_empty() {
            turn.waiting.push_back(slot);
        } else if self.events.has_passed(turn.free, self.now) {
            self.transmit(link, slot);
        } else {
            turn.waiting.push_back(slot);
            self.events.push_free(turn.free);
        }
    }

    /// A transmission begins: the packet's arrival is scheduled.
    fn transmit(&mut self, link: u32, slot: u32) {
        let size = self.pool.get(slot).wire_size;
        let times = self.parts.links[link as usize].seconds_for(size);
        self.turns[link as usize].free = self.events.push_transmission(link, slot, times);
    }

    /// A transmission that somebody waits for is over.
    fn next_turn(&mut self, link: u32) {
        if let Some(slot) = self.turns[link as usize].waiting.pop_front() {
            self.transmit(link, slot);
        }
        let turn = &self.turns[link as usize];
        if !turn.waiting.is_empty() {
            self.events.push_free(turn.free);
        }
    }

    /// Records a packet's fate on a link; whether it gets to the other end.
    fn settle(&mut self, at: u64, link: u32, slot: u32, fate: Fate) -> bool {
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

    #[cold]
    fn capture(&mut self, at: u64, link: u32, slot: u32) {
        let packet = self.pool.get(slot);
        let addresses = &self.parts.addresses;
        let ends = (addresses.address(packet.src), addresses.address(packet.dst));
        self.captured.add(at, link, packet, ends);
    }

    /// The next link if the packet may be followed onto it; otherwise queues
    /// its arrival at the end of `link`, or drops it for want of a route.
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

    /// A packet of cross traffic comes to a host, where nobody waits for it: no
    /// event is needed.
    fn end_background(&mut self, at: u64, wire: Wire, slot: u32) {
        let packet = self.pool.get(slot);
        if self.parts.columns[wire.to as usize] != packet.column {
            return self.no_route(at, slot);
        }
        let counters = &mut self.parts.sources[packet.meta as usize].counters;
        counters.arrived_packets += 1;
        counters.arrived_bytes += u64::from(packet.wire_size);
        self.pool.discard(slot);
    }

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

    /// Adds a timer slot to a node, not yet set. `token` comes back with the event.
    ///
    /// # Panics
    /// With more than 4 million timers.
    pub fn add_timer(&mut self, node: NodeId, token: u64) -> TimerId {
        self.timers.add(node, token)
    }

    /// Sets a timer to go off at `at`, or not at all. A time that has passed
    /// means at once. Moving a timer to a later time costs next to nothing.
    ///
    /// # Panics
    /// If the timer is another network's and does not exist here.
    pub fn set_timer(&mut self, timer: TimerId, at: Option<Instant>) {
        let at = at.map(|at| at.as_nanos().max(self.now));
        let seconds = match at {
            Some(at) if self.events.counts_seconds() => {
                self.events.clock() + seconds(at - self.now)
            }
            _ => 0.0,
        };
        if let Some(at) = self.timers.set(timer, at, seconds) {
            self.events.push_timer(at, seconds, timer.0);
        }
    }

    /// A time before which nothing happens; `None` if nothing ever will.
    ///
    /// What happens then may be invisible to hosts, such as a packet reaching a router.
    #[must_use]
    pub fn next_event_time(&self) -> Option<Instant> {
        self.events.next_time().map(Instant::from_nanos)
    }

    /// Runs the network up to the next event for a host and returns it with its time.
    ///
    /// Does not return while sources of cross traffic without an end are all
    /// that is left; use [`pop_until`](Network::pop_until) then.
    pub fn pop(&mut self) -> Option<(Instant, Event)> {
        self.pop_until(Instant::FAR_FUTURE)
    }

    /// Like [`pop`](Network::pop), but handles nothing later than `limit`.
    /// When that leaves nothing, time moves on to `limit`.
    pub fn pop_until(&mut self, limit: Instant) -> Option<(Instant, Event)> {
        let happened = self.next_happening(limit)?;
        let event = match happened {
            Happened::Arrived { link, slot } => Event::Arrived(self.arrival(link, slot)),
            Happened::Timer { node, timer, token } => Event::Timer { node, timer, token },
        };
        Some((self.now(), event))
    }

    /// What [`pop_until`](Network::pop_until) does, with the packet left in its
    /// slot.
    pub(crate) fn next_happening(&mut self, limit: Instant) -> Option<Happened> {
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
                What::Hop { link, packet } => {
                    if self.arrives_at_host(link, packet) {
                        return Some(Happened::Arrived { link, slot: packet });
                    }
                }
                What::Free { link } => self.next_turn(link),
                What::Traffic { source } => self.emit_traffic(source),
                What::Timer { timer } => {
                    if let Some(timer) = self.timer_due(timer) {
                        return Some(timer);
                    }
                }
            }
        }
    }

    /// A packet reaches the end of a link now. Whether it is for a host there;
    /// if not, it has been dealt with.
    fn arrives_at_host(&mut self, link: u32, slot: u32) -> bool {
        let Wire { to, to_router, .. } = self.parts.wires[link as usize];
        let packet = self.pool.get(slot);
        if to_router {
            match self.parts.routes.next(to, packet.column) {
                Some(next)
                    if self.plain && !self.turns.is_empty() && packet.content == Content::Sctp =>
                {
                    self.pass_in_turn(next, slot);
                }
                Some(next) => self.follow(self.now, next, slot, &Way::default()),
                None => self.no_route(self.now, slot),
            }
            return false;
        }
        if self.parts.columns[to as usize] != packet.column {
            // A cable led to a host that is not the destination; hosts do not forward.
            self.no_route(self.now, slot);
            return false;
        }
        true
    }

    /// A packet that arrived at the end of `link`, in its slot; it is to be
    /// [discarded](Network::discard) then.
    #[inline]
    pub(crate) fn arrived(&self, link: u32, slot: u32) -> Arrived<'_> {
        let to = self.parts.wires[link as usize].to;
        let packet = self.pool.get(slot);
        Arrived {
            node: self.parts.ports[to as usize].node,
            src: self.parts.addresses.socket(packet.src),
            dst: self.parts.addresses.socket(packet.dst),
            payload: &packet.payload,
            tail: &packet.tail,
            corrupted: packet.corrupted,
        }
    }

    /// Forgets a packet that arrived.
    #[inline]
    pub(crate) fn discard(&mut self, slot: u32) {
        self.pool.discard(slot);
    }

    /// Takes the packet out of its slot, with all that is known of it.
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

    fn emit_traffic(&mut self, number: u32) {
        let source = &mut self.parts.sources[number as usize];
        let Some((size, next)) = source.emit(self.now) else {
            return;
        };
        let (src, dst, from) = (source.src, source.dst, source.from);
        self.events.push_traffic(next, number);
        self.emit_background(from, (src, dst), size, u64::from(number));
    }

    fn timer_due(&mut self, number: u32) -> Option<Happened> {
        let timer = TimerId(number);
        match self.timers.due(timer, self.now) {
            Due::Now { node, token } => Some(Happened::Timer { node, timer, token }),
            Due::Later(at, seconds) => {
                self.events.push_timer(at, seconds, number);
                None
            }
            Due::Never => None,
        }
    }
}

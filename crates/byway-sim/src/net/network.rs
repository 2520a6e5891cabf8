//! The running network: packets in, arrivals and timers out.
//!
//! [`Network`] is the state. `send` takes packets from hosts, and `follow` passes them
//! over the links. `transmit` does so if every transmission is an event. `run` finds the
//! next event for a host, and `observe` answers queries.

mod follow;
mod message;
mod observe;
mod parts;
mod run;
mod send;
mod timers;
mod transmit;
mod transmitter;

pub(crate) use message::HostEvent;
pub use message::{Arrival, Event, Outgoing};
pub(crate) use parts::{Parts, Wire};

use super::capture::{Capture, CaptureBuffer};
use super::event::{EventQueue, Simultaneous};
use super::flow::{Flow, Flows};
use super::link::Link;
use super::log::LogEntry;
use super::packet::Pool;
use super::timer::Timers;
use byway_core::time::Instant;
use transmitter::Transmitter;

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
    /// Copies made by links, not yet followed: time, link and slot.
    pending: Vec<(u64, u32, u32)>,
    /// By link, with [`Simultaneous::AsScheduled`]; else empty.
    transmitters: Vec<Transmitter>,
    flows: Flows,
    /// The flow of each source of cross traffic.
    traffic: Vec<Flow>,
    /// There is a log or a capture.
    watched: bool,
    /// There is neither, and no link duplicates packets.
    plain: bool,
}

impl Network {
    pub(crate) fn new(parts: Parts) -> Network {
        let mut events = EventQueue::new(parts.links.len(), parts.simultaneous);
        let transmitters = match parts.simultaneous {
            Simultaneous::ByLink => 0,
            Simultaneous::AsScheduled => parts.links.len(),
        };
        for (i, source) in parts.sources.iter().enumerate() {
            events.push_traffic(source.start, i as u32);
        }
        let watched = parts.log || parts.wires.iter().any(|w| w.capture != Capture::Off);
        let copies = parts.links.iter().any(Link::makes_copies);
        let mut network = Network {
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
            traffic: Vec::new(),
            transmitters: std::iter::repeat_with(Transmitter::default)
                .take(transmitters)
                .collect(),
            parts,
        };
        network.traffic = network.flows_of_sources();
        network
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
}

//! What fuzzing opens of this crate: the state of the socket layer without sockets,
//! without a clock and without tasks. A caller takes the place of the driver and of the
//! applications.

use crate::encapsulation::Place;
use crate::outbox::Outbox;
use crate::state::State;
use byway_core::time::Instant;
use byway_core::{AssocId, Config, EndpointConfig, Message, Received, SendFailure};
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::task::{Poll, Waker};

/// A datagram that would leave.
#[derive(Debug)]
pub struct Datagram {
    /// From this address of ours.
    pub source: SocketAddr,
    /// To this one.
    pub destination: SocketAddr,
    /// The packet.
    pub bytes: Vec<u8>,
}

/// The state of one endpoint.
#[derive(Debug)]
pub struct Node {
    state: State,
    local: Vec<SocketAddr>,
    charges: BTreeMap<AssocId, usize>,
}

/// Whoever waits is not woken: callers ask again.
fn asks_again() -> &'static Waker {
    Waker::noop()
}

impl Node {
    /// An endpoint with these addresses; so many associations may wait to be accepted.
    #[must_use]
    pub fn new(config: EndpointConfig, backlog: usize) -> Node {
        let local = config.local.clone();
        let core = byway_core::Endpoint::new(config).expect("the settings are sound");
        let outbox = Outbox::new(local.iter().map(|_| 8).collect());
        let places = local.iter().map(|&address| Place {
            address,
            raw: address.port() == 0,
        });
        let places = places.collect();
        Node {
            state: State::new(core, places, outbox, backlog),
            local,
            charges: BTreeMap::new(),
        }
    }

    /// See [`Endpoint::connect`](crate::Endpoint::connect).
    pub fn connect(&mut self, now: Instant, to: &[SocketAddr], config: Config) -> Option<AssocId> {
        self.state.connect(now, to, 5000, config).ok()
    }

    /// A datagram has come to the address of this place.
    pub fn arrive(&mut self, now: Instant, source: SocketAddr, place: usize, datagram: &[u8]) {
        self.state
            .arrive(now, source, place, [datagram].into_iter());
        self.state.wake.clear();
    }

    /// A turn of the driver: the packets to send, and when the next turn is due.
    pub fn turn(&mut self, now: Instant) -> (Vec<Datagram>, Option<Instant>) {
        let mut datagrams = Vec::new();
        loop {
            let (due, more) = self.state.turn(now);
            for (place, source) in self.local.iter().enumerate() {
                for batch in self.state.outbox.drain(place) {
                    datagrams.extend(batch.bytes.chunks(batch.segment).map(|bytes| Datagram {
                        source: *source,
                        destination: batch.destination,
                        bytes: bytes.to_vec(),
                    }));
                }
            }
            self.state.wake.clear();
            if !more {
                return (datagrams, due);
            }
        }
    }

    /// The kernel has refused a packet.
    pub fn send_failed(&mut self, now: Instant, datagram: &Datagram, why: SendFailure) {
        let (to, bytes) = (datagram.destination, &datagram.bytes);
        self.state.send_failed(now, to, bytes, why);
    }

    /// The next association that a peer has set up.
    pub fn accept(&mut self) -> Option<AssocId> {
        match self.state.poll_accept(asks_again()) {
            Poll::Ready(id) => id,
            Poll::Pending => None,
        }
    }

    /// Whether the message was taken.
    pub fn send(&mut self, now: Instant, id: AssocId, message: &Message) -> bool {
        let sent = self.state.poll_send(now, id, message, asks_again());
        matches!(sent, Poll::Ready(Ok(())))
    }

    /// The next message of a stream, or of any.
    pub fn receive(&mut self, now: Instant, id: AssocId, stream: Option<u16>) -> Option<Received> {
        match self.state.poll_receive(now, id, stream, asks_again()) {
            Poll::Ready(received) => received,
            Poll::Pending => None,
        }
    }

    /// See [`Association::stream`](crate::Association::stream).
    pub fn open_stream(&mut self, id: AssocId, stream: u16) {
        self.state.open_stream(id, stream);
    }

    /// See [`Association::abort`](crate::Association::abort).
    pub fn abort(&mut self, now: Instant, id: AssocId) {
        // Refused when it has ended.
        let _ = self
            .state
            .command(now, id, |core| core.abort(now, id, b"fuzz"));
    }

    /// See [`Association::shutdown`](crate::Association::shutdown).
    pub fn shutdown(&mut self, now: Instant, id: AssocId) {
        // Refused when it has ended.
        let _ = self.state.command(now, id, |core| core.shutdown(now, id));
    }

    /// The last handle of an association is dropped.
    pub fn drop_association(&mut self, now: Instant, id: AssocId) {
        self.state.drop_association(now, id);
    }

    /// An address of the host is gone.
    pub fn lose_address(&mut self, now: Instant, address: IpAddr) {
        self.state.change_addresses(now, Vec::new(), &[address]);
        self.state.going.clear();
    }

    /// See [`Endpoint::close`](crate::Endpoint::close); it does not wait.
    pub fn close(&mut self, now: Instant, abort: bool) {
        if abort {
            self.state.abort_all(now, b"fuzz");
            self.state.end_linger();
        } else {
            self.state.close(now, true);
        }
    }

    /// Whether the driver would end, and the core holds nothing more.
    #[must_use]
    pub fn finished(&self) -> bool {
        self.state.finished()
    }

    /// Associations and memory of the core.
    #[must_use]
    pub fn held(&self) -> (usize, usize) {
        (
            self.state.core.association_count(),
            self.state.core.memory(),
        )
    }

    /// The application keeps so many bytes for an association; see
    /// [`Association::charge`](crate::Association::charge).
    pub fn charge(&mut self, now: Instant, id: AssocId, bytes: usize) {
        let before = self.charges.insert(id, bytes).unwrap_or(0);
        self.state.charge_application(now, id, before, bytes);
    }

    /// Recounts the totals of an association, and what is kept for it here.
    pub fn check(&self, id: AssocId) {
        self.state.core.check_totals(id).expect("totals agree");
        self.state.check_account(id);
    }
}

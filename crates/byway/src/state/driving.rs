//! What the driver does.

use super::State;
use crate::busy_peers::Candidate;
use crate::encapsulation::Place;
use crate::error::Closed;
use crate::icmp::Told;
use crate::watcher::Passing;
use byway_core::time::Instant;
use byway_core::{Refusal, Rule, SendFailure};
use std::net::SocketAddr;
use std::task::Waker;
use std::time::Duration;

/// Most bytes taken from the core before they are sent, so that the lock is held
/// only briefly and the sockets do not stay idle.
const FILL: usize = 256 << 10;

/// How often buffers are freed that nobody needs.
const TRIM_INTERVAL: Duration = Duration::from_secs(1);

/// How often refusals are logged.
const LOG_INTERVAL: Duration = Duration::from_secs(1);

/// Who sent a buffer to a socket that all share.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// So many of its datagrams, one at least, are of no association that it has shown.
    Unknown(usize),
    /// A peer.
    Known,
    /// A peer that has become a busy one, or twice as busy.
    Busy(Candidate),
}

/// How many of the datagrams of one buffer are a stranger's, and the bytes of all. Those of a peer mostly have
/// one verification tag, which is looked up once.
fn look_at<'a>(
    datagrams: impl Iterator<Item = &'a [u8]>,
    mut is_known: impl FnMut(&[u8]) -> bool,
) -> (usize, usize) {
    let (mut unknown, mut bytes) = (0, 0);
    let mut before: Option<(Option<&[u8; 8]>, bool)> = None;
    for datagram in datagrams {
        // Ports and verification tag.
        let header = datagram.first_chunk();
        let known = match before {
            Some((same, known)) if same == header => known,
            _ => is_known(datagram),
        };
        before = Some((header, known));
        unknown += usize::from(!known);
        bytes += datagram.len();
    }
    (unknown, bytes)
}

impl State {
    /// Stores the waker of the driver.
    pub(crate) fn set_driver(&mut self, waker: &Waker) {
        if !self.driver.as_ref().is_some_and(|w| w.will_wake(waker)) {
            self.driver = Some(waker.clone());
        }
    }

    /// Passes the datagrams of one buffer from a socket that all peers share; `seen` are the same. `flood`:
    /// beside many of strangers.
    pub(crate) fn arrive_shared<'a>(
        &mut self,
        now: Instant,
        source: SocketAddr,
        socket: usize,
        seen: impl Iterator<Item = &'a [u8]>,
        datagrams: impl Iterator<Item = &'a [u8]>,
        flood: bool,
    ) -> Source {
        let core = &mut self.core;
        let (unknown, bytes) = look_at(seen, |datagram| core.is_from_known_peer(source, datagram));
        self.arrive(now, source, socket, datagrams);
        // One that is wholly another worker's counts as one.
        if unknown > 0 || bytes == 0 {
            return Source::Unknown(unknown.max(1));
        }
        let busy = self.busy.add(now, (socket, source), bytes, flood);
        busy.map_or(Source::Known, Source::Busy)
    }

    /// Known peers that sent to this socket, shared by all, in the last seconds.
    pub(crate) fn heard_lately(&self, now: Instant, socket: usize) -> Vec<Candidate> {
        self.busy.lately(now, socket)
    }

    /// Passes the datagrams of one buffer to the core.
    pub(crate) fn arrive<'a>(
        &mut self,
        now: Instant,
        source: SocketAddr,
        socket: usize,
        datagrams: impl Iterator<Item = &'a [u8]>,
    ) {
        let Some(place) = self.local[socket] else {
            return; // closed since it was read
        };
        self.stats.buffers_received += 1;
        self.pass(now, source, place, datagrams);
    }

    /// A datagram came to a socket of this place that another worker has.
    pub(crate) fn take_over(
        &mut self,
        now: Instant,
        source: SocketAddr,
        place: Place,
        datagram: &[u8],
    ) {
        // Nobody would send an answer any more, or from this address.
        if self.driver_gone || !self.local.contains(&Some(place)) {
            return;
        }
        self.stats.datagrams_handed_over += 1;
        self.pass(now, source, place, std::iter::once(datagram));
        self.call_driver();
    }

    fn pass<'a>(
        &mut self,
        now: Instant,
        source: SocketAddr,
        place: Place,
        datagrams: impl Iterator<Item = &'a [u8]>,
    ) {
        let destination = place.address;
        if source.port() == 0 && !place.raw {
            // Nothing can be sent back there, and to the core it means a packet without UDP.
            let count = datagrams.count() as u64;
            self.stats.datagrams_received += count;
            return self.core.count_refusals(Rule::PortZero, count, source);
        }
        for datagram in datagrams {
            self.stats.datagrams_received += 1;
            if let Some(watcher) = &self.sees_packets {
                watcher.packet(Passing {
                    sent: false,
                    local: destination,
                    remote: source,
                    udp: !place.raw,
                    packet: datagram,
                });
            }
            self.core
                .handle_datagram(now, source, destination, datagram);
            // After each datagram: a SACK is due after every second packet (RFC
            // 9260 section 6.2), not after every buffer.
            self.fill(now);
        }
        self.dispatch(now);
    }

    /// Runs expired timers and gathers packets, up to a limit. Returns the next
    /// deadline, and whether the limit was reached.
    pub(crate) fn turn(&mut self, now: Instant) -> (Option<Instant>, bool) {
        self.called = false;
        if self.core.poll_timeout().is_some_and(|due| due <= now) {
            self.core.handle_timeout(now);
        }
        self.fill(now);
        self.dispatch(now);
        self.log_refusals(now);
        self.note_memory();
        // What many peers needed goes with them.
        if now.since(self.trimmed) >= TRIM_INTERVAL || self.entries.is_empty() {
            self.trimmed = now;
            self.outbox.trim();
        }
        (self.core.poll_timeout(), self.outbox.bytes() >= FILL)
    }

    /// Logs what was refused or shed, at most once a second with a line for each rule.
    fn log_refusals(&mut self, now: Instant) {
        if now.since(self.logged) < LOG_INTERVAL {
            return;
        }
        for Refusal { rule, count, last } in self.core.take_refusals() {
            self.logged = now;
            match rule {
                Rule::Shed
                | Rule::Memory
                | Rule::DataMemory
                | Rule::Associations
                | Rule::AssociationsOfPeer
                | Rule::Backlog
                | Rule::SendQueue
                | Rule::Handshakes
                | Rule::Violators => {
                    tracing::warn!(%rule, count, %last, "refused");
                }
                _ => tracing::info!(%rule, count, %last, "refused"),
            }
        }
    }

    /// Datagrams were dropped, because too many wait for their socket; the last one was for this
    /// address.
    pub(crate) fn overflowed(&mut self, datagrams: u64, last: SocketAddr) {
        self.stats.datagrams_overflowed += datagrams;
        self.core.count_refusals(Rule::SendQueue, datagrams, last);
    }

    /// Whether there is nothing more to drive.
    pub(crate) fn finished(&self) -> bool {
        !self.open
            && !self.lingering
            && self.outbox.bytes() == 0
            && self.entries.values().all(|e| e.closed.is_some())
    }

    /// The driver has ended, and with it all associations.
    pub(crate) fn end_driver(&mut self) {
        self.open = false;
        self.driver_gone = true;
        for entry in self.entries.values_mut() {
            entry.end(Closed::DriverGone, &mut self.wake);
        }
        self.acceptors.move_to(&mut self.wake);
        self.closers.move_to(&mut self.wake);
        self.falls.end(&mut self.wake);
    }

    /// Whether the driver has ended.
    pub(crate) fn has_ended(&self) -> bool {
        self.driver_gone
    }

    /// Tells who waits when the memory of associations has fallen.
    pub(super) fn note_memory(&mut self) {
        self.falls.note(self.core.memory(), &mut self.wake);
    }

    /// The kernel refused a packet to this address.
    pub(crate) fn send_failed(
        &mut self,
        now: Instant,
        destination: SocketAddr,
        packet: &[u8],
        why: SendFailure,
    ) {
        self.core.send_failed(now, destination, packet, why);
    }

    /// An ICMP message about a packet of this worker came, to this one or another.
    pub(crate) fn told(&mut self, now: Instant, told: &Told<'_>) {
        self.core
            .handle_icmp(now, told.destination, told.quoted, told.message);
        self.call_driver();
        self.dispatch(now);
    }

    /// Gathers packets, up to a limit.
    pub(super) fn fill(&mut self, now: Instant) {
        while self.outbox.bytes() < FILL {
            self.scratch.clear();
            let Some(transmit) = self.core.poll_transmit(now, &mut self.scratch) else {
                break;
            };
            let (from, to) = (transmit.source, transmit.destination);
            let carries = |p: &Option<Place>| p.is_some_and(|p| p.carries(from, to));
            let socket = self.local.iter().position(carries);
            match socket {
                Some(i) if transmit.may_fragment => {
                    self.outbox.push_fragmentable(i, to, &self.scratch);
                }
                Some(i) => self.outbox.push(i, to, &self.scratch),
                // Its address is gone, and the core has not got another one yet.
                None => {
                    tracing::debug!(source = %from, "a packet from an address that is gone");
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::look_at;

    /// One known tag, first or last, does not pay for the rubbish beside it.
    #[test]
    fn each_datagram_of_a_buffer_is_looked_at() {
        let (known, rubbish): ([u8; 12], [u8; 12]) = ([1; 12], [2; 12]);
        let cases: [(&[&[u8]], usize, usize); 6] = [
            (&[&known, &known, &known], 0, 1),
            (&[&rubbish], 1, 1),
            (&[&known, &rubbish, &rubbish], 2, 2),
            (&[&rubbish, &rubbish, &known], 2, 2),
            (&[&known, &rubbish, &known], 1, 3),
            (&[&known, &[]], 1, 2),
        ];
        for (datagrams, unknown, lookups) in cases {
            let mut asked = 0;
            let found = look_at(datagrams.iter().copied(), |datagram| {
                asked += 1;
                datagram == known
            });
            let bytes = datagrams.iter().map(|datagram| datagram.len()).sum();
            assert_eq!((found, asked), ((unknown, bytes), lookups), "{datagrams:?}");
        }
    }
}

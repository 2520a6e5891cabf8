//! A scenario's network for packets of real programs.
//!
//! The network of [`run`](crate::run), without its hosts: packets of any protocol go in at one end
//! of a path, and come out at the other when the simulator says so. There is no clock here. Who
//! drives it says what time it is, so the same packets at the same times have the same fate.

use crate::clock::{instant, nanos};
use crate::network::{Built, Records, build, receiver_address, sender_address};
use crate::scenario::Scenario;
use byway_core::time::Instant;
use byway_sim::net::{Arrival, Event, LinkCounters, NodeId, Outgoing, TopologyError};
use std::net::IpAddr;
use std::time::Duration;

/// An end of all paths.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// Where the scenario's sender is.
    Sender,
    /// Where its receiver is.
    Receiver,
}

/// The network of a scenario, driven from outside. Other traffic, losses and events are the
/// scenario's; its hosts, policies and limit of time are not used.
pub struct Emulation {
    built: Built,
}

/// A packet that comes out.
#[derive(Debug, PartialEq, Eq)]
pub struct Out {
    /// At which end.
    pub end: End,
    /// Of which path, counted from 0.
    pub path: usize,
    /// Its bytes, as they went in unless the scenario flips bits. [`Emulation::recycle`] takes
    /// the buffer back.
    pub packet: Vec<u8>,
}

impl End {
    /// The other one.
    #[must_use]
    pub fn opposite(self) -> End {
        match self {
            End::Sender => End::Receiver,
            End::Receiver => End::Sender,
        }
    }

    /// Its address on a path, counted from 0: 10.(path + 1).0.1 for the sender and .2 for the
    /// receiver.
    #[must_use]
    pub fn address(self, path: usize) -> IpAddr {
        match self {
            End::Sender => sender_address(path),
            End::Receiver => receiver_address(path),
        }
    }
}

impl Emulation {
    /// Builds the network; its time is 0.
    ///
    /// # Errors
    /// What the simulator refuses.
    pub fn new(scenario: &Scenario) -> Result<Emulation, TopologyError> {
        let built = build(&scenario.drawn(), Records::default())?;
        Ok(Emulation { built })
    }

    /// Number of paths.
    #[must_use]
    pub fn paths(&self) -> usize {
        self.built.ways.len()
    }

    /// When something happens next: not before then does a packet come out that is inside.
    #[must_use]
    pub fn next(&self) -> Option<Duration> {
        let next = self.built.net.next_event_time()?;
        Some(Duration::from_nanos(next.as_nanos()))
    }

    /// The next packet that has come out by `now`.
    pub fn take(&mut self, now: Duration) -> Option<Out> {
        while let Some((_, event)) = self.built.net.pop_until(instant(now)) {
            if let Event::Arrived(arrival) = event
                && let Some(out) = self.out(arrival)
            {
                return Some(out);
            }
        }
        None
    }

    /// A packet goes in at `end` of a path, counted from 0. `now` must not be before an
    /// earlier `now`, and what has come out by then must have been taken.
    ///
    /// # Panics
    /// If it is before one, if packets are left, or if there is no such path.
    pub fn offer(&mut self, now: Duration, end: End, path: usize, packet: &[u8]) {
        let mut payload = self.built.net.buffer();
        payload.clear();
        payload.extend_from_slice(packet);
        let mut outgoing = Outgoing::new(end.address(path), end.opposite().address(path), payload);
        // A packet of the network layer already has its header.
        outgoing.wire_size = Some(u32::try_from(packet.len()).unwrap_or(u32::MAX));
        let sent = self
            .built
            .net
            .send(Instant::from_nanos(nanos(now)), outgoing);
        sent.expect("the caller takes what is due, and the scenario has a route for each path");
    }

    /// Takes a buffer back.
    pub fn recycle(&mut self, buffer: Vec<u8>) {
        self.built.net.recycle(buffer);
    }

    /// What became of the packets of a path, counted from 0: from the sender on, and back.
    #[must_use]
    pub fn counters(&self, path: usize) -> [LinkCounters; 2] {
        self.built.ways[path].map(|link| self.built.net.counters(link))
    }

    /// Cross traffic has hosts of its own, whose packets end there.
    fn out(&mut self, arrival: Arrival) -> Option<Out> {
        let end = self.end(arrival.node);
        let Some(end) = end else {
            self.built.net.recycle(arrival.payload);
            return None;
        };
        Some(Out {
            end,
            path: usize::from(arrival.interface),
            packet: arrival.payload,
        })
    }

    fn end(&self, node: NodeId) -> Option<End> {
        match node {
            n if n == self.built.sender => Some(End::Sender),
            n if n == self.built.receiver => Some(End::Receiver),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn emulation(path: &str) -> Emulation {
        let text = format!(
            "limit = \"10 s\"\n[traffic]\nkind = \"bulk\"\nsize = \"1 MB\"\n\
             [[path]]\nname = \"a\"\n{path}\n[[policy]]\nname = \"p\"\n"
        );
        Emulation::new(&Scenario::parse("test", &text).unwrap()).unwrap()
    }

    /// When packets come out, in microseconds, if they go in at these times (ms).
    fn out(emulation: &mut Emulation, end: End, sizes: &[(u32, usize)]) -> Vec<u128> {
        let mut times = Vec::new();
        let drain = |emulation: &mut Emulation, until: Duration, times: &mut Vec<u128>| {
            while let Some(next) = emulation.next().filter(|n| *n <= until) {
                while let Some(out) = emulation.take(next) {
                    assert_eq!((out.end, out.path), (end.opposite(), 0));
                    emulation.recycle(out.packet);
                    times.push(next.as_micros());
                }
            }
        };
        for &(at, size) in sizes {
            drain(emulation, MS * at, &mut times);
            assert!(emulation.take(MS * at).is_none());
            emulation.offer(MS * at, end, 0, &vec![7; size]);
        }
        drain(emulation, MS * 100_000, &mut times);
        times
    }

    #[test]
    fn a_packet_takes_its_transmission_time_and_the_delay() {
        // 1000 bytes at 8 Mbit/s: 1 ms; the second waits for the first.
        let mut emulation = emulation("rate = \"8 Mbit/s\"\ndelay = \"20 ms\"");
        assert_eq!(
            out(
                &mut emulation,
                End::Sender,
                &[(0, 1000), (0, 1000), (50, 500)]
            ),
            [21_000, 22_000, 70_500]
        );
        assert_eq!(
            out(&mut emulation, End::Receiver, &[(100, 1000)]),
            [121_000]
        );
        let [there, back] = emulation.counters(0);
        assert_eq!((there.delivered_packets, back.delivered_packets), (3, 1));
    }

    #[test]
    fn a_full_queue_and_an_outage_drop() {
        let mut emulation = emulation(
            "rate = \"8 Mbit/s\"\ndelay = \"1 ms\"\nqueue = \"2 packets\"\n\
             [[event]]\nat = \"30 ms\"\npath = \"a\"\ndo = \"down\"",
        );
        let times = out(
            &mut emulation,
            End::Sender,
            &[(0, 1000), (0, 1000), (0, 1000), (40, 1000)],
        );
        assert_eq!(times, [2_000, 3_000]);
        let [there, _] = emulation.counters(0);
        assert_eq!((there.dropped_queue, there.dropped_down), (1, 1));
    }

    #[test]
    fn a_policer_drops_what_exceeds_it_and_delays_nothing() {
        let mut emulation = emulation(
            "rate = \"8 Mbit/s\"\ndelay = \"1 ms\"\n\
             policer = { rate = \"800 kbit/s\", burst = \"2 kB\" }\nreverse = { policer = \"none\" }",
        );
        let packets = [(0, 1000), (0, 1000), (0, 1000), (9, 1000), (10, 1000)];
        let times = out(&mut emulation, End::Sender, &packets);
        assert_eq!(times, [2_000, 3_000, 12_000]);
        let back = [(100, 1000); 4];
        assert_eq!(out(&mut emulation, End::Receiver, &back).len(), 4);
        let policed = emulation.counters(0).map(|c| c.dropped_policed);
        assert_eq!(policed, [2, 0]);
    }

    #[test]
    fn the_same_packets_have_the_same_fate() {
        let lossy = "rate = \"8 Mbit/s\"\ndelay = \"1 ms\"\nloss = \"20 %\"";
        let packets: Vec<(u32, usize)> = (0..200).map(|i| (2 * i, 1000)).collect();
        let once = out(&mut emulation(lossy), End::Sender, &packets);
        assert_eq!(once, out(&mut emulation(lossy), End::Sender, &packets));
        assert!((120..190).contains(&once.len()), "{}", once.len());
    }
}

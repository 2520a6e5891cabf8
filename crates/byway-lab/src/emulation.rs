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
    paths: Vec<Switch>,
}

/// Whether someone has cut a path, beside what the scenario does to it.
#[derive(Clone, Debug, Default)]
struct Switch {
    cut: bool,
    /// When it was cut last.
    cut_at: Option<Instant>,
    /// Packets that were on the wire then, and their bytes: from the sender on, and back.
    caught: [(u64, u64); 2],
}

/// A packet that comes out.
#[derive(Debug, PartialEq, Eq)]
pub struct Out {
    /// At which end.
    pub end: End,
    /// Of which path, counted from 0.
    pub path: usize,
    /// What went in with it.
    pub tag: u64,
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
        let paths = vec![Switch::default(); built.ways.len()];
        Ok(Emulation { built, paths })
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

    /// An IP packet goes in at `end` of a path, counted from 0. `now` must not be before an
    /// earlier `now`, and what has come out by then must have been taken.
    ///
    /// # Panics
    /// If it is before one, if packets are left, or if there is no such path.
    pub fn offer(&mut self, now: Duration, end: End, path: usize, packet: &[u8]) {
        self.offer_part(now, (end, path), packet, (0, 0));
    }

    /// [`offer`](Emulation::offer) of what is inside an IP packet whose headers have so many bytes, with a
    /// tag that comes out with it.
    ///
    /// # Panics
    /// Alike.
    pub fn offer_part(
        &mut self,
        now: Duration,
        (end, path): (End, usize),
        packet: &[u8],
        (headers, tag): (usize, u64),
    ) {
        let mut payload = self.built.net.buffer();
        payload.clear();
        payload.extend_from_slice(packet);
        let mut outgoing = Outgoing::new(end.address(path), end.opposite().address(path), payload);
        outgoing.wire_size = Some(u32::try_from(packet.len() + headers).unwrap_or(u32::MAX));
        outgoing.meta = tag;
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

    /// Cuts a path, counted from 0, in both directions, whatever the scenario says, or gives it back to the
    /// scenario. What is on its way is lost. What has come out by now must have been taken.
    pub fn cut(&mut self, path: usize, cut: bool) {
        let Some(switch) = self.paths.get_mut(path).filter(|s| s.cut != cut) else {
            return;
        };
        switch.cut = cut;
        if cut {
            switch.cut_at = Some(self.built.net.now());
        }
        for link in self.built.ways[path] {
            self.built.net.cut(link, cut);
        }
    }

    /// Whether a path is cut by hand.
    #[must_use]
    pub fn is_cut(&self, path: usize) -> bool {
        self.paths.get(path).is_some_and(|switch| switch.cut)
    }

    /// What became of the packets of a path, counted from 0: from the sender on, and back.
    #[must_use]
    pub fn counters(&self, path: usize) -> [LinkCounters; 2] {
        let [there, back] = self.built.ways[path].map(|link| self.built.net.counters(link));
        let caught = self.paths[path].caught;
        // The links let these pass: they knew of no cut yet.
        let without = |mut c: LinkCounters, (packets, bytes): (u64, u64)| {
            c.delivered_packets -= packets;
            c.delivered_bytes -= bytes;
            c.dropped_in_flight += packets;
            c
        };
        [without(there, caught[0]), without(back, caught[1])]
    }

    /// Cross traffic has hosts of its own, whose packets end there. What was on its way when the path was
    /// cut is lost.
    fn out(&mut self, arrival: Arrival) -> Option<Out> {
        let Some(end) = self.end(arrival.node) else {
            self.built.net.recycle(arrival.payload);
            return None;
        };
        let path = usize::from(arrival.interface);
        let switch = &mut self.paths[path];
        if switch.cut_at.is_some_and(|at| arrival.sent_at <= at) {
            let caught = &mut switch.caught[usize::from(end == End::Sender)];
            caught.0 += 1;
            caught.1 += u64::from(arrival.wire_size);
            self.built.net.recycle(arrival.payload);
            return None;
        }
        Some(Out {
            end,
            path,
            tag: arrival.meta,
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
    fn a_path_is_cut_by_hand_and_given_back() {
        let mut emulation = emulation("rate = \"8 Mbit/s\"\ndelay = \"20 ms\"");
        let at = |emulation: &mut Emulation, ms: u32, packets: u64| {
            let now = MS * ms;
            let mut out = Vec::new();
            while let Some(o) = emulation.take(now) {
                out.push((o.end, o.tag));
            }
            for tag in 0..packets {
                for end in [End::Sender, End::Receiver] {
                    let tag = u64::from(ms) + tag;
                    emulation.offer_part(now, (end, 0), &[7; 972], (28, tag));
                }
            }
            out
        };
        at(&mut emulation, 0, 1);
        // Two of each direction are on the wire at 30 ms, and one waits.
        assert_eq!(
            at(&mut emulation, 28, 3),
            [(End::Receiver, 0), (End::Sender, 0)]
        );
        assert!(at(&mut emulation, 30, 0).is_empty());
        emulation.cut(0, true);
        assert!(emulation.is_cut(0) && !emulation.is_cut(1));
        emulation.cut(0, true);
        assert!(at(&mut emulation, 40, 1).is_empty());
        emulation.cut(0, false);
        assert!(at(&mut emulation, 41, 1).is_empty());
        let came = at(&mut emulation, 100, 0);
        assert_eq!(came, [(End::Receiver, 41), (End::Sender, 41)]);
        for c in emulation.counters(0) {
            assert_eq!((c.offered_packets, c.delivered_packets), (6, 2));
            assert_eq!((c.dropped_in_flight, c.dropped_down), (3, 1));
            assert_eq!(c.delivered_bytes, 2000);
        }
    }

    #[test]
    fn a_trace_sets_the_pace_and_jitter_keeps_the_order() {
        let mut traced = emulation("trace = [1, 2, 10]\ndelay = \"5 ms\"");
        let packets = [(0, 1500), (0, 1500), (0, 1500), (20, 1500)];
        let times = out(&mut traced, End::Sender, &packets);
        assert_eq!(times, [6_000, 7_000, 15_000, 25_000]);
        let jittery = "rate = \"80 Mbit/s\"\ndelay = \"5 ms\"\njitter = \"30 ms\"";
        let packets: Vec<(u32, usize)> = (0..200).map(|i| (i, 1000)).collect();
        let times = out(&mut emulation(jittery), End::Sender, &packets);
        assert!(times.is_sorted());
        let late = packets
            .iter()
            .zip(&times)
            .map(|(p, t)| t - u128::from(p.0) * 1000);
        assert!(late.clone().all(|us| (5_100..=35_100).contains(&us)));
        assert!(late.clone().max() > late.min().map(|us| us + 20_000));
        assert_eq!(times, out(&mut emulation(jittery), End::Sender, &packets));
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

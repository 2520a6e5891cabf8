//! The event queue: one lane (a first-in, first-out list) of packets for each link, and
//! a small heap of the first packet of each lane, the timers and the traffic sources.

mod key;
mod lane;
mod order;

pub(crate) use key::{Key, MAX_NUMBER};
pub use order::Simultaneous;

use super::clock::seconds;
use key::{
    COUNT_BITS, HOP, KIND_BITS, NUMBER_BITS, TIMER, TRAFFIC, TRANSMISSION_END, nanos_of_bits,
    seconds_in_bits, time,
};
use lane::{Lane, LaneEntry, NONE};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A future event. With [`Simultaneous::ByLink`], events of one nanosecond happen
/// in the order of the variants.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Scheduled {
    /// A packet (slot number) comes out of a link (number).
    Hop { link: u32, packet: u32 },
    /// A link has sent the last bit of a packet, and other packets wait
    /// ([`Simultaneous::AsScheduled`]).
    TransmissionEnd { link: u32 },
    /// A source of cross traffic emits its next packet.
    Traffic { source: u32 },
    /// A timer slot is due.
    Timer { timer: u32 },
}

/// Future events in time order.
///
/// By default ties are broken by kind, then by the number of the link, source or
/// timer, then by order of insertion. The second rule makes the order of
/// simultaneous packets a property of the topology: it does not depend on how
/// early the fate of a packet was computed.
///
/// Packets nearly always leave a link in the order in which they entered it. So they
/// wait in one lane per link, and only the first packet of each lane is in the heap. The
/// heap stays small even if many packets are in flight.
#[derive(Debug)]
pub(crate) struct EventQueue {
    heap: BinaryHeap<Reverse<Key>>,
    /// The top of the heap has been taken and not yet removed. The next insertion replaces
    /// it, which costs one sift instead of two. An event nearly always causes another.
    hole: bool,
    lanes: Vec<Lane>,
    /// The packets in the lanes, by packet number.
    in_lane: Vec<LaneEntry>,
    inserted: u64,
    order: Simultaneous,
    /// Time of the last event in seconds, with [`Simultaneous::AsScheduled`].
    clock: f64,
    /// The last entry taken, with [`Simultaneous::AsScheduled`].
    current: Key,
    /// All entries before this time have been taken (ns).
    taken_before: u64,
}

impl EventQueue {
    /// An empty queue for a network with this many links.
    pub(crate) fn new(links: usize, order: Simultaneous) -> EventQueue {
        EventQueue {
            heap: BinaryHeap::new(),
            hole: false,
            lanes: std::iter::repeat_with(Lane::default).take(links).collect(),
            in_lane: Vec::new(),
            inserted: 0,
            order,
            clock: 0.0,
            current: 0,
            taken_before: 0,
        }
    }

    /// Queues a packet's arrival at the end of a link.
    #[inline]
    pub(crate) fn push_hop(&mut self, at: u64, link: u32, packet: u32) {
        self.push_hop_at(self.stamp(at), link, packet);
    }

    /// A transmission begins, with [`Simultaneous::AsScheduled`]: queues the
    /// packet's arrival. Returns the key of the transmission's end, which is
    /// [queued](Self::push_transmission_end) only if another packet waits for it.
    pub(crate) fn push_transmission(
        &mut self,
        link: u32,
        packet: u32,
        (sends, delay): (f64, f64),
    ) -> Key {
        let arrives = self.clock + (sends + delay);
        self.push_hop_at(arrives.to_bits(), link, packet);
        self.key((self.clock + sends).to_bits(), TRANSMISSION_END, link)
    }

    /// Queues the end of a transmission.
    pub(crate) fn push_transmission_end(&mut self, key: Key) {
        self.insert(key);
    }

    /// Whether an entry with this key would have been taken by now.
    #[inline]
    pub(crate) fn has_passed(&self, key: Key, now: u64) -> bool {
        key <= self.current || nanos_of_bits((key >> 64) as u64) < self.taken_before.max(now)
    }

    #[inline]
    fn push_hop_at(&mut self, stamp: u64, link: u32, packet: u32) {
        let key = self.key(stamp, HOP, link);
        if packet as usize >= self.in_lane.len() {
            let count = packet as usize + 1;
            self.in_lane.resize(count, LaneEntry::default());
        }
        let lane = &mut self.lanes[link as usize];
        let new = LaneEntry { key, next: NONE };
        let first = lane.first == NONE;
        if first {
            lane.first = packet;
        } else if stamp >= lane.last_stamp {
            // Of keys with the same time the later one is the larger.
            self.in_lane[lane.last as usize].next = packet;
        } else {
            lane.overtaking.push((key, packet));
            self.insert(key);
            return;
        }
        lane.last = packet;
        lane.last_stamp = stamp;
        self.in_lane[packet as usize] = new;
        if first {
            self.insert(key);
        }
    }

    /// Queues the next packet of a source of cross traffic.
    pub(crate) fn push_traffic(&mut self, at: u64, source: u32) {
        let key = self.key(self.stamp(at), TRAFFIC, source);
        self.insert(key);
    }

    /// Queues a timer, whose time is also given in seconds of [`clock`](Self::clock).
    pub(crate) fn push_timer(&mut self, at: u64, seconds: f64, timer: u32) {
        let stamp = match self.order {
            Simultaneous::ByLink => at,
            Simultaneous::AsScheduled => seconds.to_bits(),
        };
        let key = self.key(stamp, TIMER, timer);
        self.insert(key);
    }

    /// Whether times count in seconds of [`clock`](Self::clock).
    #[inline]
    pub(crate) fn counts_seconds(&self) -> bool {
        self.order == Simultaneous::AsScheduled
    }

    /// Time of the last event in seconds.
    pub(crate) fn clock(&self) -> f64 {
        self.clock
    }

    /// Time passes to `at` without an event.
    pub(crate) fn advance_clock(&mut self, at: u64) {
        self.clock = self.clock.max(seconds(at));
    }

    /// All entries up to and including this time have been taken.
    #[cold]
    pub(crate) fn all_taken(&mut self, until: u64) {
        self.taken_before = until.saturating_add(1);
    }

    #[inline]
    fn insert(&mut self, key: Key) {
        if self.hole {
            self.hole = false;
            if let Some(mut top) = self.heap.peek_mut() {
                top.0 = key;
            }
        } else {
            self.heap.push(Reverse(key));
        }
    }

    /// The upper half of a key.
    #[inline]
    fn stamp(&self, at: u64) -> u64 {
        match self.order {
            Simultaneous::ByLink => at,
            Simultaneous::AsScheduled => seconds_in_bits(at),
        }
    }

    #[inline]
    fn key(&mut self, stamp: u64, kind: u64, number: u32) -> Key {
        // 2^40 insertions take days. A wrapped count would only reorder entries of the
        // same instant and the same number.
        let count = self.inserted & ((1 << COUNT_BITS) - 1);
        self.inserted += 1;
        let name = (kind << NUMBER_BITS) | u64::from(number);
        let low = match self.order {
            Simultaneous::ByLink => (name << COUNT_BITS) | count,
            Simultaneous::AsScheduled => (count << (KIND_BITS + NUMBER_BITS)) | name,
        };
        (u128::from(stamp) << 64) | u128::from(low)
    }

    /// Time of the earliest entry, in nanoseconds.
    pub(crate) fn next_time(&self) -> Option<u64> {
        let next = match (self.hole, self.heap.as_slice()) {
            (false, all) => all.first(),
            // The next one after the top is one of the two below it.
            (true, all) => all[1..].iter().take(2).max(),
        };
        next.map(|Reverse(key)| time(*key, self.order))
    }

    /// Takes the earliest entry, unless it is later than `limit`.
    pub(crate) fn pop_until(&mut self, limit: u64) -> Option<(u64, Scheduled)> {
        if core::mem::take(&mut self.hole) {
            self.heap.pop();
        }
        let mut top = self.heap.peek_mut()?;
        let key = top.0;
        let at = time(key, self.order);
        if at > limit {
            return None;
        }
        if self.order == Simultaneous::AsScheduled {
            self.clock = f64::from_bits((key >> 64) as u64);
            self.current = key;
        }
        let name = match self.order {
            Simultaneous::ByLink => key as u64 >> COUNT_BITS,
            Simultaneous::AsScheduled => key as u64,
        };
        let number = name as u32 & (MAX_NUMBER - 1);
        let kind = (name >> NUMBER_BITS) & ((1 << KIND_BITS) - 1);
        // By far the most common kind.
        if kind == HOP {
            let lane = &mut self.lanes[number as usize];
            let packet = match self.in_lane.get(lane.first as usize) {
                Some(&LaneEntry { key: first, next }) if first == key => {
                    let packet = core::mem::replace(&mut lane.first, next);
                    if let Some(behind) = self.in_lane.get(next as usize) {
                        // One sift instead of a removal and an insertion.
                        top.0 = behind.key;
                    } else {
                        self.hole = true;
                    }
                    packet
                }
                _ => {
                    self.hole = true;
                    lane.take_overtaking(key)
                }
            };
            let link = number;
            return Some((at, Scheduled::Hop { link, packet }));
        }
        self.hole = true;
        let what = match kind {
            TRAFFIC => Scheduled::Traffic { source: number },
            TRANSMISSION_END => Scheduled::TransmissionEnd { link: number },
            _ => Scheduled::Timer { timer: number },
        };
        Some((at, what))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drain(q: &mut EventQueue) -> Vec<(u64, Scheduled)> {
        std::iter::from_fn(|| q.pop_until(u64::MAX)).collect()
    }

    fn hop(link: u32, packet: u32) -> Scheduled {
        Scheduled::Hop { link, packet }
    }

    #[test]
    fn time_then_kind_then_number_then_insertion() {
        let mut q = EventQueue::new(3, Simultaneous::ByLink);
        q.push_timer(5, 5e-9, 0);
        q.push_hop(5, 2, 10);
        q.push_hop(5, 1, 11);
        q.push_hop(5, 1, 12);
        q.push_traffic(5, 3);
        q.push_timer(4, 4e-9, 9);
        assert_eq!(q.next_time(), Some(4));
        assert_eq!(q.pop_until(3), None);
        assert_eq!(
            drain(&mut q),
            [
                (4, Scheduled::Timer { timer: 9 }),
                (5, hop(1, 11)),
                (5, hop(1, 12)),
                (5, hop(2, 10)),
                (5, Scheduled::Traffic { source: 3 }),
                (5, Scheduled::Timer { timer: 0 }),
            ]
        );
    }

    #[test]
    fn time_then_insertion_where_the_order_is_as_scheduled() {
        let mut q = EventQueue::new(3, Simultaneous::AsScheduled);
        q.push_timer(5, 5e-9, 0);
        let end = q.push_transmission(2, 10, (5e-9, 0.0));
        q.push_transmission_end(end);
        q.push_hop(5, 1, 11);
        q.push_hop(4, 1, 12);
        let free = Scheduled::TransmissionEnd { link: 2 };
        let timer = Scheduled::Timer { timer: 0 };
        let all = [(4, hop(1, 12)), (5, timer), (5, hop(2, 10)), (5, free)];
        assert_eq!(drain(&mut q)[..4], all);
        // 0.1 + 0.2 is later than 0.3 by that clock.
        let mut q = EventQueue::new(2, Simultaneous::AsScheduled);
        q.advance_clock(100_000_000);
        let end = q.push_transmission(0, 1, (0.0, 0.2));
        q.push_transmission_end(end);
        q.push_hop(300_000_000, 1, 2);
        let order: Vec<Scheduled> = drain(&mut q).into_iter().map(|e| e.1).collect();
        assert_eq!(
            order,
            [Scheduled::TransmissionEnd { link: 0 }, hop(1, 2), hop(0, 1)]
        );
    }

    #[test]
    fn an_end_that_is_not_queued_passes_where_it_would_have_been_taken() {
        let mut q = EventQueue::new(2, Simultaneous::AsScheduled);
        q.push_hop(5, 0, 1);
        let end = q.push_transmission(1, 2, (5e-9, 4e-9));
        q.push_hop(5, 0, 3);
        assert!(!q.has_passed(end, 5), "it is neither before 5 ns nor taken");
        assert_eq!(q.pop_until(8), Some((5, hop(0, 1))));
        assert!(!q.has_passed(end, 5), "it was queued later");
        assert_eq!(q.pop_until(8), Some((5, hop(0, 3))));
        assert!(q.has_passed(end, 5));
        let mut q = EventQueue::new(2, Simultaneous::AsScheduled);
        let end = q.push_transmission(1, 2, (5e-9, 4e-9));
        assert!(q.has_passed(end, 6), "time went on without an event");
        assert_eq!(q.pop_until(5), None);
        q.all_taken(5);
        assert!(q.has_passed(end, 5));
    }

    #[test]
    fn seconds_become_the_nearest_nanosecond() {
        let times = [0.0, 0.4e-9, 0.5e-9, 4.999_999_999_999_999e-10, 1.5e-9, 1e-3];
        let later = [
            0.1 + 0.2,
            123_456.789_012_345_6,
            9.007e6,
            9.1e9,
            2e10,
            1e300,
        ];
        for s in times.into_iter().chain(later) {
            let plain = (s * 1e9_f64).round() as u64;
            assert_eq!(nanos_of_bits(f64::to_bits(s)), plain, "{s}");
        }
    }

    #[test]
    fn packets_that_overtake_on_a_link_are_sorted_in() {
        let mut q = EventQueue::new(1, Simultaneous::ByLink);
        for (at, packet) in [(10, 0), (30, 1), (20, 2), (30, 3), (5, 4), (25, 5)] {
            q.push_hop(at, 0, packet);
        }
        let order: Vec<_> = drain(&mut q);
        assert_eq!(
            order,
            [(5, 4), (10, 0), (20, 2), (25, 5), (30, 1), (30, 3)]
                .map(|(at, packet)| (at, hop(0, packet)))
        );
        q.push_hop(1, 0, 9);
        assert_eq!(drain(&mut q), [(1, hop(0, 9))], "the lane starts again");
    }
}

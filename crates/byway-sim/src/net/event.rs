//! The event queue: one lane per link for packets, and a small heap over the
//! heads of the lanes, the timers and the sources of traffic.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// What an entry is about. The order of the variants is the order in which
/// things at the same nanosecond happen.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum What {
    /// A packet (slot number) comes out of a link (number).
    Hop { link: u32, packet: u32 },
    /// A link has sent a packet's last bit, and others wait
    /// ([`Simultaneous::AsScheduled`]).
    Free { link: u32 },
    /// A source of cross traffic emits its next packet.
    Traffic { source: u32 },
    /// A timer slot is due.
    Timer { timer: u32 },
}

/// What happens first of what happens at the same nanosecond.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub enum Simultaneous {
    /// Packets before timers, packets in the order of their links' numbers: a
    /// property of the topology. The default.
    #[default]
    ByLink,
    /// As in ns-2, whose clock is a 64-bit float of seconds: by that clock, each
    /// event's time being that of its cause plus a delay, rounding included;
    /// then what was scheduled first. A packet's arrival is scheduled when its
    /// transmission begins. Every hop is an event then.
    AsScheduled,
}

/// Future events in time order.
///
/// By default ties are broken by kind, then by the number of the link, source or timer,
/// then by order of insertion. The middle rule makes the order of simultaneous
/// packets a property of the topology: it does not depend on how early a
/// packet's future was computed.
///
/// Packets nearly always come out of a link in the order in which they went
/// in. So they wait in a lane per link, and only each lane's head is in the
/// heap, which therefore stays small however many packets are under way.
#[derive(Debug)]
pub(crate) struct EventQueue {
    heap: BinaryHeap<Reverse<Key>>,
    /// The heap's top was taken. What comes next takes its place, as an event nearly
    /// always has another in its wake: one sift for both.
    hole: bool,
    lanes: Vec<Lane>,
    /// By the numbers of packets: those that wait in a lane.
    waiting: Vec<Waiting>,
    inserted: u64,
    order: Simultaneous,
    /// Time of the last event in seconds, with [`Simultaneous::AsScheduled`].
    clock: f64,
    /// The last entry that was taken, with the same.
    current: Key,
    /// All entries before this time have been taken (ns).
    taken_before: u64,
}

/// Packets on their way to the end of one link.
#[derive(Debug)]
struct Lane {
    /// The first and the last of those in the order of their keys, or `NOBODY`;
    /// the first one's key is in the heap.
    first: u32,
    last: u32,
    /// The last one's time.
    last_stamp: u64,
    /// Those that overtake others, in no order; all their keys are in the heap.
    strays: Vec<(Key, u32)>,
}

/// A packet in a lane, and the one behind it.
#[derive(Copy, Clone, Debug, Default)]
struct Waiting {
    key: Key,
    next: u32,
}

/// No packet has this number.
const NOBODY: u32 = u32::MAX;

/// Time in the upper half, in nanoseconds or as the bits of a float of seconds,
/// which sort as well; kind (2 bits), number (22) and insertion count (40)
/// below, the count first where it decides.
/// One machine vector wide, so that the heap moves it in one piece.
pub(crate) type Key = u128;

const NUMBER_BITS: u32 = 22;
const COUNT_BITS: u32 = 40;

/// Links, sources and timers each have fewer than this many members.
pub(crate) const MAX_NUMBER: u32 = 1 << NUMBER_BITS;

const HOP: u64 = 0;
const TRAFFIC: u64 = 1;
const TIMER: u64 = 2;
const FREE: u64 = 3;
const KIND_BITS: u32 = 2;

#[inline]
fn time(key: Key, order: Simultaneous) -> u64 {
    let time = (key >> 64) as u64;
    match order {
        Simultaneous::ByLink => time,
        Simultaneous::AsScheduled => nanos_of_bits(time),
    }
}

/// Apart, as the one below: where times are whole nanoseconds the compiler is
/// not to count in floats beside them, just in case.
#[cold]
#[inline(never)]
fn nanos_of_bits(seconds: u64) -> u64 {
    let nanos = f64::from_bits(seconds) * 1e9;
    if nanos >= 9e18 {
        return nanos.round() as u64;
    }
    // The same, without a call of the mathematical library for every event.
    let whole = nanos as i64;
    let half = nanos - whole as f64 >= 0.5;
    whole as u64 + u64::from(half)
}

#[cold]
#[inline(never)]
fn seconds_in_bits(nanos: u64) -> u64 {
    seconds(nanos).to_bits()
}

/// Nanoseconds in seconds.
pub(crate) fn seconds(nanos: u64) -> f64 {
    nanos as f64 / 1e9
}

impl EventQueue {
    /// An empty queue for a network with this many links.
    pub(crate) fn new(links: usize, order: Simultaneous) -> EventQueue {
        EventQueue {
            heap: BinaryHeap::new(),
            hole: false,
            lanes: std::iter::repeat_with(Lane::default).take(links).collect(),
            waiting: Vec::new(),
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
    /// packet's arrival. Returns the entry of the transmission's end, which has its
    /// place among the others but is [queued](Self::push_free) only if somebody
    /// waits for it.
    pub(crate) fn push_transmission(
        &mut self,
        link: u32,
        packet: u32,
        (sends, delay): (f64, f64),
    ) -> Key {
        let arrives = self.clock + (sends + delay);
        self.push_hop_at(arrives.to_bits(), link, packet);
        self.key((self.clock + sends).to_bits(), FREE, link)
    }

    /// Queues the end of a transmission.
    pub(crate) fn push_free(&mut self, key: Key) {
        self.insert(key);
    }

    /// Whether an entry would have been taken by now, were it queued.
    #[inline]
    pub(crate) fn has_passed(&self, key: Key, now: u64) -> bool {
        key <= self.current || nanos_of_bits((key >> 64) as u64) < self.taken_before.max(now)
    }

    #[inline]
    fn push_hop_at(&mut self, stamp: u64, link: u32, packet: u32) {
        let key = self.key(stamp, HOP, link);
        if packet as usize >= self.waiting.len() {
            let count = packet as usize + 1;
            self.waiting.resize(count, Waiting::default());
        }
        let lane = &mut self.lanes[link as usize];
        let new = Waiting { key, next: NOBODY };
        let first = lane.first == NOBODY;
        if first {
            lane.first = packet;
        } else if stamp >= lane.last_stamp {
            // Of keys with the same time the later one is the larger.
            self.waiting[lane.last as usize].next = packet;
        } else {
            lane.strays.push((key, packet));
            self.insert(key);
            return;
        }
        lane.last = packet;
        lane.last_stamp = stamp;
        self.waiting[packet as usize] = new;
        if first {
            self.insert(key);
        }
    }

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

    /// Nothing has happened up to then.
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
        // 2^40 insertions are days of simulation; a wrapped count would only
        // reorder entries of the same instant and the same number.
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
            // The largest behind the top is one of the two below it.
            (true, all) => all[1..].iter().take(2).max(),
        };
        next.map(|Reverse(key)| time(*key, self.order))
    }

    /// Takes the earliest entry, unless it is later than `limit`.
    pub(crate) fn pop_until(&mut self, limit: u64) -> Option<(u64, What)> {
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
        // Nearly all are: the others are told apart behind it.
        if kind == HOP {
            let lane = &mut self.lanes[number as usize];
            let packet = match self.waiting.get(lane.first as usize) {
                Some(&Waiting { key: first, next }) if first == key => {
                    let packet = core::mem::replace(&mut lane.first, next);
                    if let Some(behind) = self.waiting.get(next as usize) {
                        // One sift instead of a removal and an insertion.
                        top.0 = behind.key;
                    } else {
                        self.hole = true;
                    }
                    packet
                }
                _ => {
                    self.hole = true;
                    lane.take_stray(key)
                }
            };
            let link = number;
            return Some((at, What::Hop { link, packet }));
        }
        self.hole = true;
        let what = match kind {
            TRAFFIC => What::Traffic { source: number },
            FREE => What::Free { link: number },
            _ => What::Timer { timer: number },
        };
        Some((at, what))
    }
}

impl Default for Lane {
    fn default() -> Lane {
        Lane {
            first: NOBODY,
            last: NOBODY,
            last_stamp: 0,
            strays: Vec::new(),
        }
    }
}

impl Lane {
    fn take_stray(&mut self, key: Key) -> u32 {
        let place = self.strays.iter().position(|(k, _)| *k == key);
        // A link's key in the heap is its lane's first or a stray's.
        let place = place.expect("every key in the heap has its packet");
        self.strays.swap_remove(place).1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drain(q: &mut EventQueue) -> Vec<(u64, What)> {
        std::iter::from_fn(|| q.pop_until(u64::MAX)).collect()
    }

    fn hop(link: u32, packet: u32) -> What {
        What::Hop { link, packet }
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
                (4, What::Timer { timer: 9 }),
                (5, hop(1, 11)),
                (5, hop(1, 12)),
                (5, hop(2, 10)),
                (5, What::Traffic { source: 3 }),
                (5, What::Timer { timer: 0 }),
            ]
        );
    }

    #[test]
    fn time_then_insertion_where_the_order_is_as_scheduled() {
        let mut q = EventQueue::new(3, Simultaneous::AsScheduled);
        q.push_timer(5, 5e-9, 0);
        let end = q.push_transmission(2, 10, (5e-9, 0.0));
        q.push_free(end);
        q.push_hop(5, 1, 11);
        q.push_hop(4, 1, 12);
        let free = What::Free { link: 2 };
        let timer = What::Timer { timer: 0 };
        let all = [(4, hop(1, 12)), (5, timer), (5, hop(2, 10)), (5, free)];
        assert_eq!(drain(&mut q)[..4], all);
        // 0.1 + 0.2 is later than 0.3 by that clock.
        let mut q = EventQueue::new(2, Simultaneous::AsScheduled);
        q.advance_clock(100_000_000);
        let end = q.push_transmission(0, 1, (0.0, 0.2));
        q.push_free(end);
        q.push_hop(300_000_000, 1, 2);
        let order: Vec<What> = drain(&mut q).into_iter().map(|e| e.1).collect();
        assert_eq!(order, [What::Free { link: 0 }, hop(1, 2), hop(0, 1)]);
    }

    #[test]
    fn an_end_of_which_nobody_asks_passes_where_it_would_have_been_taken() {
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
        assert_eq!(drain(&mut q), [(1, hop(0, 9))], "the lane starts anew");
    }
}

//! The event queue: a binary heap of small plain entries.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// What an entry is about. The order of the variants is the order in which
/// things at the same nanosecond happen.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum What {
    /// A packet (slot number) comes out of a link (number).
    Hop { link: u32, packet: u32 },
    /// A source of cross traffic emits its next packet.
    Traffic { source: u32 },
    /// A timer slot is due.
    Timer { timer: u32 },
}

/// Future events in time order.
///
/// Ties are broken by kind, then by the number of the link, source or timer,
/// then by order of insertion. The middle rule makes the order of simultaneous
/// packets a property of the topology: it does not depend on how early a
/// packet's future was computed.
#[derive(Default, Debug)]
pub(crate) struct EventQueue {
    heap: BinaryHeap<Reverse<Entry>>,
    inserted: u64,
}

/// Time in the high half of the key; kind (2 bits), number (22) and insertion
/// count (40) in the low half.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Entry {
    key: u128,
    packet: u32,
}

const NUMBER_BITS: u32 = 22;
const COUNT_BITS: u32 = 40;

/// Links, sources and timers each have fewer than this many members.
pub(crate) const MAX_NUMBER: u32 = 1 << NUMBER_BITS;

impl EventQueue {
    pub(crate) fn push(&mut self, at: u64, what: What) {
        let (kind, number, packet) = match what {
            What::Hop { link, packet } => (0u64, link, packet),
            What::Traffic { source } => (1, source, 0),
            What::Timer { timer } => (2, timer, 0),
        };
        // 2^40 insertions are days of simulation; a wrapped count would only
        // reorder entries of the same instant and the same number.
        let count = self.inserted & ((1 << COUNT_BITS) - 1);
        self.inserted += 1;
        let low = (kind << (NUMBER_BITS + COUNT_BITS)) | (u64::from(number) << COUNT_BITS) | count;
        self.heap.push(Reverse(Entry {
            key: (u128::from(at) << 64) | u128::from(low),
            packet,
        }));
    }

    /// Time of the earliest entry, in nanoseconds.
    pub(crate) fn next_time(&self) -> Option<u64> {
        self.heap.peek().map(|Reverse(e)| (e.key >> 64) as u64)
    }

    pub(crate) fn pop(&mut self) -> Option<(u64, What)> {
        let Reverse(entry) = self.heap.pop()?;
        let low = entry.key as u64;
        let number = (low >> COUNT_BITS) as u32 & (MAX_NUMBER - 1);
        let what = match low >> (NUMBER_BITS + COUNT_BITS) {
            0 => What::Hop {
                link: number,
                packet: entry.packet,
            },
            1 => What::Traffic { source: number },
            _ => What::Timer { timer: number },
        };
        Some(((entry.key >> 64) as u64, what))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_then_kind_then_number_then_insertion() {
        let mut q = EventQueue::default();
        let hop = |link, packet| What::Hop { link, packet };
        q.push(5, What::Timer { timer: 0 });
        q.push(5, hop(2, 10));
        q.push(5, hop(1, 11));
        q.push(5, hop(1, 12));
        q.push(5, What::Traffic { source: 3 });
        q.push(4, What::Timer { timer: 9 });
        assert_eq!(q.next_time(), Some(4));
        let order: Vec<_> = std::iter::from_fn(|| q.pop()).collect();
        assert_eq!(
            order,
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
}

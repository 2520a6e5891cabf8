//! Drop-tail queues, computed from departure times without events.

use std::collections::VecDeque;

/// The limit of a link's queue. The packet being transmitted counts.
///
/// `Packets(n)` equals ns-2's DropTail with `queue-limit n` for n >= 2, where n - 1
/// packets wait beside the one on the wire. ns-2's default is 50.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub enum QueueLimit {
    /// At most this many packets.
    Packets(u32),
    /// At most this many bytes on the wire; the packet in transmission counts
    /// in full until its last bit has left.
    Bytes(u64),
    /// No limit. The default.
    #[default]
    Unlimited,
}

/// The packets accepted and not yet departed. The last one is stored separately,
/// so that a link that is never busy when a packet arrives needs no ring buffer.
#[derive(Debug, Default)]
pub(super) struct Queue {
    /// The limits, in packets and in bytes.
    most_packets: u32,
    most_bytes: u64,
    /// Departure time and size of all packets except the last.
    earlier: VecDeque<(u64, u32)>,
    last: (u64, u32),
    packets: u32,
    bytes: u64,
}

impl Queue {
    pub(super) fn new(limit: QueueLimit) -> Queue {
        let mut queue = Queue::default();
        queue.set_limit(limit);
        queue
    }

    /// Sets a new limit. Packets already queued stay.
    pub(super) fn set_limit(&mut self, limit: QueueLimit) {
        (self.most_packets, self.most_bytes) = match limit {
            QueueLimit::Packets(n) => (n, u64::MAX),
            QueueLimit::Bytes(n) => (u32::MAX, n),
            QueueLimit::Unlimited => (u32::MAX, u64::MAX),
        };
    }

    /// Removes the packets that have departed by `now`, inclusive.
    #[inline]
    pub(super) fn settle(&mut self, now: u64) {
        if self.last.0 <= now {
            // Departures are in order: with the last packet all have left.
            if self.packets > 1 {
                self.earlier.clear();
            }
            self.packets = 0;
            self.bytes = 0;
            return;
        }
        while let Some(&(departs, size)) = self.earlier.front() {
            if departs > now {
                break;
            }
            self.packets -= 1;
            self.bytes -= u64::from(size);
            self.earlier.pop_front();
        }
    }

    /// Whether one more packet of `size` bytes fits, after [`settle`](Queue::settle).
    #[inline]
    pub(super) fn admits(&self, size: u32) -> bool {
        self.packets < self.most_packets && self.bytes + u64::from(size) <= self.most_bytes
    }

    #[inline]
    pub(super) fn push(&mut self, departs: u64, size: u32) {
        if self.packets > 0 {
            self.earlier.push_back(self.last);
        }
        self.last = (departs, size);
        self.packets += 1;
        self.bytes += u64::from(size);
    }

    pub(super) fn clear(&mut self) {
        self.earlier.clear();
        self.last = (0, 0);
        self.packets = 0;
        self.bytes = 0;
    }

    #[inline]
    pub(super) fn packets(&self) -> u32 {
        self.packets
    }

    #[inline]
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }
}

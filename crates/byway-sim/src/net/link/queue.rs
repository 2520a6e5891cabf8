//! Drop-tail queues: what waits in front of a link, known from departure times alone.

use std::collections::VecDeque;

/// How much fits into a link's queue. The packet being transmitted counts.
///
/// `Packets(n)` equals ns-2's DropTail with `queue-limit n` for n >= 2: that
/// queue holds n - 1 waiting packets beside the one on the wire.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub enum QueueLimit {
    /// At most this many packets.
    Packets(u32),
    /// At most this many bytes on the wire; the packet in transmission counts
    /// in full until its last bit has left.
    Bytes(u64),
    /// Everything fits. The default.
    #[default]
    Unlimited,
}

/// The packets accepted and not yet departed. The last of them stands apart, so
/// that a link that is never busy when a packet comes needs no ring.
#[derive(Debug, Default)]
pub(super) struct Queue {
    /// What fits, in packets and in bytes.
    most_packets: u32,
    most_bytes: u64,
    /// Departure and size of all but the last.
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

    /// Packets that are queued already stay.
    pub(super) fn set_limit(&mut self, limit: QueueLimit) {
        (self.most_packets, self.most_bytes) = match limit {
            QueueLimit::Packets(n) => (n, u64::MAX),
            QueueLimit::Bytes(n) => (u32::MAX, n),
            QueueLimit::Unlimited => (u32::MAX, u64::MAX),
        };
    }

    /// Forgets what has left by `now`; a packet whose last bit leaves at `now` is gone.
    #[inline]
    pub(super) fn settle(&mut self, now: u64) {
        if self.last.0 <= now {
            // Departures are in order: with the last one all have left.
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

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

/// The packets accepted and not yet departed, as a ring of departure times.
#[derive(Debug, Default)]
pub(super) struct Queue {
    pub(super) limit: QueueLimit,
    departures: VecDeque<(u64, u32)>,
    bytes: u64,
}

impl Queue {
    pub(super) fn new(limit: QueueLimit) -> Queue {
        Queue {
            limit,
            ..Queue::default()
        }
    }

    /// Forgets what has left by `now`; a packet whose last bit leaves at `now` is gone.
    pub(super) fn settle(&mut self, now: u64) {
        while let Some(&(departs, size)) = self.departures.front() {
            if departs > now {
                break;
            }
            self.bytes -= u64::from(size);
            self.departures.pop_front();
        }
    }

    /// Whether one more packet of `size` bytes fits, after [`settle`](Queue::settle).
    pub(super) fn admits(&self, size: u32) -> bool {
        match self.limit {
            QueueLimit::Packets(n) => self.departures.len() < n as usize,
            QueueLimit::Bytes(n) => self.bytes + u64::from(size) <= n,
            QueueLimit::Unlimited => true,
        }
    }

    pub(super) fn push(&mut self, departs: u64, size: u32) {
        self.bytes += u64::from(size);
        self.departures.push_back((departs, size));
    }

    pub(super) fn clear(&mut self) {
        self.departures.clear();
        self.bytes = 0;
    }

    pub(super) fn packets(&self) -> u32 {
        self.departures.len() as u32
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }
}

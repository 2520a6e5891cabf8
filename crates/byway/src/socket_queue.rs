//! Batches that wait until their socket is writable.

use crate::batch::Batch;
use crate::outbox::Outbox;
use std::collections::VecDeque;

/// The batches that wait until their socket is writable. Beyond a limit the newest
/// are dropped, as in a full interface queue: a path that is stuck must not stop
/// the others.
#[derive(Debug, Default)]
pub(crate) struct SocketQueue {
    batches: VecDeque<Batch>,
    bytes: usize,
}

impl SocketQueue {
    /// Most bytes that wait.
    const MOST: usize = 4 << 20;

    /// Moves the batches of a socket from the outbox to this queue. Returns how
    /// many datagrams were dropped; their buffers go to `spent`.
    pub(crate) fn fill_from(
        &mut self,
        outbox: &mut Outbox,
        socket: usize,
        spent: &mut Vec<Vec<u8>>,
    ) -> u64 {
        for batch in outbox.drain(socket) {
            self.bytes += batch.bytes.len();
            self.batches.push_back(batch);
        }
        let mut dropped = 0;
        // Never the first one, which may have been sent in part.
        while self.bytes > SocketQueue::MOST && self.batches.len() > 1 {
            let Some(batch) = self.batches.pop_back() else {
                break;
            };
            self.bytes -= batch.bytes.len();
            dropped += batch.datagrams() as u64;
            spent.push(batch.bytes);
        }
        dropped
    }

    /// The next batch to send.
    pub(crate) fn first(&mut self) -> Option<&mut Batch> {
        self.batches.front_mut()
    }

    /// Removes the next batch after it has been sent or refused.
    pub(crate) fn remove_first(&mut self, spent: &mut Vec<Vec<u8>>) {
        if let Some(batch) = self.batches.pop_front() {
            self.bytes -= batch.bytes.len();
            spent.push(batch.bytes);
        }
    }

    /// Whether nothing waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.batches.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::MAX_BYTES;
    use std::net::SocketAddr;

    fn to(port: u16) -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], port))
    }

    /// Pushes datagrams of these (port, length) and returns each batch as
    /// (port, segment, lengths).
    fn batches(most: usize, sends: &[(u16, usize)]) -> Vec<(u16, usize, usize)> {
        let mut outbox = Outbox::new(vec![most]);
        for &(port, len) in sends {
            outbox.push(0, to(port), &vec![7; len]);
        }
        let total: usize = sends.iter().map(|s| s.1).sum();
        assert_eq!(outbox.bytes(), total);
        let mut queue = SocketQueue::default();
        assert_eq!(queue.fill_from(&mut outbox, 0, &mut Vec::new()), 0);
        assert_eq!((outbox.bytes(), queue.bytes), (0, total));
        queue
            .batches
            .iter()
            .map(|b| (b.destination.port(), b.segment, b.bytes.len()))
            .collect()
    }

    #[test]
    fn equal_datagrams_share_a_batch_and_a_shorter_one_ends_it() {
        assert_eq!(
            batches(64, &[(1, 10), (1, 10), (1, 4), (1, 4)]),
            [(1, 10, 24), (1, 4, 4)]
        );
    }

    #[test]
    fn a_longer_datagram_begins_a_new_batch() {
        assert_eq!(batches(64, &[(1, 10), (1, 12)]), [(1, 10, 10), (1, 12, 12)]);
    }

    #[test]
    fn alternating_destinations_still_gather() {
        let sends = [(1, 10), (2, 10), (1, 10), (2, 10)];
        assert_eq!(batches(64, &sends), [(1, 10, 20), (2, 10, 20)]);
    }

    #[test]
    fn datagrams_to_one_destination_never_overtake() {
        // The third 10 must not join the first batch, behind which a 12 waits.
        assert_eq!(
            batches(64, &[(1, 10), (1, 12), (1, 10)]),
            [(1, 10, 10), (1, 12, 22)]
        );
    }

    #[test]
    fn a_batch_keeps_to_the_kernels_limits() {
        assert_eq!(
            batches(2, &[(1, 10); 5]),
            [(1, 10, 20), (1, 10, 20), (1, 10, 10)]
        );
        let full = MAX_BYTES / 1472;
        let got = batches(64, &vec![(1, 1472); full + 1]);
        assert_eq!(got, [(1, 1472, full * 1472), (1, 1472, 1472)]);
    }

    #[test]
    fn without_offload_every_datagram_is_alone() {
        assert_eq!(batches(1, &[(1, 10), (1, 10)]), [(1, 10, 10), (1, 10, 10)]);
    }

    #[test]
    fn a_stuck_socket_drops_the_newest_and_never_what_it_began() {
        let (mut outbox, mut queue) = (Outbox::new(vec![64]), SocketQueue::default());
        let mut spent = Vec::new();
        let mut dropped = 0;
        for port in 0..5000 {
            outbox.push(0, to(port), &[0; 1400]);
            dropped += queue.fill_from(&mut outbox, 0, &mut spent);
        }
        let kept = SocketQueue::MOST / 1400;
        assert_eq!(queue.batches.len(), kept);
        assert_eq!(dropped, 5000 - kept as u64);
        assert_eq!(queue.first().map(|b| b.destination.port()), Some(0));
        let newest = queue.batches.back().map(|b| b.destination.port());
        assert_eq!(newest, Some(kept as u16 - 1));
        queue.remove_first(&mut spent);
        assert_eq!(queue.bytes, (kept - 1) * 1400);
    }

    #[test]
    fn buffers_are_used_again() {
        let (mut outbox, mut queue) = (Outbox::new(vec![64]), SocketQueue::default());
        let mut spent = Vec::new();
        outbox.push(0, to(1), &[0; 1400]);
        queue.fill_from(&mut outbox, 0, &mut spent);
        queue.remove_first(&mut spent);
        assert!(queue.is_empty());
        outbox.recycle(&mut spent);
        assert_eq!((spent.len(), outbox.spare_buffers()), (0, 1));
        outbox.push(0, to(1), &[0; 1400]);
        assert_eq!(outbox.spare_buffers(), 0);
    }
}

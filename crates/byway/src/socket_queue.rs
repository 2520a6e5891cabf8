//! Batches that wait until their socket is writable.

use crate::batch::Batch;
use crate::outbox::Outbox;
use std::collections::VecDeque;
use std::net::SocketAddr;

/// Batches for which an empty queue keeps room.
const KEPT: usize = 64;

/// The batches that wait until their socket is writable. Beyond a limit the newest
/// are dropped, as in a full interface queue: a path that is stuck must not stop
/// the others.
#[derive(Debug, Default)]
pub(crate) struct SocketQueue {
    batches: VecDeque<Batch>,
    /// Memory of the batches.
    memory: usize,
}

impl SocketQueue {
    /// Most memory that waits for one socket, in bytes.
    const MOST: usize = 4 << 20;

    /// Memory that waits for all sockets of an endpoint, in bytes. What sockets keep of their own
    /// shares beside stuck ones is more, and never twice as much.
    const MOST_OF_ALL: usize = 8 << 20;

    /// Room for one of so many sockets, while so many bytes wait for the others. An equal share is
    /// its own: stuck sockets leave it to those that are not.
    pub(crate) fn room(sockets: usize, of_others: usize) -> usize {
        let left = SocketQueue::MOST_OF_ALL.saturating_sub(of_others);
        left.max(SocketQueue::MOST_OF_ALL / sockets.max(1))
    }

    /// Memory of what waits, in bytes.
    pub(crate) fn memory(&self) -> usize {
        self.memory
    }

    /// Moves the batches of a socket from the outbox to this queue, which has `room` bytes of
    /// memory beside the other sockets. Returns how many datagrams were dropped, and where the last
    /// one would have gone; their buffers go to `spent`.
    pub(crate) fn fill_from(
        &mut self,
        outbox: &mut Outbox,
        socket: usize,
        room: usize,
        spent: &mut Vec<Vec<u8>>,
    ) -> Option<(u64, SocketAddr)> {
        for batch in outbox.drain(socket) {
            self.memory += batch.memory();
            self.batches.push_back(batch);
        }
        let most = SocketQueue::MOST.min(room);
        let mut dropped = None;
        // Never the first one, which may have been sent in part.
        while self.memory > most && self.batches.len() > 1 {
            let Some(batch) = self.batches.pop_back() else {
                break;
            };
            self.memory -= batch.memory();
            let before = dropped.map_or(0, |(count, _)| count);
            dropped = Some((before + batch.datagrams() as u64, batch.destination));
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
            self.memory -= batch.memory();
            spent.push(batch.bytes);
            if self.batches.is_empty() && self.batches.capacity() > KEPT {
                self.batches = VecDeque::new();
            }
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

    impl SocketQueue {
        fn recount(&self) -> usize {
            let memory = |b: &Batch| size_of::<Batch>() + b.bytes.capacity();
            self.batches.iter().map(memory).sum()
        }
    }

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
        let dropped = queue.fill_from(&mut outbox, 0, usize::MAX, &mut Vec::new());
        assert_eq!((outbox.bytes(), dropped), (0, None));
        assert_eq!(queue.memory(), queue.recount());
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

    /// Whoever asks from many ports gets answers that wait alone.
    #[test]
    fn a_stuck_socket_drops_the_newest_and_never_what_it_began() {
        for len in [60, 300, 1400] {
            let (mut outbox, mut queue) = (Outbox::new(vec![64]), SocketQueue::default());
            let (mut spent, mut dropped) = (Vec::new(), 0);
            for n in 0..40_000_u64 {
                outbox.push(0, to(n as u16), &vec![0; len]);
                let lost = queue.fill_from(&mut outbox, 0, usize::MAX, &mut spent);
                if let Some((count, destination)) = lost {
                    assert_eq!(destination, to(n as u16));
                    dropped += count;
                }
                outbox.recycle(&mut spent);
                assert!(queue.memory() <= SocketQueue::MOST);
            }
            assert_eq!(queue.memory(), queue.recount());
            assert!(queue.recount() <= SocketQueue::MOST);
            let kept = queue.batches.len();
            assert_eq!(dropped, 40_000 - kept as u64);
            // Most of the memory is theirs, if they are not tiny.
            let each = len + size_of::<Batch>();
            assert!(kept > SocketQueue::MOST / 10 * 9 / each, "{kept} of {len}");
            assert_eq!(queue.first().map(|b| b.destination), Some(to(0)));
            let newest = queue.batches.back().map(|b| b.destination);
            assert_eq!(newest, Some(to(kept as u16 - 1)));
            while !queue.is_empty() {
                queue.remove_first(&mut spent);
            }
            assert_eq!(queue.memory(), 0);
            assert!(queue.batches.capacity() <= KEPT);
        }
    }

    #[test]
    fn all_sockets_together_have_a_limit_and_each_has_a_share() {
        let all = SocketQueue::MOST_OF_ALL;
        for sockets in 1..=20 {
            let most = |of_others| SocketQueue::MOST.min(SocketQueue::room(sockets, of_others));
            // The first ones are stuck and take what they may; the last one is not.
            let stuck = (1..sockets).fold(0, |waiting, _| waiting + most(waiting));
            assert!(most(stuck) >= SocketQueue::MOST.min(all / sockets));
            assert!(stuck + most(stuck) < 2 * all, "{sockets} sockets");
        }
        let (mut outbox, mut queue) = (Outbox::new(vec![64]), SocketQueue::default());
        for port in 0..1000 {
            outbox.push(0, to(port), &[0; 1400]);
        }
        let dropped = queue.fill_from(&mut outbox, 0, 100_000, &mut Vec::new());
        assert!(dropped.is_some_and(|(count, _)| count > 900));
        assert!(queue.memory() <= 100_000);
    }

    #[test]
    fn buffers_are_used_again() {
        let (mut outbox, mut queue) = (Outbox::new(vec![64]), SocketQueue::default());
        let mut spent = Vec::new();
        let mut pass = |outbox: &mut Outbox, datagrams: usize| {
            for _ in 0..datagrams {
                outbox.push(0, to(1), &[0; 1400]);
            }
            queue.fill_from(outbox, 0, usize::MAX, &mut spent);
            queue.remove_first(&mut spent);
            assert!(queue.is_empty());
            outbox.recycle(&mut spent);
            assert!(spent.is_empty());
        };
        pass(&mut outbox, 1);
        assert_eq!(outbox.spare().counts(), [1, 0, 0]);
        pass(&mut outbox, 1);
        assert_eq!(outbox.spare().counts(), [1, 0, 0]);
        // What grows moves to a larger one.
        pass(&mut outbox, 3);
        assert_eq!(outbox.spare().counts(), [1, 1, 0]);
        pass(&mut outbox, 40);
        assert_eq!(outbox.spare().counts(), [1, 1, 1]);
        for _ in 0..40 {
            outbox.push(0, to(1), &[0; 1400]);
        }
        assert_eq!(outbox.spare().counts(), [1, 1, 0]);
    }
}

//! Datagrams waiting for their socket, gathered into batches for segmentation
//! offload.
//!
//! One call that hands the kernel 44 datagrams of 1472 bytes costs a fifth to
//! an eighth of 44 calls, so this is the one large lever of a UDP driver. The
//! kernel cuts a batch into equal segments of which only the last may be
//! shorter; that rule is all there is to [`Batch::take`].

use crate::udp::Refused;
use std::collections::VecDeque;
use std::net::SocketAddr;

/// Most bytes in one batch: a UDP datagram before segmentation must fit the
/// length fields of IPv4 and UDP, headers included.
const MAX_BYTES: usize = 65_000;

/// How many of the newest batches of a socket a datagram may still join. More
/// than one, so that traffic alternating between paths still gathers.
const LOOK_BACK: usize = 8;

/// Buffers kept for use again.
const SPARE: usize = 64;

/// Datagrams to one destination, equal in length save the last.
#[derive(Debug)]
pub(crate) struct Batch {
    /// Where to.
    pub(crate) destination: SocketAddr,
    /// Length of every datagram but the last.
    pub(crate) segment: usize,
    /// The datagrams, one after the other.
    pub(crate) bytes: Vec<u8>,
    /// Bytes that are sent already, when it could not go in one call.
    pub(crate) sent: usize,
    /// Whether it goes one by one because of an error that may have been about
    /// segmentation.
    pub(crate) in_doubt: bool,
    /// What was refused then.
    pub(crate) refused: Option<Refused>,
    /// Whether the last datagram is shorter, so that none may follow.
    ended: bool,
}

impl Batch {
    /// Datagrams in it.
    pub(crate) fn datagrams(&self) -> usize {
        self.bytes.len().div_ceil(self.segment)
    }

    /// Appends `datagram` if the kernel could still tell them apart.
    fn take(&mut self, datagram: &[u8], most: usize) -> bool {
        let fits = !self.ended
            && datagram.len() <= self.segment
            && self.datagrams() < most
            && self.bytes.len() + datagram.len() <= MAX_BYTES;
        if fits {
            self.ended = datagram.len() < self.segment;
            self.bytes.extend_from_slice(datagram);
        }
        fits
    }
}

/// Batches for each socket, oldest first, with recycled buffers.
#[derive(Debug)]
pub(crate) struct Outbox {
    queues: Vec<VecDeque<Batch>>,
    /// Most datagrams in a batch, by socket.
    most: Vec<usize>,
    bytes: usize,
    spare: Vec<Vec<u8>>,
}

impl Outbox {
    /// An empty outbox for as many sockets as there are limits; each limit is
    /// the number of segments that the socket can send in one call.
    pub(crate) fn new(most: Vec<usize>) -> Outbox {
        Outbox {
            queues: most.iter().map(|_| VecDeque::new()).collect(),
            most,
            bytes: 0,
            spare: Vec::new(),
        }
    }

    /// Payload bytes of all batches.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Queues a datagram for `destination` at the socket of that index.
    pub(crate) fn push(&mut self, socket: usize, destination: SocketAddr, datagram: &[u8]) {
        if datagram.is_empty() {
            return;
        }
        self.bytes += datagram.len();
        let queue = &mut self.queues[socket];
        // Only the newest batch to this destination: an older one would let
        // the datagram overtake.
        let newest = queue
            .iter_mut()
            .rev()
            .take(LOOK_BACK)
            .find(|b| b.destination == destination);
        if newest.is_some_and(|b| b.take(datagram, self.most[socket])) {
            return;
        }
        let mut bytes = self
            .spare
            .pop()
            .unwrap_or_else(|| Vec::with_capacity(MAX_BYTES));
        bytes.extend_from_slice(datagram);
        let segment = datagram.len();
        queue.push_back(Batch {
            destination,
            segment,
            bytes,
            sent: 0,
            in_doubt: false,
            refused: None,
            ended: false,
        });
    }

    /// Learns that a socket can send fewer segments than was thought.
    pub(crate) fn set_most(&mut self, socket: usize, most: usize) {
        self.most[socket] = most;
    }

    /// Takes sent buffers back for use again.
    pub(crate) fn recycle(&mut self, sent: &mut Vec<Vec<u8>>) {
        for mut buffer in sent.drain(..) {
            if self.spare.len() < SPARE {
                buffer.clear();
                self.spare.push(buffer);
            }
        }
    }
}

/// Batches on their way to one socket. What the socket does not take at once
/// waits here; beyond a limit the newest are dropped, as in a full interface
/// queue: a path that is stuck must not stop the others.
#[derive(Debug, Default)]
pub(crate) struct Waiting {
    batches: VecDeque<Batch>,
    bytes: usize,
}

impl Waiting {
    /// Bytes that may wait.
    const MOST: usize = 4 << 20;

    /// Takes over the batches of a socket. Returns how many datagrams had to be
    /// dropped; their buffers go to `spent`.
    pub(crate) fn take_over(
        &mut self,
        outbox: &mut Outbox,
        socket: usize,
        spent: &mut Vec<Vec<u8>>,
    ) -> u64 {
        for batch in outbox.queues[socket].drain(..) {
            outbox.bytes -= batch.bytes.len();
            self.bytes += batch.bytes.len();
            self.batches.push_back(batch);
        }
        let mut dropped = 0;
        // Never the first, which may have been sent in part.
        while self.bytes > Waiting::MOST && self.batches.len() > 1 {
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

    /// Done with the next batch.
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
        let mut waiting = Waiting::default();
        assert_eq!(waiting.take_over(&mut outbox, 0, &mut Vec::new()), 0);
        assert_eq!((outbox.bytes(), waiting.bytes), (0, total));
        waiting
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
        let (mut outbox, mut waiting) = (Outbox::new(vec![64]), Waiting::default());
        let mut spent = Vec::new();
        let mut dropped = 0;
        for port in 0..5000 {
            outbox.push(0, to(port), &[0; 1400]);
            dropped += waiting.take_over(&mut outbox, 0, &mut spent);
        }
        let kept = Waiting::MOST / 1400;
        assert_eq!(waiting.batches.len(), kept);
        assert_eq!(dropped, 5000 - kept as u64);
        assert_eq!(waiting.first().map(|b| b.destination.port()), Some(0));
        let newest = waiting.batches.back().map(|b| b.destination.port());
        assert_eq!(newest, Some(kept as u16 - 1));
        waiting.remove_first(&mut spent);
        assert_eq!(waiting.bytes, (kept - 1) * 1400);
    }

    #[test]
    fn buffers_are_used_again() {
        let (mut outbox, mut waiting) = (Outbox::new(vec![64]), Waiting::default());
        let mut spent = Vec::new();
        outbox.push(0, to(1), &[0; 1400]);
        waiting.take_over(&mut outbox, 0, &mut spent);
        waiting.remove_first(&mut spent);
        assert!(waiting.is_empty());
        outbox.recycle(&mut spent);
        assert_eq!((spent.len(), outbox.spare.len()), (0, 1));
        outbox.push(0, to(1), &[0; 1400]);
        assert_eq!(outbox.spare.len(), 0);
    }
}

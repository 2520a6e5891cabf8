//! Datagrams waiting for their socket, gathered into batches for segmentation
//! offload.
//!
//! One call that hands the kernel 44 datagrams of 1472 bytes costs a fifth to
//! an eighth of 44 calls, so this is the one large lever of a UDP driver. The
//! kernel cuts a batch into equal segments of which only the last may be
//! shorter; that rule is all there is to [`Batch::take`].

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
            ended: false,
        });
    }

    /// Learns that a socket can send fewer segments than was thought.
    pub(crate) fn set_most(&mut self, socket: usize, most: usize) {
        self.most[socket] = most;
    }

    /// Moves the batches of one socket to the end of `into`.
    pub(crate) fn drain_into(&mut self, socket: usize, into: &mut VecDeque<Batch>) {
        for batch in self.queues[socket].drain(..) {
            self.bytes -= batch.bytes.len();
            into.push_back(batch);
        }
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
        let mut out = VecDeque::new();
        outbox.drain_into(0, &mut out);
        assert_eq!(outbox.bytes(), 0);
        out.iter()
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
}

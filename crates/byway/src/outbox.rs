//! Datagrams that the core wants to send, gathered into batches.

use crate::batch::Batch;
use crate::spare::Spare;
use std::collections::VecDeque;
use std::net::SocketAddr;

/// How many of the newest batches of a socket a datagram may still join. More
/// than one, so that traffic that alternates between paths is batched too.
const LOOK_BACK: usize = 8;

/// Batches for which an empty list keeps room.
const KEPT: usize = 256;

/// The batches for each socket, oldest first.
#[derive(Debug)]
pub(crate) struct Outbox {
    queues: Vec<VecDeque<Batch>>,
    /// Most datagrams in a batch, by socket.
    most: Vec<usize>,
    bytes: usize,
    spare: Spare,
}

impl Outbox {
    /// An empty outbox for as many sockets as there are limits; each limit is
    /// the number of segments that the socket can send in one call.
    pub(crate) fn new(most: Vec<usize>) -> Outbox {
        Outbox {
            queues: most.iter().map(|_| VecDeque::new()).collect(),
            most,
            bytes: 0,
            spare: Spare::default(),
        }
    }

    /// A further socket, which can send this many segments in one call.
    pub(crate) fn add_socket(&mut self, most: usize) {
        self.queues.push(VecDeque::new());
        self.most.push(most);
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
        // Only the newest batch to this destination: in an older one the datagram
        // would overtake others.
        let newest = queue
            .iter_mut()
            .rev()
            .take(LOOK_BACK)
            .find(|b| b.destination == destination);
        match newest {
            Some(batch) if batch.takes(datagram, self.most[socket]) => {
                self.spare.enlarge(&mut batch.bytes, datagram.len());
                batch.push(datagram);
            }
            _ => {
                let buffer = self.spare.take(datagram.len());
                queue.push_back(Batch::new(destination, datagram, buffer));
            }
        }
    }

    /// Queues a datagram that the network may fragment.
    pub(crate) fn push_fragmentable(
        &mut self,
        socket: usize,
        destination: SocketAddr,
        datagram: &[u8],
    ) {
        self.bytes += datagram.len();
        let batch = Batch::new(destination, datagram, Vec::new()).fragmentable();
        self.queues[socket].push_back(batch);
    }

    /// Removes the batches of a socket, oldest first.
    pub(crate) fn drain(&mut self, socket: usize) -> impl Iterator<Item = Batch> {
        let bytes = &mut self.bytes;
        self.queues[socket]
            .drain(..)
            .inspect(|batch| *bytes -= batch.bytes.len())
    }

    /// Sets how many segments the socket can send in one call.
    pub(crate) fn set_most(&mut self, socket: usize, most: usize) {
        self.most[socket] = most;
    }

    /// Takes buffers back for reuse.
    pub(crate) fn recycle(&mut self, sent: &mut Vec<Vec<u8>>) {
        for buffer in sent.drain(..) {
            self.spare.give_back(buffer);
        }
        // With a crowd goes the memory of its lists.
        if sent.capacity() > KEPT {
            *sent = Vec::new();
        }
        for queue in &mut self.queues {
            if queue.is_empty() && queue.capacity() > KEPT {
                *queue = VecDeque::new();
            }
        }
    }

    /// Frees buffers that have not been needed since the last time.
    pub(crate) fn trim(&mut self) {
        self.spare.trim();
    }

    #[cfg(test)]
    pub(crate) fn spare(&self) -> &Spare {
        &self.spare
    }
}

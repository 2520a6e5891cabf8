//! Batches of datagrams for segmentation offload.
//!
//! One call that gives the kernel 44 datagrams of 1472 bytes costs a fifth to an
//! eighth of 44 calls, so batches are what makes a UDP driver fast. The kernel
//! cuts a batch into segments of one length, of which only the last may be
//! shorter. [`Batch::push`] keeps that rule.

use crate::refused::Refused;
use std::net::SocketAddr;

/// Most bytes in one batch: a UDP datagram before segmentation must fit the
/// length fields of IPv4 and UDP, headers included.
pub(crate) const MAX_BYTES: usize = 65_000;

/// Datagrams to one destination, all of one length except that the last may be
/// shorter.
#[derive(Debug)]
pub(crate) struct Batch {
    /// Where the datagrams go.
    pub(crate) destination: SocketAddr,
    /// Length of every datagram but the last.
    pub(crate) segment: usize,
    /// The datagrams, one after the other.
    pub(crate) bytes: Vec<u8>,
    /// Bytes that have been sent already, if one call could not send all.
    pub(crate) sent: usize,
    /// Whether the datagrams are sent one by one, after an error that may have
    /// been about segmentation.
    pub(crate) in_doubt: bool,
    /// The datagrams refused while they were sent one by one.
    pub(crate) refused: Option<Refused>,
    /// Whether the network may fragment its one datagram.
    pub(crate) may_fragment: bool,
    /// Whether the last datagram is shorter, so that none may follow.
    ended: bool,
}

impl Batch {
    /// A batch of one datagram in an empty buffer.
    pub(crate) fn new(destination: SocketAddr, datagram: &[u8], mut buffer: Vec<u8>) -> Batch {
        buffer.extend_from_slice(datagram);
        Batch {
            destination,
            segment: datagram.len(),
            bytes: buffer,
            sent: 0,
            in_doubt: false,
            refused: None,
            may_fragment: false,
            ended: false,
        }
    }

    /// The same for a datagram that the network may fragment; no other joins it.
    pub(crate) fn fragmentable(self) -> Batch {
        Batch {
            may_fragment: true,
            ended: true,
            ..self
        }
    }

    /// Memory that it takes, in bytes: of a lone datagram most is not its own length.
    pub(crate) fn memory(&self) -> usize {
        size_of::<Batch>() + self.bytes.capacity()
    }

    /// Datagrams in the batch.
    pub(crate) fn datagrams(&self) -> usize {
        self.bytes.len().div_ceil(self.segment)
    }

    /// Whether the kernel can still cut the batch into datagrams with this one at its end. `most`:
    /// datagrams in a batch.
    pub(crate) fn takes(&self, datagram: &[u8], most: usize) -> bool {
        !self.ended
            && datagram.len() <= self.segment
            && self.datagrams() < most
            && self.bytes.len() + datagram.len() <= MAX_BYTES
    }

    /// Appends a datagram that it [takes](Self::takes).
    pub(crate) fn push(&mut self, datagram: &[u8]) {
        self.ended = datagram.len() < self.segment;
        self.bytes.extend_from_slice(datagram);
    }
}

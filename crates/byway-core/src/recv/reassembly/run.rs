//! Runs: consecutive fragments of one message.

use super::fragment::Fragment;
use bytes::{Bytes, BytesMut};
use std::collections::VecDeque;

/// Consecutive fragments of one message.
#[derive(Debug)]
pub(super) struct Run {
    /// One past its last sequence number.
    pub(super) end_seq: u64,
    pub(super) stream: u16,
    pub(super) ssn: u16,
    pub(super) ppid: u32,
    pub(super) unordered: bool,
    /// It starts with the message's first fragment, or its front has been
    /// delivered already.
    pub(super) begin: bool,
    /// It ends with the message's last fragment.
    pub(super) end: bool,
    /// Its front has been delivered already (partial delivery).
    pub(super) in_parts: bool,
    /// Bytes of the receive window, overhead included.
    pub(super) charge: u32,
    /// The payload in pieces. So a run that joins another one copies nothing.
    pieces: VecDeque<BytesMut>,
}

impl Run {
    /// An empty run for `f`, with room for `expected` bytes. With 0 nothing is allocated
    /// yet.
    pub(super) fn starting_with(f: &Fragment<'_>, expected: usize) -> Run {
        let mut pieces = VecDeque::new();
        if expected > 0 {
            pieces.push_back(BytesMut::with_capacity(expected));
        }
        Run {
            end_seq: f.seq,
            stream: f.stream,
            ssn: f.ssn,
            ppid: f.ppid,
            unordered: f.unordered,
            begin: f.begin,
            end: false,
            in_parts: false,
            charge: 0,
            pieces,
        }
    }

    /// Whether a fragment can belong to the same message.
    pub(super) fn matches(&self, f: &Fragment<'_>) -> bool {
        self.stream == f.stream
            && self.unordered == f.unordered
            && (f.unordered || self.ssn == f.ssn)
    }

    /// Adds the fragment that follows the run.
    pub(super) fn push(&mut self, f: &Fragment<'_>, charge: u32) {
        match self.pieces.back_mut() {
            Some(last) => last.extend_from_slice(f.payload),
            None => self.pieces.push_back(f.payload.into()),
        }
        self.end_seq = f.seq + 1;
        self.end = f.end;
        self.charge += charge;
    }

    /// Adds the run that follows this one.
    pub(super) fn join(&mut self, mut tail: Run) {
        if self.pieces.len() < tail.pieces.len() {
            // The shorter list moves.
            while let Some(piece) = self.pieces.pop_back() {
                tail.pieces.push_front(piece);
            }
            self.pieces = tail.pieces;
        } else {
            self.pieces.append(&mut tail.pieces);
        }
        self.end_seq = tail.end_seq;
        self.end = tail.end;
        self.charge += tail.charge;
    }

    /// Takes the payload out, in one piece.
    pub(super) fn take_bytes(&mut self) -> Bytes {
        if self.pieces.len() > 1 {
            let mut whole = BytesMut::with_capacity(self.len());
            for piece in self.pieces.drain(..) {
                whole.extend_from_slice(&piece);
            }
            return whole.freeze();
        }
        self.pieces.pop_front().unwrap_or_default().freeze()
    }

    /// Bytes of payload.
    pub(super) fn len(&self) -> usize {
        self.pieces.iter().map(BytesMut::len).sum()
    }
}

//! Runs: consecutive fragments of one message.

use super::few::Few;
use super::fragment::Fragment;
use super::memory::{Counted, block};
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
    /// The payload, if it is short. There are no pieces then.
    few: Few,
    /// The payload in pieces. So a run that joins another one copies nothing.
    pieces: VecDeque<BytesMut>,
    /// Memory of the pieces' buffers.
    buffers: usize,
    /// Bytes of payload.
    len: usize,
}

impl Counted for Run {
    const SIZE: usize = 88;
}

impl Run {
    /// An empty run for `f`, with room for `expected` bytes. With 0 nothing is allocated
    /// yet.
    pub(super) fn starting_with(f: &Fragment<'_>, expected: usize) -> Run {
        let (mut pieces, mut buffers) = (VecDeque::new(), 0);
        if expected > 0 {
            let piece = BytesMut::with_capacity(expected);
            buffers = block(piece.capacity());
            pieces.push_back(piece);
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
            few: Few::default(),
            pieces,
            buffers,
            len: 0,
        }
    }

    /// Whether a fragment can belong to the same message.
    pub(super) fn matches(&self, f: &Fragment<'_>) -> bool {
        self.stream == f.stream
            && self.unordered == f.unordered
            && (f.unordered || self.ssn == f.ssn)
    }

    /// Adds the fragment that follows the run.
    #[inline(always)]
    pub(super) fn push(&mut self, f: &Fragment<'_>, charge: u32) {
        self.append(f.payload);
        self.len += f.payload.len();
        self.end_seq = f.seq + 1;
        self.end = f.end;
        self.charge += charge;
    }

    /// Adds payload behind the pieces.
    #[inline]
    fn append(&mut self, payload: &[u8]) {
        if let Some(last) = self.pieces.back_mut() {
            self.buffers -= block(last.capacity());
            last.extend_from_slice(payload);
            self.buffers += block(last.capacity());
        } else if !self.few.push(payload) {
            self.begin_piece(payload);
        }
    }

    /// What the run has becomes its first piece, with this behind it.
    fn begin_piece(&mut self, payload: &[u8]) {
        let few = core::mem::take(&mut self.few);
        let mut piece = BytesMut::with_capacity(few.len() + payload.len());
        piece.extend_from_slice(few.as_slice());
        piece.extend_from_slice(payload);
        self.buffers += block(piece.capacity());
        // Most runs have one piece, and a peer decides how many runs there are.
        self.pieces.reserve_exact(1);
        self.pieces.push_back(piece);
    }

    /// Adds the run that follows this one.
    pub(super) fn join(&mut self, mut tail: Run) {
        if tail.pieces.is_empty() {
            self.append(tail.few.as_slice());
        } else if !self.few.is_empty() {
            self.begin_piece(&[]);
        }
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
        self.buffers += tail.buffers;
        self.len += tail.len;
    }

    /// Takes the payload out, in one piece. A buffer that is much larger than its
    /// contents does not leave: it would stay as long as the reader keeps the message.
    pub(super) fn take_bytes(&mut self) -> Bytes {
        let len = core::mem::take(&mut self.len);
        self.buffers = 0;
        let few = core::mem::take(&mut self.few);
        match self.pieces.len() {
            0 => Bytes::copy_from_slice(few.as_slice()),
            1 if self.pieces[0].capacity() <= 2 * self.pieces[0].len() => {
                core::mem::take(&mut self.pieces)
                    .pop_front()
                    .unwrap_or_default()
                    .freeze()
            }
            _ => {
                let mut whole = Vec::with_capacity(len);
                for piece in core::mem::take(&mut self.pieces) {
                    whole.extend_from_slice(&piece);
                }
                whole.into()
            }
        }
    }

    /// Memory that the run takes beyond itself and its payload, in bytes.
    pub(super) fn overhead(&self) -> usize {
        let list = self.pieces.capacity() * BytesMut::SIZE;
        list + self.buffers - (self.len - self.few.len())
    }

    /// Bytes of payload.
    pub(super) fn len(&self) -> usize {
        self.len
    }
}

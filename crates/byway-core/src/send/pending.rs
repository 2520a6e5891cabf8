//! A message in the queue.

use bytes::Bytes;

/// A message that waits, or the rest of one.
#[derive(Debug)]
pub(super) struct Pending {
    pub(super) stream: u16,
    pub(super) unordered: bool,
    pub(super) immediate: bool,
    /// Its number in its stream: the Message Identifier, whose lower 16 bits are the Stream
    /// Sequence Number. An unordered message gets one when it begins, with interleaving.
    pub(super) number: u32,
    pub(super) ppid: u32,
    /// Of its next fragment: the payload protocol identifier, or, behind the first one while messages
    /// interleave, the Fragment Sequence Number.
    pub(super) ppid_or_fsn: u32,
    pub(super) context: u64,
    pub(super) payload: Bytes,
    /// Bytes that have left already as fragments.
    pub(super) cut: usize,
}

impl Pending {
    /// A fragment of this many bytes leaves, and more will.
    #[inline]
    pub(super) fn leaves(&mut self, bytes: usize, interleaves: bool) {
        if interleaves {
            // The first fragment is number 0 and carries none.
            let number = if self.cut > 0 { self.ppid_or_fsn } else { 0 };
            self.ppid_or_fsn = number.wrapping_add(1);
        }
        self.cut += bytes;
    }
}

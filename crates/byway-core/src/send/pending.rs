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
    pub(super) context: u64,
    pub(super) payload: Bytes,
    /// Bytes that have left already as fragments.
    pub(super) cut: usize,
    /// The number of these fragments.
    pub(super) fragments: u32,
}

impl Pending {
    /// Of its next fragment: the payload protocol identifier, or, behind the first one while messages
    /// interleave, the Fragment Sequence Number.
    #[inline]
    pub(super) fn ppid_or_fsn(&self, interleaves: bool) -> u32 {
        if interleaves && self.cut > 0 {
            self.fragments
        } else {
            self.ppid
        }
    }

    /// A fragment of this many bytes leaves, and more will.
    #[inline]
    pub(super) fn leaves(&mut self, bytes: usize) {
        self.cut += bytes;
        self.fragments = self.fragments.wrapping_add(1);
    }
}

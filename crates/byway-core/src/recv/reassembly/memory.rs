//! How much memory the parts of a reassembly take.
//!
//! The receive window counts payload and a fixed overhead for each chunk. What a peer
//! makes us keep can be more: tiny messages, fragments of messages that never end, gaps
//! in many streams. So the memory is counted too, by the capacities of what holds it.

use bytes::BytesMut;

/// A value whose memory counts for the window.
///
/// It counts as on a machine with 64-bit words, whatever the machine: the same seed gives the same
/// `a_rwnd` in a browser (32 bits) and in the command.
pub(super) trait Counted {
    /// Its size there, in bytes.
    const SIZE: usize;
}

impl Counted for BytesMut {
    const SIZE: usize = 32;
}

/// A word of such a machine.
pub(super) const WORD: usize = 8;

/// How often a tree's entry counts: a node of a B-tree is about two thirds full, and at
/// worst half full.
pub(super) const TREE_ENTRY: usize = 2;

/// What an allocator takes at most for a buffer beyond its capacity.
pub(super) const BLOCK: usize = 32;

/// For how many more values a full list of `len` gets room: a quarter, so that at most a fifth of what a
/// peer makes us keep is empty room, and no single chunk takes much.
#[inline]
pub(super) fn more_room(len: usize) -> usize {
    (len / 4).max(4)
}

/// The memory that an allocator takes for a buffer of this capacity: 16 bytes for its own
/// notes, in steps of 16.
pub(super) fn block(capacity: usize) -> usize {
    match capacity {
        0 => 0,
        n => (n + 16).next_multiple_of(16),
    }
}

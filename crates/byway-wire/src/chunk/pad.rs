//! PAD: padding that gives a probe packet its size (RFC 4820 section 3).

use super::chunk_type;
use crate::build::{PacketBuilder, chunk_length};
use crate::header::CHUNK_HEADER_LEN;

/// Padding, to be ignored.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub struct Pad<'a> {
    /// The padding bytes; their contents have no meaning.
    pub padding: &'a [u8],
}

impl PacketBuilder<'_> {
    /// Writes a PAD chunk with `len` zero bytes after its header.
    ///
    /// # Panics
    /// When `len` is over 65,531, more than a chunk holds.
    pub fn pad(&mut self, len: usize) {
        let length = CHUNK_HEADER_LEN + len;
        let [l0, l1] = chunk_length(length);
        self.buf.extend_from_slice(&[chunk_type::PAD, 0, l0, l1]);
        self.buf.resize(self.buf.len() + len, 0);
        self.end_chunk(length);
    }
}

//! A chunk with known bounds and unread contents.

use crate::error::ChunkError;
use crate::unknown_action::UnknownAction;

/// A chunk with known bounds, whose contents have not been read.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct RawChunk<'a> {
    /// Chunk type, see [`chunk_type`](super::chunk_type).
    pub kind: u8,
    /// Chunk flags. Their meaning depends on the type.
    pub flags: u8,
    /// The bytes after the chunk header, without padding.
    pub value: &'a [u8],
    /// Header and value, without padding.
    pub bytes: &'a [u8],
    /// User data of a DATA chunk that is not part of `value` and `bytes`, see
    /// [`Packet::parse_parts`](crate::Packet::parse_parts); else empty.
    pub tail: &'a [u8],
}

impl<'a> RawChunk<'a> {
    /// What a receiver that does not know this chunk type does with the chunk.
    #[must_use]
    pub const fn unknown_action(kind: u8) -> UnknownAction {
        UnknownAction::from_top_bits(kind >> 6)
    }

    /// The fixed fields at the front of the value, and the bytes after them.
    #[inline]
    pub(crate) fn fixed<const N: usize>(&self) -> Result<(&'a [u8; N], &'a [u8]), ChunkError> {
        self.value.split_first_chunk().ok_or(ChunkError::TooShort {
            kind: self.kind,
            need: N,
            have: self.value.len(),
        })
    }

    /// `bytes` as entries of `N` bytes, with none left over.
    pub(crate) fn entries<const N: usize>(
        &self,
        bytes: &'a [u8],
    ) -> Result<&'a [[u8; N]], ChunkError> {
        match bytes.as_chunks() {
            (entries, []) => Ok(entries),
            _ => Err(ChunkError::PartialEntry {
                kind: self.kind,
                entry: N,
                have: bytes.len(),
            }),
        }
    }
}

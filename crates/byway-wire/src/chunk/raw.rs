//! A chunk between its header and its meaning.

use crate::error::ChunkError;
use crate::unknown_action::UnknownAction;

/// A chunk whose bounds are known and whose contents have not been looked at.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct RawChunk<'a> {
    /// Chunk type, see [`chunk_type`](super::chunk_type).
    pub kind: u8,
    /// Chunk flags; their meaning depends on the type.
    pub flags: u8,
    /// What follows the chunk header, without padding.
    pub value: &'a [u8],
    /// Header and value, without padding.
    pub bytes: &'a [u8],
    /// User data of a DATA chunk that stands apart
    /// ([`Packet::parse_parts`](crate::Packet::parse_parts)), else empty: `value`
    /// and `bytes` end before it.
    pub apart: &'a [u8],
}

impl<'a> RawChunk<'a> {
    /// What to do when this chunk type is not known.
    #[must_use]
    pub const fn unknown_action(kind: u8) -> UnknownAction {
        UnknownAction::from_top_bits(kind >> 6)
    }

    /// The fixed fields at the front of the value, and what follows them.
    #[inline]
    pub(crate) fn fixed<const N: usize>(&self) -> Result<(&'a [u8; N], &'a [u8]), ChunkError> {
        self.value.split_first_chunk().ok_or(ChunkError::TooShort {
            kind: self.kind,
            need: N,
            have: self.value.len(),
        })
    }

    /// `bytes` as entries of `N` bytes each, which they must fill exactly.
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

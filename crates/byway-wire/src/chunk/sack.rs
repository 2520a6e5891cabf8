//! SACK (RFC 9260 section 3.3.4).

use super::chunk_type;
use super::raw::RawChunk;
use crate::build::{PacketBuilder, chunk_length};
use crate::error::ChunkError;
use crate::header::CHUNK_HEADER_LEN;
use crate::tsn::Tsn;

/// Which TSNs have arrived.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Sack<'a> {
    /// The last TSN before the first gap.
    pub cumulative_tsn_ack: Tsn,
    /// Advertised receiver window credit in bytes.
    pub a_rwnd: u32,
    /// Chunk flags: 0 in RFC 9260. Concurrent multipath transfer (DAC) counts
    /// packets here.
    pub flags: u8,
    gaps: &'a [[u8; 4]],
    dups: &'a [[u8; 4]],
}

/// Bytes before the gap blocks, chunk header included.
const HEAD_LEN: usize = CHUNK_HEADER_LEN + 12;

impl<'a> Sack<'a> {
    /// Reads a chunk as SACK, whatever its type. Both iterators are bounded by the
    /// bytes that have arrived.
    ///
    /// # Errors
    /// When the value is too short, or announces more entries than it has.
    #[inline]
    pub fn parse(raw: &RawChunk<'a>) -> Result<Self, ChunkError> {
        let (&[t0, t1, t2, t3, w0, w1, w2, w3, g0, g1, d0, d1], lists) = raw.fixed::<12>()?;
        let (gap_blocks, duplicates) = (u16::from_be_bytes([g0, g1]), u16::from_be_bytes([d0, d1]));
        let entries = lists.as_chunks().0;
        let split = entries
            .split_at_checked(usize::from(gap_blocks))
            .and_then(|(gaps, after)| {
                let dups = after.get(..usize::from(duplicates))?;
                Some((gaps, dups))
            });
        let Some((gaps, dups)) = split else {
            return Err(ChunkError::SackCounts {
                gap_blocks,
                duplicates,
                have: lists.len(),
            });
        };
        Ok(Sack {
            cumulative_tsn_ack: Tsn(u32::from_be_bytes([t0, t1, t2, t3])),
            a_rwnd: u32::from_be_bytes([w0, w1, w2, w3]),
            flags: raw.flags,
            gaps,
            dups,
        })
    }

    /// Gap Ack Blocks: the first and last TSN of each, as offsets from
    /// [`Sack::cumulative_tsn_ack`]. Their order and `start <= end` have not been
    /// checked.
    #[inline]
    #[must_use]
    pub fn gap_blocks(
        &self,
    ) -> impl ExactSizeIterator<Item = (u16, u16)> + DoubleEndedIterator + Clone + use<'a> {
        self.gaps
            .iter()
            .map(|&[s0, s1, e0, e1]| (u16::from_be_bytes([s0, s1]), u16::from_be_bytes([e0, e1])))
    }

    /// Number of Gap Ack Blocks.
    #[inline]
    #[must_use]
    pub const fn gap_block_count(&self) -> usize {
        self.gaps.len()
    }

    /// TSNs that have arrived more than once since the previous SACK.
    #[inline]
    #[must_use]
    pub fn duplicates(
        &self,
    ) -> impl ExactSizeIterator<Item = Tsn> + DoubleEndedIterator + Clone + use<'a> {
        self.dups
            .iter()
            .map(|&bytes| Tsn(u32::from_be_bytes(bytes)))
    }

    /// Number of duplicate TSNs.
    #[inline]
    #[must_use]
    pub const fn duplicate_count(&self) -> usize {
        self.dups.len()
    }
}

impl PacketBuilder<'_> {
    /// Writes a SACK. `gaps` are first and last offsets from `cumulative`.
    ///
    /// # Panics
    /// When blocks and duplicates together are more than 16,379, more than a
    /// chunk holds.
    #[inline]
    pub fn sack(&mut self, cumulative: Tsn, a_rwnd: u32, gaps: &[(u16, u16)], dups: &[Tsn]) {
        self.sack_flagged(0, cumulative, a_rwnd, gaps, dups);
    }

    /// [`sack`](Self::sack) with chunk flags.
    ///
    /// # Panics
    /// As [`PacketBuilder::sack`].
    #[inline]
    pub fn sack_flagged(
        &mut self,
        flags: u8,
        cumulative: Tsn,
        a_rwnd: u32,
        gaps: &[(u16, u16)],
        dups: &[Tsn],
    ) {
        let (gaps, dups) = (gaps.iter().copied(), dups.iter().copied());
        self.sack_from(flags, cumulative, a_rwnd, gaps, dups);
    }

    pub(super) fn copy_sack(&mut self, sack: &Sack<'_>) {
        self.sack_from(
            sack.flags,
            sack.cumulative_tsn_ack,
            sack.a_rwnd,
            sack.gap_blocks(),
            sack.duplicates(),
        );
    }

    /// Writes a SACK from iterators, without collecting the lists first.
    ///
    /// # Panics
    /// As [`PacketBuilder::sack`].
    #[inline]
    pub fn sack_from(
        &mut self,
        flags: u8,
        cumulative: Tsn,
        a_rwnd: u32,
        gaps: impl ExactSizeIterator<Item = (u16, u16)>,
        dups: impl ExactSizeIterator<Item = Tsn>,
    ) {
        let (gap_count, dup_count) = (gaps.len(), dups.len());
        let length = HEAD_LEN + 4 * (gap_count + dup_count);
        let mut head = [0; HEAD_LEN];
        head[0] = chunk_type::SACK;
        head[1] = flags;
        head[2..4].copy_from_slice(&chunk_length(length));
        head[4..8].copy_from_slice(&cumulative.0.to_be_bytes());
        head[8..12].copy_from_slice(&a_rwnd.to_be_bytes());
        // `chunk_length` has bounded both counts well below 65536.
        head[12..14].copy_from_slice(&(gap_count as u16).to_be_bytes());
        head[14..16].copy_from_slice(&(dup_count as u16).to_be_bytes());
        self.buf.reserve(length);
        self.buf.extend_from_slice(&head);
        for (start, end) in gaps {
            let ([s0, s1], [e0, e1]) = (start.to_be_bytes(), end.to_be_bytes());
            self.buf.extend_from_slice(&[s0, s1, e0, e1]);
        }
        for tsn in dups {
            self.buf.extend_from_slice(&tsn.0.to_be_bytes());
        }
        self.end_chunk(length);
    }
}

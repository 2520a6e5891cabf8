//! I-FORWARD-TSN: abandoned interleaved messages are skipped (RFC 8260 section
//! 2.3.1).

use super::chunk_type;
use super::raw::RawChunk;
use crate::build::{PacketBuilder, chunk_length};
use crate::error::ChunkError;
use crate::header::CHUNK_HEADER_LEN;
use crate::tsn::Tsn;

/// The lowest of the 16 bits after the stream number: unordered messages.
const UNORDERED: u16 = 1;

/// The receiver is to treat everything up to a TSN as arrived.
#[derive(Copy, Clone, Debug, Eq)]
pub struct IForwardTsn<'a> {
    /// The new cumulative TSN.
    pub new_cumulative_tsn: Tsn,
    skipped: &'a [[u8; 8]],
}

/// How far one stream's messages were abandoned.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub struct SkippedMessage {
    /// The stream.
    pub stream_id: u16,
    /// Whether the entry is for its unordered or its ordered messages.
    pub unordered: bool,
    /// Largest message identifier skipped.
    pub mid: u32,
}

impl<'a> IForwardTsn<'a> {
    pub(super) fn parse(raw: &RawChunk<'a>) -> Result<Self, ChunkError> {
        let (&tsn, skipped) = raw.fixed()?;
        Ok(IForwardTsn {
            new_cumulative_tsn: Tsn(u32::from_be_bytes(tsn)),
            skipped: raw.entries(skipped)?,
        })
    }

    /// The streams with skipped messages.
    pub fn skipped(
        &self,
    ) -> impl ExactSizeIterator<Item = SkippedMessage> + DoubleEndedIterator + Clone + use<'a> {
        self.skipped
            .iter()
            .map(|&[i0, i1, u0, u1, m0, m1, m2, m3]| SkippedMessage {
                stream_id: u16::from_be_bytes([i0, i1]),
                unordered: u16::from_be_bytes([u0, u1]) & UNORDERED != 0,
                mid: u32::from_be_bytes([m0, m1, m2, m3]),
            })
    }
}

impl PartialEq for IForwardTsn<'_> {
    /// Ignores reserved bits.
    fn eq(&self, other: &Self) -> bool {
        self.new_cumulative_tsn == other.new_cumulative_tsn && self.skipped().eq(other.skipped())
    }
}

impl PacketBuilder<'_> {
    /// Writes an I-FORWARD-TSN.
    ///
    /// # Panics
    /// When more than 8,190 entries are given, more than a chunk holds.
    pub fn i_forward_tsn(&mut self, new_cumulative_tsn: Tsn, skipped: &[SkippedMessage]) {
        self.i_forward_tsn_from(new_cumulative_tsn, skipped.iter().copied());
    }

    pub(super) fn copy_i_forward_tsn(&mut self, forward: &IForwardTsn<'_>) {
        self.i_forward_tsn_from(forward.new_cumulative_tsn, forward.skipped());
    }

    fn i_forward_tsn_from(
        &mut self,
        tsn: Tsn,
        skipped: impl ExactSizeIterator<Item = SkippedMessage>,
    ) {
        let length = CHUNK_HEADER_LEN + 4 + 8 * skipped.len();
        let [l0, l1] = chunk_length(length);
        self.buf
            .extend_from_slice(&[chunk_type::I_FORWARD_TSN, 0, l0, l1]);
        self.buf.extend_from_slice(&tsn.0.to_be_bytes());
        for entry in skipped {
            self.buf.extend_from_slice(&entry.stream_id.to_be_bytes());
            self.buf
                .extend_from_slice(&(u16::from(entry.unordered) * UNORDERED).to_be_bytes());
            self.buf.extend_from_slice(&entry.mid.to_be_bytes());
        }
        self.end_chunk(length);
    }
}

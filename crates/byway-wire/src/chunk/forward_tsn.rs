//! FORWARD TSN: abandoned data is skipped (RFC 3758 section 3.2).

use super::chunk_type;
use super::raw::RawChunk;
use crate::build::{PacketBuilder, chunk_length};
use crate::error::ChunkError;
use crate::header::CHUNK_HEADER_LEN;
use crate::tsn::Tsn;

/// The receiver is to treat everything up to a TSN as arrived.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct ForwardTsn<'a> {
    /// The new cumulative TSN.
    pub new_cumulative_tsn: Tsn,
    skipped: &'a [[u8; 4]],
}

impl<'a> ForwardTsn<'a> {
    pub(super) fn parse(raw: &RawChunk<'a>) -> Result<Self, ChunkError> {
        let (&tsn, skipped) = raw.fixed()?;
        Ok(ForwardTsn {
            new_cumulative_tsn: Tsn(u32::from_be_bytes(tsn)),
            skipped: raw.entries(skipped)?,
        })
    }

    /// Streams with skipped ordered messages, and the largest stream sequence
    /// number skipped on each.
    pub fn skipped(
        &self,
    ) -> impl ExactSizeIterator<Item = (u16, u16)> + DoubleEndedIterator + Clone + use<'a> {
        self.skipped
            .iter()
            .map(|&[i0, i1, s0, s1]| (u16::from_be_bytes([i0, i1]), u16::from_be_bytes([s0, s1])))
    }
}

impl PacketBuilder<'_> {
    /// Writes a FORWARD TSN; `skipped` pairs stream and stream sequence number.
    ///
    /// # Panics
    /// When more than 16,381 streams are named, more than a chunk holds.
    pub fn forward_tsn(&mut self, new_cumulative_tsn: Tsn, skipped: &[(u16, u16)]) {
        self.forward_tsn_from(new_cumulative_tsn, skipped.iter().copied());
    }

    pub(super) fn copy_forward_tsn(&mut self, forward: &ForwardTsn<'_>) {
        self.forward_tsn_from(forward.new_cumulative_tsn, forward.skipped());
    }

    fn forward_tsn_from(&mut self, tsn: Tsn, skipped: impl ExactSizeIterator<Item = (u16, u16)>) {
        let length = CHUNK_HEADER_LEN + 4 + 4 * skipped.len();
        let [l0, l1] = chunk_length(length);
        self.buf
            .extend_from_slice(&[chunk_type::FORWARD_TSN, 0, l0, l1]);
        self.buf.extend_from_slice(&tsn.0.to_be_bytes());
        for (stream_id, ssn) in skipped {
            self.buf.extend_from_slice(&stream_id.to_be_bytes());
            self.buf.extend_from_slice(&ssn.to_be_bytes());
        }
        self.end_chunk(length);
    }
}

//! I-DATA: user data of messages that may interleave (RFC 8260 section 2.1).

use super::chunk_type;
use super::data::{BEGIN, END, IMMEDIATE, UNORDERED, flags};
use super::raw::RawChunk;
use crate::build::{PacketBuilder, chunk_length};
use crate::error::ChunkError;
use crate::tlv::padded;
use crate::tsn::Tsn;

/// A message or a fragment of one.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub struct IData<'a> {
    /// Transmission sequence number.
    pub tsn: Tsn,
    /// Stream that the message belongs to.
    pub stream_id: u16,
    /// Message identifier. Ordered and unordered messages are counted separately.
    pub mid: u32,
    /// The payload protocol identifier when `begin`, else the fragment sequence
    /// number (the first fragment's is zero and is not sent).
    pub ppid_or_fsn: u32,
    /// U bit: deliver regardless of stream order.
    pub unordered: bool,
    /// B bit: first fragment of its message.
    pub begin: bool,
    /// E bit: last fragment of its message.
    pub end: bool,
    /// I bit: the sender asks for a SACK without delay (RFC 7053).
    pub immediate: bool,
    /// User data.
    pub payload: &'a [u8],
}

impl<'a> IData<'a> {
    /// Bytes of an I-DATA chunk before its user data.
    pub const HEADER_LEN: usize = 20;

    /// Reads a chunk as I-DATA, whatever its type.
    ///
    /// # Errors
    /// When the value is shorter than I-DATA's own header.
    #[inline]
    pub fn parse(raw: &RawChunk<'a>) -> Result<Self, ChunkError> {
        let (&[t0, t1, t2, t3, i0, i1, _, _, m0, m1, m2, m3, p0, p1, p2, p3], payload) =
            raw.fixed::<16>()?;
        Ok(IData {
            tsn: Tsn(u32::from_be_bytes([t0, t1, t2, t3])),
            stream_id: u16::from_be_bytes([i0, i1]),
            mid: u32::from_be_bytes([m0, m1, m2, m3]),
            ppid_or_fsn: u32::from_be_bytes([p0, p1, p2, p3]),
            unordered: raw.flags & UNORDERED != 0,
            begin: raw.flags & BEGIN != 0,
            end: raw.flags & END != 0,
            immediate: raw.flags & IMMEDIATE != 0,
            payload,
        })
    }

    /// Payload protocol identifier, which only the first fragment carries.
    #[must_use]
    pub const fn ppid(&self) -> Option<u32> {
        if self.begin {
            Some(self.ppid_or_fsn)
        } else {
            None
        }
    }

    /// Fragment sequence number: the place of this fragment in its message, from 0.
    #[must_use]
    pub const fn fsn(&self) -> u32 {
        if self.begin { 0 } else { self.ppid_or_fsn }
    }
}

impl PacketBuilder<'_> {
    /// Writes an I-DATA chunk of [`IData::HEADER_LEN`] bytes, the payload and
    /// padding.
    ///
    /// # Panics
    /// When the payload is longer than 65,515 bytes, more than a chunk holds.
    #[inline]
    pub fn i_data(&mut self, data: &IData<'_>) {
        let length = IData::HEADER_LEN + data.payload.len();
        let mut head = [0; IData::HEADER_LEN];
        head[0] = chunk_type::I_DATA;
        head[1] = flags(data.unordered, data.begin, data.end, data.immediate);
        head[2..4].copy_from_slice(&chunk_length(length));
        head[4..8].copy_from_slice(&data.tsn.0.to_be_bytes());
        head[8..10].copy_from_slice(&data.stream_id.to_be_bytes());
        head[12..16].copy_from_slice(&data.mid.to_be_bytes());
        head[16..20].copy_from_slice(&data.ppid_or_fsn.to_be_bytes());
        self.buf.reserve(padded(length));
        self.buf.extend_from_slice(&head);
        self.buf.extend_from_slice(data.payload);
        self.end_chunk(length);
    }
}

//! DATA: user data (RFC 9260 section 3.3.1), with the I bit of RFC 7053.

use super::chunk_type;
use super::raw::RawChunk;
use crate::build::{PacketBuilder, chunk_length};
use crate::error::ChunkError;
use crate::header::DATA_HEADER_LEN;
use crate::tlv::padded;
use crate::tsn::Tsn;

/// Last fragment of a message.
pub(super) const END: u8 = 0x01;
/// First fragment of a message.
pub(super) const BEGIN: u8 = 0x02;
/// Unordered message.
pub(super) const UNORDERED: u8 = 0x04;
/// The sender asks for a SACK without delay (RFC 7053).
pub(super) const IMMEDIATE: u8 = 0x08;

/// A message or a fragment of one.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub struct Data<'a> {
    /// Transmission sequence number.
    pub tsn: Tsn,
    /// Stream of the message.
    pub stream_id: u16,
    /// Stream sequence number. Has no meaning if `unordered`.
    pub ssn: u16,
    /// Payload protocol identifier, chosen by the upper layer.
    pub ppid: u32,
    /// U bit: deliver regardless of stream order.
    pub unordered: bool,
    /// B bit: first fragment of its message.
    pub begin: bool,
    /// E bit: last fragment of its message.
    pub end: bool,
    /// I bit: the sender asks for a SACK without delay (RFC 7053).
    pub immediate: bool,
    /// User data. Empty user data is a protocol violation, which the receiver
    /// answers with a "No User Data" cause (RFC 9260 section 3.3.10.9).
    pub payload: &'a [u8],
}

impl<'a> Data<'a> {
    /// Reads a chunk as DATA, whatever its type.
    ///
    /// # Errors
    /// When the value is shorter than DATA's own header.
    #[inline]
    pub fn parse(raw: &RawChunk<'a>) -> Result<Self, ChunkError> {
        let (&[t0, t1, t2, t3, i0, i1, s0, s1, p0, p1, p2, p3], here) = raw.fixed::<12>()?;
        let payload = if raw.tail.is_empty() { here } else { raw.tail };
        Ok(Data {
            tsn: Tsn(u32::from_be_bytes([t0, t1, t2, t3])),
            stream_id: u16::from_be_bytes([i0, i1]),
            ssn: u16::from_be_bytes([s0, s1]),
            ppid: u32::from_be_bytes([p0, p1, p2, p3]),
            unordered: raw.flags & UNORDERED != 0,
            begin: raw.flags & BEGIN != 0,
            end: raw.flags & END != 0,
            immediate: raw.flags & IMMEDIATE != 0,
            payload,
        })
    }
}

/// The flags that DATA and I-DATA share.
#[inline]
pub(super) fn flags(unordered: bool, begin: bool, end: bool, immediate: bool) -> u8 {
    u8::from(end) * END
        + u8::from(begin) * BEGIN
        + u8::from(unordered) * UNORDERED
        + u8::from(immediate) * IMMEDIATE
}

impl PacketBuilder<'_> {
    /// Writes a DATA chunk of [`DATA_HEADER_LEN`] bytes, the payload and padding.
    ///
    /// # Panics
    /// When the payload is longer than 65,519 bytes, more than a chunk holds;
    /// fragmenting to the PMTU keeps it far below.
    #[inline]
    pub fn data(&mut self, data: &Data<'_>) {
        self.buf
            .reserve(padded(DATA_HEADER_LEN + data.payload.len()));
        let length = self.data_header(data);
        self.buf.extend_from_slice(data.payload);
        self.end_chunk(length);
    }

    /// Writes a DATA chunk without its payload, which the caller sends after the bytes of
    /// the packet without copying it. The payload counts in [`len`](Self::len). The chunk
    /// must be the last one of the packet, unless
    /// [`append_payload`](Self::append_payload) adds the payload later. Such a packet has
    /// no checksum.
    ///
    /// # Panics
    /// As [`data`](Self::data), and when the length of the payload is not a
    /// multiple of 4, because nothing would write the padding.
    #[inline]
    pub fn data_without_payload(&mut self, data: &Data<'_>) {
        assert!(data.payload.len().is_multiple_of(4));
        self.data_header(data);
        self.end_chunk(DATA_HEADER_LEN);
        self.tail_len = data.payload.len();
    }

    /// Appends the payload of the last chunk, which was written
    /// [without it](Self::data_without_payload).
    pub fn append_payload(&mut self, payload: &[u8]) {
        debug_assert_eq!(self.tail_len, payload.len());
        self.tail_len = 0;
        self.buf.extend_from_slice(payload);
    }

    /// Writes the header of a DATA chunk. Returns the length of the chunk.
    #[inline]
    fn data_header(&mut self, data: &Data<'_>) -> usize {
        debug_assert_eq!(self.tail_len, 0);
        let length = DATA_HEADER_LEN + data.payload.len();
        let mut head = [0; DATA_HEADER_LEN];
        head[0] = chunk_type::DATA;
        head[1] = flags(data.unordered, data.begin, data.end, data.immediate);
        head[2..4].copy_from_slice(&chunk_length(length));
        head[4..8].copy_from_slice(&data.tsn.0.to_be_bytes());
        head[8..10].copy_from_slice(&data.stream_id.to_be_bytes());
        head[10..12].copy_from_slice(&data.ssn.to_be_bytes());
        head[12..16].copy_from_slice(&data.ppid.to_be_bytes());
        self.buf.extend_from_slice(&head);
        length
    }
}

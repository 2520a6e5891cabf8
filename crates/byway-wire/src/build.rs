//! Building one packet at the end of a caller's buffer.
//!
//! The methods that write one type of chunk are in the file of that chunk, in
//! `chunk/`. This file has what they share.

use crate::cause::CauseWriter;
use crate::crc32c::checksum;
use crate::header::{CHUNK_HEADER_LEN, COMMON_HEADER_LEN, CommonHeader};
use crate::param::ParamWriter;
use crate::tlv::{MAX_LENGTH, TlvWriter, padded, set_length};

/// What [`PacketBuilder::finish`] writes into the checksum field.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Default)]
pub enum Checksum {
    /// The CRC32c of the packet (RFC 9260 section 6.8).
    #[default]
    Crc32c,
    /// Zero, for a peer that accepts it (RFC 9653).
    Zero,
}

/// Appends one packet to a buffer, which may already hold others.
///
/// Chunks are padded as they are written, so [`PacketBuilder::len`] is always the length
/// that a packet finished now would have. A builder that is dropped without
/// [`PacketBuilder::finish`] leaves a packet with checksum zero.
#[derive(Debug)]
pub struct PacketBuilder<'b> {
    pub(crate) buf: &'b mut Vec<u8>,
    pub(crate) start: usize,
    chunks: usize,
    limit: usize,
    /// Payload bytes of the last chunk that are not in `buf`.
    pub(crate) tail_len: usize,
}

impl<'b> PacketBuilder<'b> {
    /// Begins a packet at the end of `buf`.
    #[inline]
    pub fn new(buf: &'b mut Vec<u8>, header: CommonHeader) -> Self {
        let start = buf.len();
        let mut head = [0; COMMON_HEADER_LEN];
        head[0..2].copy_from_slice(&header.source_port.to_be_bytes());
        head[2..4].copy_from_slice(&header.destination_port.to_be_bytes());
        head[4..8].copy_from_slice(&header.verification_tag.to_be_bytes());
        buf.extend_from_slice(&head);
        PacketBuilder {
            buf,
            start,
            chunks: 0,
            limit: usize::MAX,
            tail_len: 0,
        }
    }

    /// Limits parameter and cause lists so that the packet stays within `max_len` bytes.
    /// If they do not fit, echoed causes are truncated and parameters are left out. So no
    /// peer can make a reply longer than the PMTU. Other chunks are not limited, because
    /// the caller chooses their sizes. Default: no limit.
    #[must_use]
    pub const fn with_limit(mut self, max_len: usize) -> Self {
        self.limit = max_len;
        self
    }

    /// Bytes of the packet so far, common header included.
    #[inline]
    #[must_use]
    pub fn len(&self) -> usize {
        self.buf.len() - self.start + self.tail_len
    }

    /// Whether no chunk has been written yet.
    #[inline]
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.chunks == 0
    }

    /// Number of chunks written so far.
    #[inline]
    #[must_use]
    pub const fn chunk_count(&self) -> usize {
        self.chunks
    }

    /// Writes a chunk from its type, flags and value.
    ///
    /// # Panics
    /// When `value` is longer than 65,531 bytes, more than a chunk can hold.
    pub fn raw(&mut self, kind: u8, flags: u8, value: &[u8]) {
        self.put(kind, flags, &[value]);
    }

    /// Writes the checksum field. Returns the length of the packet in bytes.
    #[inline]
    pub fn finish(self, kind: Checksum) -> usize {
        let len = self.len();
        if kind == Checksum::Crc32c {
            debug_assert_eq!(self.tail_len, 0, "a packet in two parts has no checksum");
            let packet = &mut self.buf[self.start..];
            // `new` has written zero there, as the sum requires.
            let sum = checksum(packet);
            packet[8..12].copy_from_slice(&sum.to_le_bytes());
        }
        len
    }

    /// Writes a chunk whose value is the concatenation of `parts`.
    #[inline]
    pub(crate) fn put(&mut self, kind: u8, flags: u8, parts: &[&[u8]]) {
        let length = CHUNK_HEADER_LEN + parts.iter().map(|part| part.len()).sum::<usize>();
        let [l0, l1] = chunk_length(length);
        self.buf.reserve(padded(length));
        self.buf.extend_from_slice(&[kind, flags, l0, l1]);
        for part in parts {
            self.buf.extend_from_slice(part);
        }
        self.end_chunk(length);
    }

    /// Pads a chunk of `length` bytes at the end of the buffer, and counts it.
    #[inline]
    pub(crate) fn end_chunk(&mut self, length: usize) {
        self.buf
            .extend_from_slice(&[0; 3][..padded(length) - length]);
        self.chunks += 1;
    }

    /// Writes a chunk of fixed fields and a list of parameters.
    pub(crate) fn put_params(
        &mut self,
        kind: u8,
        flags: u8,
        fixed: &[u8],
        params: impl FnOnce(&mut ParamWriter<'_>),
    ) {
        self.put_list(kind, flags, fixed, |list| params(&mut ParamWriter(list)));
    }

    /// Writes a chunk that consists of causes.
    pub(crate) fn put_causes(
        &mut self,
        kind: u8,
        flags: u8,
        causes: impl FnOnce(&mut CauseWriter<'_>),
    ) {
        self.put_list(kind, flags, &[], |list| causes(&mut CauseWriter(list)));
    }

    fn put_list(&mut self, kind: u8, flags: u8, fixed: &[u8], list: impl FnOnce(TlvWriter<'_>)) {
        let chunk = self.buf.len();
        // Rounded down, because the padding of the last element has to fit too.
        let room = self.limit.saturating_sub(self.len()) & !3;
        self.buf.extend_from_slice(&[kind, flags, 0, 0]);
        self.buf.extend_from_slice(fixed);
        list(TlvWriter::new(
            self.buf,
            chunk.saturating_add(room.min(MAX_LENGTH)),
        ));
        set_length(self.buf, chunk);
        let length = self.buf.len() - chunk;
        self.end_chunk(length);
    }
}

/// The length field of a chunk.
#[inline]
pub(crate) fn chunk_length(length: usize) -> [u8; 2] {
    u16::try_from(length)
        .expect("a chunk's value is at most 65531 bytes; see the method's panics section")
        .to_be_bytes()
}

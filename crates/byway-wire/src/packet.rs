//! The packet: common header and a list of chunks (RFC 9260 section 3).

use crate::chunk::{RawChunk, chunk_type};
use crate::crc32c::packet_checksum;
use crate::error::{ChunkError, PacketError};
use crate::header::{CHUNK_HEADER_LEN, COMMON_HEADER_LEN, CommonHeader, DATA_HEADER_LEN};
use crate::tlv::Tlvs;

/// A received packet, of which only the common header has been read.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Packet<'a> {
    head: &'a [u8; COMMON_HEADER_LEN],
    bytes: &'a [u8],
    tail: &'a [u8],
}

impl<'a> Packet<'a> {
    /// Reads the common header of a packet.
    ///
    /// # Errors
    /// When the bytes are fewer than the 12 of the common header. A packet without
    /// chunks is accepted; [`Packet::chunks`] is empty then.
    #[inline]
    pub fn parse(bytes: &'a [u8]) -> Result<Packet<'a>, PacketError> {
        Packet::parse_parts(bytes, &[])
    }

    /// Reads a packet in two parts. `tail` is the user data of its last chunk, a
    /// DATA chunk, as
    /// [`PacketBuilder::data_without_payload`](crate::PacketBuilder::data_without_payload)
    /// leaves it.
    ///
    /// # Errors
    /// When `bytes` are shorter than the common header.
    #[inline]
    pub fn parse_parts(bytes: &'a [u8], tail: &'a [u8]) -> Result<Packet<'a>, PacketError> {
        match bytes.first_chunk() {
            Some(head) => Ok(Packet { head, bytes, tail }),
            None => Err(PacketError::TooShort { have: bytes.len() }),
        }
    }

    /// Ports and verification tag.
    #[inline]
    #[must_use]
    pub fn header(&self) -> CommonHeader {
        let [s0, s1, d0, d1, t0, t1, t2, t3, ..] = *self.head;
        CommonHeader {
            source_port: u16::from_be_bytes([s0, s1]),
            destination_port: u16::from_be_bytes([d0, d1]),
            verification_tag: u32::from_be_bytes([t0, t1, t2, t3]),
        }
    }

    /// The checksum field as a number. Zero can mean that the sender left it out,
    /// if the receiver has announced that this is acceptable (RFC 9653).
    #[inline]
    #[must_use]
    pub fn checksum(&self) -> u32 {
        // This is the only field in little-endian order (RFC 9260 appendix A).
        let [.., c0, c1, c2, c3] = *self.head;
        u32::from_le_bytes([c0, c1, c2, c3])
    }

    /// Whether the checksum field holds the CRC32c of the packet. False for a packet
    /// in two parts, which has no checksum.
    #[inline]
    #[must_use]
    pub fn checksum_is_valid(&self) -> bool {
        self.tail.is_empty() && self.checksum() == packet_checksum(self.bytes)
    }

    /// The chunks, in the order of the packet.
    #[inline]
    #[must_use]
    pub fn chunks(&self) -> Chunks<'a> {
        Chunks {
            list: Tlvs::new(&self.bytes[COMMON_HEADER_LEN..]),
            tail: self.tail,
        }
    }

    /// The bytes of the packet, without the tail of a packet in two parts.
    #[must_use]
    pub const fn as_bytes(&self) -> &'a [u8] {
        self.bytes
    }
}

/// The chunks of a packet. Ends after the first error, because after a wrong length
/// no chunk boundary can be trusted.
#[derive(Copy, Clone, Debug)]
pub struct Chunks<'a> {
    list: Tlvs<'a>,
    /// User data of the last chunk, if it is not in `list`.
    tail: &'a [u8],
}

impl<'a> Chunks<'a> {
    /// The bytes after the last returned chunk and its padding. An AUTH chunk
    /// authenticates these and itself (RFC 4895 section 6.3).
    #[must_use]
    pub const fn rest(&self) -> &'a [u8] {
        self.list.rest()
    }

    /// The packet's last chunk, if it is the next one and its user data is in the
    /// tail.
    #[inline]
    fn next_with_tail(&mut self) -> Option<RawChunk<'a>> {
        let bytes: &'a [u8; DATA_HEADER_LEN] = self.list.rest().try_into().ok()?;
        let [kind, flags, l0, l1, ..] = *bytes;
        let length = usize::from(u16::from_be_bytes([l0, l1]));
        if kind != chunk_type::DATA || length != DATA_HEADER_LEN + self.tail.len() {
            return None;
        }
        self.list = Tlvs::new(&[]);
        Some(RawChunk {
            kind,
            flags,
            value: &bytes[CHUNK_HEADER_LEN..],
            bytes,
            tail: self.tail,
        })
    }
}

impl<'a> Iterator for Chunks<'a> {
    type Item = Result<RawChunk<'a>, ChunkError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if !self.tail.is_empty()
            && let Some(chunk) = self.next_with_tail()
        {
            return Some(Ok(chunk));
        }
        Some(match self.list.next()? {
            Ok(tlv) => Ok(RawChunk {
                kind: tlv.header[0],
                flags: tlv.header[1],
                value: tlv.value,
                bytes: tlv.bytes,
                tail: &[],
            }),
            Err(error) => Err(ChunkError::List(error)),
        })
    }
}

impl core::iter::FusedIterator for Chunks<'_> {}

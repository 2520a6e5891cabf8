//! AUTH: an HMAC over the rest of the packet (RFC 4895 section 5.1).

use super::chunk_type;
use super::raw::RawChunk;
use crate::build::{Checksum, PacketBuilder, chunk_length};
use crate::crc32c::packet_checksum;
use crate::error::ChunkError;
use crate::header::{CHUNK_HEADER_LEN, COMMON_HEADER_LEN};
use crate::tlv::padded;

/// Proof that the chunks after it come from the peer.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub struct Auth<'a> {
    /// Identifier of the shared key.
    pub shared_key_id: u16,
    /// HMAC identifier: 1 for SHA-1, 3 for SHA-256.
    pub hmac_id: u16,
    /// The HMAC over this chunk, with zeros in this field, and all chunks after it.
    pub hmac: &'a [u8],
}

impl<'a> Auth<'a> {
    /// Bytes of an AUTH chunk before its hash.
    pub const HEADER_LEN: usize = CHUNK_HEADER_LEN + 4;

    pub(super) fn parse(raw: &RawChunk<'a>) -> Result<Self, ChunkError> {
        let (&[k0, k1, h0, h1], hmac) = raw.fixed()?;
        Ok(Auth {
            shared_key_id: u16::from_be_bytes([k0, k1]),
            hmac_id: u16::from_be_bytes([h0, h1]),
            hmac,
        })
    }
}

impl Auth<'_> {
    /// Puts this chunk in front of all chunks of a finished packet, which begins at
    /// `start` of `buf` and ends with it. `hash` computes the HMAC of the bytes from the
    /// AUTH chunk on; the zeros of `self.hmac` say how long it is. The checksum is
    /// computed again. Returns the length of the packet in bytes.
    ///
    /// # Panics
    /// When `buf` has no common header at `start`, or the HMAC has another length.
    pub fn seal<H: AsRef<[u8]>>(
        &self,
        buf: &mut Vec<u8>,
        start: usize,
        checksum: Checksum,
        hash: impl FnOnce(&[u8]) -> H,
    ) -> usize {
        let place = start + COMMON_HEADER_LEN;
        let length = Auth::HEADER_LEN + self.hmac.len();
        let [l0, l1] = chunk_length(length);
        let ([k0, k1], [h0, h1]) = (self.shared_key_id.to_be_bytes(), self.hmac_id.to_be_bytes());
        let head = [chunk_type::AUTH, 0, l0, l1, k0, k1, h0, h1];
        let padding = [0; 3];
        let padding = &padding[..padded(length) - length];
        let chunk = head.iter().chain(self.hmac).chain(padding).copied();
        buf.splice(place..place, chunk);
        let hash = hash(&buf[place..]);
        buf[place + Auth::HEADER_LEN..place + length].copy_from_slice(hash.as_ref());
        let sum = match checksum {
            Checksum::Crc32c => packet_checksum(&buf[start..]).to_le_bytes(),
            Checksum::Zero => [0; 4],
        };
        buf[start + 8..start + COMMON_HEADER_LEN].copy_from_slice(&sum);
        buf.len() - start
    }
}

/// The place of an AUTH chunk in a packet that is being built. Its HMAC is written
/// when the chunks after it are known.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct AuthSlot {
    /// Offset of the chunk in the buffer.
    chunk: usize,
    hmac_len: usize,
}

impl PacketBuilder<'_> {
    /// Writes an AUTH chunk. To authenticate: pass zeros for the HMAC, as many as
    /// the algorithm produces; write the other chunks; compute the HMAC of
    /// [`PacketBuilder::auth_covered`]; call [`PacketBuilder::set_auth`].
    ///
    /// # Panics
    /// When the HMAC is longer than 65,527 bytes, more than a chunk holds.
    pub fn auth(&mut self, auth: &Auth<'_>) -> AuthSlot {
        let slot = AuthSlot {
            chunk: self.buf.len(),
            hmac_len: auth.hmac.len(),
        };
        let ([k0, k1], [h0, h1]) = (auth.shared_key_id.to_be_bytes(), auth.hmac_id.to_be_bytes());
        self.put(chunk_type::AUTH, 0, &[&[k0, k1, h0, h1], auth.hmac]);
        slot
    }

    /// The bytes that the HMAC covers: the AUTH chunk and all chunks after it, with
    /// their padding.
    #[must_use]
    pub fn auth_covered(&self, slot: AuthSlot) -> &[u8] {
        self.buf.get(slot.chunk..).unwrap_or_default()
    }

    /// Writes the HMAC. Returns false and changes nothing if its length differs from
    /// the one given to [`PacketBuilder::auth`].
    pub fn set_auth(&mut self, slot: AuthSlot, hmac: &[u8]) -> bool {
        let start = slot.chunk + Auth::HEADER_LEN;
        match self.buf.get_mut(start..start + slot.hmac_len) {
            Some(place) if place.len() == hmac.len() => {
                place.copy_from_slice(hmac);
                true
            }
            _ => false,
        }
    }
}

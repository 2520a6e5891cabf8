//! AUTH: an HMAC over the rest of the packet (RFC 4895 section 5.1).

use super::chunk_type;
use super::raw::RawChunk;
use crate::build::PacketBuilder;
use crate::error::ChunkError;
use crate::header::CHUNK_HEADER_LEN;

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

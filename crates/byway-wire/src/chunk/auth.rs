//! AUTH: a keyed hash over what follows in the packet (RFC 4895 section 5.1).

use super::chunk_type;
use super::raw::RawChunk;
use crate::build::PacketBuilder;
use crate::error::ChunkError;
use crate::header::CHUNK_HEADER_LEN;

/// Proof that the chunks behind it come from the association's peer.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub struct Auth<'a> {
    /// Which shared key was used.
    pub shared_key_id: u16,
    /// Which hash was used: 1 for SHA-1, 3 for SHA-256.
    pub hmac_id: u16,
    /// The hash, over this chunk with a zero hash and all chunks after it.
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

/// Where an AUTH chunk stands in a packet that is being built, so that its hash
/// can be filled in when the chunks behind it are known.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct AuthSlot {
    /// Offset of the chunk in the buffer.
    chunk: usize,
    hmac_len: usize,
}

impl PacketBuilder<'_> {
    /// Writes an AUTH chunk. To authenticate, give as many zero bytes for the
    /// hash as the algorithm makes, write the other chunks, hash
    /// [`PacketBuilder::auth_covered`], and call [`PacketBuilder::set_auth`].
    ///
    /// # Panics
    /// When the hash is longer than 65,527 bytes, more than a chunk holds.
    pub fn auth(&mut self, auth: &Auth<'_>) -> AuthSlot {
        let slot = AuthSlot {
            chunk: self.buf.len(),
            hmac_len: auth.hmac.len(),
        };
        let ([k0, k1], [h0, h1]) = (auth.shared_key_id.to_be_bytes(), auth.hmac_id.to_be_bytes());
        self.put(chunk_type::AUTH, 0, &[&[k0, k1, h0, h1], auth.hmac]);
        slot
    }

    /// What the hash covers: the AUTH chunk and all chunks written since, with
    /// their padding.
    #[must_use]
    pub fn auth_covered(&self, slot: AuthSlot) -> &[u8] {
        self.buf.get(slot.chunk..).unwrap_or_default()
    }

    /// Fills in the hash. Tells whether it was as long as the place kept for it;
    /// if not, nothing changes.
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

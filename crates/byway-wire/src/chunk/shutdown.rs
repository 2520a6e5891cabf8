//! SHUTDOWN, SHUTDOWN ACK and SHUTDOWN COMPLETE (RFC 9260 sections 3.3.8, 3.3.9
//! and 3.3.13).

use super::abort::TAG_REFLECTED;
use super::chunk_type;
use super::raw::RawChunk;
use crate::build::PacketBuilder;
use crate::error::ChunkError;
use crate::tsn::Tsn;

/// The sender has no more data to send.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub struct Shutdown {
    /// The last TSN that the sender received in sequence.
    pub cumulative_tsn_ack: Tsn,
}

impl Shutdown {
    pub(super) fn parse(raw: &RawChunk<'_>) -> Result<Self, ChunkError> {
        let (&tsn, _) = raw.fixed()?;
        Ok(Shutdown {
            cumulative_tsn_ack: Tsn(u32::from_be_bytes(tsn)),
        })
    }
}

/// The association has ended.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub struct ShutdownComplete {
    /// T bit: the verification tag is reflected from the receiver's packet (RFC
    /// 9260 section 8.5.1).
    pub tag_reflected: bool,
}

impl ShutdownComplete {
    pub(super) fn parse(raw: &RawChunk<'_>) -> Self {
        ShutdownComplete {
            tag_reflected: raw.flags & TAG_REFLECTED != 0,
        }
    }
}

impl PacketBuilder<'_> {
    /// Writes a SHUTDOWN.
    pub fn shutdown(&mut self, cumulative: Tsn) {
        self.put(chunk_type::SHUTDOWN, 0, &[&cumulative.0.to_be_bytes()]);
    }

    /// Writes a SHUTDOWN ACK.
    pub fn shutdown_ack(&mut self) {
        self.put(chunk_type::SHUTDOWN_ACK, 0, &[]);
    }

    /// Writes a SHUTDOWN COMPLETE.
    pub fn shutdown_complete(&mut self, tag_reflected: bool) {
        self.put(
            chunk_type::SHUTDOWN_COMPLETE,
            u8::from(tag_reflected) * TAG_REFLECTED,
            &[],
        );
    }
}

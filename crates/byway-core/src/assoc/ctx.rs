//! The parts of the endpoint that an association borrows while it works.

use super::scarcity::Scarcity;
use crate::config::ChecksumMode;
use crate::dialect::DialectRef;
use crate::outbox::Outbox;
use crate::routes::Routes;
use crate::time::Instant;
use bytes::Bytes;
use byway_wire::Checksum;
use chacha20::ChaCha8Rng;

/// The parts of the endpoint that an association borrows while it works.
pub(crate) struct Ctx<'a> {
    pub(crate) now: Instant,
    pub(crate) rng: &'a mut ChaCha8Rng,
    pub(crate) out: &'a mut Outbox,
    pub(crate) checksum: ChecksumMode,
    pub(crate) routes: &'a mut dyn Routes,
    /// How associations of the endpoint read the standard, if not by RFC 9260.
    pub(crate) dialect: Option<&'a DialectRef>,
    /// How full the memory of the endpoint is.
    pub(crate) scarcity: Scarcity,
    /// Takes the payload tail of a packet: the payload of the last chunk, without a
    /// copy. None if a packet must be in one piece.
    pub(crate) payload_tail: Option<&'a mut Bytes>,
}

impl Ctx<'_> {
    pub(crate) fn checksum(&self) -> Checksum {
        match self.checksum {
            ChecksumMode::Crc32c => Checksum::Crc32c,
            ChecksumMode::Offloaded => Checksum::Zero,
        }
    }
}

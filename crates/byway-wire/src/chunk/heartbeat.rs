//! HEARTBEAT and HEARTBEAT ACK (RFC 9260 sections 3.3.5 and 3.3.6).

use super::chunk_type;
use super::raw::RawChunk;
use crate::build::PacketBuilder;
use crate::error::ChunkError;
use crate::param::{Params, param_type};

/// A path probe or its echo. The information is opaque to everyone except the
/// sender of the probe.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub struct Heartbeat<'a> {
    /// Value of the Heartbeat Info parameter.
    pub info: &'a [u8],
}

impl<'a> Heartbeat<'a> {
    pub(super) fn parse(raw: &RawChunk<'a>) -> Result<Self, ChunkError> {
        match Params::new(raw.value).iter().next() {
            Some(Ok(param)) if param.kind == param_type::HEARTBEAT_INFO => {
                Ok(Heartbeat { info: param.value })
            }
            Some(Err(error)) => Err(ChunkError::Param {
                kind: raw.kind,
                error,
            }),
            Some(Ok(_)) | None => Err(ChunkError::MandatoryParamMissing { kind: raw.kind }),
        }
    }
}

impl PacketBuilder<'_> {
    /// Writes a HEARTBEAT with this information.
    ///
    /// # Panics
    /// When `info` is longer than 65,527 bytes, more than a chunk holds.
    pub fn heartbeat(&mut self, info: &[u8]) {
        self.heartbeat_of(chunk_type::HEARTBEAT, info);
    }

    /// Writes a HEARTBEAT ACK with the information of a HEARTBEAT.
    ///
    /// # Panics
    /// As [`PacketBuilder::heartbeat`]. Information from a received HEARTBEAT is
    /// never that long.
    pub fn heartbeat_ack(&mut self, info: &[u8]) {
        self.heartbeat_of(chunk_type::HEARTBEAT_ACK, info);
    }

    fn heartbeat_of(&mut self, kind: u8, info: &[u8]) {
        let length = u16::try_from(info.len() + 4)
            .expect("Heartbeat Info holds at most 65527 bytes; see panics section");
        let [k0, k1] = param_type::HEARTBEAT_INFO.to_be_bytes();
        let [l0, l1] = length.to_be_bytes();
        self.put(kind, 0, &[&[k0, k1, l0, l1], info]);
    }
}

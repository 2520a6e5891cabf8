//! ASCONF and ASCONF-ACK: changes of the sender's addresses (RFC 5061 section
//! 4.1).

use std::net::IpAddr;

use super::chunk_type;
use super::raw::RawChunk;
use crate::build::PacketBuilder;
use crate::error::{ChunkError, ParamError};
use crate::param::{Param, ParamWriter, Params};
use crate::tlv::Tlvs;

/// A request to change addresses.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Asconf<'a> {
    /// Serial number of the request.
    pub sequence: u32,
    /// An address of the sender, which identifies the association if the source
    /// address of the packet is new.
    pub address: IpAddr,
    /// The changes, in order.
    pub params: Params<'a>,
}

impl<'a> Asconf<'a> {
    pub(super) fn parse(raw: &RawChunk<'a>) -> Result<Self, ChunkError> {
        let kind = raw.kind;
        let (&sequence, params) = raw.fixed()?;
        let mut walk = Tlvs::new(params);
        let first = walk
            .next()
            .ok_or(ChunkError::MandatoryParamMissing { kind })?;
        let first = first.map_err(|error| ChunkError::Param {
            kind,
            error: ParamError::List(error),
        })?;
        let address =
            match Param::from_tlv(&first).map_err(|error| ChunkError::Param { kind, error })? {
                Param::Ipv4Address(address) => IpAddr::V4(address),
                Param::Ipv6Address(address) => IpAddr::V6(address),
                _ => return Err(ChunkError::MandatoryParamMissing { kind }),
            };
        Ok(Asconf {
            sequence: u32::from_be_bytes(sequence),
            address,
            params: Params::new(walk.rest()),
        })
    }
}

/// The responses to one ASCONF.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct AsconfAck<'a> {
    /// Serial number of the request that is answered.
    pub sequence: u32,
    /// The responses. A change without a response has succeeded.
    pub params: Params<'a>,
}

impl<'a> AsconfAck<'a> {
    pub(super) fn parse(raw: &RawChunk<'a>) -> Result<Self, ChunkError> {
        let (&sequence, params) = raw.fixed()?;
        Ok(AsconfAck {
            sequence: u32::from_be_bytes(sequence),
            params: Params::new(params),
        })
    }
}

impl PacketBuilder<'_> {
    /// Writes an ASCONF with the changes that `params` writes.
    pub fn asconf(
        &mut self,
        sequence: u32,
        address: IpAddr,
        params: impl FnOnce(&mut ParamWriter<'_>),
    ) {
        self.put_params(chunk_type::ASCONF, 0, &sequence.to_be_bytes(), |writer| {
            writer.address(address);
            params(writer);
        });
    }

    /// Writes an ASCONF-ACK with the responses that `params` writes.
    pub fn asconf_ack(&mut self, sequence: u32, params: impl FnOnce(&mut ParamWriter<'_>)) {
        self.put_params(chunk_type::ASCONF_ACK, 0, &sequence.to_be_bytes(), params);
    }

    /// Writes an ASCONF with changes that were written before, by a
    /// [`ParamWriter`].
    pub fn asconf_raw(&mut self, sequence: u32, address: IpAddr, params: &[u8]) {
        self.copy_asconf(&Asconf {
            sequence,
            address,
            params: Params::new(params),
        });
    }

    /// Writes an ASCONF-ACK with responses that were written before, by a
    /// [`ParamWriter`].
    pub fn asconf_ack_raw(&mut self, sequence: u32, params: &[u8]) {
        self.copy_asconf_ack(&AsconfAck {
            sequence,
            params: Params::new(params),
        });
    }

    pub(super) fn copy_asconf(&mut self, asconf: &Asconf<'_>) {
        let mut address = Vec::with_capacity(20);
        ParamWriter::over(&mut address).address(asconf.address);
        self.put(
            chunk_type::ASCONF,
            0,
            &[
                &asconf.sequence.to_be_bytes(),
                &address,
                asconf.params.as_bytes(),
            ],
        );
    }

    pub(super) fn copy_asconf_ack(&mut self, ack: &AsconfAck<'_>) {
        self.put(
            chunk_type::ASCONF_ACK,
            0,
            &[&ack.sequence.to_be_bytes(), ack.params.as_bytes()],
        );
    }
}

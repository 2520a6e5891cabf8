//! INIT and INIT ACK (RFC 9260 sections 3.3.2 and 3.3.3).

use super::chunk_type;
use super::raw::RawChunk;
use crate::build::PacketBuilder;
use crate::error::ChunkError;
use crate::param::{ParamWriter, Params};
use crate::tsn::Tsn;

/// INIT or INIT ACK, which share their layout.
///
/// The values are not checked here. An initiate tag or a number of streams of zero is
/// returned unchanged, and the core responds to it.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Init<'a> {
    /// The verification tag that the receiver puts into all packets it sends.
    pub initiate_tag: u32,
    /// Advertised receiver window credit in bytes.
    pub a_rwnd: u32,
    /// Number of streams that the sender wants to use towards the receiver.
    pub outbound_streams: u16,
    /// Most streams that the sender accepts from the receiver.
    pub inbound_streams: u16,
    /// First TSN that the sender will use.
    pub initial_tsn: Tsn,
    /// Addresses, cookie, extensions.
    pub params: Params<'a>,
}

/// The fixed fields of [`Init`], for writing.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct InitFields {
    /// See [`Init::initiate_tag`].
    pub initiate_tag: u32,
    /// See [`Init::a_rwnd`].
    pub a_rwnd: u32,
    /// See [`Init::outbound_streams`].
    pub outbound_streams: u16,
    /// See [`Init::inbound_streams`].
    pub inbound_streams: u16,
    /// See [`Init::initial_tsn`].
    pub initial_tsn: Tsn,
}

impl<'a> Init<'a> {
    pub(super) fn parse(raw: &RawChunk<'a>) -> Result<Self, ChunkError> {
        let (
            &[
                t0,
                t1,
                t2,
                t3,
                w0,
                w1,
                w2,
                w3,
                o0,
                o1,
                i0,
                i1,
                n0,
                n1,
                n2,
                n3,
            ],
            params,
        ) = raw.fixed::<16>()?;
        Ok(Init {
            initiate_tag: u32::from_be_bytes([t0, t1, t2, t3]),
            a_rwnd: u32::from_be_bytes([w0, w1, w2, w3]),
            outbound_streams: u16::from_be_bytes([o0, o1]),
            inbound_streams: u16::from_be_bytes([i0, i1]),
            initial_tsn: Tsn(u32::from_be_bytes([n0, n1, n2, n3])),
            params: Params::new(params),
        })
    }

    /// The fixed fields alone.
    #[must_use]
    pub const fn fields(&self) -> InitFields {
        InitFields {
            initiate_tag: self.initiate_tag,
            a_rwnd: self.a_rwnd,
            outbound_streams: self.outbound_streams,
            inbound_streams: self.inbound_streams,
            initial_tsn: self.initial_tsn,
        }
    }
}

impl InitFields {
    fn to_bytes(self) -> [u8; 16] {
        let mut bytes = [0; 16];
        bytes[0..4].copy_from_slice(&self.initiate_tag.to_be_bytes());
        bytes[4..8].copy_from_slice(&self.a_rwnd.to_be_bytes());
        bytes[8..10].copy_from_slice(&self.outbound_streams.to_be_bytes());
        bytes[10..12].copy_from_slice(&self.inbound_streams.to_be_bytes());
        bytes[12..16].copy_from_slice(&self.initial_tsn.0.to_be_bytes());
        bytes
    }
}

const fn init_type(ack: bool) -> u8 {
    if ack {
        chunk_type::INIT_ACK
    } else {
        chunk_type::INIT
    }
}

impl PacketBuilder<'_> {
    /// Writes an INIT, or an INIT ACK when `ack`, with the parameters that
    /// `params` writes.
    pub fn init(
        &mut self,
        ack: bool,
        fields: &InitFields,
        params: impl FnOnce(&mut ParamWriter<'_>),
    ) {
        self.put_params(init_type(ack), 0, &fields.to_bytes(), params);
    }

    pub(super) fn copy_init(&mut self, ack: bool, init: &Init<'_>) {
        self.put(
            init_type(ack),
            0,
            &[&init.fields().to_bytes(), init.params.as_bytes()],
        );
    }
}

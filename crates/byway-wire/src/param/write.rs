//! Writing parameters.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::param_type;
use super::read::Param;
use super::reconfig::{
    AddStreams, IncomingSsnReset, OutgoingSsnReset, ReconfigResponse, SsnTsnReset,
};
use crate::cause::CauseWriter;
use crate::tlv::{MAX_LENGTH, TlvWriter, padded};

/// Appends parameters to a chunk, with padding between them.
///
/// Every method returns whether the parameter was written. A parameter that would
/// make the chunk longer than 65,535 bytes, or the packet longer than
/// [`PacketBuilder::with_limit`](crate::PacketBuilder::with_limit) allows, is left
/// out.
#[derive(Debug)]
pub struct ParamWriter<'b>(pub(crate) TlvWriter<'b>);

impl ParamWriter<'_> {
    /// Writes to the end of a buffer instead of a chunk, for example to keep
    /// parameters for later.
    pub fn over(buf: &mut Vec<u8>) -> ParamWriter<'_> {
        let end = buf.len().saturating_add(MAX_LENGTH);
        ParamWriter(TlvWriter::new(buf, end))
    }

    /// Most bytes that the next parameter can have, its header included.
    #[must_use]
    pub fn room(&self) -> usize {
        self.0.room()
    }

    /// A parameter from its type and value.
    pub fn raw(&mut self, kind: u16, value: &[u8]) -> bool {
        self.0.put(kind, &[value])
    }

    /// See [`Param::HeartbeatInfo`].
    pub fn heartbeat_info(&mut self, info: &[u8]) -> bool {
        self.raw(param_type::HEARTBEAT_INFO, info)
    }

    /// An IPv4 or IPv6 address parameter.
    pub fn address(&mut self, address: IpAddr) -> bool {
        match address {
            IpAddr::V4(address) => self.ipv4_address(address),
            IpAddr::V6(address) => self.ipv6_address(address),
        }
    }

    /// See [`Param::Ipv4Address`].
    pub fn ipv4_address(&mut self, address: Ipv4Addr) -> bool {
        self.raw(param_type::IPV4_ADDRESS, &address.octets())
    }

    /// See [`Param::Ipv6Address`].
    pub fn ipv6_address(&mut self, address: Ipv6Addr) -> bool {
        self.raw(param_type::IPV6_ADDRESS, &address.octets())
    }

    /// See [`Param::StateCookie`].
    pub fn state_cookie(&mut self, cookie: &[u8]) -> bool {
        self.raw(param_type::STATE_COOKIE, cookie)
    }

    /// See [`Param::UnrecognizedParameter`]; takes
    /// [`RawParam::bytes`](super::RawParam::bytes).
    pub fn unrecognized_parameter(&mut self, param: &[u8]) -> bool {
        self.raw(param_type::UNRECOGNIZED_PARAMETER, param)
    }

    /// See [`Param::CookiePreservative`]; in milliseconds.
    pub fn cookie_preservative(&mut self, increment_ms: u32) -> bool {
        self.raw(param_type::COOKIE_PRESERVATIVE, &increment_ms.to_be_bytes())
    }

    /// See [`Param::HostName`]. Deprecated: only for tests that it is refused.
    pub fn host_name(&mut self, name: &[u8]) -> bool {
        self.raw(param_type::HOST_NAME_ADDRESS, name)
    }

    /// See [`Param::SupportedAddressTypes`].
    pub fn supported_address_types(&mut self, types: &[u16]) -> bool {
        self.u16_list(
            param_type::SUPPORTED_ADDRESS_TYPES,
            &[],
            types.iter().copied(),
        )
    }

    /// See [`Param::EcnCapable`].
    pub fn ecn_capable(&mut self) -> bool {
        self.raw(param_type::ECN_CAPABLE, &[])
    }

    /// See [`Param::ZeroChecksumAcceptable`].
    pub fn zero_checksum_acceptable(&mut self, error_detection_method: u32) -> bool {
        self.raw(
            param_type::ZERO_CHECKSUM_ACCEPTABLE,
            &error_detection_method.to_be_bytes(),
        )
    }

    /// See [`Param::Random`].
    pub fn random(&mut self, number: &[u8]) -> bool {
        self.raw(param_type::RANDOM, number)
    }

    /// See [`Param::ChunkList`].
    pub fn chunk_list(&mut self, types: &[u8]) -> bool {
        self.raw(param_type::CHUNK_LIST, types)
    }

    /// See [`Param::HmacAlgo`].
    pub fn hmac_algo(&mut self, ids: &[u16]) -> bool {
        self.u16_list(param_type::HMAC_ALGO, &[], ids.iter().copied())
    }

    /// See [`Param::Padding`].
    pub fn padding(&mut self, bytes: &[u8]) -> bool {
        self.raw(param_type::PADDING, bytes)
    }

    /// See [`Param::SupportedExtensions`].
    pub fn supported_extensions(&mut self, chunk_types: &[u8]) -> bool {
        self.raw(param_type::SUPPORTED_EXTENSIONS, chunk_types)
    }

    /// See [`Param::ForwardTsnSupported`].
    pub fn forward_tsn_supported(&mut self) -> bool {
        self.raw(param_type::FORWARD_TSN_SUPPORTED, &[])
    }

    /// See [`Param::AddIp`].
    pub fn add_ip(&mut self, correlation_id: u32, address: IpAddr) -> bool {
        self.address_change(param_type::ADD_IP, correlation_id, address)
    }

    /// See [`Param::DeleteIp`].
    pub fn delete_ip(&mut self, correlation_id: u32, address: IpAddr) -> bool {
        self.address_change(param_type::DELETE_IP, correlation_id, address)
    }

    /// See [`Param::SetPrimary`].
    pub fn set_primary(&mut self, correlation_id: u32, address: IpAddr) -> bool {
        self.address_change(param_type::SET_PRIMARY, correlation_id, address)
    }

    /// See [`Param::ErrorCauseIndication`]. Causes that do not fit are truncated or
    /// left out.
    pub fn error_cause_indication(
        &mut self,
        correlation_id: u32,
        causes: impl FnOnce(&mut CauseWriter<'_>),
    ) -> bool {
        let id = correlation_id.to_be_bytes();
        self.0
            .put_list(param_type::ERROR_CAUSE_INDICATION, &id, |list| {
                causes(&mut CauseWriter(list))
            })
    }

    /// See [`Param::SuccessIndication`].
    pub fn success_indication(&mut self, correlation_id: u32) -> bool {
        self.raw(
            param_type::SUCCESS_INDICATION,
            &correlation_id.to_be_bytes(),
        )
    }

    /// See [`Param::AdaptationIndication`].
    pub fn adaptation_indication(&mut self, code: u32) -> bool {
        self.raw(param_type::ADAPTATION_INDICATION, &code.to_be_bytes())
    }

    /// See [`OutgoingSsnReset`]; an empty list means all streams.
    pub fn outgoing_ssn_reset(
        &mut self,
        request_sequence: u32,
        response_sequence: u32,
        last_assigned_tsn: crate::Tsn,
        streams: &[u16],
    ) -> bool {
        let numbers =
            [request_sequence, response_sequence, last_assigned_tsn.0].map(u32::to_be_bytes);
        self.u16_list(
            param_type::OUTGOING_SSN_RESET,
            numbers.as_flattened(),
            streams.iter().copied(),
        )
    }

    /// See [`IncomingSsnReset`]; an empty list means all streams.
    pub fn incoming_ssn_reset(&mut self, request_sequence: u32, streams: &[u16]) -> bool {
        self.u16_list(
            param_type::INCOMING_SSN_RESET,
            &request_sequence.to_be_bytes(),
            streams.iter().copied(),
        )
    }

    /// See [`SsnTsnReset`].
    pub fn ssn_tsn_reset(&mut self, request: SsnTsnReset) -> bool {
        self.raw(
            param_type::SSN_TSN_RESET,
            &request.request_sequence.to_be_bytes(),
        )
    }

    /// See [`ReconfigResponse`].
    pub fn reconfig_response(&mut self, response: ReconfigResponse) -> bool {
        let (own, peer) = response.next_tsns.unwrap_or_default();
        let numbers =
            [response.response_sequence, response.result, own.0, peer.0].map(u32::to_be_bytes);
        let used = if response.next_tsns.is_some() {
            &numbers[..]
        } else {
            &numbers[..2]
        };
        self.raw(param_type::RECONFIG_RESPONSE, used.as_flattened())
    }

    /// See [`Param::AddOutgoingStreams`].
    pub fn add_outgoing_streams(&mut self, request: AddStreams) -> bool {
        self.add_streams(param_type::ADD_OUTGOING_STREAMS, request)
    }

    /// See [`Param::AddIncomingStreams`].
    pub fn add_incoming_streams(&mut self, request: AddStreams) -> bool {
        self.add_streams(param_type::ADD_INCOMING_STREAMS, request)
    }

    /// A parameter that has been read from another packet.
    pub fn param(&mut self, param: &Param<'_>) -> bool {
        match *param {
            Param::HeartbeatInfo(info) => self.heartbeat_info(info),
            Param::Ipv4Address(address) => self.ipv4_address(address),
            Param::Ipv6Address(address) => self.ipv6_address(address),
            Param::StateCookie(cookie) => self.state_cookie(cookie),
            Param::UnrecognizedParameter(param) => self.unrecognized_parameter(param),
            Param::CookiePreservative(increment) => self.cookie_preservative(increment),
            Param::HostName(name) => self.host_name(name),
            Param::SupportedAddressTypes(types) => {
                self.raw(param_type::SUPPORTED_ADDRESS_TYPES, types.as_bytes())
            }
            Param::OutgoingSsnReset(reset) => self.copy_outgoing_reset(&reset),
            Param::IncomingSsnReset(reset) => self.copy_incoming_reset(&reset),
            Param::SsnTsnReset(request) => self.ssn_tsn_reset(request),
            Param::ReconfigResponse(response) => self.reconfig_response(response),
            Param::AddOutgoingStreams(request) => self.add_outgoing_streams(request),
            Param::AddIncomingStreams(request) => self.add_incoming_streams(request),
            Param::EcnCapable => self.ecn_capable(),
            Param::ZeroChecksumAcceptable(method) => self.zero_checksum_acceptable(method),
            Param::Random(number) => self.random(number),
            Param::ChunkList(types) => self.chunk_list(types),
            Param::HmacAlgo(ids) => self.raw(param_type::HMAC_ALGO, ids.as_bytes()),
            Param::Padding(bytes) => self.padding(bytes),
            Param::SupportedExtensions(types) => self.supported_extensions(types),
            Param::ForwardTsnSupported => self.forward_tsn_supported(),
            Param::AddIp {
                correlation_id,
                address,
            } => self.add_ip(correlation_id, address),
            Param::DeleteIp {
                correlation_id,
                address,
            } => self.delete_ip(correlation_id, address),
            Param::ErrorCauseIndication {
                correlation_id,
                causes,
            } => self.0.put(
                param_type::ERROR_CAUSE_INDICATION,
                &[&correlation_id.to_be_bytes(), causes.as_bytes()],
            ),
            Param::SetPrimary {
                correlation_id,
                address,
            } => self.set_primary(correlation_id, address),
            Param::SuccessIndication { correlation_id } => self.success_indication(correlation_id),
            Param::AdaptationIndication(code) => self.adaptation_indication(code),
            Param::Unknown(raw) => self.raw(raw.kind, raw.value),
        }
    }

    fn u16_list(
        &mut self,
        kind: u16,
        head: &[u8],
        numbers: impl ExactSizeIterator<Item = u16>,
    ) -> bool {
        self.0.put_u16s(kind, head, numbers)
    }

    fn copy_outgoing_reset(&mut self, reset: &OutgoingSsnReset<'_>) -> bool {
        let numbers = [
            reset.request_sequence,
            reset.response_sequence,
            reset.last_assigned_tsn.0,
        ];
        let numbers = numbers.map(u32::to_be_bytes);
        self.0.put(
            param_type::OUTGOING_SSN_RESET,
            &[numbers.as_flattened(), reset.streams.as_bytes()],
        )
    }

    fn copy_incoming_reset(&mut self, reset: &IncomingSsnReset<'_>) -> bool {
        let request = reset.request_sequence.to_be_bytes();
        self.0.put(
            param_type::INCOMING_SSN_RESET,
            &[&request, reset.streams.as_bytes()],
        )
    }

    fn add_streams(&mut self, kind: u16, request: AddStreams) -> bool {
        self.0.put(
            kind,
            &[
                &request.request_sequence.to_be_bytes(),
                &request.count.to_be_bytes(),
                &[0; 2],
            ],
        )
    }

    fn address_change(&mut self, kind: u16, correlation_id: u32, address: IpAddr) -> bool {
        let (inner, octets): (u16, &[u8]) = match &address {
            IpAddr::V4(address) => (param_type::IPV4_ADDRESS, &address.octets()),
            IpAddr::V6(address) => (param_type::IPV6_ADDRESS, &address.octets()),
        };
        let [k0, k1] = inner.to_be_bytes();
        // Two address sizes: 8 or 20 with header, so one byte holds the length.
        let header = [k0, k1, 0, padded(octets.len() + 4) as u8];
        self.0
            .put(kind, &[&correlation_id.to_be_bytes(), &header, octets])
    }
}

//! Writing causes.

use super::cause_code;
use super::read::Cause;
use crate::tlv::{MAX_LENGTH, TlvWriter};
use crate::tsn::Tsn;

/// Appends causes to an ABORT or ERROR, with padding between them.
///
/// Every method returns whether the whole cause was written. If the chunk would
/// become longer than 65,535 bytes, or the packet longer than
/// [`PacketBuilder::with_limit`](crate::PacketBuilder::with_limit) allows, echoed
/// bytes are truncated and causes of fixed size are left out.
#[derive(Debug)]
pub struct CauseWriter<'b>(pub(crate) TlvWriter<'b>);

impl CauseWriter<'_> {
    /// Writes to the end of a buffer instead of a chunk, for example to
    /// keep causes until a packet is built.
    pub fn over(buf: &mut Vec<u8>) -> CauseWriter<'_> {
        let end = buf.len().saturating_add(MAX_LENGTH);
        CauseWriter(TlvWriter::new(buf, end))
    }

    /// Most bytes that the next cause can have, its header included.
    #[must_use]
    pub fn room(&self) -> usize {
        self.0.room()
    }

    /// A cause from its code and value, truncated to the room.
    pub fn raw(&mut self, code: u16, value: &[u8]) -> bool {
        self.0.put_cut(code, &[], value)
    }

    /// See [`Cause::InvalidStreamIdentifier`].
    pub fn invalid_stream_identifier(&mut self, stream_id: u16) -> bool {
        self.0.put(
            cause_code::INVALID_STREAM_IDENTIFIER,
            &[&stream_id.to_be_bytes(), &[0; 2]],
        )
    }

    /// See [`Cause::MissingMandatoryParameter`].
    pub fn missing_mandatory_parameter(&mut self, missing: &[u16]) -> bool {
        let Ok(count) = u32::try_from(missing.len()) else {
            return false;
        };
        let code = cause_code::MISSING_MANDATORY_PARAMETER;
        self.0
            .put_u16s(code, &count.to_be_bytes(), missing.iter().copied())
    }

    /// See [`Cause::StaleCookie`]; in microseconds.
    pub fn stale_cookie(&mut self, staleness_us: u32) -> bool {
        self.0
            .put(cause_code::STALE_COOKIE, &[&staleness_us.to_be_bytes()])
    }

    /// See [`Cause::OutOfResource`].
    pub fn out_of_resource(&mut self) -> bool {
        self.0.put(cause_code::OUT_OF_RESOURCE, &[])
    }

    /// See [`Cause::UnresolvableAddress`]; takes
    /// [`RawParam::bytes`](crate::RawParam::bytes).
    pub fn unresolvable_address(&mut self, param: &[u8]) -> bool {
        self.raw(cause_code::UNRESOLVABLE_ADDRESS, param)
    }

    /// See [`Cause::UnrecognizedChunkType`]; takes
    /// [`RawChunk::bytes`](crate::RawChunk::bytes).
    pub fn unrecognized_chunk_type(&mut self, chunk: &[u8]) -> bool {
        self.raw(cause_code::UNRECOGNIZED_CHUNK_TYPE, chunk)
    }

    /// See [`Cause::InvalidMandatoryParameter`].
    pub fn invalid_mandatory_parameter(&mut self) -> bool {
        self.0.put(cause_code::INVALID_MANDATORY_PARAMETER, &[])
    }

    /// See [`Cause::UnrecognizedParameters`]; takes parameters with their headers.
    pub fn unrecognized_parameters(&mut self, params: &[u8]) -> bool {
        self.raw(cause_code::UNRECOGNIZED_PARAMETERS, params)
    }

    /// See [`Cause::NoUserData`].
    pub fn no_user_data(&mut self, tsn: Tsn) -> bool {
        self.0
            .put(cause_code::NO_USER_DATA, &[&tsn.0.to_be_bytes()])
    }

    /// See [`Cause::CookieReceivedWhileShuttingDown`].
    pub fn cookie_received_while_shutting_down(&mut self) -> bool {
        self.0
            .put(cause_code::COOKIE_RECEIVED_WHILE_SHUTTING_DOWN, &[])
    }

    /// See [`Cause::RestartWithNewAddresses`]; takes address parameters with their headers.
    pub fn restart_with_new_addresses(&mut self, params: &[u8]) -> bool {
        self.raw(cause_code::RESTART_WITH_NEW_ADDRESSES, params)
    }

    /// See [`Cause::UserInitiatedAbort`].
    pub fn user_initiated_abort(&mut self, reason: &[u8]) -> bool {
        self.raw(cause_code::USER_INITIATED_ABORT, reason)
    }

    /// See [`Cause::ProtocolViolation`].
    pub fn protocol_violation(&mut self, information: &[u8]) -> bool {
        self.raw(cause_code::PROTOCOL_VIOLATION, information)
    }

    /// See [`Cause::DeleteLastAddress`].
    pub fn delete_last_address(&mut self, param: &[u8]) -> bool {
        self.raw(cause_code::DELETE_LAST_ADDRESS, param)
    }

    /// See [`Cause::ResourceShortage`].
    pub fn resource_shortage(&mut self, param: &[u8]) -> bool {
        self.raw(cause_code::RESOURCE_SHORTAGE, param)
    }

    /// See [`Cause::DeleteSourceAddress`].
    pub fn delete_source_address(&mut self, param: &[u8]) -> bool {
        self.raw(cause_code::DELETE_SOURCE_ADDRESS, param)
    }

    /// See [`Cause::IllegalAsconfAck`].
    pub fn illegal_asconf_ack(&mut self) -> bool {
        self.0.put(cause_code::ILLEGAL_ASCONF_ACK, &[])
    }

    /// See [`Cause::NoAuthorization`].
    pub fn no_authorization(&mut self, param: &[u8]) -> bool {
        self.raw(cause_code::NO_AUTHORIZATION, param)
    }

    /// See [`Cause::UnsupportedHmac`].
    pub fn unsupported_hmac(&mut self, hmac_id: u16) -> bool {
        self.0
            .put(cause_code::UNSUPPORTED_HMAC, &[&hmac_id.to_be_bytes()])
    }

    /// A cause that has been read from another packet.
    pub fn cause(&mut self, cause: &Cause<'_>) -> bool {
        match *cause {
            Cause::InvalidStreamIdentifier { stream_id } => {
                self.invalid_stream_identifier(stream_id)
            }
            Cause::MissingMandatoryParameter { missing } => {
                let count = missing.len() as u32; // at most 32763: it came in one cause
                self.0.put(
                    cause_code::MISSING_MANDATORY_PARAMETER,
                    &[&count.to_be_bytes(), missing.as_bytes()],
                )
            }
            Cause::StaleCookie { staleness_us } => self.stale_cookie(staleness_us),
            Cause::OutOfResource => self.out_of_resource(),
            Cause::UnresolvableAddress(param) => self.unresolvable_address(param),
            Cause::UnrecognizedChunkType(chunk) => self.unrecognized_chunk_type(chunk),
            Cause::InvalidMandatoryParameter => self.invalid_mandatory_parameter(),
            Cause::UnrecognizedParameters(params) => self.unrecognized_parameters(params),
            Cause::NoUserData { tsn } => self.no_user_data(tsn),
            Cause::CookieReceivedWhileShuttingDown => self.cookie_received_while_shutting_down(),
            Cause::RestartWithNewAddresses(params) => self.restart_with_new_addresses(params),
            Cause::UserInitiatedAbort(reason) => self.user_initiated_abort(reason),
            Cause::ProtocolViolation(information) => self.protocol_violation(information),
            Cause::DeleteLastAddress(param) => self.delete_last_address(param),
            Cause::ResourceShortage(param) => self.resource_shortage(param),
            Cause::DeleteSourceAddress(param) => self.delete_source_address(param),
            Cause::IllegalAsconfAck => self.illegal_asconf_ack(),
            Cause::NoAuthorization(param) => self.no_authorization(param),
            Cause::UnsupportedHmac { hmac_id } => self.unsupported_hmac(hmac_id),
            Cause::Unknown(raw) => self.raw(raw.code, raw.value),
        }
    }
}

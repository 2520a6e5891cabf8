//! Error causes: what ABORT and ERROR carry (RFC 9260 section 3.3.10), with
//! those of RFC 4895 and RFC 5061.

use crate::error::CauseError;
use crate::param::U16List;
use crate::tlv::{MAX_LENGTH, TlvWriter, Tlvs};
use crate::tsn::Tsn;

/// The cause codes.
pub mod cause_code {
    /// Invalid Stream Identifier (RFC 9260 section 3.3.10.1).
    pub const INVALID_STREAM_IDENTIFIER: u16 = 1;
    /// Missing Mandatory Parameter (RFC 9260 section 3.3.10.2).
    pub const MISSING_MANDATORY_PARAMETER: u16 = 2;
    /// Stale Cookie (RFC 9260 section 3.3.10.3).
    pub const STALE_COOKIE: u16 = 3;
    /// Out of Resource (RFC 9260 section 3.3.10.4).
    pub const OUT_OF_RESOURCE: u16 = 4;
    /// Unresolvable Address (RFC 9260 section 3.3.10.5).
    pub const UNRESOLVABLE_ADDRESS: u16 = 5;
    /// Unrecognized Chunk Type (RFC 9260 section 3.3.10.6).
    pub const UNRECOGNIZED_CHUNK_TYPE: u16 = 6;
    /// Invalid Mandatory Parameter (RFC 9260 section 3.3.10.7).
    pub const INVALID_MANDATORY_PARAMETER: u16 = 7;
    /// Unrecognized Parameters (RFC 9260 section 3.3.10.8).
    pub const UNRECOGNIZED_PARAMETERS: u16 = 8;
    /// No User Data (RFC 9260 section 3.3.10.9).
    pub const NO_USER_DATA: u16 = 9;
    /// Cookie Received While Shutting Down (RFC 9260 section 3.3.10.10).
    pub const COOKIE_RECEIVED_WHILE_SHUTTING_DOWN: u16 = 10;
    /// Restart of an Association with New Addresses (RFC 9260 section 3.3.10.11).
    pub const RESTART_WITH_NEW_ADDRESSES: u16 = 11;
    /// User-Initiated Abort (RFC 9260 section 3.3.10.12).
    pub const USER_INITIATED_ABORT: u16 = 12;
    /// Protocol Violation (RFC 9260 section 3.3.10.13).
    pub const PROTOCOL_VIOLATION: u16 = 13;
    /// Request to Delete Last Remaining IP Address (RFC 5061 section 4.3.1).
    pub const DELETE_LAST_ADDRESS: u16 = 0x00A0;
    /// Operation Refused Due to Resource Shortage (RFC 5061 section 4.3.2).
    pub const RESOURCE_SHORTAGE: u16 = 0x00A1;
    /// Request to Delete Source IP Address (RFC 5061 section 4.3.3).
    pub const DELETE_SOURCE_ADDRESS: u16 = 0x00A2;
    /// Association Aborted Due to Illegal ASCONF-ACK (RFC 5061 section 4.3.4).
    pub const ILLEGAL_ASCONF_ACK: u16 = 0x00A3;
    /// Request Refused, No Authorization (RFC 5061 section 4.3.5).
    pub const NO_AUTHORIZATION: u16 = 0x00A4;
    /// Unsupported HMAC Identifier (RFC 4895 section 4.1).
    pub const UNSUPPORTED_HMAC: u16 = 0x0105;
}

/// The causes of a chunk, not yet walked.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct Causes<'a>(&'a [u8]);

impl<'a> Causes<'a> {
    /// Takes bytes as a cause list.
    #[must_use]
    pub const fn new(bytes: &'a [u8]) -> Self {
        Causes(bytes)
    }

    /// The causes in order, up to the first broken length.
    #[must_use]
    pub const fn iter(&self) -> CauseIter<'a> {
        CauseIter(Tlvs::new(self.0))
    }

    /// The bytes of the list.
    #[must_use]
    pub const fn as_bytes(&self) -> &'a [u8] {
        self.0
    }
}

impl<'a> IntoIterator for Causes<'a> {
    type Item = Result<RawCause<'a>, CauseError>;
    type IntoIter = CauseIter<'a>;

    fn into_iter(self) -> CauseIter<'a> {
        self.iter()
    }
}

/// Walks [`Causes`]; ends after the first error.
#[derive(Copy, Clone, Debug)]
pub struct CauseIter<'a>(Tlvs<'a>);

impl<'a> Iterator for CauseIter<'a> {
    type Item = Result<RawCause<'a>, CauseError>;

    fn next(&mut self) -> Option<Self::Item> {
        Some(match self.0.next()? {
            Ok(tlv) => Ok(RawCause {
                code: tlv.kind(),
                value: tlv.value,
                bytes: tlv.bytes,
            }),
            Err(error) => Err(CauseError::List(error)),
        })
    }
}

impl core::iter::FusedIterator for CauseIter<'_> {}

/// A cause whose bounds are known and whose contents have not been looked at.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub struct RawCause<'a> {
    /// Cause code, see [`cause_code`].
    pub code: u16,
    /// What follows the cause header, without padding.
    pub value: &'a [u8],
    /// Header and value, without padding.
    pub bytes: &'a [u8],
}

/// An error cause.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Cause<'a> {
    /// DATA came on a stream that does not exist.
    InvalidStreamIdentifier {
        /// The stream.
        stream_id: u16,
    },
    /// INIT or INIT ACK lacked mandatory parameters.
    MissingMandatoryParameter {
        /// Their types.
        missing: U16List<'a>,
    },
    /// The cookie came too late.
    StaleCookie {
        /// How much too late, in microseconds.
        staleness_us: u32,
    },
    /// The sender has no resources for the association.
    OutOfResource,
    /// An address parameter, header included, could not be used.
    UnresolvableAddress(&'a [u8]),
    /// A chunk, header included, of unknown type.
    UnrecognizedChunkType(&'a [u8]),
    /// A mandatory field had an invalid value.
    InvalidMandatoryParameter,
    /// Whole parameters of unknown type.
    UnrecognizedParameters(&'a [u8]),
    /// DATA came without user data.
    NoUserData {
        /// Its TSN.
        tsn: Tsn,
    },
    /// A COOKIE ECHO came in the state SHUTDOWN-ACK-SENT.
    CookieReceivedWhileShuttingDown,
    /// A restart named addresses that the association did not have: these
    /// address parameters.
    RestartWithNewAddresses(&'a [u8]),
    /// The user aborted, with this reason.
    UserInitiatedAbort(&'a [u8]),
    /// Another violation, with further information.
    ProtocolViolation(&'a [u8]),
    /// An ASCONF would have deleted the last address: this parameter.
    DeleteLastAddress(&'a [u8]),
    /// An ASCONF parameter was refused for lack of resources: this one.
    ResourceShortage(&'a [u8]),
    /// An ASCONF would have deleted its own source address: this parameter.
    DeleteSourceAddress(&'a [u8]),
    /// An ASCONF-ACK answered what was not asked.
    IllegalAsconfAck,
    /// An ASCONF parameter is not permitted: this one.
    NoAuthorization(&'a [u8]),
    /// An AUTH chunk used a hash that was not offered.
    UnsupportedHmac {
        /// The hash identifier.
        hmac_id: u16,
    },
    /// A code without a meaning here.
    Unknown(RawCause<'a>),
}

impl<'a> RawCause<'a> {
    /// Reads the cause by its code.
    ///
    /// # Errors
    /// When the value has a size that the code does not allow.
    pub fn parse(&self) -> Result<Cause<'a>, CauseError> {
        Ok(match self.code {
            cause_code::INVALID_STREAM_IDENTIFIER => {
                let &[s0, s1, _, _] =
                    self.exactly("a stream identifier and reserved bytes make 4")?;
                Cause::InvalidStreamIdentifier {
                    stream_id: u16::from_be_bytes([s0, s1]),
                }
            }
            cause_code::MISSING_MANDATORY_PARAMETER => Cause::MissingMandatoryParameter {
                missing: self.missing()?,
            },
            cause_code::STALE_COOKIE => {
                let &staleness = self.exactly("a staleness has 4")?;
                Cause::StaleCookie {
                    staleness_us: u32::from_be_bytes(staleness),
                }
            }
            cause_code::OUT_OF_RESOURCE => self.empty().map(|()| Cause::OutOfResource)?,
            cause_code::UNRESOLVABLE_ADDRESS => Cause::UnresolvableAddress(self.value),
            cause_code::UNRECOGNIZED_CHUNK_TYPE => Cause::UnrecognizedChunkType(self.value),
            cause_code::INVALID_MANDATORY_PARAMETER => {
                self.empty().map(|()| Cause::InvalidMandatoryParameter)?
            }
            cause_code::UNRECOGNIZED_PARAMETERS => Cause::UnrecognizedParameters(self.value),
            cause_code::NO_USER_DATA => {
                let &tsn = self.exactly("a TSN has 4")?;
                Cause::NoUserData {
                    tsn: Tsn(u32::from_be_bytes(tsn)),
                }
            }
            cause_code::COOKIE_RECEIVED_WHILE_SHUTTING_DOWN => self
                .empty()
                .map(|()| Cause::CookieReceivedWhileShuttingDown)?,
            cause_code::RESTART_WITH_NEW_ADDRESSES => Cause::RestartWithNewAddresses(self.value),
            cause_code::USER_INITIATED_ABORT => Cause::UserInitiatedAbort(self.value),
            cause_code::PROTOCOL_VIOLATION => Cause::ProtocolViolation(self.value),
            cause_code::DELETE_LAST_ADDRESS => Cause::DeleteLastAddress(self.value),
            cause_code::RESOURCE_SHORTAGE => Cause::ResourceShortage(self.value),
            cause_code::DELETE_SOURCE_ADDRESS => Cause::DeleteSourceAddress(self.value),
            cause_code::ILLEGAL_ASCONF_ACK => self.empty().map(|()| Cause::IllegalAsconfAck)?,
            cause_code::NO_AUTHORIZATION => Cause::NoAuthorization(self.value),
            cause_code::UNSUPPORTED_HMAC => {
                let &hmac_id = self.exactly("a hash identifier has 2")?;
                Cause::UnsupportedHmac {
                    hmac_id: u16::from_be_bytes(hmac_id),
                }
            }
            _ => Cause::Unknown(*self),
        })
    }

    fn bad_length(&self, rule: &'static str) -> CauseError {
        CauseError::Length {
            code: self.code,
            have: self.value.len(),
            rule,
        }
    }

    fn exactly<const N: usize>(&self, rule: &'static str) -> Result<&'a [u8; N], CauseError> {
        self.value.try_into().map_err(|_| self.bad_length(rule))
    }

    fn empty(&self) -> Result<(), CauseError> {
        self.exactly::<0>("this cause has none").map(|_| ())
    }

    /// The counted list of missing parameters.
    fn missing(&self) -> Result<U16List<'a>, CauseError> {
        const RULE: &str = "a count of parameter types has 4 and each type 2";
        let (&count, types) = self
            .value
            .split_first_chunk()
            .ok_or_else(|| self.bad_length(RULE))?;
        let types =
            U16List::new(types).filter(|types| types.len() == u32::from_be_bytes(count) as usize);
        types.ok_or_else(|| self.bad_length(RULE))
    }
}

/// Appends causes to an ABORT or ERROR, with padding between them.
///
/// Every method tells whether the cause was written whole. What it echoes is
/// cut where the chunk would grow longer than 65,535 bytes, or the packet longer
/// than [`PacketBuilder::with_limit`](crate::PacketBuilder::with_limit) says;
/// causes of fixed size are left out then.
#[derive(Debug)]
pub struct CauseWriter<'b>(pub(crate) TlvWriter<'b>);

impl CauseWriter<'_> {
    /// Writes to the end of a buffer instead of into a chunk, for example to
    /// keep causes until a packet is built.
    pub fn over(buf: &mut Vec<u8>) -> CauseWriter<'_> {
        let end = buf.len().saturating_add(MAX_LENGTH);
        CauseWriter(TlvWriter::new(buf, end))
    }

    /// Bytes that the next cause may take, its header included.
    #[must_use]
    pub fn room(&self) -> usize {
        self.0.room()
    }

    /// A cause from its parts, cut to what fits.
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

    /// See [`Cause::UnrecognizedParameters`]; takes whole parameters.
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

    /// See [`Cause::RestartWithNewAddresses`]; takes whole address parameters.
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

    /// A cause that was read elsewhere.
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

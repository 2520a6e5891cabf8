//! Error causes: what ABORT and ERROR carry (RFC 9260 section 3.3.10), with
//! those of RFC 4895 and RFC 5061.

mod write;

pub use write::CauseWriter;

use crate::error::CauseError;
use crate::param::U16List;
use crate::tlv::Tlvs;
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

    /// The name that the RFCs give to a cause code, for logs and traces.
    #[must_use]
    pub const fn name(code: u16) -> Option<&'static str> {
        Some(match code {
            INVALID_STREAM_IDENTIFIER => "Invalid Stream Identifier",
            MISSING_MANDATORY_PARAMETER => "Missing Mandatory Parameter",
            STALE_COOKIE => "Stale Cookie",
            OUT_OF_RESOURCE => "Out of Resource",
            UNRESOLVABLE_ADDRESS => "Unresolvable Address",
            UNRECOGNIZED_CHUNK_TYPE => "Unrecognized Chunk Type",
            INVALID_MANDATORY_PARAMETER => "Invalid Mandatory Parameter",
            UNRECOGNIZED_PARAMETERS => "Unrecognized Parameters",
            NO_USER_DATA => "No User Data",
            COOKIE_RECEIVED_WHILE_SHUTTING_DOWN => "Cookie Received While Shutting Down",
            RESTART_WITH_NEW_ADDRESSES => "Restart of an Association with New Addresses",
            USER_INITIATED_ABORT => "User-Initiated Abort",
            PROTOCOL_VIOLATION => "Protocol Violation",
            DELETE_LAST_ADDRESS => "Request to Delete Last Remaining IP Address",
            RESOURCE_SHORTAGE => "Operation Refused Due to Resource Shortage",
            DELETE_SOURCE_ADDRESS => "Request to Delete Source IP Address",
            ILLEGAL_ASCONF_ACK => "Association Aborted Due to Illegal ASCONF-ACK",
            NO_AUTHORIZATION => "Request Refused, No Authorization",
            UNSUPPORTED_HMAC => "Unsupported HMAC Identifier",
            _ => return None,
        })
    }
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

//! Reading a cause of any code.

use super::cause_code;
use super::raw::RawCause;
use crate::error::CauseError;
use crate::tsn::Tsn;
use crate::u16_list::U16List;

/// An error cause.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Cause<'a> {
    /// A DATA chunk named a stream that does not exist.
    InvalidStreamIdentifier {
        /// The stream.
        stream_id: u16,
    },
    /// INIT or INIT ACK lacked mandatory parameters.
    MissingMandatoryParameter {
        /// Their types.
        missing: U16List<'a>,
    },
    /// The cookie had expired.
    StaleCookie {
        /// How long ago it expired, in microseconds.
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
    /// Parameters of unknown type, headers included.
    UnrecognizedParameters(&'a [u8]),
    /// A DATA chunk had no user data.
    NoUserData {
        /// Its TSN.
        tsn: Tsn,
    },
    /// A COOKIE ECHO arrived in the state SHUTDOWN-ACK-SENT.
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
    /// An ASCONF-ACK answered no outstanding request.
    IllegalAsconfAck,
    /// An ASCONF parameter is not permitted: this one.
    NoAuthorization(&'a [u8]),
    /// An AUTH chunk used an HMAC that was not offered.
    UnsupportedHmac {
        /// The HMAC identifier.
        hmac_id: u16,
    },
    /// A code that this crate does not know.
    Unknown(RawCause<'a>),
}

impl<'a> RawCause<'a> {
    /// Reads the cause according to its code.
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

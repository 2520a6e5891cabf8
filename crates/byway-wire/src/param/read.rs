//! Reading a parameter of any type.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::param_type;
use super::raw::RawParam;
use super::reconfig::{
    AddStreams, IncomingSsnReset, OutgoingSsnReset, ReconfigResponse, SsnTsnReset,
};
use crate::cause::Causes;
use crate::error::ParamError;
use crate::tlv::{Tlv, Tlvs};
use crate::u16_list::U16List;

/// A parameter of any type.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Param<'a> {
    /// Contents of a HEARTBEAT; opaque to everyone except its sender.
    HeartbeatInfo(&'a [u8]),
    /// An address of the sender.
    Ipv4Address(Ipv4Addr),
    /// An address of the sender.
    Ipv6Address(Ipv6Addr),
    /// State that the receiver of an INIT ACK returns in a COOKIE ECHO.
    StateCookie(&'a [u8]),
    /// A parameter, header included, whose type the peer does not know.
    UnrecognizedParameter(&'a [u8]),
    /// How much longer the cookie should be valid, in milliseconds.
    CookiePreservative(u32),
    /// A host name instead of addresses. Deprecated: an INIT with it is aborted
    /// with "Unresolvable Address" (RFC 9260 section 5.1.2).
    HostName(&'a [u8]),
    /// Address parameter types that the sender can use (5 for IPv4, 6 for IPv6).
    SupportedAddressTypes(U16List<'a>),
    /// Stream reset request for the sender's outgoing streams.
    OutgoingSsnReset(OutgoingSsnReset<'a>),
    /// Stream reset request for the receiver's outgoing streams.
    IncomingSsnReset(IncomingSsnReset<'a>),
    /// Request to restart all TSNs and stream sequence numbers.
    SsnTsnReset(SsnTsnReset),
    /// Answer to one of the requests around it.
    ReconfigResponse(ReconfigResponse),
    /// Request for more streams from the sender.
    AddOutgoingStreams(AddStreams),
    /// Request for more streams towards the sender.
    AddIncomingStreams(AddStreams),
    /// The sender supports explicit congestion notification. Reserved in RFC 9260:
    /// known here and otherwise ignored.
    EcnCapable,
    /// The sender accepts packets with a checksum of zero if the error detection
    /// method of this number protects them (RFC 9653).
    ZeroChecksumAcceptable(u32),
    /// Random number for association keys.
    Random(&'a [u8]),
    /// Chunk types that the sender accepts only with authentication.
    ChunkList(&'a [u8]),
    /// HMAC identifiers that the sender accepts, in order of preference.
    HmacAlgo(U16List<'a>),
    /// Padding.
    Padding(&'a [u8]),
    /// Chunk types of extensions that the sender supports.
    SupportedExtensions(&'a [u8]),
    /// The sender supports partial reliability.
    ForwardTsnSupported,
    /// Add an address of the sender.
    AddIp {
        /// Matches the response to this request.
        correlation_id: u32,
        /// Zero (unspecified) means the packet's source address.
        address: IpAddr,
    },
    /// Delete an address of the sender.
    DeleteIp {
        /// Matches the response to this request.
        correlation_id: u32,
        /// Zero (unspecified) means all but the packet's source address.
        address: IpAddr,
    },
    /// A request of an ASCONF failed.
    ErrorCauseIndication {
        /// The request that failed.
        correlation_id: u32,
        /// Why it failed.
        causes: Causes<'a>,
    },
    /// Asks the receiver to make this address its primary path.
    SetPrimary {
        /// Matches the response to this request.
        correlation_id: u32,
        /// Zero (unspecified) means the packet's source address.
        address: IpAddr,
    },
    /// A request of an ASCONF succeeded.
    SuccessIndication {
        /// The request that succeeded.
        correlation_id: u32,
    },
    /// Adaptation code point for the peer's upper layer.
    AdaptationIndication(u32),
    /// A type that this crate does not know; see [`RawParam::unknown_action`].
    Unknown(RawParam<'a>),
}

impl<'a> Param<'a> {
    pub(super) fn read(raw: &RawParam<'a>) -> Result<Self, ParamError> {
        Ok(match raw.kind {
            param_type::HEARTBEAT_INFO => Param::HeartbeatInfo(raw.value),
            param_type::IPV4_ADDRESS => {
                Param::Ipv4Address(Ipv4Addr::from(*raw.exactly::<4>("an IPv4 address has 4")?))
            }
            param_type::IPV6_ADDRESS => Param::Ipv6Address(Ipv6Addr::from(
                *raw.exactly::<16>("an IPv6 address has 16")?,
            )),
            param_type::STATE_COOKIE => Param::StateCookie(raw.value),
            param_type::UNRECOGNIZED_PARAMETER => Param::UnrecognizedParameter(raw.value),
            param_type::COOKIE_PRESERVATIVE => Param::CookiePreservative(raw.number()?),
            param_type::HOST_NAME_ADDRESS => Param::HostName(raw.value),
            param_type::SUPPORTED_ADDRESS_TYPES => {
                Param::SupportedAddressTypes(raw.u16_list(raw.value)?)
            }
            param_type::ECN_CAPABLE => raw
                .exactly::<0>("this flag has none")
                .map(|_| Param::EcnCapable)?,
            param_type::ZERO_CHECKSUM_ACCEPTABLE => Param::ZeroChecksumAcceptable(raw.number()?),
            param_type::RANDOM => Param::Random(raw.value),
            param_type::CHUNK_LIST => Param::ChunkList(raw.value),
            param_type::HMAC_ALGO => Param::HmacAlgo(raw.u16_list(raw.value)?),
            param_type::PADDING => Param::Padding(raw.value),
            param_type::SUPPORTED_EXTENSIONS => Param::SupportedExtensions(raw.value),
            param_type::FORWARD_TSN_SUPPORTED => raw
                .exactly::<0>("this flag has none")
                .map(|_| Param::ForwardTsnSupported)?,
            param_type::OUTGOING_SSN_RESET..=param_type::ADD_INCOMING_STREAMS => {
                Param::read_reconfig(raw)?
            }
            param_type::ADD_IP..=param_type::ADAPTATION_INDICATION => Param::read_asconf(raw)?,
            _ => Param::Unknown(*raw),
        })
    }

    /// The parameters of RE-CONFIG (RFC 6525 section 4).
    fn read_reconfig(raw: &RawParam<'a>) -> Result<Self, ParamError> {
        Ok(match raw.kind {
            param_type::OUTGOING_SSN_RESET => Param::OutgoingSsnReset(OutgoingSsnReset::read(raw)?),
            param_type::INCOMING_SSN_RESET => Param::IncomingSsnReset(IncomingSsnReset::read(raw)?),
            param_type::SSN_TSN_RESET => Param::SsnTsnReset(SsnTsnReset::read(raw)?),
            param_type::RECONFIG_RESPONSE => Param::ReconfigResponse(ReconfigResponse::read(raw)?),
            param_type::ADD_OUTGOING_STREAMS => Param::AddOutgoingStreams(AddStreams::read(raw)?),
            param_type::ADD_INCOMING_STREAMS => Param::AddIncomingStreams(AddStreams::read(raw)?),
            _ => Param::Unknown(*raw),
        })
    }

    /// The parameters of ASCONF and ASCONF-ACK (RFC 5061 section 4.2).
    fn read_asconf(raw: &RawParam<'a>) -> Result<Self, ParamError> {
        Ok(match raw.kind {
            param_type::ADD_IP => {
                let (correlation_id, address) = raw.address_change()?;
                Param::AddIp {
                    correlation_id,
                    address,
                }
            }
            param_type::DELETE_IP => {
                let (correlation_id, address) = raw.address_change()?;
                Param::DeleteIp {
                    correlation_id,
                    address,
                }
            }
            param_type::SET_PRIMARY => {
                let (correlation_id, address) = raw.address_change()?;
                Param::SetPrimary {
                    correlation_id,
                    address,
                }
            }
            param_type::ERROR_CAUSE_INDICATION => {
                let (&id, causes) = raw.at_least::<4>("a correlation id has 4")?;
                Param::ErrorCauseIndication {
                    correlation_id: u32::from_be_bytes(id),
                    causes: Causes::new(causes),
                }
            }
            param_type::SUCCESS_INDICATION => Param::SuccessIndication {
                correlation_id: raw.number()?,
            },
            param_type::ADAPTATION_INDICATION => Param::AdaptationIndication(raw.number()?),
            _ => Param::Unknown(*raw),
        })
    }

    pub(crate) fn from_tlv(tlv: &Tlv<'a>) -> Result<Self, ParamError> {
        Param::read(&RawParam::from(*tlv))
    }
}

impl<'a> RawParam<'a> {
    /// Reads the parameter according to its type.
    ///
    /// # Errors
    /// When the value has a size that the type does not allow.
    pub fn parse(&self) -> Result<Param<'a>, ParamError> {
        Param::read(self)
    }

    /// Correlation id and address of a request (RFC 5061 section 4.2).
    fn address_change(&self) -> Result<(u32, IpAddr), ParamError> {
        let (&id, inner) = self.at_least::<4>("a correlation id has 4")?;
        let Some(tlv) = Tlvs::new(inner).next() else {
            return Err(self.bad_length("an address parameter follows the correlation id"));
        };
        let tlv = tlv?;
        let address = match tlv.kind() {
            // The type is checked before reading, so that a request cannot contain
            // another one and cause recursion.
            param_type::IPV4_ADDRESS | param_type::IPV6_ADDRESS => match Param::from_tlv(&tlv)? {
                Param::Ipv4Address(address) => IpAddr::V4(address),
                Param::Ipv6Address(address) => IpAddr::V6(address),
                _ => {
                    return Err(ParamError::NotAnAddress {
                        kind: self.kind,
                        inner: tlv.kind(),
                    });
                }
            },
            inner => {
                return Err(ParamError::NotAnAddress {
                    kind: self.kind,
                    inner,
                });
            }
        };
        Ok((u32::from_be_bytes(id), address))
    }
}

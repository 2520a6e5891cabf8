//! Requests and responses of stream reconfiguration (RFC 6525 section 4).

use super::raw::RawParam;
use crate::error::ParamError;
use crate::tsn::Tsn;
use crate::u16_list::U16List;

/// The sender resets some or all of its outgoing streams (RFC 6525
/// section 4.1).
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub struct OutgoingSsnReset<'a> {
    /// Re-configuration Request Sequence Number.
    pub request_sequence: u32,
    /// Re-configuration Response Sequence Number: the number of the incoming reset
    /// request that this answers, or else the next expected request number minus
    /// one.
    pub response_sequence: u32,
    /// The last TSN that the sender assigned.
    pub last_assigned_tsn: Tsn,
    /// The streams; an empty list means all.
    pub streams: U16List<'a>,
}

/// The sender asks the receiver to reset some or all of its outgoing streams
/// (RFC 6525 section 4.2).
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub struct IncomingSsnReset<'a> {
    /// Re-configuration Request Sequence Number.
    pub request_sequence: u32,
    /// The streams; an empty list means all.
    pub streams: U16List<'a>,
}

/// The sender asks to restart all TSNs and stream sequence numbers (RFC 6525
/// section 4.3).
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub struct SsnTsnReset {
    /// Re-configuration Request Sequence Number.
    pub request_sequence: u32,
}

/// The response to a request (RFC 6525 section 4.4).
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub struct ReconfigResponse {
    /// Number of the request that is answered.
    pub response_sequence: u32,
    /// The result, one of the constants of this type.
    pub result: u32,
    /// In the response to an SSN/TSN reset: the sender's next TSN and the
    /// receiver's next TSN.
    pub next_tsns: Option<(Tsn, Tsn)>,
}

impl ReconfigResponse {
    /// Success: nothing to do.
    pub const NOTHING_TO_DO: u32 = 0;
    /// Success: performed.
    pub const PERFORMED: u32 = 1;
    /// Denied.
    pub const DENIED: u32 = 2;
    /// Error: wrong stream number.
    pub const WRONG_SSN: u32 = 3;
    /// Error: another request is in progress.
    pub const ALREADY_IN_PROGRESS: u32 = 4;
    /// Error: bad sequence number.
    pub const BAD_SEQUENCE: u32 = 5;
    /// In progress: the sender repeats the request later.
    pub const IN_PROGRESS: u32 = 6;
}

/// The sender asks for more streams. The parameter type says in which direction
/// (RFC 6525 sections 4.5 and 4.6).
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub struct AddStreams {
    /// Re-configuration Request Sequence Number.
    pub request_sequence: u32,
    /// Number of streams to add.
    pub count: u16,
}

impl<'a> OutgoingSsnReset<'a> {
    pub(super) fn read(raw: &RawParam<'a>) -> Result<Self, ParamError> {
        let (&[r0, r1, r2, r3, a0, a1, a2, a3, t0, t1, t2, t3], streams) =
            raw.at_least::<12>("an outgoing reset has at least 12")?;
        Ok(OutgoingSsnReset {
            request_sequence: u32::from_be_bytes([r0, r1, r2, r3]),
            response_sequence: u32::from_be_bytes([a0, a1, a2, a3]),
            last_assigned_tsn: Tsn(u32::from_be_bytes([t0, t1, t2, t3])),
            streams: raw.u16_list(streams)?,
        })
    }
}

impl<'a> IncomingSsnReset<'a> {
    pub(super) fn read(raw: &RawParam<'a>) -> Result<Self, ParamError> {
        let (&request, streams) = raw.at_least::<4>("an incoming reset has at least 4")?;
        Ok(IncomingSsnReset {
            request_sequence: u32::from_be_bytes(request),
            streams: raw.u16_list(streams)?,
        })
    }
}

impl SsnTsnReset {
    pub(super) fn read(raw: &RawParam<'_>) -> Result<Self, ParamError> {
        let &request = raw.exactly("an SSN/TSN reset has 4")?;
        Ok(SsnTsnReset {
            request_sequence: u32::from_be_bytes(request),
        })
    }
}

impl ReconfigResponse {
    pub(super) fn read(raw: &RawParam<'_>) -> Result<Self, ParamError> {
        const RULE: &str = "a response has 8, or 16 with both TSNs";
        let (&[s0, s1, s2, s3, r0, r1, r2, r3], tsns) = raw.at_least::<8>(RULE)?;
        let next_tsns = match *tsns {
            [] => None,
            [a0, a1, a2, a3, b0, b1, b2, b3] => Some((
                Tsn(u32::from_be_bytes([a0, a1, a2, a3])),
                Tsn(u32::from_be_bytes([b0, b1, b2, b3])),
            )),
            _ => {
                return Err(ParamError::Length {
                    kind: raw.kind,
                    have: raw.value.len(),
                    rule: RULE,
                });
            }
        };
        Ok(ReconfigResponse {
            response_sequence: u32::from_be_bytes([s0, s1, s2, s3]),
            result: u32::from_be_bytes([r0, r1, r2, r3]),
            next_tsns,
        })
    }
}

impl AddStreams {
    pub(super) fn read(raw: &RawParam<'_>) -> Result<Self, ParamError> {
        let &[s0, s1, s2, s3, c0, c1, _, _] = raw.exactly("a request for streams has 8")?;
        Ok(AddStreams {
            request_sequence: u32::from_be_bytes([s0, s1, s2, s3]),
            count: u16::from_be_bytes([c0, c1]),
        })
    }
}

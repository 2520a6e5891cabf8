//! Requests and answers of stream reconfiguration (RFC 6525 section 4).

use super::raw::RawParam;
use crate::error::ParamError;
use crate::tsn::Tsn;
use crate::u16_list::U16List;

/// The sender wants to reset some or all of its outgoing streams (RFC 6525
/// section 4.1).
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub struct OutgoingSsnReset<'a> {
    /// Number of this request.
    pub request_sequence: u32,
    /// Number of the incoming reset request that this also answers, or else the
    /// next expected request number minus one.
    pub response_sequence: u32,
    /// The last TSN that the sender assigned.
    pub last_assigned_tsn: Tsn,
    /// The streams; none means all.
    pub streams: U16List<'a>,
}

/// The sender wants the receiver to reset some or all of its outgoing streams
/// (RFC 6525 section 4.2).
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub struct IncomingSsnReset<'a> {
    /// Number of this request.
    pub request_sequence: u32,
    /// The streams; none means all.
    pub streams: U16List<'a>,
}

/// The sender wants all TSNs and stream sequence numbers to start anew (RFC 6525
/// section 4.3).
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub struct SsnTsnReset {
    /// Number of this request.
    pub request_sequence: u32,
}

/// The answer to a request (RFC 6525 section 4.4).
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub struct ReconfigResponse {
    /// Number of the request.
    pub response_sequence: u32,
    /// How it went, one of the constants here.
    pub result: u32,
    /// In answers to an SSN/TSN reset: the next TSN of the answer's sender, and
    /// the next TSN of its receiver.
    pub next_tsns: Option<(Tsn, Tsn)>,
}

impl ReconfigResponse {
    /// There was nothing to do.
    pub const NOTHING_TO_DO: u32 = 0;
    /// Done.
    pub const PERFORMED: u32 = 1;
    /// Refused.
    pub const DENIED: u32 = 2;
    /// A stream number is wrong.
    pub const WRONG_SSN: u32 = 3;
    /// Another request is under way.
    pub const ALREADY_IN_PROGRESS: u32 = 4;
    /// The request number is not the expected one.
    pub const BAD_SEQUENCE: u32 = 5;
    /// Not done yet; ask again.
    pub const IN_PROGRESS: u32 = 6;
}

/// The sender wants more streams, in the direction that the parameter type says
/// (RFC 6525 sections 4.5 and 4.6).
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub struct AddStreams {
    /// Number of this request.
    pub request_sequence: u32,
    /// How many streams are to be added.
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

//! A chunk that was sent, and how a SACK changes it (RFC 9260 sections 6.2.1 and
//! 7.2.4).

use crate::path::PathId;
use crate::policy::retransmit::LossCause;
use crate::time::Instant;
use bytes::Bytes;

/// The fate of a chunk.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    /// In flight.
    InFlight,
    /// Lost: awaits retransmission.
    Lost(LossCause),
    /// Acknowledged by a gap block only, so the peer may still take it back.
    Acked,
}

/// A chunk that was sent.
#[derive(Clone, Debug)]
pub struct Record {
    pub(crate) payload: Bytes,
    /// See [`Cut::ppid_or_fsn`](super::queue::Cut).
    pub(crate) ppid_or_fsn: u32,
    /// The Message Identifier; its lower 16 bits are the Stream Sequence Number.
    pub(crate) number: u32,
    pub(crate) stream: u16,
    pub(crate) unordered: bool,
    pub(crate) begin: bool,
    pub(crate) end: bool,
    pub(crate) immediate: bool,
    /// All its transmissions went to the same path.
    pub(crate) one_path: bool,
    /// The peer took its acknowledgement back since it was sent last (section 6.2.1).
    pub(crate) reneged: bool,
    /// How often it was sent.
    pub sends: u8,
    /// Bytes of the chunk with header and padding, as they count against cwnd.
    pub bytes: u32,
    /// Where it was sent last.
    pub path: PathId,
    /// Its fate.
    pub fate: Fate,
    /// Its missing reports.
    pub reports: Reports,
    /// When it was sent last.
    pub sent_at: Instant,
}

/// The missing reports of a chunk (section 7.2.4).
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Reports {
    /// Missing reports since it was sent last.
    pub missing: u8,
    /// One past the highest sequence that was sent when it was last fast
    /// retransmitted; `None` if it never was.
    pub fast_retransmitted: Option<u64>,
}

/// What a SACK changed, besides the records that the callback saw.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Applied {
    /// The cumulative TSN advanced.
    pub cumulative_advanced: bool,
    /// The cumulative TSN passed chunks that were not acknowledged before.
    pub cumulative_new: bool,
    /// The highest sequence that this SACK newly acknowledged (HTNA).
    pub highest_new: Option<u64>,
    /// The peer took acknowledgements of gap blocks back (reneging).
    pub reneged: bool,
}

/// A change of a record's fate through a SACK.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// Acknowledged for the first time.
    Acked,
    /// Was acknowledged by a gap block before, and is no longer.
    Reneged,
    /// Was acknowledged by a gap block before, and now by the cumulative TSN.
    Passed,
}

//! A chunk that was sent, and what a SACK does to it (RFC 9260 sections 6.2.1 and
//! 7.2.4).

use crate::path::PathId;
use crate::policy::retransmit::LossCause;
use crate::time::Instant;
use bytes::Bytes;

/// What became of a chunk.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    /// In flight.
    InFlight,
    /// Taken for lost, awaiting retransmission.
    Lost(LossCause),
    /// Acknowledged by a gap block, so not for good yet.
    Acked,
}

/// A chunk that was sent.
#[derive(Clone, Debug)]
pub struct Record {
    pub(crate) payload: Bytes,
    pub(crate) ppid: u32,
    pub(crate) stream: u16,
    pub(crate) ssn: u16,
    pub(crate) unordered: bool,
    pub(crate) begin: bool,
    pub(crate) end: bool,
    pub(crate) immediate: bool,
    /// It was sent to one path only.
    pub(crate) one_path: bool,
    /// How often it was sent.
    pub sends: u8,
    /// Bytes of the chunk, header and padding included: what it takes of cwnd.
    pub bytes: u32,
    /// Where it was sent last.
    pub path: PathId,
    /// What became of it.
    pub fate: Fate,
    /// What missing reports did to it.
    pub reports: Reports,
    /// When it was sent last.
    pub sent_at: Instant,
}

/// What missing reports did to a chunk (section 7.2.4).
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Reports {
    /// Missing reports since it was sent last.
    pub missing: u8,
    /// One past what was outstanding when it was last fast retransmitted, if it
    /// was.
    pub fast_retransmitted: Option<u64>,
}

/// What a SACK changed, besides the records that the callback saw.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Applied {
    /// The cumulative TSN advanced.
    pub cumulative_advanced: bool,
    /// It passed chunks that were not acknowledged before.
    pub cumulative_new: bool,
    /// The highest sequence that this SACK newly acknowledged (HTNA).
    pub highest_new: Option<u64>,
    /// The peer took acknowledgements back.
    pub reneged: bool,
}

/// A change of a record's fate through a SACK.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// Acknowledged for the first time.
    Acked,
    /// Was acknowledged by a gap block before, and is no longer.
    Reneged,
    /// Was acknowledged by a gap block before, and now for good.
    Passed,
}

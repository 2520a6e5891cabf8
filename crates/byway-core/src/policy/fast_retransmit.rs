//! Multiple Fast Retransmit (caro-2004 section II.B; caro-2003).
//!
//! RFC 9260 section 7.2.4 allows one fast retransmit of a chunk. If the retransmission
//! is lost as well, only a timeout repairs the loss. So the sender stores for each chunk
//! which data was outstanding at its fast retransmit. Only the acknowledgement of later
//! chunks may report it missing again: they were sent after the retransmission, which
//! should arrive before them. The papers warn against this with AllRtxAlt, whose paths
//! differ in delay. The default is one fast retransmit.

use serde::{Deserialize, Serialize};

/// How often a chunk may be fast retransmitted.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Default)]
pub enum FastRetransmits {
    /// Once (RFC 9260 section 7.2.4, step 5).
    #[default]
    Once,
    /// Again whenever chunks report it missing that were sent after its last fast
    /// retransmit (MFR).
    Multiple,
}

impl FastRetransmits {
    /// Whether missing reports count for a chunk.
    ///
    /// `repeated` is one past the highest sequence that was outstanding at its last fast
    /// retransmit, or `None` if there was none. `highest_new` is the highest newly
    /// acknowledged sequence.
    #[must_use]
    pub fn counts(self, repeated: Option<u64>, highest_new: u64) -> bool {
        match (self, repeated) {
            (_, None) => true,
            (FastRetransmits::Once, Some(_)) => false,
            (FastRetransmits::Multiple, Some(end)) => highest_new >= end,
        }
    }

    /// Whether a chunk may be fast retransmitted again.
    #[must_use]
    pub fn repeats(self) -> bool {
        self == FastRetransmits::Multiple
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lost_fast_retransmission_is_noticed_by_what_was_sent_after_it() {
        use FastRetransmits::{Multiple, Once};
        for (rule, repeated, highest_new, expected) in [
            (Once, None, 5, true),
            (Once, Some(5), 9, false),
            (Multiple, None, 5, true),
            (Multiple, Some(5), 4, false),
            (Multiple, Some(5), 5, true),
            (Multiple, Some(5), 9, true),
        ] {
            assert_eq!(
                rule.counts(repeated, highest_new),
                expected,
                "{rule:?} {repeated:?} {highest_new}"
            );
        }
    }
}

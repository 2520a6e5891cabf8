//! Multiple Fast Retransmit (caro-2004 section II.B; caro-2003).
//!
//! RFC 9260 section 7.2.4 lets a chunk be fast retransmitted once; if that is
//! lost, too, only a timeout helps. So the sender remembers for each chunk what
//! was outstanding when it was fast retransmitted, and lets only the
//! acknowledgement of later chunks report it missing again: those left behind
//! the retransmission, so it should have arrived before them. The papers warn
//! of it with AllRtxAlt, where the paths differ in delay. The default is once.

use serde::{Deserialize, Serialize};

/// How often a chunk may be fast retransmitted.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Default)]
pub enum FastRetransmits {
    /// Once (RFC 9260 section 7.2.4, step 5).
    #[default]
    Once,
    /// Again whenever chunks that were sent after the last time report it
    /// missing (MFR).
    Multiple,
}

impl FastRetransmits {
    /// Whether a chunk collects missing reports.
    ///
    /// `repeated`: one past the highest sequence that was outstanding when it
    /// was last fast retransmitted; none if it never was. `highest_new`: the
    /// highest sequence newly acknowledged.
    #[must_use]
    pub fn counts(self, repeated: Option<u64>, highest_new: u64) -> bool {
        match (self, repeated) {
            (_, None) => true,
            (FastRetransmits::Once, Some(_)) => false,
            (FastRetransmits::Multiple, Some(end)) => highest_new >= end,
        }
    }

    /// Whether a chunk that was fast retransmitted may ever be again.
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

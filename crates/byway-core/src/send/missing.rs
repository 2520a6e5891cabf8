//! Which chunks a SACK reports missing (RFC 9260 section 7.2.4).

use super::concurrent::Split;
use super::record::Record;
use crate::policy::FastRetransmits;
use crate::time::Instant;

/// What a SACK reports missing, and the rules for it.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Missing {
    /// Only chunks below this sequence are reported.
    pub(crate) below: u64,
    /// The highest sequence newly acknowledged.
    pub(crate) highest_new: u64,
    /// This many reports make a chunk lost.
    pub(crate) threshold: u8,
    /// How often a chunk may be fast retransmitted.
    pub(crate) rule: FastRetransmits,
    /// A chunk that was fast retransmitted may be lost again.
    pub(crate) keeps_repeated: bool,
    /// When the newest of the newly acknowledged chunks was sent. A chunk that was
    /// retransmitted since then is not reported missing.
    pub(crate) newest_sent: Instant,
    /// On these paths, one bit each, only time decides (`policy/rack.rs`).
    pub(crate) by_time: u8,
    /// The rules of concurrent multipath transfer, if configured.
    pub(crate) split: Option<Split>,
}

impl Missing {
    /// Whether the SACK reports a chunk missing, by RFC 9260.
    pub(crate) fn reports(&self, seq: u64, r: &Record) -> bool {
        let outlived = r.sends == 1 || r.sent_at < self.newest_sent;
        seq < self.below && outlived
    }

    /// The number of missing reports that the SACK counts for a chunk.
    pub(crate) fn count(&self, seq: u64, r: &Record) -> u8 {
        match &self.split {
            None => {
                let again = self
                    .rule
                    .counts(r.reports.fast_retransmitted, self.highest_new);
                u8::from(self.reports(seq, r) && again)
            }
            Some(split) => {
                let sent_again = (r.sends > 1).then_some(r.sent_at);
                let htna = (self.reports(seq, r), self.highest_new);
                split.reports(seq, r, (self.rule, htna, sent_again))
            }
        }
    }
}

//! Split Fast Retransmit, SFR (CMT paper section IV.A).
//!
//! Chunks on a fast path overtake those on a slow one, so a gap does not mean a loss. By
//! the rule of RFC 9260, CMT would retransmit chunks that are only late. But on one path
//! chunks stay in order. So a chunk is reported missing only by a SACK that newly
//! acknowledges a chunk sent later to the same destination. In RFC 9260 section 7.2.4
//! any newly acknowledged chunk with a higher TSN reports it. On by default with CMT.

use crate::time::Instant;

/// The newly acknowledged chunks of a SACK that were last sent to one destination.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct NewlyAcked {
    /// The lowest sequence.
    pub lowest: u64,
    /// The highest.
    pub highest: u64,
    /// When the last of them was sent.
    pub newest_sent: Instant,
}

impl NewlyAcked {
    /// Adds a chunk.
    pub fn join(all: &mut Option<NewlyAcked>, seq: u64, sent_at: Instant) {
        let one = NewlyAcked {
            lowest: seq,
            highest: seq,
            newest_sent: sent_at,
        };
        *all = Some(all.map_or(one, |a| NewlyAcked {
            lowest: a.lowest.min(seq),
            highest: a.highest.max(seq),
            newest_sent: a.newest_sent.max(sent_at),
        }));
    }
}

/// Whether a SACK reports a chunk missing. `same` has the newly acknowledged chunks of
/// the chunk's destination. `repeated_at` is when the chunk was retransmitted, if it was.
#[must_use]
pub fn reports(seq: u64, repeated_at: Option<Instant>, same: Option<&NewlyAcked>) -> bool {
    same.is_some_and(|n| {
        seq < n.highest && repeated_at.is_none_or(|sent_at| sent_at < n.newest_sent)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_sent_later_to_the_same_destination_reports_a_chunk() {
        let at = Instant::from_millis;
        let seen = |lowest, highest, ms| {
            Some(NewlyAcked {
                lowest,
                highest,
                newest_sent: at(ms),
            })
        };
        // chunk, sent again at, newly acknowledged there, expected
        let rows = [
            (5, None, None, false),
            (5, None, seen(7, 9, 10), true),
            (5, None, seen(2, 4, 10), false),
            (5, None, seen(5, 5, 10), false),
            // Retransmitted after all chunks that this SACK acknowledges were sent.
            (5, Some(at(20)), seen(7, 9, 10), false),
            (5, Some(at(20)), seen(7, 9, 30), true),
        ];
        for (seq, again, same, expected) in rows {
            assert_eq!(reports(seq, again, same.as_ref()), expected, "{same:?}");
        }
    }

    #[test]
    fn newly_acknowledged_chunks_add_up() {
        let mut all = None;
        for (seq, ms) in [(4, 30), (9, 10), (6, 20)] {
            NewlyAcked::join(&mut all, seq, Instant::from_millis(ms));
        }
        let expected = NewlyAcked {
            lowest: 4,
            highest: 9,
            newest_sent: Instant::from_millis(30),
        };
        assert_eq!(all, Some(expected));
    }
}

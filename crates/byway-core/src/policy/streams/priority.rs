//! Strict priorities of streams (RFC 8260 section 3.4).
//!
//! The value that the user sets for a stream is its priority, and 0, the value of a stream
//! without one, is the highest (section 4.3.2). A stream sends while none with a lower value
//! has something to send, and equals take turns ([`super::round_robin`]). With user message
//! interleaving a long message of a low priority does not delay one of a high priority.

use super::{Rank, Round, round_robin};

/// The rank behind all others of its priority.
#[must_use]
pub fn next(value: u16, round: &mut Round) -> Rank {
    Rank {
        class: value,
        ..round_robin::next(round)
    }
}

#[cfg(test)]
mod tests {
    use super::super::StreamScheduler::Priority;
    use super::super::testing::order;

    #[test]
    fn the_lowest_value_first_and_equals_in_turn() {
        for (streams, expected) in [
            (&[(1, 100), (0, 1)][..], [1, 1, 1, 1]),
            (&[(0, 100), (0, 1)][..], [0, 1, 0, 1]),
            (&[(2, 1), (1, 1), (7, 1), (1, 1)][..], [1, 3, 1, 3]),
            (&[(u16::MAX, 1), (u16::MAX, 1)][..], [0, 1, 0, 1]),
        ] {
            assert_eq!(order(Priority, streams, 4), expected, "{streams:?}");
        }
    }
}

//! Streams in turn (RFC 8260 sections 3.2 and 3.3).
//!
//! A stream that has sent goes behind all others that have something to send, and so does one
//! that gets its first message. With user message interleaving a turn is a chunk, without it a
//! message, and per packet it is all that a packet holds. So many short messages of one stream
//! do not hold back those of another, whatever their lengths.

use super::{Rank, Round};

/// The rank behind all others.
#[must_use]
pub fn next(round: &mut Round) -> Rank {
    round.turn += 1;
    Rank {
        class: 0,
        at: round.turn,
    }
}

#[cfg(test)]
mod tests {
    use super::super::StreamScheduler::{RoundRobin, RoundRobinPacket};
    use super::super::testing::order;

    #[test]
    fn each_stream_has_its_turn_whatever_the_lengths_and_values() {
        for (streams, expected) in [
            (&[(0, 100)][..], [0, 0, 0, 0, 0, 0]),
            (&[(0, 100), (0, 1)][..], [0, 1, 0, 1, 0, 1]),
            (&[(5, 1), (0, 1), (9, 1000)][..], [0, 1, 2, 0, 1, 2]),
        ] {
            for scheduler in [RoundRobin, RoundRobinPacket] {
                assert_eq!(order(scheduler, streams, 6), expected, "{streams:?}");
            }
        }
    }
}

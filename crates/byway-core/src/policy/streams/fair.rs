//! An equal capacity for each stream (RFC 8260 section 3.5), by start-time fair queuing (Goyal,
//! Vin and Cheng, "Start-time Fair Queuing", SIGCOMM 1996).
//!
//! The rank of a stream is a virtual time, which advances by the bytes that the stream sends, and
//! the stream that is least advanced sends next. A stream that gets its first message begins at the
//! time of the stream that was served last, or where it stopped if that is later: so it neither
//! waits for what others have sent before, nor is it served twice. Two streams with much to send
//! have sent the same number of bytes at any time, but for one chunk (without user message
//! interleaving, one message).

use super::{Rank, Round};

/// The rank of a stream that begins.
#[must_use]
pub fn joins(was: Rank, round: &Round) -> Rank {
    Rank {
        class: 0,
        at: was.at.max(round.served),
    }
}

/// The rank after so many bytes.
#[must_use]
pub fn served(was: Rank, bytes: u64) -> Rank {
    Rank {
        class: 0,
        at: was.at.saturating_add(bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::super::StreamScheduler::FairCapacity;
    use super::super::testing::order;
    use super::*;

    #[test]
    fn bytes_count_and_not_chunks() {
        for (streams, expected) in [
            (&[(0, 100), (0, 100)][..], [0, 1, 0, 1, 0, 1, 0, 1]),
            (&[(0, 300), (0, 100)][..], [0, 1, 1, 1, 0, 1, 1, 1]),
            // The value has no meaning.
            (&[(9, 100), (1, 200)][..], [0, 1, 0, 0, 1, 0, 0, 1]),
        ] {
            assert_eq!(order(FairCapacity, streams, 8), expected, "{streams:?}");
        }
    }

    #[test]
    fn who_comes_late_begins_now_and_who_went_comes_back_where_it_was() {
        let round = Round {
            served: 5000,
            turn: 0,
        };
        for (was, expected) in [(0, 5000), (5000, 5000), (6000, 6000)] {
            let was = Rank { class: 0, at: was };
            assert_eq!(joins(was, &round).at, expected);
        }
    }
}

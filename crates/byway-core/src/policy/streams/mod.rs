//! Which stream sends next: the stream schedulers of RFC 8260 section 3.
//!
//! Messages wait by stream, and each stream that has one has a rank. The stream with the
//! lowest rank sends the next chunk (with user message interleaving) or the next message
//! (without), and then it gets another rank. A scheduler is the rule that gives the ranks;
//! each has its own file: [`round_robin`], [`priority`], [`fair`] and [`weighted`]. First-come,
//! first-served needs no rank: messages leave in the order in which the user sent them.

pub mod fair;
pub mod priority;
pub mod round_robin;
pub mod weighted;

use serde::{Deserialize, Serialize};

/// Which stream sends next (RFC 8260 section 3).
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Default)]
pub enum StreamScheduler {
    /// Messages in the order in which the user sent them (section 3.1). A message that is
    /// sent in several chunks is not interrupted.
    #[default]
    FirstCome,
    /// Streams in turn, a chunk each, or a message each without interleaving (section 3.2).
    RoundRobin,
    /// Streams in turn, a packet each: a packet has chunks of one stream only (section 3.3).
    RoundRobinPacket,
    /// The stream with the lowest value first, in turn among equals (section 3.4).
    Priority,
    /// As many bytes of each stream (section 3.5).
    FairCapacity,
    /// Bytes of each stream by its value, which is its weight (section 3.6).
    WeightedFair,
}

/// The place of a stream among those that have messages: the lowest is next.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rank {
    /// Decides first.
    pub class: u16,
    /// Decides in a class: a turn, or a virtual time.
    pub at: u64,
}

/// What is common to all streams.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Round {
    /// `at` of the rank that was served last.
    pub served: u64,
    /// The last turn that was given.
    pub turn: u64,
}

impl StreamScheduler {
    /// The rank of a stream that had no message and gets one. `was`: its rank before.
    /// `value`: what the user set for it, or 0.
    #[must_use]
    pub fn joins(self, was: Rank, value: u16, round: &mut Round) -> Rank {
        match self {
            StreamScheduler::FirstCome => Rank::default(),
            StreamScheduler::RoundRobin | StreamScheduler::RoundRobinPacket => {
                round_robin::next(round)
            }
            StreamScheduler::Priority => priority::next(value, round),
            StreamScheduler::FairCapacity | StreamScheduler::WeightedFair => {
                fair::joins(was, round)
            }
        }
    }

    /// The next rank of a stream that has sent `bytes` of payload with this rank.
    #[must_use]
    pub fn served(self, was: Rank, bytes: u64, value: u16, round: &mut Round) -> Rank {
        match self {
            StreamScheduler::FirstCome => Rank::default(),
            StreamScheduler::RoundRobin | StreamScheduler::RoundRobinPacket => {
                round_robin::next(round)
            }
            StreamScheduler::Priority => priority::next(value, round),
            StreamScheduler::FairCapacity => fair::served(was, bytes),
            StreamScheduler::WeightedFair => weighted::served(was, bytes, value),
        }
    }
}

#[cfg(test)]
pub(crate) mod testing {
    use super::{Rank, Round, StreamScheduler};

    /// The streams that send, in order. Each of `streams` (its value, the length of its
    /// chunks) always has more to send.
    pub(crate) fn order(
        scheduler: StreamScheduler,
        streams: &[(u16, u64)],
        chunks: usize,
    ) -> Vec<usize> {
        let mut round = Round::default();
        let mut ranks: Vec<Rank> = streams
            .iter()
            .map(|s| scheduler.joins(Rank::default(), s.0, &mut round))
            .collect();
        let mut order = Vec::new();
        for _ in 0..chunks {
            let next = (0..ranks.len()).min_by_key(|i| ranks[*i]).unwrap();
            round.served = ranks[next].at;
            let (value, bytes) = streams[next];
            ranks[next] = scheduler.served(ranks[next], bytes, value, &mut round);
            order.push(next);
        }
        order
    }
}

//! Dead data (byway's own; the watch that attack row 40 of Cisco's
//! CVE-2019-16026 asks for, with the probes of RFC 8899 section 4.1).
//!
//! Where small packets pass and large ones do not (a black hole of the path
//! MTU), or a half-dead peer answers heartbeats and acknowledges nothing, RFC
//! 9260 sees a path in order: each HEARTBEAT ACK clears the error counter that
//! the timeouts of its data had filled, and data goes back to its death. So a
//! path is dead for data after so many T3-rtx expirations in a row without the
//! acknowledgement of a chunk as large as those that were lost, if something
//! small came through meanwhile; it gets no data while another path works, and
//! returns only when a heartbeat as large as its packets is answered, or its
//! data acknowledged. Where every path is like that, the association ends after
//! a bounded time, with that reason.
//!
//! RFC 9260 sections 8.2 and 8.3 know none of this. On by default: nothing of it
//! happens while a path acknowledges what it is sent; `rfc2960` has it off.

use crate::time::{Duration, Instant};
use crate::units;
use serde::{Deserialize, Serialize};

/// When data that is never acknowledged is taken for dead, although heartbeats
/// are answered.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DeadData {
    /// T3-rtx expirations in a row that make a path dead for data (3).
    pub timeouts: u32,
    /// How long the association may go without the acknowledgement of anything
    /// on any path, counted from the first expiration, although heartbeats are
    /// answered (2 min). It ends at the first expiration of T3-rtx that is not
    /// earlier, so at most RTO.Max later.
    #[serde(with = "units::duration")]
    pub give_up: Duration,
}

impl Default for DeadData {
    fn default() -> DeadData {
        DeadData {
            timeouts: 3,
            give_up: Duration::from_secs(120),
        }
    }
}

/// What a path's data has met since it was last acknowledged.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Trial {
    /// T3-rtx expirations.
    timeouts: u32,
    /// The largest chunk that they took for lost, bytes.
    largest: u32,
    /// Something smaller came through meanwhile: the path is not just dead.
    answered: bool,
}

impl Trial {
    /// T3-rtx expired; the largest chunk in flight had so many bytes.
    pub fn on_timeout(&mut self, largest: u32) {
        self.timeouts = self.timeouts.saturating_add(1);
        self.largest = self.largest.max(largest);
    }

    /// A heartbeat was answered. `full_sized`: it was as large as the path's packets,
    /// so nothing is wrong with the path.
    pub fn on_answer(&mut self, full_sized: bool) {
        if full_sized {
            *self = Trial::default();
        } else {
            self.answered |= self.timeouts > 0;
        }
    }

    /// A chunk of so many bytes that was sent there was acknowledged.
    pub fn on_acknowledged(&mut self, bytes: u32) {
        if bytes >= self.largest {
            *self = Trial::default();
        } else {
            self.answered |= self.timeouts > 0;
        }
    }

    /// Whether nothing is held against the path.
    #[must_use]
    pub fn is_clear(&self) -> bool {
        self.timeouts == 0
    }

    /// Whether something came through since the first expiration.
    #[must_use]
    pub fn was_answered(&self) -> bool {
        self.answered
    }

    /// Whether the path is dead for data.
    #[must_use]
    pub fn is_dead(&self, cfg: &DeadData) -> bool {
        self.answered && self.timeouts >= cfg.timeouts
    }
}

impl DeadData {
    /// Whether an association is to end at `now` whose data has not been
    /// acknowledged since the expiration at `since`.
    #[must_use]
    pub fn ends(&self, since: Instant, now: Instant) -> bool {
        now.since(since) >= self.give_up
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    enum Step {
        Timeout(u32),
        Answer(bool),
        Acked(u32),
    }

    #[test]
    fn dead_for_data_is_silent_for_large_chunks_and_answers_small_ones() {
        use Step::{Acked, Answer, Timeout};
        let cfg = DeadData::default();
        let rows: [(&[Step], bool); 8] = [
            // Dead altogether: for the error counter.
            (&[Timeout(1468), Timeout(1468), Timeout(1468)], false),
            (&[Timeout(1468), Answer(false), Timeout(1468)], false),
            (
                &[Timeout(1468), Answer(false), Timeout(9), Timeout(9)],
                true,
            ),
            // The last answer before the first timeout says nothing.
            (&[Answer(false), Timeout(9), Timeout(9), Timeout(9)], false),
            // Small chunks pass, large ones do not.
            (
                &[Timeout(1468), Acked(116), Timeout(1468), Timeout(1468)],
                true,
            ),
            // A chunk as large, or a heartbeat as large as a packet, clears it.
            (
                &[Timeout(9), Answer(false), Timeout(9), Acked(9), Timeout(9)],
                false,
            ),
            (
                &[
                    Timeout(9),
                    Answer(false),
                    Timeout(9),
                    Timeout(9),
                    Answer(true),
                ],
                false,
            ),
            // Shorter chunks that are lost later do not lower the bar.
            (
                &[Timeout(1468), Timeout(116), Acked(116), Timeout(116)],
                true,
            ),
        ];
        for (steps, expected) in rows {
            let mut t = Trial::default();
            for step in steps {
                match step {
                    Timeout(bytes) => t.on_timeout(*bytes),
                    Answer(full_sized) => t.on_answer(*full_sized),
                    Acked(bytes) => t.on_acknowledged(*bytes),
                }
            }
            assert_eq!(t.is_dead(&cfg), expected, "{steps:?}");
        }
    }

    #[test]
    fn the_association_ends_after_a_bounded_time() {
        let cfg = DeadData::default();
        let at = Instant::from_millis;
        assert!(!cfg.ends(at(1000), at(120_999)));
        assert!(cfg.ends(at(1000), at(121_000)));
    }
}

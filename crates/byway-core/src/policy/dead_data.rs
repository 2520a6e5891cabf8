//! Dead data (byway's own; the check that attack row 40 of Cisco's CVE-2019-16026
//! requires, with the probes of RFC 8899 section 4.1).
//!
//! Small packets may pass where large ones do not (a black hole of the path MTU), or a
//! faulty peer answers heartbeats but acknowledges no data. For RFC 9260 such a path is
//! in order: each HEARTBEAT ACK clears the error counter that the timeouts of its data
//! increased, and data returns to the path and is lost again.
//!
//! So byway counts consecutive expirations of T3-rtx in which no chunk as large as the
//! lost ones is acknowledged. After [`DeadData::timeouts`] of them a path is dead for
//! data, if something small arrived in this time. It gets no data while another path
//! works. It returns only when a heartbeat as large as its packets is answered, or its
//! data is acknowledged. If all paths are dead for data, the association ends after a
//! bounded time and reports this reason.
//!
//! RFC 9260 sections 8.2 and 8.3 have no such rule. It is on by default, because it has
//! no effect while data on a path is acknowledged. The preset `rfc2960` turns it off.

use crate::time::{Duration, Instant};
use crate::units;
use serde::{Deserialize, Serialize};

/// When data counts as dead: it is never acknowledged although heartbeats are answered.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DeadData {
    /// Consecutive T3-rtx expirations that make a path dead for data (3).
    pub timeouts: u32,
    /// The longest time without an acknowledgement of data on any path although
    /// heartbeats are answered (2 min). It is counted from the first expiration. The
    /// association ends at the first T3-rtx expiration after this time, so at most
    /// RTO.Max later.
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

/// What happened to a path's data since its last acknowledgement.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Trial {
    /// T3-rtx expirations.
    timeouts: u32,
    /// Size of the largest chunk that was lost in these expirations, bytes.
    largest: u32,
    /// Something smaller arrived since the first of them, so the path passes some packets.
    answered: bool,
}

impl Trial {
    /// T3-rtx expired. `largest` is the size of the largest chunk in flight, bytes.
    pub fn on_timeout(&mut self, largest: u32) {
        self.timeouts = self.timeouts.saturating_add(1);
        self.largest = self.largest.max(largest);
    }

    /// A heartbeat was answered. `full_sized`: it was as large as the path's packets,
    /// so the path is in order.
    pub fn on_answer(&mut self, full_sized: bool) {
        if full_sized {
            *self = Trial::default();
        } else {
            self.answered |= self.timeouts > 0;
        }
    }

    /// A chunk of this size that was sent there was acknowledged.
    pub fn on_acknowledged(&mut self, bytes: u32) {
        if bytes >= self.largest {
            *self = Trial::default();
        } else {
            self.answered |= self.timeouts > 0;
        }
    }

    /// Whether there is no evidence against the path.
    #[must_use]
    pub fn is_clear(&self) -> bool {
        self.timeouts == 0
    }

    /// Whether something arrived since the first expiration.
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
    /// Whether an association must end at `now` if its data was not acknowledged since
    /// the expiration at `since`.
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
            // Dead for all packets: the error counter handles it.
            (&[Timeout(1468), Timeout(1468), Timeout(1468)], false),
            (&[Timeout(1468), Answer(false), Timeout(1468)], false),
            (
                &[Timeout(1468), Answer(false), Timeout(9), Timeout(9)],
                true,
            ),
            // An answer before the first timeout is no evidence.
            (&[Answer(false), Timeout(9), Timeout(9), Timeout(9)], false),
            // Small chunks pass, large ones do not.
            (
                &[Timeout(1468), Acked(116), Timeout(1468), Timeout(1468)],
                true,
            ),
            // A chunk as large, or a heartbeat as large as a packet, clears the
            // evidence.
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
            // Losses of shorter chunks do not lower the required size.
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

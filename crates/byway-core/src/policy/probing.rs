//! Path failure detection apart from congestion control (cortes-2008).
//!
//! Waiting for PMR doubled timeouts makes detection take a minute, because the
//! timeouts belong to congestion control. So from the first timeout on, the
//! path is probed with a heartbeat every Dmax/n, without back-off and without
//! repeats, and the window keeps room for them; an answer ends the doubt, and
//! after Dmax without one the path has failed. RFC 9260 counts errors instead;
//! the default is errors alone.
//!
//! The letter says "from the first retransmission" and means the first timeout
//! (its section II: a retransmission takes place when an acknowledgement is too
//! long in coming). It says "after the time T_hb" where its figure 2 shows
//! Dmax. What answers: see [`ProbingStop`].

use crate::time::{Duration, Instant};
use crate::units;
use serde::{Deserialize, Serialize};

/// The probing detector's two numbers.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Probing {
    /// The longest that a dead path may go unnoticed after the first timeout
    /// (10 s).
    #[serde(with = "units::duration")]
    pub dmax: Duration,
    /// Heartbeats in that time (10).
    pub n: u32,
    /// What ends the doubt.
    pub stop: ProbingStop,
    /// Whether timeouts beyond PMR make the path inactive beside the detector
    /// (true); by the letter they no longer do (false). Lost heartbeats of an
    /// idle path count in either case.
    pub beside_pmr: bool,
}

/// What ends the doubt about a path that is probed.
///
/// The letter says both that an acknowledged heartbeat stops the probing and,
/// in calling acknowledgements what proves a path, leaves open which of them
/// count. A SACK may acknowledge what went to another path, or what arrived
/// before the path died: to stop for it is spurious, and puts detection off.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Default)]
pub enum ProbingStop {
    /// The answer to one of its heartbeats, nothing else (section III, the last
    /// item of the list).
    HeartbeatAck,
    /// That, or an acknowledgement of data that went to this path after its
    /// last timeout.
    #[default]
    PathAck,
    /// Any acknowledgement of something new, from whatever path. While
    /// retransmissions on an alternate are acknowledged, a dead path is not
    /// noticed: for comparison.
    AnyAck,
}

/// Something that was acknowledged.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Evidence {
    /// A heartbeat on the path.
    Heartbeat,
    /// Data that went there since its last timeout.
    PathData,
    /// Other data.
    AnyData,
}

impl ProbingStop {
    /// Whether this ends the doubt.
    #[must_use]
    pub fn accepts(self, evidence: Evidence) -> bool {
        match evidence {
            Evidence::Heartbeat => true,
            Evidence::PathData => self != ProbingStop::HeartbeatAck,
            Evidence::AnyData => self == ProbingStop::AnyAck,
        }
    }
}

/// Bytes that a heartbeat takes of a window: its chunk, as DATA chunks count.
const HEARTBEAT_BYTES: u32 = 28;

impl Default for Probing {
    fn default() -> Probing {
        Probing {
            dmax: Duration::from_secs(10),
            n: 10,
            stop: ProbingStop::PathAck,
            beside_pmr: true,
        }
    }
}

/// How a dead path is noticed.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Default)]
pub enum Detection {
    /// By consecutive errors alone (RFC 9260 section 8.2).
    #[default]
    ErrorCount,
    /// By probes every Dmax/n from the first timeout, and by errors beside them
    /// if wanted.
    Probing(Probing),
}

impl Detection {
    /// Bytes of the window that data leaves to the heartbeats of a doubt, so
    /// that they do not add to what congests the path.
    #[must_use]
    pub fn reserved(&self) -> u32 {
        match self {
            Detection::ErrorCount => 0,
            Detection::Probing(p) => p.n.saturating_mul(HEARTBEAT_BYTES),
        }
    }

    /// Whether timeouts make a path inactive.
    #[must_use]
    pub fn counts_timeouts(&self) -> bool {
        match self {
            Detection::ErrorCount => true,
            Detection::Probing(p) => p.beside_pmr,
        }
    }
}

/// What a path in doubt needs now.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Another heartbeat, and the next look then.
    Probe(Instant),
    /// Dmax has passed: it has failed.
    Failed,
}

impl Probing {
    /// The time between two heartbeats.
    #[must_use]
    pub fn interval(&self) -> Duration {
        self.dmax / self.n.max(1)
    }

    /// What to do at `now` about a path in doubt since `since`.
    #[must_use]
    pub fn verdict(&self, since: Instant, now: Instant) -> Verdict {
        if now.since(since) >= self.dmax {
            Verdict::Failed
        } else {
            Verdict::Probe((now + self.interval()).min(since + self.dmax))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_probe_every_dmax_over_n_until_dmax() {
        let p = Probing {
            dmax: Duration::from_secs(9),
            n: 4,
            ..Probing::default()
        };
        let at = Instant::from_millis;
        for (now, expected) in [
            (1000, Verdict::Probe(at(3250))),
            (3250, Verdict::Probe(at(5500))),
            (8000, Verdict::Probe(at(10_000))),
            (9999, Verdict::Probe(at(10_000))),
            (10_000, Verdict::Failed),
        ] {
            assert_eq!(p.verdict(at(1000), at(now)), expected, "at {now} ms");
        }
    }

    #[test]
    fn what_ends_the_doubt() {
        use Evidence::{AnyData, Heartbeat, PathData};
        let all = [Heartbeat, PathData, AnyData];
        for (stop, expected) in [
            (ProbingStop::HeartbeatAck, [true, false, false]),
            (ProbingStop::PathAck, [true, true, false]),
            (ProbingStop::AnyAck, [true, true, true]),
        ] {
            assert_eq!(all.map(|e| stop.accepts(e)), expected, "{stop:?}");
        }
    }

    #[test]
    fn the_room_in_the_window_is_that_of_all_heartbeats_of_a_doubt() {
        assert_eq!(Detection::ErrorCount.reserved(), 0);
        assert_eq!(Detection::Probing(Probing::default()).reserved(), 280);
    }
}

//! Path failure detection separate from congestion control (cortes-2008).
//!
//! The error counter waits for PMR timeouts, and congestion control doubles each of
//! them, so it takes about a minute. So from the first timeout on, a heartbeat probes
//! the path every Dmax/n, without back-off and without retransmission. The window keeps
//! room for these heartbeats. An answer ends the probing. After Dmax without an answer
//! the path has failed. RFC 9260 counts errors instead, and this is the default.
//!
//! The paper says "from the first retransmission" and means the first timeout (its
//! section II: a retransmission takes place when an acknowledgement is too long in
//! coming). It says "after the time T_hb" where its figure 2 shows Dmax.
//! [`ProbingStop`] says what counts as an answer.

use crate::time::{Duration, Instant};
use crate::units;
use serde::{Deserialize, Serialize};

/// The settings of the probing detector.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Probing {
    /// The longest time from the first timeout until a dead path is detected (10 s).
    #[serde(with = "units::duration")]
    pub dmax: Duration,
    /// Number of heartbeats in that time (10).
    pub n: u32,
    /// Which acknowledgement ends the probing.
    pub stop: ProbingStop,
    /// Whether timeouts beyond PMR also make the path inactive (true); in the text of
    /// the paper they do not (false). Lost heartbeats of an idle path always count.
    pub beside_pmr: bool,
}

/// Which acknowledgement ends the probing of a path.
///
/// The paper says that an acknowledged heartbeat stops the probing. It also calls
/// acknowledgements the proof of a path, but does not say which of them count. A SACK
/// may acknowledge data that took another path, or that arrived before the path died.
/// Such a SACK must not stop the probing, because it would delay the detection.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Default)]
pub enum ProbingStop {
    /// Only the answer to one of its heartbeats (section III, the last item of the
    /// list).
    HeartbeatAck,
    /// The answer to a heartbeat, or an acknowledgement of data that was sent to this
    /// path after its last timeout.
    #[default]
    PathAck,
    /// Any acknowledgement of new data, from any path. A dead path is not detected
    /// while retransmissions on an alternate are acknowledged. For comparison only.
    AnyAck,
}

/// Something that was acknowledged.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Evidence {
    /// A heartbeat on the path.
    Heartbeat,
    /// Data that was sent there after its last timeout.
    PathData,
    /// Other data.
    AnyData,
}

impl ProbingStop {
    /// Whether this ends the probing.
    #[must_use]
    pub fn accepts(self, evidence: Evidence) -> bool {
        match evidence {
            Evidence::Heartbeat => true,
            Evidence::PathData => self != ProbingStop::HeartbeatAck,
            Evidence::AnyData => self == ProbingStop::AnyAck,
        }
    }
}

/// Bytes of the window that a heartbeat takes. Its chunk counts like a DATA chunk.
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

/// How a dead path is detected.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Default)]
pub enum Detection {
    /// Only by consecutive errors (RFC 9260 section 8.2).
    #[default]
    ErrorCount,
    /// By probes every Dmax/n from the first timeout, and optionally also by errors.
    Probing(Probing),
}

impl Detection {
    /// Bytes of the window that data leaves free for the detector's heartbeats, so that
    /// they do not add to congestion of the path.
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

/// What to do now about a path that is probed.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Send a heartbeat now and ask again at this time.
    Probe(Instant),
    /// Dmax has passed: the path has failed.
    Failed,
}

impl Probing {
    /// The time between two heartbeats.
    #[must_use]
    pub fn interval(&self) -> Duration {
        self.dmax / self.n.max(1)
    }

    /// What to do at `now` for a path whose first timeout was at `since`.
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

//! Path failure detection apart from congestion control (cortes-2008).
//!
//! Waiting for PMR doubled timeouts makes detection take a minute, because the
//! timeouts belong to congestion control. So from the first timeout on, the
//! path is probed with a heartbeat every Dmax/n, without back-off and without
//! repeats; any acknowledgement from it ends the doubt, and after Dmax without
//! one it has failed. RFC 9260 counts errors instead, which goes on beside it;
//! the default is errors alone.

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
}

impl Default for Probing {
    fn default() -> Probing {
        Probing {
            dmax: Duration::from_secs(10),
            n: 10,
        }
    }
}

/// How a dead path is noticed.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Default)]
pub enum Detection {
    /// By consecutive errors alone (RFC 9260 section 8.2).
    #[default]
    ErrorCount,
    /// By probes every Dmax/n from the first timeout, and by errors.
    Probing(Probing),
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
}

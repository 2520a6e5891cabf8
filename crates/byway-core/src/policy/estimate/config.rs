//! The settings of path estimates (`failover.estimate`).

use crate::time::Duration;
use crate::units;
use serde::{Deserialize, Serialize};

/// What the estimates decide.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Default)]
pub enum Choice {
    /// Nothing: they are reported.
    Nothing,
    /// Whether a failover that `failover.primary_switch` would make permanent is
    /// made so: only to a path that is estimated better.
    PermanentFailover,
    /// That, and the path that is estimated best becomes the primary without a
    /// failure.
    #[default]
    Best,
}

/// How much a path would carry.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Default)]
pub enum Formula {
    /// sqrt(3/(4p))/RTT (caro-2006 section IV.2).
    #[default]
    Simple,
    /// Padhye's full formula, with what timeouts cost.
    WithTimeouts,
}

/// What a probe of an idle path is.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Default)]
pub enum ProbeSize {
    /// A HEARTBEAT alone: 40 bytes with the common header.
    #[default]
    Small,
    /// A HEARTBEAT padded to the path's packet size, where losses depend on it
    /// (bit errors, queues that count bytes); probes are rarer in the same share.
    Packet,
}

/// The estimates of all paths, what they cost, and what they decide.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct EstimateConfig {
    /// What is decided by them (`Best`).
    pub choice: Choice,
    /// By which formula (`Simple`, the paper's).
    pub formula: Formula,
    /// How many times better the other path must be (1.2).
    pub factor: f64,
    /// How many standard deviations the doubt about a loss rate counts, against
    /// the path that would be moved to (2).
    pub deviations: f64,
    /// Passages that each of the two must have been seen to make or miss (200).
    pub min_samples: u32,
    /// The least time from one change of the primary to the next (10 s).
    #[serde(with = "units::duration")]
    pub hold: Duration,
    /// Passages that an estimate remembers: with each new one the older ones
    /// count 1/memory less (5000).
    pub memory: u32,
    /// The most that probes may cost: bytes of theirs for each byte of packets
    /// with DATA, both with SCTP headers (0.01). The answers cost as much again,
    /// on the way back.
    pub probe_share: f64,
    /// Losses do not count while more packets of ours than this wait in a queue
    /// of the path (4), reckoned as TCP Veno does: packets in flight times the
    /// share of the round trip that is beyond the least. A large number counts
    /// them all.
    pub own_queue: u32,
    /// Most probes a second, all idle paths together (10).
    pub probes_per_second: u32,
    /// What a probe is (`Small`).
    pub probe_size: ProbeSize,
}

impl Default for EstimateConfig {
    fn default() -> EstimateConfig {
        EstimateConfig {
            choice: Choice::Best,
            formula: Formula::Simple,
            factor: 1.2,
            deviations: 2.0,
            min_samples: 200,
            hold: Duration::from_secs(10),
            memory: 5000,
            probe_share: 0.01,
            own_queue: 4,
            probes_per_second: 10,
            probe_size: ProbeSize::Small,
        }
    }
}

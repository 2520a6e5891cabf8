//! The settings of path estimates (`failover.estimate`).

use crate::time::Duration;
use crate::units;
use serde::{Deserialize, Serialize};

/// What the estimates decide.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Default)]
pub enum Choice {
    /// Nothing: they are only reported.
    Nothing,
    /// Whether `failover.primary_switch` may make a failover permanent: only if the
    /// new path has the better estimate.
    PermanentFailover,
    /// The same, and the path with the best estimate becomes the primary even
    /// without a failure.
    #[default]
    Best,
}

/// The formula for the throughput of a path.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Default)]
pub enum Formula {
    /// sqrt(3/(4p))/RTT (caro-2006 section IV.2).
    #[default]
    Simple,
    /// Padhye's full formula, which includes the cost of timeouts.
    WithTimeouts,
}

/// The size of a probe of an idle path.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Default)]
pub enum ProbeSize {
    /// A HEARTBEAT alone: 40 bytes with the common header.
    #[default]
    Small,
    /// A HEARTBEAT padded to the path's packet size, for paths whose losses depend
    /// on the size (bit errors, queues limited in bytes). For the same share of
    /// bytes fewer probes leave.
    Packet,
}

/// The estimates of the paths: how they are measured and what they decide.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct EstimateConfig {
    /// What they decide (`Best`).
    pub choice: Choice,
    /// The formula that compares paths (`Simple`, the paper's).
    pub formula: Formula,
    /// How many times better the other path must be (1.2).
    pub factor: f64,
    /// How many standard deviations of uncertainty about the loss rates count
    /// against a change of the primary (2).
    pub deviations: f64,
    /// The passages that must be measured on each of the two paths before they are
    /// compared (200).
    pub min_samples: u32,
    /// The least time between two changes of the primary (10 s).
    #[serde(with = "units::duration")]
    pub hold: Duration,
    /// The passages that an estimate remembers (5000): each new passage reduces
    /// the weight of the older ones by the factor 1 - 1/memory.
    pub memory: u32,
    /// The most bytes of probes for each byte of packets with DATA, both with SCTP
    /// headers (0.01). The answers cost as much again in the other direction.
    pub probe_share: f64,
    /// Losses do not count while more than this number of our packets wait in a
    /// queue of the path (4). The number is computed as in TCP Veno: the packets
    /// in flight times the share of the round trip above its minimum. With a large
    /// value all losses count.
    pub own_queue: u32,
    /// The most probes per second on all paths together (10).
    pub probes_per_second: u32,
    /// The size of a probe (`Small`).
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

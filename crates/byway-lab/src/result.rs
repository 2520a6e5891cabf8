//! What a run yields.

use crate::measures::Measures;
use crate::series::{Buckets, Curve};
use serde::Serialize;

/// The form of the machine-readable results; changes when a field is renamed,
/// removed or changes its meaning.
pub const SCHEMA: &str = "byway.run/1";

/// All policies of a scenario, side by side.
#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// What was run.
    pub scenario: ScenarioInfo,
    /// One for each policy, in the scenario's order.
    pub results: Vec<RunResult>,
}

/// What was run, for tables and reports.
#[derive(Clone, Debug, Serialize)]
pub struct ScenarioInfo {
    /// Name.
    pub name: String,
    /// What it shows.
    pub description: String,
    /// Seed of all chance.
    pub seed: u64,
    /// Longest simulated time, seconds.
    pub limit_s: f64,
    /// The traffic in words.
    pub traffic: String,
    /// Paths, the primary first.
    pub paths: Vec<PathInfo>,
    /// What happens, in order of time.
    pub events: Vec<EventInfo>,
}

/// A path.
#[derive(Clone, Debug, Serialize)]
pub struct PathInfo {
    /// Name.
    pub name: String,
    /// Rate of the bottleneck towards the receiver, bit/s.
    pub rate_bit_s: u64,
    /// In words: rate, delay, queue, loss.
    pub words: String,
}

/// Something scripted that happened to a path.
#[derive(Clone, Debug, Serialize)]
pub struct EventInfo {
    /// When, seconds.
    pub at_s: f64,
    /// The path's place.
    pub path: usize,
    /// What, in words: "fails", "is repaired".
    pub words: String,
    /// Whether it takes the path away.
    pub failure: bool,
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum Outcome {
    /// All was delivered and acknowledged.
    Complete,
    /// The association was lost.
    Lost {
        /// Why.
        reason: String,
    },
    /// The simulated time was over.
    OutOfTime,
    /// The simulator had handled as many events as the scenario allows.
    OutOfEvents,
}

/// What one policy did.
#[derive(Clone, Debug, Serialize)]
pub struct RunResult {
    /// The policy's name.
    pub policy: String,
    /// What it is about.
    pub note: String,
    /// How it ended.
    pub outcome: Outcome,
    /// From the first DATA to the SACK that covers the last, at the sender,
    /// seconds; none when it did not come that far.
    pub transfer_s: Option<f64>,
    /// From the first DATA to the delivery of the last byte, seconds.
    pub delivered_s: Option<f64>,
    /// Payload bytes delivered to the reader.
    pub delivered_bytes: u64,
    /// The longest time in which nothing was delivered; none without traffic.
    pub stall: Option<Stall>,
    /// How each scripted failure was noticed.
    pub detections: Vec<Detection>,
    /// Counts for each path, the primary first.
    pub paths: Vec<PathTotals>,
    /// DATA chunks sent again.
    pub retransmissions: u64,
    /// Of these, for missing reports.
    pub fast_retransmits: u64,
    /// T3-rtx expirations.
    pub timeouts: u64,
    /// Times that new data moved to another path.
    pub failovers: u64,
    /// How often it left a potentially failed or inactive path for an active one.
    pub failovers_away: u64,
    /// How many of these were spurious: the scenario did not take the path away
    /// at any time since it last measured a round trip.
    pub spurious_failovers: u64,
    /// How many failovers the sender itself found spurious: the path that was
    /// left answered within an RTO.
    pub spurious_failovers_known: u64,
    /// DATA chunks that the receiver had already.
    pub duplicates: u64,
    /// Receive buffer blocking: how long data waited for the peer's window
    /// alone, seconds.
    pub rwnd_blocked_s: f64,
    /// How often it began to wait so.
    pub rwnd_blocked_episodes: u64,
    /// When the run ended, seconds since its start.
    pub end_s: f64,
    /// What the papers measure besides.
    pub measures: Measures,
    /// A digest of everything that was observed: the same seed gives the same.
    pub digest: String,
    /// Values over time.
    #[serde(skip)]
    pub series: Series,
}

/// A time without delivery.
#[derive(Copy, Clone, Debug, PartialEq, Serialize)]
pub struct Stall {
    /// When it began, seconds since the start of the run.
    pub from_s: f64,
    /// How long it lasted, seconds.
    pub length_s: f64,
}

/// How a scripted failure was noticed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Detection {
    /// When it happened, seconds.
    pub at_s: f64,
    /// To which path.
    pub path: usize,
    /// Seconds until the sender thought the path potentially failed.
    pub suspect_after_s: Option<f64>,
    /// Seconds until the sender marked the path inactive.
    pub inactive_after_s: Option<f64>,
}

/// Counts for one path, seen from the sender.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct PathTotals {
    /// Its name.
    pub name: String,
    /// SCTP packets sent.
    pub packets: u64,
    /// Bytes of these, SCTP headers included.
    pub bytes: u64,
    /// Payload bytes sent for the first time.
    pub data_bytes: u64,
    /// Payload bytes sent again.
    pub retransmitted_bytes: u64,
    /// DATA chunks sent again.
    pub retransmissions: u64,
    /// T3-rtx expirations.
    pub timeouts: u64,
    /// Heartbeats sent, without those that estimate idle paths.
    pub heartbeats: u64,
    /// What was estimated of it at last, and what that cost; none without
    /// `failover.estimate`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub estimate: Option<EstimateTotals>,
}

/// What was estimated of a path (`failover.estimate`).
#[derive(Copy, Clone, Debug, Default, PartialEq, Serialize)]
pub struct EstimateTotals {
    /// The least round trip of the last 10 to 20 s, seconds.
    pub rtt_s: f64,
    /// Share of packets lost one way.
    pub loss: f64,
    /// Passages that this rests on, older ones counting less.
    pub samples: f64,
    /// Probes sent while it was idle.
    pub probes: u64,
    /// SCTP bytes of these, headers included.
    pub probe_bytes: u64,
}

/// Values over time, for pictures and plots.
#[derive(Clone, Debug, Default)]
pub struct Series {
    /// DATA that reached the receiver: its place, counted from 0.
    pub received: Curve,
    /// Values of each path, the primary first.
    pub paths: Vec<PathSeries>,
}

/// Values of one path over time, seen from the sender.
#[derive(Clone, Debug, Default)]
pub struct PathSeries {
    /// Congestion window, bytes.
    pub cwnd: Curve,
    /// Retransmission timeout, seconds.
    pub rto: Curve,
    /// States: from when, and which.
    pub states: Vec<(u64, PathCondition)>,
    /// Expirations of T3-rtx, nanoseconds.
    pub timeouts: Vec<u64>,
    /// SCTP bytes sent.
    pub sent: Buckets,
}

/// A path's state in pictures and plots.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PathCondition {
    /// Not yet verified.
    Unconfirmed,
    /// In order.
    Active,
    /// Potentially failed (RFC 7829).
    PotentiallyFailed,
    /// Inactive: given up.
    Inactive,
}

impl From<byway_core::PathState> for PathCondition {
    fn from(state: byway_core::PathState) -> Self {
        use byway_core::PathState as S;
        match state {
            S::Unconfirmed => PathCondition::Unconfirmed,
            S::Active => PathCondition::Active,
            S::PotentiallyFailed => PathCondition::PotentiallyFailed,
            S::Inactive => PathCondition::Inactive,
        }
    }
}

//! Everything that can be watched, declared once.
//!
//! Traces, plots, metrics and the tests' oracles feed from this enum. An
//! endpoint records observations only when `EndpointConfig::observe` is set;
//! otherwise each place costs one untaken branch.

use crate::api::AssocId;
use crate::path::{PathId, PathState};
use crate::policy::retransmit::LossCause;
use crate::time::Instant;
use byway_wire::Tsn;
use core::time::Duration;

/// One observation, with its time and association.
#[derive(Clone, Debug, PartialEq)]
pub struct Observed {
    /// When.
    pub at: Instant,
    /// Whose.
    pub assoc: AssocId,
    /// What.
    pub what: Observation,
}

/// The timers of an association and its paths (RFC 9260).
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub enum Timer {
    /// T1-init: INIT unanswered.
    T1Init,
    /// T1-cookie: COOKIE ECHO unanswered.
    T1Cookie,
    /// T2-shutdown: SHUTDOWN or SHUTDOWN ACK unanswered.
    T2Shutdown,
    /// T3-rtx of a path: DATA unacknowledged.
    T3Rtx,
    /// T5-shutdown-guard: the whole shutdown takes too long.
    T5ShutdownGuard,
    /// An acknowledgement is overdue by the path's own round trips.
    ProbeTimeout,
    /// A delayed SACK is due.
    SackDelay,
    /// A heartbeat is due.
    HeartbeatDue,
    /// A heartbeat was not answered within the RTO.
    HeartbeatLost,
    /// The peer's window stayed closed: probe it.
    ZeroWindowProbe,
}

/// What can be watched.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Observation {
    /// A packet left.
    PacketSent {
        /// On this path.
        path: PathId,
        /// SCTP bytes.
        bytes: u32,
    },
    /// A packet arrived and was accepted.
    PacketReceived {
        /// On this path, if its source is one.
        path: Option<PathId>,
        /// SCTP bytes.
        bytes: u32,
    },
    /// A packet, or the rest of one, was not taken.
    Discarded {
        /// Why.
        why: &'static str,
    },
    /// A DATA chunk left.
    DataSent {
        /// On this path.
        path: PathId,
        /// Its TSN.
        tsn: Tsn,
        /// Its place, counted from 0.
        seq: u64,
        /// Payload bytes.
        bytes: u32,
        /// None for the first time, else why it was taken for lost.
        retransmission: Option<LossCause>,
    },
    /// A DATA chunk arrived.
    DataReceived {
        /// From this path.
        path: PathId,
        /// Its TSN.
        tsn: Tsn,
        /// Its place, counted from 0.
        seq: u64,
        /// Payload bytes.
        bytes: u32,
        /// Whether it had arrived before.
        duplicate: bool,
    },
    /// A SACK left.
    SackSent {
        /// On this path.
        path: PathId,
        /// Cumulative TSN.
        cumulative: Tsn,
        /// Gap blocks.
        gaps: u16,
        /// Window advertised.
        a_rwnd: u32,
    },
    /// A SACK was applied.
    SackReceived {
        /// Cumulative TSN.
        cumulative: Tsn,
        /// TSNs cumulatively acknowledged so far.
        acked: u64,
        /// Gap blocks.
        gaps: u16,
        /// Window advertised.
        a_rwnd: u32,
    },
    /// A timer fired.
    TimerFired {
        /// Which.
        timer: Timer,
        /// Of this path, if it is a path's.
        path: Option<PathId>,
    },
    /// A heartbeat left.
    HeartbeatSent {
        /// On this path.
        path: PathId,
    },
    /// A heartbeat was answered.
    HeartbeatAcked {
        /// On this path.
        path: PathId,
        /// Its round trip.
        rtt: Duration,
    },
    /// A round-trip time was measured, or the RTO backed off.
    Rto {
        /// Path.
        path: PathId,
        /// The sample; none for a back-off.
        sample: Option<Duration>,
        /// Smoothed.
        srtt: Option<Duration>,
        /// Timeout now.
        rto: Duration,
    },
    /// A window changed.
    Window {
        /// Path.
        path: PathId,
        /// Bytes.
        cwnd: u32,
        /// Bytes.
        ssthresh: u32,
        /// Bytes.
        flight: u32,
        /// Bytes.
        partial_bytes_acked: u32,
    },
    /// A path's error counter changed.
    Errors {
        /// Path.
        path: PathId,
        /// Count now.
        count: u32,
        /// The association's count now.
        association: u32,
    },
    /// A path appeared or changed its state.
    PathState {
        /// Path.
        path: PathId,
        /// State before; none when it appears.
        from: Option<PathState>,
        /// State now.
        to: PathState,
    },
    /// A path answers, but does not acknowledge its data: it is given up
    /// (`failure.dead_data`).
    DeadForData {
        /// Path.
        path: PathId,
    },
    /// A heartbeat left that estimates an idle path (`failover.estimate`).
    ProbeSent {
        /// On this path.
        path: PathId,
        /// SCTP bytes.
        bytes: u32,
    },
    /// What a path would carry is known better (`failover.estimate`).
    Estimate {
        /// Path.
        path: PathId,
        /// The least round trip of the last 10 to 20 s.
        rtt: Duration,
        /// Share of packets lost one way.
        loss: f64,
        /// Passages that this rests on.
        samples: f64,
    },
    /// New data goes to another destination now.
    DataPath {
        /// Path now.
        to: PathId,
    },
    /// A path that new data had left answered at once: the failover was
    /// spurious.
    SpuriousFailover {
        /// The path that was left.
        path: PathId,
    },
    /// The primary changed.
    Primary {
        /// Path now.
        to: PathId,
    },
    /// A packet made messages, or parts of some, readable.
    Delivered {
        /// Messages and parts.
        messages: u32,
        /// Payload bytes.
        bytes: u64,
    },
    /// The sender has data but the peer's window holds it back (true), or no
    /// longer does (false).
    RwndBlocked {
        /// Whether it does.
        blocked: bool,
    },
    /// The association reached a state of RFC 9260 section 4.
    State {
        /// Its name there.
        name: &'static str,
    },
}

//! Observations: records of what happened in the core.
//!
//! Traces, plots, metrics and tests read them. An endpoint records them only if
//! `EndpointConfig::observe` is set. Otherwise each one costs a branch that is not
//! taken.

use crate::api::AssocId;
use crate::path::{PathId, PathState};
use crate::policy::retransmit::LossCause;
use crate::time::Instant;
use byway_wire::Tsn;
use core::time::Duration;

/// One observation, with its time and association.
#[derive(Clone, Debug, PartialEq)]
pub struct Observed {
    /// The time.
    pub at: Instant,
    /// The association.
    pub assoc: AssocId,
    /// What happened.
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
    /// T4-rto: ASCONF unanswered.
    T4Rto,
    /// T5-shutdown-guard: the whole shutdown takes too long.
    T5ShutdownGuard,
    /// Probe timeout: an acknowledgement is overdue by the path's own round trips.
    ProbeTimeout,
    /// A chunk is overdue beside newer ones that were acknowledged (RFC 8985).
    Reordering,
    /// A probe of a path's MTU was not answered, or a new search begins (RFC 8899).
    MtuProbe,
    /// A delayed SACK is due.
    SackDelay,
    /// A heartbeat is due.
    HeartbeatDue,
    /// A heartbeat was not answered within the RTO.
    HeartbeatLost,
    /// The peer's window stayed closed, so a chunk probes it.
    ZeroWindowProbe,
}

/// What happened in the core.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Observation {
    /// A path's packets may have another size (RFC 8899).
    PathMtu {
        /// The path.
        path: PathId,
        /// Largest IP packet, bytes.
        bytes: u32,
    },
    /// A path was removed, because the peer deleted its address or none of ours reaches it.
    PathRemoved {
        /// The path.
        path: PathId,
    },
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
    /// A packet, or the rest of one, was discarded.
    Discarded {
        /// The reason.
        why: &'static str,
    },
    /// A DATA chunk left.
    DataSent {
        /// On this path.
        path: PathId,
        /// Its TSN.
        tsn: Tsn,
        /// Its sequence number, counted from 0.
        seq: u64,
        /// Payload bytes.
        bytes: u32,
        /// `None` for the first transmission, or else why the chunk was lost.
        retransmission: Option<LossCause>,
    },
    /// A DATA chunk arrived.
    DataReceived {
        /// From this path.
        path: PathId,
        /// Its TSN.
        tsn: Tsn,
        /// Its sequence number, counted from 0.
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
    /// A SACK was processed.
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
    /// A timer expired.
    TimerFired {
        /// The timer.
        timer: Timer,
        /// The path, if the timer belongs to a path.
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
        /// The sample; `None` for a back-off.
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
        /// Congestion window, bytes.
        cwnd: u32,
        /// Slow start threshold, bytes.
        ssthresh: u32,
        /// Bytes in flight.
        flight: u32,
        /// Bytes acknowledged towards the next growth.
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
        /// State before; `None` when it appears.
        from: Option<PathState>,
        /// State now.
        to: PathState,
    },
    /// A path became inactive because it answers but does not acknowledge its data
    /// (`failure.dead_data`).
    DeadForData {
        /// Path.
        path: PathId,
    },
    /// A heartbeat left to measure a path for its estimate (`failover.estimate`).
    ProbeSent {
        /// On this path.
        path: PathId,
        /// SCTP bytes.
        bytes: u32,
    },
    /// The estimate of a path changed (`failover.estimate`).
    Estimate {
        /// Path.
        path: PathId,
        /// The least round trip of the last 10 to 20 s.
        rtt: Duration,
        /// Share of packets lost in one direction.
        loss: f64,
        /// The number of passages that the estimate uses.
        samples: f64,
    },
    /// New data goes to another destination now.
    DataPath {
        /// Path now.
        to: PathId,
    },
    /// A path answered soon after new data had left it, so the failover was spurious.
    SpuriousFailover {
        /// The path that was left.
        path: PathId,
    },
    /// The primary changed.
    Primary {
        /// Path now.
        to: PathId,
    },
    /// A packet made messages, or parts of messages, readable.
    Delivered {
        /// Messages and parts.
        messages: u32,
        /// Payload bytes.
        bytes: u64,
    },
    /// The peer's window began or ceased to block data that waits to be sent.
    RwndBlocked {
        /// Whether the window blocks data now.
        blocked: bool,
    },
    /// The association entered a state of RFC 9260 section 4.
    State {
        /// Its name there.
        name: &'static str,
    },
}

//! Why a path is in doubt.

/// Why a path is in doubt: the last sign that it may not work.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Hash)]
#[non_exhaustive]
pub enum PathTrouble {
    /// T3-rtx expired: DATA was not acknowledged within the RTO (RFC 9260 section 6.3.3).
    T3Rtx,
    /// An acknowledgement was overdue by the path's own round trips
    /// (`failover.probe_timeout`).
    Overdue,
    /// A heartbeat was not answered within the RTO (section 8.3).
    HeartbeatLost,
    /// A SHUTDOWN or an ASCONF was not answered within the RTO.
    ControlUnanswered,
    /// The kernel or an ICMP message says that there is no way to the address.
    Unreachable,
    /// It answers, but does not acknowledge its data (`failure.dead_data`).
    DeadForData,
    /// The failure detector has judged so (`failure.detection`).
    Detected,
}

impl PathTrouble {
    /// A name for programs. It does not change.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            PathTrouble::T3Rtx => "t3_rtx",
            PathTrouble::Overdue => "overdue",
            PathTrouble::HeartbeatLost => "heartbeat_lost",
            PathTrouble::ControlUnanswered => "control_unanswered",
            PathTrouble::Unreachable => "unreachable",
            PathTrouble::DeadForData => "dead_for_data",
            PathTrouble::Detected => "detected",
        }
    }
}

impl core::fmt::Display for PathTrouble {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            PathTrouble::T3Rtx => "T3-rtx expired",
            PathTrouble::Overdue => "an acknowledgement is overdue",
            PathTrouble::HeartbeatLost => "a heartbeat was not answered",
            PathTrouble::ControlUnanswered => "SHUTDOWN or ASCONF was not answered",
            PathTrouble::Unreachable => "there is no way to the address",
            PathTrouble::DeadForData => "it answers but acknowledges no data",
            PathTrouble::Detected => "the failure detector has judged so",
        })
    }
}

//! Congestion control: rules over the windows of the paths. It alone changes
//! windows, and changes nothing else.

pub(crate) mod reno;

/// What one SACK means for one path.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct PathAck {
    /// Bytes newly acknowledged of what was last sent there.
    pub(crate) bytes: u32,
    /// Those of them that gap blocks acknowledged.
    pub(crate) gap_bytes: u32,
    /// Flight before the SACK was applied; with ns-2's habit what was taken for
    /// lost, too.
    pub(crate) flight_before: u32,
    /// Whether the cumulative TSN advanced.
    pub(crate) cumulative_advanced: bool,
    /// Whether the path (or the association) is in fast recovery.
    pub(crate) in_recovery: bool,
    /// Whether nothing is outstanding any more.
    pub(crate) all_acked: bool,
}

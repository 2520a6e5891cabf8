//! The states of a path.

/// The state of a destination.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Hash, serde::Serialize)]
pub enum PathState {
    /// The address has not answered a heartbeat with our nonce yet. Only heartbeats go
    /// there (RFC 9260 section 5.4).
    Unconfirmed,
    /// The path works.
    Active,
    /// The path may have failed: heartbeats probe it, and data goes elsewhere while
    /// another path is active (RFC 7829).
    PotentiallyFailed,
    /// The path has failed, until a heartbeat is answered (section 8.2).
    Inactive,
}

impl PathState {
    /// Its name in lower case.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            PathState::Unconfirmed => "unconfirmed",
            PathState::Active => "active",
            PathState::PotentiallyFailed => "potentially failed",
            PathState::Inactive => "inactive",
        }
    }
}

impl core::fmt::Display for PathState {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(self.name())
    }
}

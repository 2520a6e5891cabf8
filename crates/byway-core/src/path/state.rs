//! The states of a path.

/// How far a destination is trusted.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Hash, serde::Serialize)]
pub enum PathState {
    /// Its address has not answered a heartbeat with our nonce yet; only
    /// heartbeats go there (RFC 9260 section 5.4).
    Unconfirmed,
    /// In order.
    Active,
    /// In doubt: data goes elsewhere while another path is active, heartbeats
    /// probe it (RFC 7829).
    PotentiallyFailed,
    /// Given up until a heartbeat is answered (section 8.2).
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

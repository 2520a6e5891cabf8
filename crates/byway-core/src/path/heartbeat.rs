//! Heartbeats of a path (RFC 9260 section 8.3).

use crate::time::Instant;

/// A heartbeat that has not been answered yet.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Probe {
    /// 64 random bits that the answer must carry (RFC 9260 section 5.4).
    pub(crate) nonce: u64,
    pub(crate) sent: Instant,
    /// When the first heartbeat with this nonce left.
    pub(crate) first_sent: Instant,
    /// It is as large as the path's packets.
    pub(crate) full_sized: bool,
}

/// Heartbeats of a path (section 8.3).
#[derive(Copy, Clone, Debug)]
pub(crate) struct Heartbeat {
    /// The one that is not answered yet.
    under_way: Option<Probe>,
    /// Whether the user wants heartbeats here.
    enabled: bool,
}

impl Heartbeat {
    pub(super) fn new(enabled: bool) -> Heartbeat {
        Heartbeat {
            under_way: None,
            enabled,
        }
    }

    /// Whether the user wants heartbeats here.
    pub(crate) fn is_enabled(&self) -> bool {
        self.enabled
    }

    /// The user turns heartbeats on or off.
    pub(crate) fn enable(&mut self, on: bool) {
        self.enabled = on;
    }

    /// The heartbeat that is not answered yet.
    pub(crate) fn under_way(&self) -> Option<Probe> {
        self.under_way
    }

    /// Whether a HEARTBEAT ACK with this nonce answers the heartbeat under way.
    pub(crate) fn is_answered_by(&self, nonce: u64) -> bool {
        self.under_way.is_some_and(|p| p.nonce == nonce)
    }

    /// A heartbeat leaves.
    pub(crate) fn begin(&mut self, probe: Probe) {
        self.under_way = Some(probe);
    }

    /// No heartbeat is under way any more.
    pub(super) fn end(&mut self) -> Option<Probe> {
        self.under_way.take()
    }
}

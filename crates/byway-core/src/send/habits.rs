//! What ns-2's module remembers between events
//! ([`HabitsConfig`](crate::config::HabitsConfig)); unused while its habits are
//! off.

use crate::config::HabitsConfig;
use crate::path::PathId;
use std::collections::BTreeSet;

/// Which retransmissions the present event may release.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Default)]
pub(crate) enum Release {
    #[default]
    Nothing,
    /// One packet, whatever cwnd says.
    OnePacket,
    /// What cwnd allows.
    Window,
}

/// The module's memory.
#[derive(Debug, Default)]
pub(crate) struct HabitState {
    /// Any habit is on. What asks for single ones on the way of every packet
    /// asks for this first.
    pub(crate) on: bool,
    pub(crate) marked: Release,
    /// New data was asked for by a SACK, and has not been looked for since.
    pub(crate) new_wanted: bool,
    /// The present event may release new data.
    pub(crate) new_allowed: bool,
    /// Where the retransmissions of the present event go, once one has left.
    pub(crate) target: Option<PathId>,
    /// One past the highest sequence that was newly acknowledged.
    pub(crate) highest_new: u64,
    /// One past the last sequence of the fast recovery.
    pub(crate) exit: u64,
    /// One past the highest sequence that was ever seen outstanding.
    pub(crate) highest_sent: u64,
    /// A fast retransmitted chunk was acknowledged: Max.Burst limits.
    pub(crate) burst_limited: bool,
    /// Packets of the present burst.
    pub(crate) burst: u32,
    /// Chunks of gap blocks that no partial bytes count yet, in order
    /// (`partial_bytes_late`).
    pub(crate) uncounted: BTreeSet<u64>,
    /// What is left of the send window; none before its first use.
    pub(crate) window_left: Option<u32>,
}

impl HabitState {
    pub(crate) fn new(cfg: &HabitsConfig) -> HabitState {
        HabitState {
            on: *cfg != HabitsConfig::default(),
            ..HabitState::default()
        }
    }

    /// One more packet of a burst of at most `most` leaves, or would; whether
    /// it is one too many. That ends the limit.
    pub(crate) fn exceeds_burst(&mut self, most: Option<u32>) -> bool {
        let (true, Some(most)) = (self.burst_limited, most) else {
            return false;
        };
        let before = self.burst;
        self.burst += 1;
        if before >= most {
            self.burst_limited = false;
        }
        before >= most
    }
}

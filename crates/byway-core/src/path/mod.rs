//! One destination of the peer: its addresses, windows, timers and errors, and the
//! table of all destinations.

mod burst;
mod congestion;
mod counters;
mod dead_data;
mod destination;
mod detector;
mod errors;
mod heartbeat;
mod model;
mod mtu;
mod pacer;
mod rack;
mod recovery;
mod reduced;
mod rtt;
pub(crate) mod state;
mod statistics;
mod table;
#[cfg(test)]
mod testing;
mod timers;
mod trouble;
mod view;
mod window;

pub(crate) use destination::{Path, lower_header_bytes};
pub(crate) use heartbeat::Probe;
pub use model::{PathFacts, PathModel, PathRoles};
pub(crate) use rack::RackState;
pub use reduced::Reduced;
pub(crate) use rtt::RttEstimator;
pub use state::PathState;
pub(crate) use table::PathTable;
pub(crate) use timers::{PathTimer, PathTimers};
pub use trouble::PathTrouble;
pub use view::PathsView;
pub use window::Window;

/// An association has at most this many paths (`setup.max_paths`).
pub const MAX_PATHS: usize = 8;

/// Identifies a path of an association by its index in the table, counted from 0.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, serde::Serialize)]
pub struct PathId(pub u8);

impl core::fmt::Display for PathId {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        self.0.fmt(f)
    }
}

impl PathId {
    /// Its index in the table.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

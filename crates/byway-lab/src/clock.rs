//! Durations of scenarios as times of the simulator.

use byway_core::time::Instant;
use std::time::Duration;

/// The nanoseconds of a duration.
pub(crate) fn nanos(d: Duration) -> u64 {
    u64::try_from(d.as_nanos()).unwrap_or(u64::MAX)
}

/// The time of the simulator that is `d` after its start.
pub(crate) fn instant(d: Duration) -> Instant {
    Instant::from_nanos(nanos(d))
}

//! How long an emulation has nothing to do.

use byway_lab::emulation::Emulation;
use std::time::{Duration, Instant};

/// Longest wait: signals and the keys are looked at in between.
const LONGEST: Duration = Duration::from_millis(50);

/// How long there is nothing to do for an emulation that began then, if nothing comes in.
pub(super) fn until_due(emulation: &Emulation, begun: Instant) -> Duration {
    emulation.next().map_or(LONGEST, |next| {
        next.saturating_sub(begun.elapsed()).min(LONGEST)
    })
}

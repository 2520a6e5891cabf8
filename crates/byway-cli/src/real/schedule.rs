//! When what happens.

use byway_papers::reproduce::real::{EVERY_MS, UNPLUGGED_AFTER_S};
use std::time::{Duration, Instant};

/// Time for the associations to be set up.
const SET_UP: Duration = Duration::from_secs(4);
/// Time from the first message to the end: as figure 2 shows, 100 s.
const ALL: Duration = Duration::from_secs(100);

/// The times of the experiment.
pub(super) struct Schedule {
    first: Instant,
}

impl Schedule {
    /// Begins to set up at `now`.
    pub(super) fn from(now: Instant) -> Schedule {
        Schedule {
            first: now + SET_UP,
        }
    }

    /// When message `n` of an association is sent, which is that many of `phases` behind the
    /// first one.
    pub(super) fn message(&self, n: u32, phase: usize, phases: usize) -> Instant {
        let every = Duration::from_millis(EVERY_MS);
        self.first + every * n + every * phase as u32 / phases as u32
    }

    /// Number of messages of an association.
    pub(super) fn messages() -> u32 {
        (ALL.as_millis() / u128::from(EVERY_MS)) as u32
    }

    /// When the path in use is unplugged.
    pub(super) fn unplugged(&self) -> Instant {
        self.first + Duration::from_secs_f64(UNPLUGGED_AFTER_S)
    }

    /// When the experiment ends.
    pub(super) fn end(&self) -> Instant {
        self.first + ALL
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phases_divide_the_time_between_messages() {
        let schedule = Schedule::from(Instant::now());
        let first = schedule.message(0, 0, 10);
        let at = |n, phase| (schedule.message(n, phase, 10) - first).as_millis();
        assert_eq!(
            (at(0, 1), at(0, 9), at(1, 0), at(149, 9)),
            (10, 90, 100, 14_990)
        );
        assert_eq!(Schedule::messages(), 1000);
    }
}

//! The timers of a path that run seldom, with the earliest of them at hand.
//!
//! After nearly every packet an association is asked when it has to act next. Of a
//! path, T3-rtx alone changes that often; so the others are looked through when one
//! of them is set, and not each time that somebody asks.

use crate::time::Instant;

/// Which timer.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Alarm {
    /// The next heartbeat is due.
    Heartbeat,
    /// The probing detector looks again (`failure.detection`).
    Doubt,
    /// An acknowledgement is overdue (`failover.probe_timeout`).
    Overdue,
    /// Suspect by the probe timeout: its heartbeat is overdue, too.
    Moves,
}

/// When each of them goes off, if it is set.
#[derive(Clone, Debug, Default)]
pub(crate) struct Alarms {
    at: [Option<Instant>; 4],
    earliest: Option<Instant>,
}

impl Alarms {
    /// When that one goes off.
    #[inline]
    pub(crate) fn get(&self, which: Alarm) -> Option<Instant> {
        self.at[which as usize]
    }

    /// That one goes off then, or not at all.
    pub(crate) fn set(&mut self, which: Alarm, at: Option<Instant>) {
        self.at[which as usize] = at;
        self.earliest = self.at.iter().flatten().min().copied();
    }

    /// The earliest of all.
    #[inline]
    pub(crate) fn earliest(&self) -> Option<Instant> {
        self.earliest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_earliest_is_known_whatever_is_set_and_unset() {
        let at = |ms| Some(Instant::from_millis(ms));
        let mut alarms = Alarms::default();
        for (which, time, earliest) in [
            (Alarm::Heartbeat, at(30), at(30)),
            (Alarm::Overdue, at(10), at(10)),
            (Alarm::Doubt, at(20), at(10)),
            (Alarm::Overdue, at(25), at(20)),
            (Alarm::Doubt, None, at(25)),
            (Alarm::Overdue, None, at(30)),
            (Alarm::Heartbeat, None, None),
        ] {
            alarms.set(which, time);
            assert_eq!((alarms.get(which), alarms.earliest()), (time, earliest));
        }
    }
}

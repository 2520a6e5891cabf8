//! The timers of a path. The timers of the association, and the code that handles an
//! expired timer, are in `assoc/timers.rs`.
//!
//! After nearly every packet the core asks an association for its next timeout. On a
//! path, only T3-rtx changes that often. So the earliest of the other timers is computed
//! when one of them is set.

use crate::time::Instant;

/// A timer of a path, besides T3-rtx.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum PathTimer {
    /// The next heartbeat is due (RFC 9260 section 8.3).
    Heartbeat,
    /// The outstanding heartbeat is lost.
    HeartbeatLost,
    /// The probing detector sends its next probe, or decides
    /// (`failure.detection`; cortes-2008).
    DetectorProbe,
    /// An acknowledgement is overdue (`failover.probe_timeout`).
    ProbeTimeout,
    /// The probe timeout made the path potentially failed, and its heartbeat is also
    /// overdue. The outstanding data moves.
    MoveHoldOff,
}

/// When each timer expires, if it runs.
#[derive(Clone, Debug, Default)]
pub(crate) struct PathTimers {
    /// T3-rtx (section 6.3).
    pub(crate) t3: Option<Instant>,
    /// The lowest sequence in flight: its acknowledgement restarts T3-rtx (rule R3).
    pub(crate) earliest_in_flight: Option<u64>,
    others: [Option<Instant>; 5],
    earliest_other: Option<Instant>,
}

impl PathTimers {
    /// When this timer expires.
    #[inline]
    pub(crate) fn get(&self, which: PathTimer) -> Option<Instant> {
        self.others[which as usize]
    }

    /// Sets the time when this timer expires, or stops it.
    pub(crate) fn set(&mut self, which: PathTimer, at: Option<Instant>) {
        self.others[which as usize] = at;
        self.earliest_other = self.others.iter().flatten().min().copied();
    }

    /// The earliest of all timers except T3-rtx.
    #[inline]
    pub(crate) fn earliest_other(&self) -> Option<Instant> {
        self.earliest_other
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_earliest_is_known_whatever_is_set_and_unset() {
        let at = |ms| Some(Instant::from_millis(ms));
        let mut alarms = PathTimers::default();
        for (which, time, earliest) in [
            (PathTimer::Heartbeat, at(30), at(30)),
            (PathTimer::ProbeTimeout, at(10), at(10)),
            (PathTimer::DetectorProbe, at(20), at(10)),
            (PathTimer::ProbeTimeout, at(25), at(20)),
            (PathTimer::DetectorProbe, None, at(25)),
            (PathTimer::ProbeTimeout, None, at(30)),
            (PathTimer::Heartbeat, None, None),
        ] {
            alarms.set(which, time);
            assert_eq!(
                (alarms.get(which), alarms.earliest_other()),
                (time, earliest)
            );
        }
    }
}

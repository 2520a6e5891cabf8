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
    /// A chunk becomes overdue beside newer ones that were acknowledged
    /// (`retransmission.rack`).
    Reordering,
    /// A probe of the path's MTU counts as lost, or a new search begins
    /// (`mtu_discovery`).
    MtuProbe,
    /// The path's rate lets more new data leave (`congestion.pacing`).
    Pacing,
    /// The peer's data may have stopped (`failover.revival.silence`).
    Silence,
}

/// When each timer expires, if it runs.
#[derive(Clone, Debug, Default)]
pub(crate) struct PathTimers {
    /// T3-rtx (section 6.3).
    t3: Option<Instant>,
    /// The lowest sequence in flight: its acknowledgement restarts T3-rtx (rule R3).
    earliest_in_flight: Option<u64>,
    others: [Option<Instant>; 9],
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

    /// When T3-rtx expires, if it runs.
    #[inline]
    pub(crate) fn t3(&self) -> Option<Instant> {
        self.t3
    }

    /// Starts T3-rtx again, or stops it.
    #[inline]
    pub(crate) fn set_t3(&mut self, at: Option<Instant>) {
        self.t3 = at;
    }

    /// The lowest sequence in flight.
    #[inline]
    pub(crate) fn earliest_in_flight(&self) -> Option<u64> {
        self.earliest_in_flight
    }

    /// The lowest sequence in flight is this one; none if nothing is in flight.
    #[inline]
    pub(crate) fn set_earliest_in_flight(&mut self, seq: Option<u64>) {
        self.earliest_in_flight = seq;
    }

    /// A new chunk leaves. T3-rtx starts if it does not run, to expire at `t3` (rule
    /// R1).
    #[inline]
    pub(crate) fn chunk_leaves(&mut self, seq: u64, t3: Instant) {
        self.t3.get_or_insert(t3);
        self.earliest_in_flight.get_or_insert(seq);
    }

    /// A chunk leaves again. T3-rtx starts if it does not run, to expire at `t3`. It
    /// restarts if the chunk is the earliest in flight and `restarts` says so.
    #[inline]
    pub(crate) fn chunk_leaves_again(&mut self, seq: u64, t3: Instant, restarts: bool) {
        let earliest = self.earliest_in_flight.is_none_or(|e| seq <= e);
        if self.t3.is_none() || earliest && restarts {
            self.t3 = Some(t3);
        }
        self.earliest_in_flight = Some(self.earliest_in_flight.map_or(seq, |e| e.min(seq)));
    }

    /// A chunk is no longer in flight. Returns whether it was the earliest, so that
    /// another one must be found.
    #[inline]
    pub(crate) fn chunk_gone(&mut self, seq: u64) -> bool {
        let earliest = self.earliest_in_flight == Some(seq);
        if earliest {
            self.earliest_in_flight = None;
        }
        earliest
    }

    /// Nothing is in flight any more: T3-rtx stops.
    pub(crate) fn flight_gone(&mut self) {
        self.t3 = None;
        self.earliest_in_flight = None;
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

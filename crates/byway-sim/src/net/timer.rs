//! Timers. A timer has at most one live entry in the event queue. When a timer moves to a
//! later time, its entry stays, comes up early and is put back. So a timer that restarts
//! with every packet costs nothing.

use super::event::MAX_NUMBER;
use super::ids::{NodeId, TimerId};

const UNSET: u64 = u64::MAX;

#[derive(Debug)]
struct Slot {
    node: NodeId,
    token: u64,
    /// When it expires (ns).
    at: u64,
    /// The same time in seconds, on the clock of the event queue.
    seconds: f64,
    /// Time of its live entry in the queue.
    queued: u64,
}

#[derive(Debug, Default)]
pub(crate) struct Timers {
    slots: Vec<Slot>,
}

/// What to do with an entry that has come up.
#[derive(Debug, PartialEq)]
pub(crate) enum Due {
    Now {
        node: NodeId,
        token: u64,
    },
    /// Put it back at this time, in nanoseconds and in seconds.
    Later(u64, f64),
    Never,
}

impl Timers {
    pub(crate) fn add(&mut self, node: NodeId, token: u64) -> TimerId {
        assert!(
            self.slots.len() < MAX_NUMBER as usize,
            "a network has at most {MAX_NUMBER} timers"
        );
        self.slots.push(Slot {
            node,
            token,
            at: UNSET,
            seconds: 0.0,
            queued: UNSET,
        });
        TimerId((self.slots.len() - 1) as u32)
    }

    /// Sets or clears a timer. Returns the time at which to queue an entry, if one is
    /// needed.
    pub(crate) fn set(&mut self, timer: TimerId, at: Option<u64>, seconds: f64) -> Option<u64> {
        let slot = &mut self.slots[timer.0 as usize];
        let at = at.unwrap_or(UNSET);
        if slot.at != at {
            slot.at = at;
            slot.seconds = seconds;
        }
        if slot.at < slot.queued {
            slot.queued = slot.at;
            return Some(slot.at);
        }
        None
    }

    /// An entry of this timer has come up at `now`.
    pub(crate) fn due(&mut self, timer: TimerId, now: u64) -> Due {
        let slot = &mut self.slots[timer.0 as usize];
        if slot.queued != now {
            // Left over from before the timer was moved to an earlier time.
            return Due::Never;
        }
        slot.queued = UNSET;
        if slot.at == UNSET {
            return Due::Never;
        }
        if slot.at > now {
            slot.queued = slot.at;
            return Due::Later(slot.at, slot.seconds);
        }
        slot.at = UNSET;
        Due::Now {
            node: slot.node,
            token: slot.token,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn later_waits_earlier_wins_cleared_stays_silent() {
        let mut timers = Timers::default();
        let node = NodeId(3);
        let t = timers.add(node, 7);
        let fires = Due::Now { node, token: 7 };
        assert_eq!(timers.set(t, Some(10), 0.0), Some(10));
        assert_eq!(timers.set(t, Some(20), 0.0), None, "the entry at 10 stays");
        assert_eq!(timers.due(t, 10), Due::Later(20, 0.0));
        assert_eq!(timers.set(t, Some(15), 0.0), Some(15));
        assert_eq!(timers.due(t, 15), fires);
        assert_eq!(timers.due(t, 20), Due::Never, "left over");
        assert_eq!(timers.set(t, Some(30), 0.0), Some(30));
        assert_eq!(timers.set(t, None, 0.0), None);
        assert_eq!(timers.due(t, 30), Due::Never);
        assert_eq!(timers.set(t, Some(30), 0.0), Some(30));
        assert_eq!(timers.due(t, 30), fires);
    }
}

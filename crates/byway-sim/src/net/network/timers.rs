//! Timers of hosts.

use super::Network;
use crate::net::clock::seconds;
use crate::net::ids::{NodeId, TimerId};
use byway_core::time::Instant;

impl Network {
    /// Adds a timer to a node, not yet set. The event carries `token`.
    ///
    /// # Panics
    /// With more than 4 million timers.
    pub fn add_timer(&mut self, node: NodeId, token: u64) -> TimerId {
        self.timers.add(node, token)
    }

    /// Sets a timer to expire at `at`, or clears it. A time in the past means now.
    /// Moving a timer to a later time costs almost nothing.
    ///
    /// # Panics
    /// If the timer belongs to another network and does not exist in this one.
    pub fn set_timer(&mut self, timer: TimerId, at: Option<Instant>) {
        let at = at.map(|at| at.as_nanos().max(self.now));
        let seconds = match at {
            Some(at) if self.events.counts_seconds() => {
                self.events.clock() + seconds(at - self.now)
            }
            _ => 0.0,
        };
        if let Some(at) = self.timers.set(timer, at, seconds) {
            self.events.push_timer(at, seconds, timer.0);
        }
    }
}

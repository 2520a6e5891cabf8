//! Paths that a test of the deciders sets up by hand.

use super::{Path, PathId, PathState, PathTable};

impl Path {
    /// Sets the state and the counts of errors.
    pub(crate) fn set_facts(&mut self, state: PathState, errors: u32, heartbeats_lost: u32) {
        self.state = state;
        self.errors.set_counts(errors, heartbeats_lost);
    }

    /// Sets the window and the loss rate.
    pub(crate) fn set_window(&mut self, (cwnd, ssthresh, flight): (u32, u32, u32), loss_rate: f32) {
        self.window.cwnd = cwnd;
        self.window.ssthresh = ssthresh;
        self.window.flight = flight;
        self.counters.set_loss_rate(loss_rate);
    }
}

impl PathTable {
    /// Gives the roles to these paths.
    pub(crate) fn give_roles(&mut self, primary: u8, data: u8, last_active: u8) {
        self.set_roles(PathId(primary), PathId(data), PathId(last_active));
    }
}

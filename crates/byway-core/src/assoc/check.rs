//! Checks of an association, for tests: its running totals, and that it goes on.

use super::Association;
use crate::path::{PathId, PathState, PathTimer};
use crate::routes::Routes;
use core::net::SocketAddr;

impl Association {
    /// Recounts all running totals (for tests) and reports the first wrong one.
    pub(crate) fn check_totals(&self) -> Result<(), String> {
        for id in self.paths.ids() {
            let (flight, counted) = (
                self.paths.get(id).window().flight,
                self.send.ledger.recount_flight(id),
            );
            let lost = self.send.ledger.recount_lost(id);
            if self.paths.get(id).window().lost != lost {
                return Err(format!("lost bytes of path {id} are not {lost}"));
            }
            let p = self.paths.get(id);
            if p.bounds_chunks() && p.window().pmdcs < self.paths.least_pmdcs() {
                return Err(format!("PMDCS of path {id} is less than the least"));
            }
            if flight != counted {
                return Err(format!(
                    "flight of path {id} is {flight}, counted {counted}"
                ));
            }
        }
        let all = [
            ("ledger", self.send.ledger.totals_agree()),
            ("send queue", self.send.queue.totals_agree()),
            ("reassembly", self.recv.reassembly.totals_agree()),
            ("searches of CUC", self.cuc_skips_rightly()),
        ];
        match all.iter().find(|a| !a.1) {
            Some((what, _)) => Err(format!("a total of the {what} is wrong")),
            None => Ok(()),
        }
    }

    /// Checks that the association goes on: whatever it has to do waits for a timer that
    /// runs, on a path that there is. Only when it has nothing to send at once.
    pub(crate) fn check_progress(&self, routes: &mut dyn Routes) -> Result<(), String> {
        if self.state.is_closed() {
            return Ok(());
        }
        self.check_roles()?;
        self.check_path_timers()?;
        self.check_addresses(routes)?;
        self.check_stall()?;
        self.check_waiting_data()
    }

    /// Removed paths have no part in anything.
    fn check_roles(&self) -> Result<(), String> {
        let roles = [
            ("primary", self.paths.primary()),
            ("data path", self.paths.data()),
            ("last active path", self.paths.last_active()),
        ];
        if let Some((what, path)) = roles.iter().find(|r| !self.paths.contains(r.1)) {
            return Err(format!("the {what} {path} was removed"));
        }
        for (at, p) in self.paths.iter().enumerate() {
            let id = PathId(at as u8);
            let timers = p.timers.t3().is_some() || p.timers.earliest_other().is_some();
            if !self.paths.contains(id) && (timers || self.paths.wants_heartbeat(id)) {
                return Err(format!("the removed path {id} has timers"));
            }
        }
        Ok(())
    }

    /// What is in flight has T3-rtx, and what is not confirmed is probed.
    fn check_path_timers(&self) -> Result<(), String> {
        for id in self.paths.ids() {
            let p = self.paths.get(id);
            let flight = p.window().flight;
            if (flight > 0) != p.timers.t3().is_some() {
                return Err(format!(
                    "{flight} bytes in flight on path {id}: wrong T3-rtx"
                ));
            }
            let doubted = p.state() == PathState::Unconfirmed
                || p.state() == PathState::Active && !p.is_confirmed();
            if doubted && self.sends_heartbeats() && !self.is_probed(id) {
                return Err(format!("nothing verifies the address of path {id}"));
            }
        }
        Ok(())
    }

    /// Paths leave from addresses of this side, and no address of the peer is forgotten.
    fn check_addresses(&self, routes: &mut dyn Routes) -> Result<(), String> {
        if !self.state.sends_data() {
            return Ok(());
        }
        let ours = &self.addresses.local;
        for id in self.paths.ids() {
            if !self.has_source(id) && !self.optional.stalled {
                return Err(format!("path {id} leaves from an address that is gone"));
            }
        }
        let room = self.paths.has_room(self.cfg.setup.max_paths);
        let mut waiting = self.addresses.pathless.iter().filter(|_| room);
        match waiting.find(|ip| routes.source(ours, **ip).is_some()) {
            Some(ip) => Err(format!("there is room for a path to {ip}")),
            None => Ok(()),
        }
    }

    fn has_source(&self, path: PathId) -> bool {
        self.addresses.local.contains(&self.paths.get(path).local())
    }

    /// A stall ends by an answer to a heartbeat or to an ASCONF, and one of them comes.
    fn check_stall(&self) -> Result<(), String> {
        let able = |p: &PathId| self.has_source(*p) && self.is_confirmed(*p);
        let data = self.paths.data();
        if !self.optional.stalled {
            let doubts = self.cfg.setup.confirm_all_before_data;
            if self.state.sends_data() && !doubts && !able(&data) {
                return Err(format!("data goes to path {data}, which may not take it"));
            }
            return Ok(());
        }
        if let Some(path) = self.paths.ids().find(able) {
            return Err(format!("stalled, although path {path} may take data"));
        }
        let verified = |p: &PathId| self.has_source(*p) && self.is_probed(*p);
        let verifies = self.paths.ids().any(|p| verified(&p));
        // The longest time of a shutdown does not count: it ends everything.
        let guarded = self
            .timers
            .t5
            .is_some_and(|t5| Some(t5) != self.shutdown.ends);
        if !verifies && self.timers.t4.is_none() && !guarded {
            let (ours, paths): (_, Vec<SocketAddr>) = (
                &self.addresses.local,
                self.paths
                    .ids()
                    .map(|p| self.paths.get(p).local())
                    .collect(),
            );
            return Err(format!(
                "stalled, and nothing ends it: from {ours:?}, paths {paths:?}"
            ));
        }
        Ok(())
    }

    /// Data that waits has a reason that ends.
    fn check_waiting_data(&self) -> Result<(), String> {
        let waits = !self.send.queue.is_empty() || !self.send.ledger.lost().is_empty();
        if !waits || !self.state.sends_data() || self.optional.stalled {
            return Ok(());
        }
        let timed = |id: PathId| {
            let t = &self.paths.get(id).timers;
            t.t3().is_some() || t.get(PathTimer::Pacing).is_some()
        };
        let unproven = |id: PathId| !self.is_confirmed(id) && self.is_probed(id);
        let confirming = self.cfg.setup.confirm_all_before_data;
        let ends = self.timers.window_probe.is_some()
            || self.paths.ids().any(timed)
            || confirming && self.paths.ids().any(unproven);
        if ends {
            Ok(())
        } else {
            Err("data waits for nothing".to_owned())
        }
    }
}

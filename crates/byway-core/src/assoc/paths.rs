//! Changes of the paths' states and roles, and what follows from them.

use super::{Association, Ctx};
use crate::api::{CommandError, Event};
use crate::config::{FailedProbes, PfReturnCwnd};
use crate::observe::Observation;
use crate::path::{PathId, PathState, PathTimer, PathTrouble};
use core::net::{IpAddr, SocketAddr};

impl Association {
    pub(crate) fn announce_path(
        &self,
        ctx: &mut Ctx<'_>,
        path: PathId,
        remote: SocketAddr,
        state: PathState,
    ) {
        self.observe(ctx, || Observation::PathState {
            path,
            from: None,
            to: state,
        });
        self.observe_window(ctx, path);
        let event = Event::PathAdded {
            path,
            remote,
            state,
        };
        self.event(ctx, event);
    }

    /// Changes the state of a path. The caller then chooses the data path again.
    pub(crate) fn set_path_state(&mut self, ctx: &mut Ctx<'_>, path: PathId, to: PathState) {
        self.inside(ctx).1.set_state(path, to);
    }

    /// Asks the failover policy where new data goes now. `timed_out` is the path whose
    /// T3-rtx expired, if that is the cause.
    pub(crate) fn choose_data_path(&mut self, ctx: &mut Ctx<'_>, timed_out: Option<PathId>) {
        let view = self.paths.view();
        let by_dialect = self
            .optional
            .dialect
            .as_ref()
            .and_then(|d| d.data_path(&view));
        let to = by_dialect.unwrap_or_else(|| {
            let to = self.cfg.failover().data_path(&view, timed_out);
            if self.admits(to) {
                to
            } else {
                view.data_path()
            }
        });
        self.move_data(ctx, to);
        self.ask_last_resorts();
        if let Some(to) = self.cfg.failover().switch_primary(&self.paths.view())
            && self.admits(to)
            && self.may_become_permanent(ctx.now, to)
        {
            self.make_primary(ctx, to);
        }
    }

    /// Whether data may move to a path that the failover policy named. A policy of the
    /// user cannot send data to an unconfirmed address (section 5.4).
    fn admits(&self, to: PathId) -> bool {
        self.cfg.custom.failover.is_none() || self.is_confirmed(to)
    }

    /// Whether there is a path with this number and a confirmed address.
    pub(super) fn is_confirmed(&self, path: PathId) -> bool {
        self.paths.contains(path) && self.paths.get(path).is_confirmed()
    }

    pub(super) fn move_data(&mut self, ctx: &mut Ctx<'_>, to: PathId) {
        let from = self.paths.move_data(to);
        if to != from {
            self.stats.failovers += 1;
            self.note_failover(ctx, from, to);
            self.observe(ctx, || Observation::DataPath { to });
            self.event(ctx, Event::DataPathChanged { from, to });
        }
    }

    /// New data moved. If it left a failed or potentially failed path for an active one,
    /// this was a failover. An answer within an RTO will show that it was spurious.
    fn note_failover(&mut self, ctx: &Ctx<'_>, from: PathId, to: PathId) {
        let paths = self.paths.view();
        let left = matches!(
            paths.state(from),
            PathState::PotentiallyFailed | PathState::Inactive
        );
        if left && paths.state(to) == PathState::Active {
            self.stats.failovers_away += 1;
            let p = self.paths.get_mut(from);
            p.errors.abandoned(ctx.now + p.rtt.rto());
        }
    }

    pub(super) fn make_primary(&mut self, ctx: &mut Ctx<'_>, to: PathId) {
        let from = self.paths.make_primary(to);
        if from != to {
            self.note_new_primary(ctx.now);
            self.observe(ctx, || Observation::Primary { to });
            self.event(ctx, Event::PrimaryChanged { from, to });
        }
    }

    /// The user chooses the primary (section 11.1.6).
    pub(crate) fn set_primary(
        &mut self,
        ctx: &mut Ctx<'_>,
        to: PathId,
    ) -> Result<(), CommandError> {
        self.check_path(to)?;
        let p = self.paths.get(to);
        if !p.is_confirmed() {
            return Err(CommandError::Unconfirmed {
                path: to,
                remote: p.remote(),
            });
        }
        self.paths.set_backup(to, false);
        self.choose_primary(ctx, to);
        Ok(())
    }

    /// The user makes a path a backup, or ends that.
    pub(crate) fn set_backup(
        &mut self,
        ctx: &mut Ctx<'_>,
        path: PathId,
        backup: bool,
    ) -> Result<(), CommandError> {
        self.check_path(path)?;
        self.paths.set_backup(path, backup);
        self.choose_data_path(ctx, None);
        self.new_burst();
        Ok(())
    }

    /// The user or the peer chooses the primary.
    pub(super) fn choose_primary(&mut self, ctx: &mut Ctx<'_>, to: PathId) {
        self.end_trial(ctx.now, to);
        self.make_primary(ctx, to);
        self.choose_data_path(ctx, None);
        self.new_burst();
    }

    /// The user chooses the source address of a path's packets.
    pub(crate) fn set_source(&mut self, path: PathId, local: IpAddr) -> Result<(), CommandError> {
        self.check_path(path)?;
        let p = self.paths.get_mut(path);
        let ours = self.addresses.local.iter().find(|a| a.ip() == local);
        match ours.filter(|a| a.is_ipv4() == p.remote().is_ipv4()) {
            Some(a) => p.send_from(*a),
            None => return Err(CommandError::NoSuchSource { path, local }),
        }
        Ok(())
    }

    /// A sign that a path may not work, for the user to see.
    pub(super) fn blame(&mut self, path: PathId, trouble: PathTrouble) {
        self.paths.get_mut(path).errors.blame(trouble);
    }

    /// Counts one more consecutive error of a path (section 8.2). Above `limit` the
    /// path becomes inactive. `counts`: whether the error also counts for the
    /// association (section 8.1).
    pub(crate) fn count_error(
        &mut self,
        ctx: &mut Ctx<'_>,
        path: PathId,
        counts: bool,
        limit: u32,
    ) {
        let p = self.paths.get_mut(path);
        let dialect = self.optional.dialect.as_ref();
        if counts && dialect.is_none_or(|d| d.counts_for_association(p.state())) {
            self.failure.errors += 1;
        }
        p.errors.happened(ctx.now);
        // The counter of an inactive path continues "up to some reasonable limit above
        // PMR + 1" (RFC 7829 section 4.1), so that data tries other inactive paths. The
        // Change Primary Threshold of caro-2006 has no limit.
        let endless = matches!(
            self.cfg.failover.primary_switch,
            crate::config::PrimarySwitch::Cpt(_)
        );
        let pmr = self.cfg.failure.path_max_retrans;
        let most = pmr.saturating_add(1).saturating_mul(10);
        if p.state() == PathState::Inactive && p.errors.count() >= most && !endless {
            return;
        }
        p.errors.count_one();
        let errors = p.errors.count();
        let association = self.failure.errors;
        self.observe(ctx, || Observation::Errors {
            path,
            count: errors,
            association,
        });
        let Some(to) = self.judge(path, limit) else {
            return;
        };
        if self.ask(ctx, |d, i| d.admits_failure(i, path, to)) == Some(false) {
            return;
        }
        self.set_path_state(ctx, path, to);
        if to == PathState::Inactive
            && let Some(d) = &self.optional.dialect
            && let Some(next) = d.on_failed(&self.cfg, &self.paths.view(), path)
        {
            self.move_data(ctx, next);
        }
        // RFC 7829 section 3.2, rule 4: a potentially failed path is probed at once and
        // then every RTO. A failed path is probed in the same way if `hb.failed` says so.
        let at_once =
            to == PathState::PotentiallyFailed || self.cfg.hb.failed == FailedProbes::OncePerRto;
        if at_once && !self.paths.get(path).is_listed() {
            let p = self.paths.get_mut(path);
            // Only a heartbeat confirms an address, whatever the user wants of the others.
            let probed = p.heartbeat.is_enabled() || !p.is_confirmed();
            p.timers
                .set(PathTimer::Heartbeat, probed.then_some(ctx.now));
        }
    }

    /// The new state of a path after its errors, if it changes.
    fn judge(&self, path: PathId, limit: u32) -> Option<PathState> {
        let state = self.paths.get(path).state();
        let to = self.cfg.failover().judge(&self.paths.view(), path, limit);
        // Only a heartbeat confirms an address, never the policy.
        let unconfirmed = state == PathState::Unconfirmed && to != PathState::Inactive;
        let keeps = to == state || unconfirmed || to == PathState::Unconfirmed;
        (!keeps).then_some(to)
    }

    /// An acknowledgement proves that a path works (section 8.2). `returns`: whether it
    /// also makes the path active again.
    pub(crate) fn clear_errors(&mut self, ctx: &mut Ctx<'_>, path: PathId, returns: bool) {
        if self.paths.get_mut(path).errors.clear() {
            let association = self.failure.errors;
            self.observe(ctx, || Observation::Errors {
                path,
                count: 0,
                association,
            });
        }
        if !returns {
            return;
        }
        self.forget_other_sources(path);
        let state = self.paths.get(path).state();
        if state == PathState::Active {
            self.end_probe_timeout(ctx.now, path);
        }
        if matches!(state, PathState::PotentiallyFailed | PathState::Inactive) {
            if state == PathState::PotentiallyFailed
                && let Some(pf) = &self.cfg.failover.potentially_failed
                && let PfReturnCwnd::Pmdcs(n) = pf.return_cwnd
            {
                self.paths.get_mut(path).on_return(n);
                self.observe_window(ctx, path);
            }
            self.end_probe_timeout(ctx.now, path);
            if self.paths.get_mut(path).errors.end_failover(ctx.now) {
                self.stats.spurious_failovers += 1;
                self.observe(ctx, || Observation::SpuriousFailover { path });
            }
            self.set_path_state(ctx, path, PathState::Active);
            self.schedule_heartbeat(ctx, path);
            self.choose_data_path(ctx, None);
        }
    }

    pub(crate) fn observe_window(&self, ctx: &mut Ctx<'_>, path: PathId) {
        let w = self.paths.get(path).window();
        self.observe_detail(ctx, || Observation::Window {
            path,
            cwnd: w.cwnd,
            ssthresh: w.ssthresh,
            flight: w.flight,
            partial_bytes_acked: w.partial_bytes_acked,
        });
    }

    pub(crate) fn observe_rto(
        &self,
        ctx: &mut Ctx<'_>,
        path: PathId,
        sample: Option<core::time::Duration>,
    ) {
        let rtt = &self.paths.get(path).rtt;
        self.observe(ctx, || Observation::Rto {
            path,
            sample,
            srtt: rtt.srtt(),
            rto: rtt.rto(),
        });
    }
}

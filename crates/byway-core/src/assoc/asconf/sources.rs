//! What changes of addresses do to the paths: they are removed, and leave from other
//! addresses of this side.

use super::Association;
use crate::api::{Event, LossReason};
use crate::assoc::{Control, Ctx};
use crate::observe::Observation;
use crate::path::{Path, PathId, PathState};
use crate::policy::retransmit::LossCause;
use core::net::SocketAddr;

impl Association {
    /// A path with room for all chunks that both sides agreed on.
    pub(in crate::assoc) fn new_path(
        &self,
        ctx: &Ctx<'_>,
        (local, remote): (SocketAddr, SocketAddr),
        confirmed: bool,
    ) -> Path {
        let mut path = Path::new(local, remote, confirmed, &self.cfg, ctx.now);
        let beside = self.bytes_beside_data();
        if beside != (0, 0) {
            path.keep_beside_data(beside, &self.cfg, ctx.now);
        }
        path
    }

    /// Removes a path. What was in flight there, and what it lost, belongs to another path.
    pub(super) fn remove_path(&mut self, ctx: &mut Ctx<'_>, path: PathId) {
        let Some(heir) = self.heir_of(path) else {
            return;
        };
        let remote = self.paths.get(path).remote();
        self.take_flight_for_lost(path, LossCause::FastRetransmit);
        let bytes = self.send.ledger.hand_over(path, heir);
        self.paths.hand_over_lost(path, heir, bytes);
        if let Some(c) = &mut self.send.concurrent {
            c.forget_path(path);
            // What it has from the other one may be any chunk.
            c.may_expect(heir, 0);
        }
        if let Some(e) = &mut self.optional.estimating {
            e.forget_path(path);
        }
        self.paths.remove(path, &self.cfg, ctx.now);
        self.redirect_control(path, heir);
        self.addresses.changed = true;
        self.observe(ctx, || Observation::PathRemoved { path });
        self.event(ctx, Event::PathRemoved { path, remote });
        if self.paths.primary() == path {
            self.make_primary(ctx, heir);
        }
        if self.paths.data() == path {
            self.move_data(ctx, heir);
        }
        self.paths.forget_last_active(path, heir);
        self.choose_data_path(ctx, None);
        self.leave_unable_path(ctx);
        self.new_burst();
    }

    /// Data leaves a path that may not take any. If there is no other, it waits.
    pub(super) fn leave_unable_path(&mut self, ctx: &mut Ctx<'_>) {
        if self.is_able(self.paths.data()) {
            return;
        }
        match self.paths.ids().find(|p| self.is_able(*p)) {
            // With `confirm_all_before_data` an active path may be unconfirmed.
            Some(_) if self.cfg.setup.confirm_all_before_data => {}
            Some(able) => self.move_data(ctx, able),
            None => self.begin_stall(),
        }
    }

    /// No data may leave until an address is confirmed. Those that were given up are probed
    /// again, and during the shutdown all are, because the verification is all that goes on.
    fn begin_stall(&mut self) {
        self.optional.stalled = true;
        for path in self.paths.ids() {
            let given_up = self.paths.get(path).state() == PathState::Inactive;
            if given_up || !self.is_probed(path) {
                self.want_heartbeat(path);
            }
        }
    }

    /// The path that takes over from one that is removed: the one that takes data, an
    /// active one, a confirmed one, or any.
    fn heir_of(&self, path: PathId) -> Option<PathId> {
        let others = || self.paths.ids().filter(|p| *p != path);
        let state = |p: &PathId| self.paths.get(*p).state();
        let data = self.paths.data();
        let in_use = |p: &PathId| *p == data && state(p) == PathState::Active;
        others()
            .find(in_use)
            .or_else(|| others().find(|p| state(p) == PathState::Active))
            .or_else(|| others().find(|p| self.is_confirmed(*p)))
            .or_else(|| others().next())
    }

    /// Chunks that wait to leave to a removed path.
    fn redirect_control(&mut self, from: PathId, to: PathId) {
        self.control
            .retain(|c| !matches!(c, Control::HeartbeatAck(path, _) if *path == from));
        for control in &mut self.control {
            if let Control::CookieAck(path) | Control::Error(path, _) | Control::ShutdownAck(path) =
                control
                && *path == from
            {
                *path = to;
            }
        }
        if self.shutdown.from == Some(from) {
            self.shutdown.from = None;
        }
        if self.recv.acker.reply_path() == Some(from) {
            self.recv.acker.reply_path = None;
        }
    }

    /// Whether no address of this side reaches the peer, while the association is stalled.
    #[cold]
    pub(in crate::assoc) fn has_no_source(&self) -> bool {
        let local = self.paths.get(self.paths.data()).local();
        !self.addresses.local.contains(&local)
    }

    /// Whether a path may take data: its address is confirmed, and it leaves from an address
    /// of this side.
    fn is_able(&self, path: PathId) -> bool {
        self.addresses.local.contains(&self.paths.get(path).local()) && self.is_confirmed(path)
    }

    /// A path may take data again: the stall ends if it was one.
    pub(in crate::assoc) fn end_stall(&mut self, ctx: &mut Ctx<'_>, path: PathId) {
        if self.optional.stalled && self.is_able(path) {
            self.optional.stalled = false;
            if !self.is_able(self.paths.data()) {
                self.move_data(ctx, path);
            }
            self.recv.acker.want_now();
            self.new_burst();
        }
    }

    /// Paths whose source this side has no longer leave from another one. An address of the
    /// peer that none of ours can reach is no path any more, unless it is the last one.
    pub(in crate::assoc) fn leave_sources(&mut self, ctx: &mut Ctx<'_>) {
        let ours = self.addresses.local.clone();
        let stalled = self.optional.stalled;
        let homeless = |a: &Association, p: &PathId| !ours.contains(&a.paths.get(*p).local());
        for path in self.paths.ids() {
            if !homeless(self, &path) {
                continue;
            }
            let used = self.paths.sources();
            let remote = self.paths.get(path).remote().ip();
            let found = ctx.routes.source_beside(&ours, remote, &used);
            if let Some(local) = found.and_then(|i| ours.get(i).copied()) {
                self.leave_from(ctx, path, local);
            }
        }
        for path in self.paths.ids() {
            if !homeless(self, &path) {
                continue;
            }
            if self.paths.ids().any(|p| !homeless(self, &p)) {
                self.keep_address_of(path);
                self.remove_path(ctx, path);
            } else if self.awaits_source() {
                self.begin_stall();
            } else {
                let why = "no address of this side reaches the peer any more";
                self.lose(ctx, LossReason::Refused(why.to_owned()));
                return;
            }
        }
        // An address may have come back before its path left it.
        let able = self.paths.ids().find(|p| self.is_able(*p));
        if let Some(path) = able {
            self.end_stall(ctx, path);
        }
        // The first path that got a source took the data; another one may be the better.
        if stalled && !self.optional.stalled {
            self.choose_data_path(ctx, None);
        }
    }

    /// Whether the peer is being told of an address of this side, which may reach it.
    fn awaits_source(&self) -> bool {
        let asconf = self.optional.asconf.as_ref();
        self.changes_addresses() && asconf.is_some_and(|a| !a.adding().is_empty())
    }

    /// The packets of a path leave from another address of this side, over another
    /// network: what is in flight counts as lost, and the windows begin again.
    pub(in crate::assoc) fn leave_from(
        &mut self,
        ctx: &mut Ctx<'_>,
        path: PathId,
        local: SocketAddr,
    ) {
        self.take_flight_for_lost(path, LossCause::FastRetransmit);
        self.paths.move_source(path, local, &self.cfg, ctx.now);
        self.learn_mtu(ctx, path);
        self.want_heartbeat(path);
        self.observe_window(ctx, path);
        let remote = self.paths.get(path).remote();
        self.event(ctx, Event::PathMoved { path, remote });
        self.end_stall(ctx, path);
    }

    /// This side has more addresses: paths without a source get one, addresses of the peer
    /// that could not be reached become paths, and a path that shares its source with an
    /// earlier one gets one of its own. The path that carries data stays where it is, if it
    /// has worked from there.
    pub(in crate::assoc) fn spread_sources(&mut self, ctx: &mut Ctx<'_>) {
        self.leave_sources(ctx);
        self.adopt_pathless(ctx);
        let ours = self.addresses.local.clone();
        for path in self.paths.ids() {
            if path == self.paths.data() && self.works_from_its_source(path) {
                continue;
            }
            let (own, remote) = (self.paths.get(path).local(), self.paths.get(path).remote());
            let used = self.sources_beside(path);
            if !used.contains(&own) {
                continue;
            }
            let found = ctx.routes.source_beside(&ours, remote.ip(), &used);
            if let Some(local) = found.and_then(|i| ours.get(i).copied())
                && !used.contains(&local)
            {
                self.leave_from(ctx, path, local);
            }
        }
    }

    /// Whether a path has answered since its packets leave from its source, and no error
    /// followed.
    fn works_from_its_source(&self, path: PathId) -> bool {
        let p = self.paths.get(path);
        p.state() == PathState::Active && p.errors.count() == 0 && p.rtt.srtt().is_some()
    }

    /// Addresses of the peer without a path become paths, if there is room and one of ours
    /// reaches them.
    pub(super) fn adopt_pathless(&mut self, ctx: &mut Ctx<'_>) {
        let ours = self.addresses.local.clone();
        for ip in core::mem::take(&mut self.addresses.pathless) {
            let used = self.paths.sources();
            let room = self.paths.has_room(self.cfg.setup.max_paths);
            let found = if room {
                ctx.routes.source_beside(&ours, ip, &used)
            } else {
                None
            };
            match found.and_then(|i| ours.get(i).copied()) {
                Some(local) => {
                    let port = self.paths.get(self.paths.data()).remote().port();
                    self.begin_path(ctx, (local, SocketAddr::new(ip, port)));
                }
                None => self.addresses.pathless.push(ip),
            }
        }
    }
}

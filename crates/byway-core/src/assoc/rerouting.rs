//! The routes of this host changed: each path asks again from which address it leaves, and how
//! large its interface lets packets be.

use super::{Association, Ctx};
use crate::path::PathId;
use core::net::SocketAddr;
use smallvec::SmallVec;

impl Association {
    /// The routes of this host, or the MTUs of its interfaces, changed. A path whose source has
    /// no way to its address any more leaves from another one that has, or is in doubt while another
    /// path has one, and paths that share a source get one of their own if the new routes allow it.
    pub(crate) fn on_routes_changed(&mut self, ctx: &mut Ctx<'_>) {
        if self.state.is_closed() {
            return;
        }
        let sources = self.paths.ids().map(|p| (p, self.paths.get(p).local()));
        let before: SmallVec<[(PathId, SocketAddr); 4]> = sources.collect();
        let mut dead_ends = false;
        for path in self.paths.ids() {
            dead_ends |= self.leave_dead_end(ctx, path);
        }
        if self.state.sends_heartbeats() {
            if dead_ends {
                self.doubt_dead_ends(ctx);
            }
            self.spread_sources(ctx);
            for path in self.paths.ids() {
                self.learn_mtu_again(ctx, path);
            }
        }
        self.ask_listed_again(|a, p| !before.contains(&(p, a.paths.get(p).local())));
        // An address may have got a way of its own.
        self.send_asconf(ctx);
        self.new_burst();
    }

    /// Whether the path stays without a way.
    fn leave_dead_end(&mut self, ctx: &mut Ctx<'_>, path: PathId) -> bool {
        let p = self.paths.get(path);
        let (local, remote) = (p.local(), p.remote().ip());
        if ctx.routes.leads(local, remote) {
            return false;
        }
        let used = self.sources_beside(path);
        let ours = self.addresses.local.clone();
        let found = ctx.routes.source_beside(&ours, remote, &used);
        let other = found.and_then(|i| ours.get(i).copied());
        let Some(other) = other.filter(|o| *o != local && ctx.routes.leads(*o, remote)) else {
            return true;
        };
        if self.state.sends_heartbeats() {
            self.leave_from(ctx, path, other);
        } else {
            // Nothing is known of the way yet.
            self.paths.get_mut(path).send_from(other);
        }
        false
    }

    /// Paths that have no way any more are in doubt, as if the kernel had refused a packet. It refuses
    /// none where the window is full, and what is in flight may have been in the queue of a card that
    /// went down. Not while no other path has a way: this host changes its network, and which way is
    /// the first to be back is open.
    fn doubt_dead_ends(&mut self, ctx: &mut Ctx<'_>) {
        let all: Vec<(PathId, bool)> = self
            .paths
            .ids()
            .map(|id| (id, self.leads(ctx, id)))
            .collect();
        let takes_data = |id: PathId| self.paths.get(id).takes_data();
        if !all.iter().any(|(id, leads)| *leads && takes_data(*id)) {
            return;
        }
        for (path, _) in all.into_iter().filter(|(_, leads)| !leads) {
            self.on_unreachable(ctx, path);
        }
    }

    fn leads(&self, ctx: &mut Ctx<'_>, path: PathId) -> bool {
        let p = self.paths.get(path);
        ctx.routes.leads(p.local(), p.remote().ip())
    }

    /// The sources of the other paths.
    pub(super) fn sources_beside(&self, path: PathId) -> Vec<SocketAddr> {
        let others = self.paths.ids().filter(|p| *p != path);
        others.map(|p| self.paths.get(p).local()).collect()
    }
}

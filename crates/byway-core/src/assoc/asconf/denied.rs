//! The peer denies a packet by an ABORT with the T bit: it finds no association by these addresses (RFC 9260 section 8.4,
//! rule 8), which may be true of them alone.

use super::Change;
use crate::assoc::{Association, Ctx, Inbound};
use crate::config::Wildcard;
use crate::path::{Path, PathId, PathState};
use crate::policy::retransmit::LossCause;

impl Association {
    /// Whether a packet came to an address of this side from which this peer has answered nothing
    /// yet, while it has answered on a path.
    ///
    /// Behind a translator of its own, another card has a source that no list names. Hosts that
    /// find associations by addresses answer a heartbeat from there with an ABORT whose T bit says
    /// that they know nothing (RFC 9260 section 8.4, rule 8). It is true of that source only: a
    /// peer that has lost the association says so where it answered before, too.
    #[cold]
    pub(in crate::assoc) fn tries_source(&self, inbound: &Inbound<'_>) -> bool {
        let pair = (*inbound.destination, *inbound.source);
        // Who lists a victim sets up from its own address, too: that alone says nothing of others.
        // An address that the user gave, or that has answered, is no victim's.
        let path = self.paths.find_source(inbound.source);
        let elsewhere = self.paths.iter().any(|p| p.rtt.srtt().is_some())
            || self.state.sends_heartbeats()
                && path.is_some_and(|p| self.paths.get(p).is_of_peer());
        let mut proven = self.paths.iter().filter(|p| p.has_answered_here());
        elsewhere && proven.all(|p| (p.local(), p.remote()) != pair)
    }

    /// The peer does not know a source of this side: it answered what came from there by an ABORT with the T bit. No
    /// data leaves from there before the peer has answered a heartbeat, and it is told of the source.
    pub(in crate::assoc) fn on_unknown_source(&mut self, ctx: &mut Ctx<'_>, inbound: &Inbound<'_>) {
        let (own, remote) = (*inbound.destination, *inbound.source);
        let between =
            |p: &PathId| (self.paths.get(*p).local(), self.paths.get(*p).remote()) == (own, remote);
        if let Some(path) = self.paths.ids().find(between) {
            self.doubt_source(ctx, path);
        }
        // What comes from an address that the peer had before says nothing of ours.
        if self.paths.find(remote.ip()).is_none() {
            return;
        }
        if !self.changes_addresses() || self.cfg.asconf.wildcard == Wildcard::Never {
            return;
        }
        let lacks_others = self.addresses.local.iter().all(|a| *a == own);
        let answered =
            |p: PathId| self.paths.get(p).local() == own && self.paths.get(p).has_answered_here();
        let is_known = self.paths.ids().any(answered);
        let Some(asconf) = &mut self.optional.asconf else {
            return;
        };
        if let Some(request) = &mut asconf.request
            && request.own_source == Some(own)
        {
            if !lacks_others && !request.elsewhere {
                request.leave_elsewhere();
                self.resend_asconf(ctx, None);
            }
            return;
        }
        if is_known || lacks_others || asconf.refuses.changes {
            return;
        }
        if !self.addresses.local.contains(&own) {
            return;
        }
        if !asconf.translated.contains(&own.ip()) {
            asconf.translated.push(own.ip());
        }
        asconf.want([Change::Add(own)]);
        let others = self.addresses.local.iter().filter(|a| **a != own);
        self.addresses.local = others.copied().collect();
        self.leave_sources(ctx);
        self.send_asconf(ctx);
    }

    /// The path that an ABORT with the T bit came from, to an address that was confirmed, if the peer may change its addresses, and another path to
    /// another address of it has answered.
    ///
    /// A host finds no association for an address that it has just deleted, and its ASCONF that says so may be on its way: usrsctp
    /// deletes first and tells then. A peer that has lost the association says the same at its other addresses, which
    /// are asked at once.
    #[cold]
    pub(in crate::assoc) fn denies_one_address(&self, inbound: &Inbound<'_>) -> Option<PathId> {
        let path = self.paths.find_source(inbound.source)?;
        if !self.can_change_addresses() || !self.paths.get(path).is_of_peer() {
            return None;
        }
        let remote = inbound.source.ip();
        let others = self.paths.ids().filter(|p| *p != path);
        let mut sound = others.map(|p| self.paths.get(p)).filter(|p| {
            p.state() == PathState::Active && p.is_confirmed() && p.remote().ip() != remote
        });
        sound.any(Path::has_answered_here).then_some(path)
    }

    /// No data leaves to an address at which the peer denied the association until it answers there, and all other
    /// confirmed ones are asked.
    #[cold]
    pub(in crate::assoc) fn doubt_address(&mut self, ctx: &mut Ctx<'_>, path: PathId) {
        for other in self.paths.ids() {
            // Further denials of what was in flight must not put the end of that heartbeat off.
            let asked = self.paths.get(other).heartbeat.under_way().is_some();
            if other != path && self.is_confirmed(other) && !asked {
                self.want_heartbeat(other);
            }
        }
        self.doubt_source(ctx, path);
    }

    /// The peer does not know the source of this path's packets. The user gave the address of the peer, which counts as
    /// confirmed (RFC 9260 section 5.4), but no data may leave there before a heartbeat is answered. The primary stays what the user
    /// or the peer chose (section 6.4), so that data is back with the answer.
    fn doubt_source(&mut self, ctx: &mut Ctx<'_>, path: PathId) {
        if !self.is_confirmed(path) {
            return;
        }
        self.paths.doubt_source(path);
        self.take_flight_for_lost(path, LossCause::FastRetransmit);
        if let Some(c) = &mut self.send.concurrent {
            c.forget_path(path);
        }
        self.set_path_state(ctx, path, PathState::Unconfirmed);
        if self.paths.get(path).heartbeat.under_way().is_none() {
            self.want_heartbeat(path);
        }
        self.choose_data_path(ctx, None);
        self.leave_unable_path(ctx);
        self.new_burst();
    }
}

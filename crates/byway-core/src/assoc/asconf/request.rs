//! This side changes its addresses (RFC 5061 sections 5.1 and 5.3).

use super::{Asconf, Change, LONGEST_HOLD, MOST_UNANSWERED, Named, Request};
use crate::api::{AddressChange, CommandError, Event, LossReason};
use crate::assoc::{AbortReason, Association, Ctx, Inbound};
use crate::config::Wildcard;
use crate::observe::{Observation, Timer};
use crate::outbox::Finished;
use crate::path::{PathId, PathTrouble};
use crate::scope::{is_local, is_private};
use byway_wire::{AsconfAck, PacketBuilder, Param, ParamWriter, cause_code};
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use smallvec::SmallVec;

/// Most changes of one ASCONF, so that it fits the smallest packets.
const MOST: usize = 16;

impl Association {
    /// The addresses of this side change. Those that go are no source from now on (F4);
    /// those that come are sources when the peer has acknowledged them (F1).
    pub(crate) fn change_local(
        &mut self,
        ctx: &mut Ctx<'_>,
        add: &[SocketAddr],
        remove: &[IpAddr],
    ) {
        if self.state.is_closed() {
            return;
        }
        let mut local = self.addresses.local.to_vec();
        let gone: SmallVec<[SocketAddr; 4]> = local
            .iter()
            .copied()
            .filter(|a| remove.contains(&a.ip()))
            .collect();
        local.retain(|a| !remove.contains(&a.ip()));
        let new = add
            .iter()
            .filter(|a| !local.iter().any(|l| l.ip() == a.ip()));
        let new: SmallVec<[SocketAddr; 4]> = new.copied().collect();
        let may_tell = self.changes_addresses();
        match &mut self.optional.asconf {
            Some(asconf) if may_tell && !asconf.refuses.changes => {
                remove.iter().for_each(|ip| asconf.forget_waiting(*ip));
                local.extend(new.iter().filter(|a| asconf.came(**a)));
                let coming = asconf.coming(remove);
                asconf.want(gone.iter().copied().chain(coming).map(Change::Delete));
                asconf.refused.retain(|a| !remove.contains(&a.ip()));
                if local.is_empty() && asconf.adding().is_empty() {
                    // The peer may have room by now.
                    let again = core::mem::take(&mut asconf.refused);
                    asconf.want(again.into_iter().map(Change::Add));
                }
            }
            // The peer cannot be told, or not yet. A new address is of use if no other is
            // left: then the peer may take this side for one behind a translator.
            _ => {
                if self.cfg.asconf.enabled && !may_tell {
                    let before = &self.addresses.local;
                    self.setup.listed.get_or_insert_with(|| before.clone());
                    let came = new.iter().map(|a| (true, *a));
                    let went = gone.iter().map(|a| (false, *a));
                    self.setup.changed.extend(went.chain(came));
                }
                local.extend_from_slice(&new);
            }
        }
        self.addresses.local = local.into();
        if may_tell && self.optional.asconf.is_some() {
            self.spread_sources(ctx);
        } else {
            self.leave_sources(ctx);
        }
        self.resend_from_elsewhere(ctx);
        self.send_asconf(ctx);
    }

    /// The association is established: the peer is told what changed since our INIT or
    /// INIT ACK listed our addresses.
    pub(in crate::assoc) fn tell_missed_changes(&mut self, ctx: &mut Ctx<'_>) {
        let changed = core::mem::take(&mut self.setup.changed);
        let ours = self.addresses.local.clone();
        if let Some(asconf) = &mut self.optional.asconf {
            asconf.want(changed.into_iter().filter_map(|(came, a)| {
                match (came, ours.contains(&a)) {
                    (true, true) => Some(Change::Add(a)),
                    (false, false) => Some(Change::Delete(a)),
                    _ => None,
                }
            }));
        }
        self.send_asconf(ctx);
    }

    /// The peer may have answered an INIT that listed no addresses of ours. Those that it may not know are added by
    /// ASCONF, and are no sources before (RFC 5061 section 5.3, F1). It takes an addition of one that it knows. Without
    /// ASCONF it sees them as new sources, as behind a translator.
    pub(in crate::assoc) fn add_unlisted(&mut self, ctx: &mut Ctx<'_>) {
        if !core::mem::take(&mut self.setup.unlisted) {
            return;
        }
        let known = self.paths.get(self.paths.primary()).local();
        if !self.addresses.local.contains(&known) {
            return;
        }
        let ours = self.addresses.local.clone();
        let Some(asconf) = &mut self.optional.asconf else {
            return;
        };
        asconf.want(
            ours.iter()
                .filter(|a| **a != known)
                .map(|a| Change::Add(*a)),
        );
        self.addresses.local = [known].into();
        self.leave_sources(ctx);
    }

    /// The user asks the peer to make an address of this side its primary.
    pub(crate) fn ask_for_primary(
        &mut self,
        ctx: &mut Ctx<'_>,
        local: IpAddr,
    ) -> Result<(), CommandError> {
        let listed = self.addresses.local.iter().any(|a| a.ip() == local);
        let Some(asconf) = self
            .optional
            .asconf
            .as_mut()
            .filter(|a| !a.refuses.set_primary)
        else {
            return Err(CommandError::AddressChangesUnsupported);
        };
        if !listed && !asconf.adds(local) {
            return Err(CommandError::NotLocal { local });
        }
        asconf
            .waiting
            .retain(|c| !matches!(c, Change::SetPrimary(_)));
        asconf.want(core::iter::once(Change::SetPrimary(local)));
        self.send_asconf(ctx);
        Ok(())
    }

    /// Sends the changes that wait, if no ASCONF is under way (A1 to A4).
    pub(in crate::assoc) fn send_asconf(&mut self, ctx: &mut Ctx<'_>) {
        let Some(asconf) = &self.optional.asconf else {
            return;
        };
        if asconf.waiting.is_empty() || !self.changes_addresses() {
            return;
        }
        if asconf.request.is_some() {
            self.hurry(ctx);
            return;
        }
        let adding = asconf.adding();
        let aside = self.put_aside(ctx);
        let adds = |c: &&Change| matches!(c, Change::Add(_));
        let later = aside.iter().filter(adds).count();
        let holds = aside.iter().any(|c| matches!(c, Change::Delete(_)));
        let left = self.addresses.local.len() + adding.len().saturating_sub(later);
        let own_source = self.wildcard_stands_for(ctx);
        let way = self.way_of_asconf(ctx, (&adding, own_source), None);
        let address = way.map(|(source, path)| self.known_address(source, path));
        let wild = self.wild_changes();
        let Some(asconf) = &mut self.optional.asconf else {
            return;
        };
        let taken = way
            .filter(|_| !asconf.waiting.is_empty())
            .map(|_| asconf.take_waiting(left, own_source, |ip| wild.contains(&ip)));
        asconf.want(aside);
        let (Some((source, path)), Some(address), Some((changes, params))) = (way, address, taken)
        else {
            if holds {
                self.hold_deletions(ctx);
            }
            return;
        };
        asconf.request = Some(Box::new(Request {
            serial: asconf.next,
            changes,
            address,
            params,
            source,
            path,
            sent_at: ctx.now,
            own_source,
            elsewhere: false,
            left_elsewhere: false,
            early: own_source.is_some(),
            unanswered: 0,
        }));
        asconf.next = asconf.next.wrapping_add(1);
        self.transmit_asconf(ctx);
    }

    /// A change waits while the ASCONF under way is told from an address that was silent before: it leaves from another one
    /// now, so that it is answered.
    fn hurry(&mut self, ctx: &mut Ctx<'_>) {
        let Some(asconf) = &mut self.optional.asconf else {
            return;
        };
        let others = asconf.waiting.iter().any(|c| !asconf.is_silent(c));
        let Some(request) = asconf.request.as_mut().filter(|_| others) else {
            return;
        };
        let own = request.must_leave_from();
        let silent = own.is_some_and(|own| asconf.silent.contains(&own));
        if silent && request.unanswered < MOST_UNANSWERED {
            request.unanswered = MOST_UNANSWERED;
            request.leave_elsewhere();
            self.resend_asconf(ctx, None);
        }
    }

    /// Deletions wait for the HEARTBEAT of the peer, but not for ever: then they are refused.
    fn hold_deletions(&mut self, ctx: &mut Ctx<'_>) {
        let Some(asconf) = &mut self.optional.asconf else {
            return;
        };
        let until = *asconf.held_until.get_or_insert(ctx.now + LONGEST_HOLD);
        if ctx.now < until {
            self.timers.t4 = Some(until);
            return;
        }
        asconf.held_until = None;
        let deletes = |c: &Change| matches!(c, Change::Delete(_));
        let held = asconf.waiting.iter().copied().filter(deletes);
        let held: SmallVec<[Change; 4]> = held.collect();
        asconf.waiting.retain(|c| !deletes(c));
        for change in held {
            self.note_result(ctx, change, Some(cause_code::UNRESOLVABLE_ADDRESS));
        }
    }

    /// Whether the peer is told of this address by the wildcard. Only a packet from it can tell, so there must be an address of the
    /// peer in its family.
    fn is_wild(&self, own: IpAddr) -> bool {
        let of_family = |r: &IpAddr| r.is_ipv4() == own.is_ipv4();
        let data = self.paths.get(self.paths.data()).remote().ip();
        let others = self.paths.iter().map(|p| p.remote().ip());
        let Some(peer) = core::iter::once(data).chain(others).find(of_family) else {
            return false;
        };
        let asconf = self.optional.asconf.as_ref();
        uses_wildcard(self.cfg.asconf.wildcard, own, peer)
            || asconf.is_some_and(|a| a.translated.contains(&own))
    }

    /// The addresses in the changes that wait which the wildcard stands for.
    fn wild_changes(&self) -> SmallVec<[IpAddr; 8]> {
        let waiting = self.optional.asconf.iter().flat_map(|a| a.waiting.iter());
        let addresses = waiting.map(|c| match *c {
            Change::Name(ip) | Change::SetPrimary(ip) => ip,
            Change::Add(a) | Change::Delete(a) => a.ip(),
        });
        addresses.filter(|ip| self.is_wild(*ip)).collect()
    }

    /// The source that the next ASCONF must have, as the wildcard in it stands for it: the address that comes, or the one
    /// that is to be the primary. If no path leads by the card of the latter, it is named.
    fn wildcard_stands_for(&self, ctx: &mut Ctx<'_>) -> Option<SocketAddr> {
        let asconf = self.optional.asconf.as_ref()?;
        let next = asconf.waiting.iter().min_by_key(|c| c.rank())?;
        match *next {
            Change::Add(a) => Some(a).filter(|a| self.is_wild(a.ip())),
            Change::SetPrimary(ip) => {
                let mut ours = self.addresses.local.iter().copied();
                let own = ours.find(|a| a.ip() == ip && self.is_wild(ip))?;
                let mut of_peer = self.paths.iter().filter(|p| p.is_of_peer());
                let leads = of_peer.any(|p| {
                    let remote = p.remote().ip();
                    remote.is_ipv4() == ip.is_ipv4() && ctx.routes.leads_by_own_card(own, remote)
                });
                leads.then_some(own)
            }
            _ => None,
        }
    }

    /// Takes out the additions that the wildcard tells of and whose cards have no way to the peer yet: from another
    /// card they would add the source that the peer knows. They wait for routes while there is another address. Those
    /// from which nothing came back wait for all other changes. And the deletions that the peer would not survive.
    ///
    /// Where the way leads to an address of the peer that is not confirmed, an ASCONF cannot take it (RFC 9260 section 5.4). Then
    /// another card serves, unless a translator is known to be before the address.
    fn put_aside(&mut self, ctx: &mut Ctx<'_>) -> Vec<Change> {
        let remotes: SmallVec<[(IpAddr, bool); 8]> = self
            .paths
            .ids()
            .map(|p| self.paths.get(p))
            .map(|p| (p.remote().ip(), p.is_of_peer()))
            .collect();
        let Some(asconf) = &self.optional.asconf else {
            return Vec::new();
        };
        let has_another = !self.addresses.local.is_empty();
        let lacks_way = |c: &Change, ctx: &mut Ctx<'_>| match *c {
            Change::Add(a) if has_another && self.is_wild(a.ip()) => {
                let strict = asconf.translated.contains(&a.ip());
                let mut same = remotes
                    .iter()
                    .filter(|(r, of_peer)| r.is_ipv4() == a.is_ipv4() && (*of_peer || !strict))
                    .peekable();
                same.peek().is_some() && !same.any(|(r, _)| ctx.routes.leads_by_own_card(a, *r))
            }
            _ => false,
        };
        let mut aside: Vec<Change> = asconf
            .waiting
            .iter()
            .filter(|c| lacks_way(c, ctx))
            .copied()
            .collect();
        let goes = |c: &&Change| !aside.contains(c) && !asconf.is_silent(c);
        let adds = asconf.waiting.iter().filter(goes);
        let adds = adds.filter(|c| matches!(c, Change::Add(_))).count();
        // The wildcard deletes all addresses but one. Linux (6.1) hung when it had several at that moment, all unconfirmed,
        // likely as it never ends to look for a path (`sctp_assoc_update_retran_path`): the name, which a translator hides, and the new one, which its
        // next heartbeat confirms.
        let last = match *self.addresses.local {
            [last] => Some(last.ip()),
            _ => None,
        };
        let unasked = |n: &Named| last == Some(n.ip) && !n.asked;
        let hangs = adds == 0 && asconf.named.iter().any(unasked);
        let held = |c: &&Change| hangs && matches!(c, Change::Delete(_));
        let others_go = asconf.waiting.iter().any(|c| goes(&c) && !held(&c));
        let silent = |c: &&Change| {
            others_go && matches!(c, Change::Add(_)) && asconf.is_silent(c) && !aside.contains(c)
        };
        let later = asconf.waiting.iter().filter(|c| held(c) || silent(c));
        let later: Vec<Change> = later.copied().collect();
        aside.extend(later);
        let of_these = |c: &&Change| match c {
            Change::SetPrimary(ip) => {
                let adds = |a: &Change| matches!(a, Change::Add(a) if a.ip() == *ip);
                aside.iter().any(adds)
            }
            _ => false,
        };
        let primary = asconf.waiting.iter().find(of_these).copied();
        aside.extend(primary);
        if let Some(asconf) = &mut self.optional.asconf {
            asconf.waiting.retain(|c| !aside.contains(c));
        }
        aside
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

    /// From where and where an ASCONF goes: to the path of new data, or to another one than
    /// `after`, which did not answer (B4): an active one, or else the next confirmed one; of these
    /// to one that the routes lead to. An address that is only being added is the source if there
    /// is no other (F1).
    fn way_of_asconf(
        &self,
        ctx: &mut Ctx<'_>,
        (adding, own_source): (&[SocketAddr], Option<SocketAddr>),
        after: Option<PathId>,
    ) -> Option<(SocketAddr, PathId)> {
        let view = self.paths.view();
        let next = |p| view.ring(p).find(|p| view.is_confirmed(*p)).unwrap_or(p);
        let first = match after {
            None => self.paths.data(),
            // Nothing is known of any path from an address that is only being added.
            Some(p) if own_source.is_some() => next(p),
            Some(p) => view.alternate(p).unwrap_or_else(|| next(p)),
        };
        let mut order: SmallVec<[PathId; 8]> = SmallVec::from_slice(&[first]);
        let of_peer = |p: &PathId| match own_source {
            Some(_) => self.paths.get(*p).is_of_peer(),
            None => view.is_confirmed(*p),
        };
        order.extend(view.ring(first).filter(of_peer));
        if let Some(own) = own_source {
            // From another card it would have another source, and the wildcard would stand for that. The first one
            // takes the path of this source, if there is one; it may be what does not answer.
            order.sort_by_key(|p| {
                let p = self.paths.get(*p);
                let by_own_card = ctx.routes.leads_by_own_card(own, p.remote().ip());
                (!by_own_card, after.is_none() && p.local() != own)
            });
        }
        let ways = order.iter().filter_map(|&path| {
            let source = self.source_of_asconf(ctx, (adding, own_source), path)?;
            let leads = ctx.routes.leads(source, self.paths.get(path).remote().ip());
            Some((leads, (source, path)))
        });
        // The first that the routes of this host lead to. Without any, the routes may come later.
        let mut fallback = None;
        for (leads, way) in ways {
            if leads {
                return Some(way);
            }
            fallback.get_or_insert(way);
        }
        fallback
    }

    /// The source of an ASCONF to a path; none if there is none of its family.
    fn source_of_asconf(
        &self,
        ctx: &mut Ctx<'_>,
        (adding, own_source): (&[SocketAddr], Option<SocketAddr>),
        path: PathId,
    ) -> Option<SocketAddr> {
        let p = self.paths.get(path);
        if let Some(own) = own_source {
            return (own.is_ipv4() == p.remote().is_ipv4()).then_some(own);
        }
        if self.addresses.local.contains(&p.local()) {
            return Some(p.local());
        }
        let ours = [&self.addresses.local, adding];
        ours.into_iter().find_map(|all| {
            let i = ctx.routes.source(all, p.remote().ip())?;
            all.get(i).copied()
        })
    }

    /// An address of ours by which the peer may find the association (sections 4.1.1 and 5.3.2). Behind a translator it
    /// knows none but those that it was told by name. Then it is the wildcard address, and the peer may look by the rest of the
    /// packet; usrsctp does so by the verification tag.
    fn known_address(&self, source: SocketAddr, path: PathId) -> IpAddr {
        let asconf = self.optional.asconf.as_ref();
        let named = |ip: IpAddr| asconf.is_some_and(|a| a.knows_name(ip));
        let own = if self.addresses.local.contains(&source) || named(source.ip()) {
            source.ip()
        } else {
            self.paths.get(path).local().ip()
        };
        if self.is_wild(own) && !named(own) {
            unspecified(own)
        } else {
            own
        }
    }

    /// The ASCONF under way leaves, and T4-rto starts (A3, A4).
    fn transmit_asconf(&mut self, ctx: &mut Ctx<'_>) {
        let header = self.header();
        let Some(request) = self
            .optional
            .asconf
            .as_mut()
            .and_then(|a| a.request.as_mut())
        else {
            return;
        };
        request.sent_at = ctx.now;
        let early = core::mem::replace(&mut request.early, false);
        let mut bytes = Vec::new();
        let mut packet = PacketBuilder::new(&mut bytes, header);
        packet.asconf_raw(request.serial, request.address, &request.params);
        let (source, path) = (request.source, request.path);
        self.send_authenticated(
            ctx,
            bytes,
            (source, self.paths.get(path).remote()),
            Some(path),
        );
        let mut rto = self.paths.get(path).rtt.rto();
        if let Some(asconf) = &self.optional.asconf {
            let own = asconf.request.as_ref().and_then(|r| r.must_leave_from());
            if own.is_some_and(|own| asconf.silent.contains(&own)) {
                let longer = rto.saturating_mul(1 << asconf.silences.min(16));
                rto = longer.min(self.cfg.rto.max).max(rto);
            }
        }
        // The peer may answer the first packet from a new source to the UDP port of the old one: Linux and usrsctp do.
        let rule = self.cfg.failover.probe_timeout.filter(|_| early);
        // Of the new way nothing is known yet.
        let measured = self.paths.get(path).rtt.srtt().is_some();
        let like = if measured { path } else { self.paths.data() };
        let soon = rule.map(|rule| self.answer_time(rule, like).min(rto));
        self.timers.t4 = Some(ctx.now + soon.unwrap_or(rto));
        let asconf = self.optional.asconf.as_mut();
        if let Some(request) = asconf.and_then(|a| a.request.as_mut()) {
            request.early = soon.is_some();
        }
    }

    /// Puts an AUTH chunk in front of a packet and sends it.
    pub(super) fn send_authenticated(
        &mut self,
        ctx: &mut Ctx<'_>,
        mut bytes: Vec<u8>,
        (source, destination): (SocketAddr, SocketAddr),
        path: Option<PathId>,
    ) {
        let len = self.seal(ctx, (&mut bytes, 0), &[]);
        if let Some(path) = path {
            self.paths.get_mut(path).counters.sent(len);
            self.observe(ctx, || Observation::PacketSent {
                path,
                bytes: len as u32,
            });
        }
        self.stats.packets_sent += 1;
        ctx.out.queue_packet(Finished {
            source,
            destination,
            bytes,
        });
    }

    /// T4-rto expired (B1 to B5).
    pub(in crate::assoc) fn on_t4(&mut self, ctx: &mut Ctx<'_>) {
        self.timers.t4 = None;
        if !self.changes_addresses() {
            return; // C4: the association ends
        }
        let request = self
            .optional
            .asconf
            .as_ref()
            .and_then(|a| a.request.as_ref());
        let Some((path, early)) = request.map(|r| (r.path, r.early)) else {
            // The peer has asked the new address, for which a deletion waited.
            self.send_asconf(ctx);
            return;
        };
        self.observe(ctx, || Observation::TimerFired {
            timer: Timer::T4Rto,
            path: Some(path),
        });
        if early && self.paths.contains(path) {
            self.repeat_early(ctx);
            return;
        }
        if self.doubts_own_source() {
            self.resend_asconf(ctx, Some(path).filter(|p| self.paths.contains(*p)));
            return;
        }
        if self.paths.contains(path) {
            self.paths.get_mut(path).rtt.back_off(&self.cfg.rto);
            self.blame(path, PathTrouble::ControlUnanswered);
            self.count_error(ctx, path, true, self.cfg.failure.path_max_retrans);
            if self.peer_is_unreachable(ctx) {
                return;
            }
            self.choose_data_path(ctx, None);
        }
        if let Some(asconf) = &mut self.optional.asconf
            && let Some(request) = &mut asconf.request
            && request.unanswered >= MOST_UNANSWERED
        {
            // The other addresses may be what leads nowhere: in turn.
            request.elsewhere = false;
        }
        self.resend_asconf(ctx, Some(path).filter(|p| self.paths.contains(*p)));
    }

    /// T4-rto expired for an ASCONF that left from the address that the wildcard in it stands for, while this side has
    /// others. The way from there is in doubt, and not the path, so this is no error of the path and none of the
    /// association (beside RFC 5061 section 5.1, B1): who switches on a card that leads nowhere keeps its association. When it has
    /// happened too often, the ASCONF leaves from another address, so that the serial number is answered.
    fn doubts_own_source(&mut self) -> bool {
        let Some(asconf) = &mut self.optional.asconf else {
            return false;
        };
        let adding = asconf.adding();
        let Some(request) = &mut asconf.request else {
            return false;
        };
        let Some(own) = request.must_leave_from() else {
            return false;
        };
        if self
            .addresses
            .local
            .iter()
            .chain(&adding)
            .all(|a| *a == own)
        {
            return false;
        }
        request.unanswered = request.unanswered.saturating_add(1);
        if request.unanswered >= MOST_UNANSWERED {
            request.leave_elsewhere();
        }
        asconf.silences = asconf.silences.saturating_add(1);
        true
    }

    /// The ASCONF from a new source leaves once more before T4-rto expires, which counts for nothing.
    fn repeat_early(&mut self, ctx: &mut Ctx<'_>) {
        let asconf = self.optional.asconf.as_mut();
        if let Some(request) = asconf.and_then(|a| a.request.as_mut()) {
            request.early = false;
        }
        self.transmit_asconf(ctx);
    }

    /// The ASCONF under way leaves again, after the path that did not answer it.
    fn resend_asconf(&mut self, ctx: &mut Ctx<'_>, after: Option<PathId>) {
        let Some(asconf) = &self.optional.asconf else {
            return;
        };
        let adding = asconf.adding();
        let own_source = asconf.request.as_ref().and_then(|r| r.must_leave_from());
        let own_source = own_source.filter(|own| !self.is_being_deleted(own.ip()));
        match self.way_of_asconf(ctx, (&adding, own_source), after) {
            Some((source, path)) => {
                if let Some(r) = self
                    .optional
                    .asconf
                    .as_mut()
                    .and_then(|a| a.request.as_mut())
                {
                    (r.source, r.path) = (source, path);
                }
                self.transmit_asconf(ctx);
            }
            None => {
                let has_another = |own| self.addresses.local.iter().any(|a| *a != own);
                let request = self.optional.asconf.as_mut();
                if let Some(request) = request.and_then(|a| a.request.as_mut())
                    && own_source.is_some_and(has_another)
                {
                    // No way of its family is left.
                    request.unanswered = MOST_UNANSWERED;
                    request.leave_elsewhere();
                    self.resend_asconf(ctx, None);
                } else {
                    // No address is left to send from: the next change of addresses sends it.
                    self.timers.t4 = None;
                }
            }
        }
    }

    /// The source of the ASCONF under way, or the address where it went, is gone: waiting
    /// for its answer is of no use.
    pub(super) fn resend_from_elsewhere(&mut self, ctx: &mut Ctx<'_>) {
        if !self.changes_addresses() {
            return;
        }
        let request = self
            .optional
            .asconf
            .as_ref()
            .and_then(|a| a.request.as_ref());
        let Some(r) = request else { return };
        let coming = self
            .optional
            .asconf
            .iter()
            .any(|a| a.adding().contains(&r.source));
        let stays = self.addresses.local.contains(&r.source) || coming;
        if !(stays && self.paths.contains(r.path)) {
            self.resend_asconf(ctx, None);
        }
    }

    /// An ASCONF-ACK arrived (A5 to A8; F0).
    #[cold]
    pub(in crate::assoc) fn on_asconf_ack(
        &mut self,
        ctx: &mut Ctx<'_>,
        inbound: &Inbound<'_>,
        ack: &AsconfAck<'_>,
    ) {
        if !self.changes_addresses() {
            return;
        }
        let Some(asconf) = &mut self.optional.asconf else {
            return;
        };
        let ahead = ack.sequence.wrapping_sub(asconf.next) as i32;
        if ahead >= 0 {
            let what = "it acknowledged an ASCONF that was not sent";
            let reason = LossReason::ProtocolViolation(what);
            self.abort(ctx, reason, AbortReason::IllegalAsconfAck);
            return;
        }
        let Some(request) = asconf.request.take_if(|r| r.serial == ack.sequence) else {
            return; // an old one, or a duplicate
        };
        self.timers.t4 = None;
        self.failure.errors = 0;
        // The answer to an earlier copy says nothing of the way of the last one.
        if self.paths.contains(request.path) && request.source == *inbound.destination {
            self.take_back(ctx, request.path, request.sent_at);
        }
        let results = Results::read(ack);
        let failed = |at: usize| results.failure(&request.changes, at);
        self.retry_refused(&request, failed);
        // It goes to the source of the packet that it answers (section 5.2, E6).
        let own = request.own_source.filter(|_| request.left_elsewhere);
        let in_vain = own.filter(|own| own.ip() != inbound.destination.ip());
        if let (Some(asconf), None) = (&mut self.optional.asconf, in_vain) {
            asconf.silences = 0;
        }
        for (at, (correlation, change)) in request.changes.iter().enumerate() {
            if in_vain.is_some_and(|own| change.tells_of(own)) {
                if request.unanswered >= MOST_UNANSWERED {
                    self.try_source_again(ctx, *change);
                } else {
                    self.name_source(ctx, *change);
                }
            } else {
                self.note_result(ctx, *change, failed(at));
            }
            if let Some(cause_code::UNRECOGNIZED_PARAMETERS) = results.of(*correlation)
                && let Some(asconf) = &mut self.optional.asconf
            {
                // F3a, F3b.
                match change {
                    Change::SetPrimary(_) => asconf.refuses.set_primary = true,
                    _ => asconf.refuses.changes = true,
                }
            }
        }
        if self.peer_refuses_all(ctx) {
            return;
        }
        self.spread_sources(ctx);
        self.answer_held(ctx);
        self.new_burst();
        self.send_asconf(ctx);
    }

    /// Answers the HEARTBEATs that came to addresses which are sources from now on.
    fn answer_held(&mut self, ctx: &mut Ctx<'_>) {
        let Some(asconf) = &mut self.optional.asconf else {
            return;
        };
        for held in core::mem::take(&mut asconf.held) {
            if self.addresses.local.contains(&held.destination) {
                self.answer_beside_paths(ctx, (held.destination, held.source), &held.info);
            }
        }
    }

    /// One refused change makes the peer refuse all additions and deletions behind it (F11).
    /// Those that go are still to be told, and one of those that come may be all that is left.
    fn retry_refused(&mut self, request: &Request, failed: impl Fn(usize) -> Option<u16>) {
        let Some(asconf) = &mut self.optional.asconf else {
            return;
        };
        let ours = &self.addresses.local;
        let later = (1..request.changes.len()).filter(|at| failed(*at).is_some());
        let behind = later.filter(|at| (0..*at).any(|before| failed(before).is_some()));
        let mut again: SmallVec<[Change; 4]> = SmallVec::new();
        for at in behind {
            match request.changes[at].1 {
                Change::Delete(a) if !ours.contains(&a) => again.push(Change::Delete(a)),
                Change::Add(a) if ours.is_empty() => again.push(Change::Add(a)),
                _ => {}
            }
        }
        let adds = again.iter().any(|c| matches!(c, Change::Add(_)));
        asconf.one_by_one |= adds;
        asconf.want(again);
    }

    /// The peer has refused all addresses of this side that are left (F10): the association
    /// ends. Returns whether it did.
    fn peer_refuses_all(&mut self, ctx: &mut Ctx<'_>) -> bool {
        let adding = self.optional.asconf.as_ref().map(|a| a.adding());
        let refused = self.addresses.local.is_empty() && adding.is_some_and(|a| a.is_empty());
        if refused {
            let why = "the peer refused every address of this side that is left";
            self.lose(ctx, LossReason::Refused(why.to_owned()));
        }
        refused
    }

    /// A change succeeded, or failed with this cause.
    fn note_result(&mut self, ctx: &mut Ctx<'_>, change: Change, failed: Option<u16>) {
        let what = match change {
            Change::Add(a) => AddressChange::Added(a),
            Change::Delete(a) => AddressChange::Removed(a),
            Change::SetPrimary(ip) => AddressChange::PrimaryOfPeer(ip),
            Change::Name(ip) => return self.note_named(ctx, ip, failed),
        };
        if let (Some(asconf), Change::Delete(a)) = (&mut self.optional.asconf, change) {
            // If it comes back, it is another one to the peer.
            asconf.named.retain(|n| n.ip != a.ip());
            asconf.translated.retain(|ip| *ip != a.ip());
        }
        if let Some(cause) = failed {
            let wanted = matches!(change, Change::Add(a) if !self.is_being_deleted(a.ip()));
            if let (Some(asconf), Change::Add(a)) = (&mut self.optional.asconf, change)
                && wanted
                && !asconf.refused.contains(&a)
            {
                asconf.refused.push(a);
            }
            self.event(ctx, Event::AddressChangeRefused { what, cause });
            return;
        }
        if let (Some(asconf), Change::Add(a) | Change::Delete(a)) =
            (&mut self.optional.asconf, change)
        {
            asconf.silent.retain(|s| *s != a);
            if matches!(change, Change::Add(_)) {
                asconf.refused.retain(|r| *r != a);
            }
        }
        if let Change::Add(a) = change
            && !self.is_being_deleted(a.ip())
            && !self.addresses.local.contains(&a)
        {
            let mut local = self.addresses.local.to_vec();
            local.push(a);
            self.addresses.local = local.into();
        }
        self.event(ctx, Event::AddressChanged { what });
    }

    /// The peer finds no association by the wildcard address and a source that it does not know (section 5.2, D1 and D2), as
    /// Linux does not: it did not take this change. It is told the address by name, from a source that it knows, and then the
    /// same again from the new source, with that name. If that did not help either, the change failed.
    #[cold]
    fn name_source(&mut self, ctx: &mut Ctx<'_>, change: Change) {
        let Some(asconf) = &mut self.optional.asconf else {
            return;
        };
        match change {
            Change::Add(own) if asconf.waiting.contains(&Change::Delete(own)) => {}
            Change::Add(own) if !asconf.knows_name(own.ip()) => {
                asconf.want([Change::Name(own.ip()), change]);
            }
            Change::SetPrimary(_) if !asconf.waiting.contains(&change) => asconf.want([change]),
            _ => self.note_result(ctx, change, Some(cause_code::UNRESOLVABLE_ADDRESS)),
        }
    }

    /// Nothing came back to a source of this side, so the peer was not told of it. An address that comes is told of
    /// again, each time for longer; a primary is not.
    #[cold]
    fn try_source_again(&mut self, ctx: &mut Ctx<'_>, change: Change) {
        match (&mut self.optional.asconf, change) {
            (Some(asconf), Change::Add(own)) => {
                if !asconf.waiting.contains(&Change::Delete(own)) {
                    asconf.want([change]);
                    if !asconf.silent.contains(&own) {
                        asconf.silent.push(own);
                    }
                }
            }
            _ => self.note_result(ctx, change, Some(cause_code::UNRESOLVABLE_ADDRESS)),
        }
    }

    /// The peer knows an address by name, or not.
    #[cold]
    fn note_named(&mut self, ctx: &mut Ctx<'_>, ip: IpAddr, failed: Option<u16>) {
        let Some(asconf) = &mut self.optional.asconf else {
            return;
        };
        let Some(cause) = failed else {
            asconf.named.push(Named { ip, asked: false });
            return;
        };
        let waits = |c: &Change| matches!(c, Change::Add(a) if a.ip() == ip);
        let add = asconf.waiting.iter().position(waits);
        if let Some(add) = add.and_then(|at| asconf.waiting.remove(at)) {
            self.note_result(ctx, add, Some(cause));
        }
    }

    /// The peer does not know the chunk type ASCONF (A9).
    #[cold]
    pub(in crate::assoc) fn on_asconf_unknown(&mut self, ctx: &mut Ctx<'_>) {
        let Some(asconf) = &mut self.optional.asconf else {
            return;
        };
        asconf.refuses.changes = true;
        asconf.refuses.set_primary = true;
        let under_way = asconf.request.take();
        let waiting = core::mem::take(&mut asconf.waiting);
        self.timers.t4 = None;
        let lost = under_way.iter().flat_map(|r| r.changes()).chain(waiting);
        for change in lost.collect::<SmallVec<[Change; 4]>>() {
            self.note_result(ctx, change, Some(cause_code::UNRECOGNIZED_CHUNK_TYPE));
        }
    }
}

impl Asconf {
    /// Whether nothing came back to the address that this change is about.
    fn is_silent(&self, change: &Change) -> bool {
        match *change {
            Change::Add(a) => self.silent.contains(&a),
            Change::SetPrimary(ip) => self.silent.iter().any(|a| a.ip() == ip),
            Change::Name(_) | Change::Delete(_) => false,
        }
    }

    /// Whether the peer was told this address only so that it finds the association by it.
    fn knows_name(&self, ip: IpAddr) -> bool {
        self.named.iter().any(|n| n.ip == ip)
    }

    /// The addresses that come, of the ASCONF under way first, without those that went
    /// again.
    pub(super) fn adding(&self) -> SmallVec<[SocketAddr; 4]> {
        let under_way = self.request.iter().flat_map(|r| r.changes());
        let under_way = under_way.filter(|c| match c {
            Change::Add(a) => !self.waiting.contains(&Change::Delete(*a)),
            _ => false,
        });
        let all = under_way.chain(self.waiting.iter().copied());
        all.filter_map(|c| match c {
            Change::Add(a) => Some(a),
            _ => None,
        })
        .collect()
    }

    /// An address came. Returns whether the peer has it still, because its deletion was not
    /// sent yet.
    fn came(&mut self, address: SocketAddr) -> bool {
        let deletion = Change::Delete(address);
        let at = self.waiting.iter().position(|c| *c == deletion);
        match at {
            Some(at) => {
                self.waiting.remove(at);
                self.coming(&[address.ip()]).is_empty()
            }
            None => {
                self.want([Change::Add(address)]);
                false
            }
        }
    }

    /// Queues changes, unless the same one waits already.
    fn want(&mut self, changes: impl IntoIterator<Item = Change>) {
        for change in changes {
            if !self.waiting.contains(&change) {
                self.waiting.push_back(change);
            }
        }
    }

    /// An address goes before its addition was sent.
    fn forget_waiting(&mut self, ip: IpAddr) {
        self.silent.retain(|a| a.ip() != ip);
        self.waiting.retain(|c| match c {
            Change::Add(a) => a.ip() != ip,
            Change::SetPrimary(a) | Change::Name(a) => *a != ip,
            Change::Delete(_) => true,
        });
    }

    /// The addresses that the ASCONF under way adds, of these.
    fn coming(&self, of: &[IpAddr]) -> SmallVec<[SocketAddr; 4]> {
        let all = self.request.iter().flat_map(|r| r.changes());
        all.filter_map(|c| match c {
            Change::Add(a) if of.contains(&a.ip()) => Some(a),
            _ => None,
        })
        .collect()
    }

    pub(super) fn adds(&self, ip: IpAddr) -> bool {
        let adds = |c: &Change| matches!(c, Change::Add(a) if a.ip() == ip);
        self.waiting.iter().any(adds) || !self.coming(&[ip]).is_empty()
    }

    /// How many of the changes that wait, in order, the next ASCONF has.
    fn most_together(
        &self,
        own_source: Option<SocketAddr>,
        wildcard: &impl Fn(IpAddr) -> bool,
    ) -> usize {
        let is_name = |c: &Change| matches!(c, Change::Name(_));
        let adds = |c: &&Change| matches!(c, Change::Add(_));
        let several = self.waiting.iter().filter(adds).count() > 1;
        // Where Linux finds the association by a name, it takes the named address for the source of the changes that
        // are not additions.
        let named = own_source.is_some_and(|own| self.knows_name(own.ip()));
        // Another address that the wildcard names would be another source.
        let other = self.waiting.iter().any(|c| match c {
            Change::SetPrimary(ip) => wildcard(*ip) && own_source.is_none_or(|o| o.ip() != *ip),
            _ => false,
        });
        let alone = self.waiting.front().is_some_and(is_name)
            || named
            || other
            || several && (own_source.is_some() || self.one_by_one);
        if alone {
            1
        } else {
            self.waiting.len().min(MOST)
        }
    }

    /// Takes changes that wait: additions first, deletions last (F5). Returns them with
    /// their identifiers and as parameters. `left`: the addresses of this side afterwards.
    fn take_waiting(
        &mut self,
        left: usize,
        own_source: Option<SocketAddr>,
        wildcard: impl Fn(IpAddr) -> bool,
    ) -> (Vec<(u32, Change)>, Vec<u8>) {
        self.waiting.make_contiguous().sort_by_key(Change::rank);
        let most = self.most_together(own_source, &wildcard);
        let (mut changes, mut params) = (Vec::new(), Vec::new());
        let mut w = ParamWriter::over(&mut params);
        let name = |ip: IpAddr, may: bool| {
            if may && wildcard(ip) {
                unspecified(ip)
            } else {
                ip
            }
        };
        for change in self.waiting.drain(..most) {
            let id = self.correlation;
            self.correlation = id.wrapping_add(1);
            match change {
                Change::Name(ip) => w.add_ip(id, ip),
                Change::Add(a) => w.add_ip(id, name(a.ip(), true)),
                Change::SetPrimary(ip) => {
                    let is_source = own_source.is_some_and(|own| own.ip() == ip);
                    w.set_primary(id, name(ip, left == 1 || is_source))
                }
                // The wildcard deletes all but the source of the packet.
                Change::Delete(a) => w.delete_ip(id, name(a.ip(), left == 1)),
            };
            changes.push((id, change));
        }
        (changes, params)
    }
}

impl Change {
    /// The order of changes (F5).
    fn rank(&self) -> u8 {
        match self {
            Change::Name(_) => 0,
            Change::Add(_) => 1,
            Change::SetPrimary(_) => 2,
            Change::Delete(_) => 3,
        }
    }

    /// Whether the peer takes the address from the source of the packet, if this one is named by the wildcard.
    fn tells_of(&self, own: SocketAddr) -> bool {
        match self {
            Change::Add(a) => *a == own,
            Change::SetPrimary(ip) => *ip == own.ip(),
            Change::Name(_) | Change::Delete(_) => false,
        }
    }
}

/// What an ASCONF-ACK says of the changes: identifier, and the cause if it failed.
struct Results(SmallVec<[(u32, Option<u16>); 4]>);

impl Results {
    fn read(ack: &AsconfAck<'_>) -> Results {
        let all = ack.params.iter().map_while(Result::ok).take(2 * MOST);
        let read = all.filter_map(|raw| match raw.parse() {
            Ok(Param::ErrorCauseIndication {
                correlation_id,
                causes,
            }) => {
                let first = causes.iter().next().and_then(Result::ok);
                let code = first.map_or(cause_code::NO_AUTHORIZATION, |c| c.code);
                Some((correlation_id, Some(code)))
            }
            Ok(Param::SuccessIndication { correlation_id }) => Some((correlation_id, None)),
            _ => None,
        });
        Results(read.collect())
    }

    /// The cause with which a change was refused.
    fn of(&self, correlation: u32) -> Option<u16> {
        self.0.iter().find(|r| r.0 == correlation)?.1
    }

    /// The cause for which the change at this place failed, if it did: it was refused, or
    /// one before it was and it is not reported as successful (A7, A8).
    fn failure(&self, changes: &[(u32, Change)], at: usize) -> Option<u16> {
        let result = |id: u32| self.0.iter().find(|r| r.0 == id).map(|r| r.1);
        match result(changes[at].0) {
            Some(reported) => reported,
            None => changes[..at].iter().find_map(|c| self.of(c.0)),
        }
    }
}

/// Whether this side is named by the wildcard address: a translator must be between.
fn uses_wildcard(rule: Wildcard, own: IpAddr, peer: IpAddr) -> bool {
    let not_unique = |ip| is_private(ip) || is_local(ip);
    match rule {
        Wildcard::Always => true,
        Wildcard::Never => false,
        Wildcard::Private => not_unique(own) && !not_unique(peer),
    }
}

/// The wildcard address of a family.
fn unspecified(ip: IpAddr) -> IpAddr {
    match ip {
        IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    /// RFC 5061 section 4.2.1: the wildcard is for who is behind a translator. One must be between a private address and a
    /// public one, and is not known to be between others.
    #[test]
    fn the_wildcard_stands_for_a_private_address_towards_a_public_one() {
        for (own, peer, private) in [
            // Private (RFC 1918, 6598, 4193), towards a public address.
            ("10.0.0.1", "203.0.113.10", true),
            ("172.16.0.1", "203.0.113.10", true),
            ("172.31.255.255", "203.0.113.10", true),
            ("192.168.8.1", "203.0.113.10", true),
            ("100.64.0.1", "203.0.113.10", true),
            ("100.127.255.255", "203.0.113.10", true),
            ("fd00::1", "2001:db8::10", true),
            // Of one link or host: the peer cannot have it from there either.
            ("169.254.1.1", "203.0.113.10", true),
            ("fe80::1", "2001:db8::10", true),
            ("127.0.0.1", "203.0.113.10", true),
            // Mapped into IPv6, it is what it is.
            ("::ffff:192.168.8.1", "203.0.113.10", true),
            ("192.168.8.1", "::ffff:203.0.113.10", true),
            ("192.168.8.1", "::ffff:10.0.0.1", false),
            // Just beside the private ranges.
            ("172.15.255.255", "203.0.113.10", false),
            ("172.32.0.1", "203.0.113.10", false),
            ("100.63.255.255", "203.0.113.10", false),
            ("100.128.0.1", "203.0.113.10", false),
            ("192.167.0.1", "203.0.113.10", false),
            ("fe00::1", "2001:db8::10", false),
            // Both private: one network, or who knows. Both public: no translator. The peer alone private: it is theirs.
            ("192.168.8.1", "10.0.0.1", false),
            ("fd00::1", "fd00::2", false),
            ("198.51.100.1", "203.0.113.10", false),
            ("2001:db8::1", "2001:db8::10", false),
            ("203.0.113.10", "192.168.8.1", false),
            // A peer on this link is met without a translator.
            ("192.168.8.1", "169.254.1.1", false),
            ("fd00::1", "fe80::2", false),
        ] {
            for (rule, expected) in [
                (Wildcard::Private, private),
                (Wildcard::Always, true),
                (Wildcard::Never, false),
            ] {
                let used = uses_wildcard(rule, ip(own), ip(peer));
                assert_eq!(used, expected, "{rule:?}: {own} towards {peer}");
            }
        }
    }
}

//! This side changes its addresses (RFC 5061 sections 5.1 and 5.3).

use super::queue::MOST;
use super::{Change, MOST_UNANSWERED, Request};
use crate::api::{AddressChange, CommandError, Event, LossReason};
use crate::assoc::{AbortReason, Association, Ctx, Inbound};
use byway_wire::{AsconfAck, Param, cause_code};
use core::net::{IpAddr, SocketAddr};
use smallvec::SmallVec;

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
        if !new.is_empty() {
            self.ask_listed_again(|_, _| true);
            self.addresses.listed.forget_all();
        }
    }

    /// The association is established: the peer is told what changed since our INIT or
    /// INIT ACK listed our addresses.
    pub(in crate::assoc) fn tell_missed_changes(&mut self, ctx: &Ctx<'_>) {
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
        self.send_asconf_after_answer(ctx.now);
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
    pub(super) fn note_result(&mut self, ctx: &mut Ctx<'_>, change: Change, failed: Option<u16>) {
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

//! An ASCONF leaves, and leaves again when T4-rto expires (RFC 5061 section 5.1, A1 to A4 and B1 to B5).

use super::{AFTER_ANSWER, Change, MOST_UNANSWERED, Request};
use crate::assoc::{Association, Ctx};
use crate::observe::{Observation, Timer};
use crate::outbox::Finished;
use crate::path::{PathId, PathTrouble};
use crate::time::Instant;
use byway_wire::PacketBuilder;
use core::net::SocketAddr;
use smallvec::SmallVec;

impl Association {
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

    /// Sends the changes that wait after the answer to the COOKIE ECHO that came: before it, the peer would discard an ASCONF.
    pub(super) fn send_asconf_after_answer(&mut self, now: Instant) {
        if let Some(asconf) = &self.optional.asconf
            && asconf.request.is_none()
            && !asconf.waiting.is_empty()
        {
            self.timers.t4 = Some(now + AFTER_ANSWER);
        }
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
            // The peer has asked the new address, for which a deletion waited, or the COOKIE ACK is on its way.
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
    pub(super) fn resend_asconf(&mut self, ctx: &mut Ctx<'_>, after: Option<PathId>) {
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
                    self.await_source(ctx);
                }
            }
        }
    }

    /// No address is left to send the ASCONF from: the next change of addresses sends it. T4-rto counts as if it had
    /// left, so that the association ends if none comes.
    fn await_source(&mut self, ctx: &Ctx<'_>) {
        let path = self.paths.data();
        self.timers.t4 = Some(ctx.now + self.paths.get(path).rtt.rto());
        let asconf = self.optional.asconf.as_mut();
        if let Some(request) = asconf.and_then(|a| a.request.as_mut()) {
            request.path = path;
            request.early = false;
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
}

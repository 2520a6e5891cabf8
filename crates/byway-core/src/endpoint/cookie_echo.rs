//! COOKIE ECHO: the peer returns our cookie, and the association begins (RFC 9260
//! sections 5.1.5 and 5.2.4).

use super::answers::Answer;
use super::cookie::{Beside, Cookie};
use super::reply::NOTHING_LISTENS;
use super::{Endpoint, ctx};
use crate::assoc::{Accepted, Association, CookieOutcome, Ctx, Inbound};
use crate::refusals::Rule;
use crate::time::{Duration, Instant};
use byway_wire::{Chunk, RawChunk};
use core::net::{IpAddr, SocketAddr};

impl Endpoint {
    /// A COOKIE ECHO (section 5.1.5; section 5.2.4 if an association exists).
    #[cold]
    pub(super) fn on_cookie_echo(
        &mut self,
        now: Instant,
        inbound: &Inbound<'_>,
        first: &RawChunk<'_>,
    ) {
        let Ok(Chunk::CookieEcho(echo)) = first.parse() else {
            return self.drop_malformed(*inbound.source);
        };
        let header = inbound.packet.header();
        let beside = Beside {
            local_tag: header.verification_tag,
            local_port: header.destination_port,
            peer_port: header.source_port,
            destination: *inbound.destination,
            local: &self.local,
        };
        let Ok(cookie) = self.keys.open(echo.cookie, beside, now) else {
            self.out.refuse(Rule::ForgedCookie, *inbound.source);
            return;
        };
        if self.table.is_spent(cookie.local_tag, now) {
            // A replay, or a duplicate that took longer than the association.
            self.out.refuse(Rule::StaleCookie, *inbound.source);
            return;
        }
        let port = cookie.peer_port;
        // A cookie with the tag of an association is an answer of this association to an INIT,
        // whichever association has the addresses by now.
        let existing = self
            .table
            .find_by_tag(cookie.local_tag, port)
            .or_else(|| self.table.find_proven(*inbound.source, port))
            .or_else(|| self.table.find_proven(cookie.source, port))
            .or_else(|| self.find_tied(&cookie));
        let owned = existing.is_some_and(|i| self.table[i].assoc.owns_cookie(&cookie));
        let forgotten = existing.is_none() && self.table.may_be_spent(cookie.created + cookie.life);
        let stale = cookie.staleness(now).filter(|_| !owned);
        if let Some(stale) = stale.or_else(|| forgotten.then_some(Duration::ZERO)) {
            self.on_stale_cookie(now, inbound, &cookie, stale);
            return;
        }
        match existing {
            Some(index) => self.on_cookie_of_existing(now, inbound, index, &cookie),
            None => self.accept(now, inbound, &cookie),
        }
    }

    /// The association whose Tie-Tags the cookie has, if it is at an address that the INIT only listed: there an INIT
    /// finds it, too (section 5.2.2).
    fn find_tied(&self, cookie: &Cookie) -> Option<u32> {
        // Most cookies are of a first set-up.
        if cookie.tie_tags == (0, 0) {
            return None;
        }
        let at = |ip: &IpAddr| SocketAddr::new(*ip, cookie.source.port());
        let listed = cookie.addresses.iter().map(at);
        listed
            .filter_map(|remote| self.table.find_proven(remote, cookie.peer_port))
            .find(|i| self.table[*i].assoc.is_tied(cookie))
    }

    /// The cookie has expired (section 5.1.5, step 4), or is taken for so.
    fn on_stale_cookie(
        &mut self,
        now: Instant,
        inbound: &Inbound<'_>,
        cookie: &Cookie,
        stale: Duration,
    ) {
        self.out.refuse(Rule::StaleCookie, *inbound.source);
        if !self.may_answer(Answer::OutOfTheBlue, now, inbound) {
            return;
        }
        let us = u32::try_from(stale.as_micros()).unwrap_or(u32::MAX);
        self.reply(inbound, cookie.peer_tag, |p| {
            p.error(|c| {
                c.stale_cookie(us);
            });
        });
    }

    /// The cookie belongs to an association that exists (section 5.2.4).
    fn on_cookie_of_existing(
        &mut self,
        now: Instant,
        inbound: &Inbound<'_>,
        index: u32,
        cookie: &Cookie,
    ) {
        let ours = self.ours_since(cookie.created);
        let scarcity = self.scarcity_for(index);
        let mut ctx = ctx!(self, now, scarcity);
        let a = &mut self.table[index].assoc;
        let before = a.cookie_tag();
        let outcome = a.on_cookie_echo(&mut ctx, (cookie, &ours), inbound.source);
        if outcome == CookieOutcome::Taken {
            a.handle_packet(&mut ctx, inbound, true);
        }
        let after = self.table[index].assoc.cookie_tag();
        if let Some(old) = before.filter(|old| after.is_none_or(|new| new.0 != old.0)) {
            self.table.spend_cookie(old);
            self.recount_beside();
        }
        if outcome == CookieOutcome::Ended {
            self.wake(index);
            // The peer restarted, and its old association has ended.
            self.accept(now, inbound, cookie);
            return;
        }
        self.table.link(index);
        if outcome == CookieOutcome::WhileShuttingDown {
            self.reply(inbound, cookie.peer_tag, |p| {
                p.error(|c| {
                    c.cookie_received_while_shutting_down();
                });
            });
        }
        self.wake(index);
    }

    /// Sets up the association that the cookie describes.
    fn accept(&mut self, now: Instant, inbound: &Inbound<'_>, cookie: &Cookie) {
        let ip = cookie.source.ip();
        if !self.cfg.accept {
            // The association that made the cookie has ended.
            self.out.refuse(Rule::NotAccepting, *inbound.source);
            if self.may_answer(Answer::OutOfTheBlue, now, inbound) {
                self.refuse_because(inbound, cookie.peer_tag, NOTHING_LISTENS);
            }
            return;
        }
        if let Some(rule) = self.full_by(ip) {
            self.refuse(now, inbound, cookie.peer_tag, rule);
            return;
        }
        self.answers.proved(Answer::Init, ip);
        let id = self.table.next_id();
        let new = Accepted {
            id,
            cfg: self.accepted_config.clone(),
            ours: self.ours_since(cookie.created),
            cookie,
        };
        let scarcity = self.account.scarcity().and(self.table.hosts.scarcity(ip));
        let mut ctx = ctx!(self, now, scarcity);
        let mut assoc = Association::accept(&mut ctx, &new);
        assoc.handle_packet(&mut ctx, inbound, true);
        self.table.insert(id, assoc, Some(ip));
        self.wake(id.index);
    }
}

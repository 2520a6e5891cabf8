//! INIT and COOKIE ECHO: nothing is kept of a peer before its cookie comes back
//! (RFC 9260 sections 5.1 and 5.2).

use super::cookie::Cookie;
use super::{Endpoint, ctx};
use crate::assoc::{
    Accepted, Association, BadInit, CookieOutcome, Ctx, Inbound, PeerInit, State,
    acceptable_address, write_addresses, write_extensions,
};
use crate::config::Config;
use crate::time::{Duration, Instant};
use byway_wire::{Chunk, InitFields, ParamWriter, RawChunk, Tsn};
use core::net::IpAddr;
use rand::RngExt;

/// What our INIT ACK says of this side.
struct Ours {
    tag: u32,
    tsn: Tsn,
    tie_tags: (u32, u32),
}

impl Endpoint {
    /// Section 5.1, B, and section 5.2 where an association exists.
    #[cold]
    pub(super) fn on_init(&mut self, now: Instant, inbound: &Inbound<'_>, first: &RawChunk<'_>) {
        let alone = inbound.packet.chunks().nth(1).is_none();
        if !alone || inbound.packet.header().verification_tag != 0 {
            self.stats.malformed += 1;
            return;
        }
        let Ok(Chunk::Init(init)) = first.parse() else {
            self.stats.malformed += 1;
            return;
        };
        let peer = match PeerInit::read(&init) {
            Ok(p) => p,
            Err(BadInit::Discard) => {
                self.stats.malformed += 1;
                return;
            }
            Err(BadInit::InvalidMandatory) => {
                self.answer(inbound, init.initiate_tag, |p| {
                    p.abort(false, |c| {
                        c.invalid_mandatory_parameter();
                    });
                });
                return;
            }
            Err(BadInit::HostName) => {
                self.answer(inbound, init.initiate_tag, |p| {
                    p.abort(false, |c| {
                        c.unresolvable_address(&[]);
                    });
                });
                return;
            }
        };
        match self.find_peer(inbound, &peer.addresses) {
            Some(index) => self.on_unexpected_init(now, inbound, index, &peer),
            None => self.on_new_init(now, inbound, &peer),
        }
    }

    /// The association with the sender of an INIT, by any of its addresses.
    fn find_peer(&mut self, inbound: &Inbound<'_>, addresses: &[IpAddr]) -> Option<u32> {
        let port = inbound.packet.header().source_port;
        self.find(inbound.source.ip(), port)
            .or_else(|| addresses.iter().find_map(|&ip| self.find(ip, port)))
    }

    fn on_new_init(&mut self, now: Instant, inbound: &Inbound<'_>, peer: &PeerInit) {
        if !self.cfg.accept {
            self.answer(inbound, peer.tag, |p| p.abort(false, |_| {}));
            return;
        }
        if self.is_full(inbound.source.ip()) {
            self.refuse(inbound, peer.tag);
            return;
        }
        let ours = Ours {
            tag: self.rng.random_range(1..=u32::MAX),
            tsn: Tsn(self.rng.random()),
            tie_tags: (0, 0),
        };
        let cfg = self.accepted.clone();
        self.send_init_ack(now, inbound, peer, &ours, &cfg);
    }

    fn is_full(&self, ip: IpAddr) -> bool {
        self.live >= self.cfg.max_associations
            || self.per_peer.get(&ip).copied().unwrap_or(0) >= self.cfg.max_associations_per_peer
    }

    fn refuse(&mut self, inbound: &Inbound<'_>, tag: u32) {
        self.stats.refused += 1;
        self.answer(inbound, tag, |p| {
            p.abort(false, |c| {
                c.out_of_resource();
            });
        });
    }

    fn on_unexpected_init(
        &mut self,
        now: Instant,
        inbound: &Inbound<'_>,
        index: u32,
        peer: &PeerInit,
    ) {
        let a = &self.table[index as usize].assoc;
        let (tag, tsn) = (a.local_tag, a.send.ledger.tsn_of(0));
        let tie_tags = a.tie_tags;
        let ours = match a.state {
            // Section 5.2.1: our own INIT's parameters, and only to an address
            // that our user named: whoever is answered could take the peer's
            // place.
            State::CookieWait if a.paths.find(inbound.source.ip()).is_none() => {
                self.stats.malformed += 1;
                return;
            }
            State::CookieWait => Ours {
                tag,
                tsn,
                tie_tags: (0, 0),
            },
            State::CookieEchoed(_) => Ours { tag, tsn, tie_tags },
            // Section 9.2: the peer restarted before our SHUTDOWN ACK came.
            State::ShutdownAckSent => {
                let a = &mut self.table[index as usize].assoc;
                let to = a.paths.find(inbound.source.ip()).unwrap_or(a.paths.data);
                a.control.push_back(crate::assoc::Control::ShutdownAck(to));
                self.wake(index);
                return;
            }
            _ => Ours {
                tag: self.rng.random_range(1..=u32::MAX),
                tsn: Tsn(self.rng.random()),
                tie_tags,
            },
        };
        let a = &self.table[index as usize].assoc;
        if !matches!(a.state, State::CookieWait) {
            let source = inbound.source.ip();
            let added: Vec<IpAddr> = core::iter::once(source)
                .chain(peer.addresses.iter().copied())
                .filter(|&ip| acceptable_address(ip, source) && !a.knows(ip))
                .collect();
            if !added.is_empty() {
                let mut list = Vec::new();
                let mut w = ParamWriter::over(&mut list);
                for ip in added {
                    w.address(ip);
                }
                self.answer(inbound, peer.tag, |p| {
                    p.abort(false, |c| {
                        c.restart_with_new_addresses(&list);
                    });
                });
                return;
            }
        }
        let cfg = self.table[index as usize].assoc.cfg.clone();
        self.send_init_ack(now, inbound, peer, &ours, &cfg);
    }

    fn send_init_ack(
        &mut self,
        now: Instant,
        inbound: &Inbound<'_>,
        peer: &PeerInit,
        ours: &Ours,
        cfg: &Config,
    ) {
        let header = inbound.packet.header();
        let outbound = cfg.setup.outbound_streams.min(peer.inbound);
        let longer = peer.longer_life.min(cfg.setup.max_cookie_extension);
        let cookie = Cookie {
            created: now,
            life: cfg.setup.valid_cookie_life + longer,
            local_tag: ours.tag,
            peer_tag: peer.tag,
            tie_tags: ours.tie_tags,
            local_port: header.destination_port,
            peer_port: header.source_port,
            local_tsn: ours.tsn,
            peer_tsn: peer.tsn,
            a_rwnd: peer.a_rwnd,
            outbound,
            inbound: peer.outbound.min(cfg.setup.max_inbound_streams),
            source: *inbound.source,
            local: *inbound.destination,
            addresses: peer.addresses.clone(),
            timestamps: peer.timestamps,
        };
        let sealed = self.keys.seal(&cookie, now, &mut self.rng);
        let fields = InitFields {
            initiate_tag: ours.tag,
            a_rwnd: cfg.buffer.receive,
            outbound_streams: outbound,
            inbound_streams: cfg.setup.max_inbound_streams,
            initial_tsn: ours.tsn,
        };
        let local = self.local.clone();
        self.stats.inits += 1;
        self.answer(inbound, peer.tag, |p| {
            p.init(true, &fields, |w| {
                write_addresses(w, &local);
                write_extensions(w, cfg);
                w.state_cookie(&sealed);
                for u in &peer.unrecognized {
                    w.unrecognized_parameter(u);
                }
            });
        });
    }

    /// Section 5.1.5, and section 5.2.4 where an association exists.
    #[cold]
    pub(super) fn on_cookie_echo(
        &mut self,
        now: Instant,
        inbound: &Inbound<'_>,
        first: &RawChunk<'_>,
    ) {
        let Ok(Chunk::CookieEcho(echo)) = first.parse() else {
            self.stats.malformed += 1;
            return;
        };
        let header = inbound.packet.header();
        let genuine = self.keys.open(echo.cookie).ok().filter(|c| {
            c.local_tag == header.verification_tag
                && c.local_port == header.destination_port
                && c.peer_port == header.source_port
        });
        let Some(cookie) = genuine else {
            self.stats.forged_cookies += 1;
            return;
        };
        let existing = self
            .find(inbound.source.ip(), cookie.peer_port)
            .or_else(|| self.find(cookie.source.ip(), cookie.peer_port));
        let owned = existing.is_some_and(|i| self.table[i as usize].assoc.owns_cookie(&cookie));
        if let Some(stale) = cookie.staleness(now).filter(|_| !owned) {
            self.on_stale_cookie(inbound, &cookie, stale);
            return;
        }
        match existing {
            Some(index) => self.on_cookie_of_existing(now, inbound, index, &cookie),
            None => self.accept(now, inbound, &cookie),
        }
    }

    fn on_stale_cookie(&mut self, inbound: &Inbound<'_>, cookie: &Cookie, stale: Duration) {
        self.stats.stale_cookies += 1;
        let us = u32::try_from(stale.as_micros()).unwrap_or(u32::MAX);
        self.answer(inbound, cookie.peer_tag, |p| {
            p.error(|c| {
                c.stale_cookie(us);
            });
        });
    }

    fn on_cookie_of_existing(
        &mut self,
        now: Instant,
        inbound: &Inbound<'_>,
        index: u32,
        cookie: &Cookie,
    ) {
        self.unlink(index);
        let mut ctx = ctx!(self, now);
        let a = &mut self.table[index as usize].assoc;
        let outcome = a.on_cookie_echo(&mut ctx, cookie);
        if outcome == CookieOutcome::Taken {
            a.handle_packet(&mut ctx, inbound, true);
        }
        self.link(index);
        if outcome == CookieOutcome::WhileShuttingDown {
            self.answer(inbound, cookie.peer_tag, |p| {
                p.error(|c| {
                    c.cookie_received_while_shutting_down();
                });
            });
        }
        self.wake(index);
    }

    /// The association begins.
    fn accept(&mut self, now: Instant, inbound: &Inbound<'_>, cookie: &Cookie) {
        let ip = cookie.source.ip();
        if !self.cfg.accept {
            return;
        }
        if self.is_full(ip) {
            self.refuse(inbound, cookie.peer_tag);
            return;
        }
        *self.per_peer.entry(ip).or_default() += 1;
        let id = self.next_id();
        let new = Accepted {
            id,
            cfg: self.accepted.clone(),
            local: self.local.clone(),
            cookie,
        };
        let mut ctx = ctx!(self, now);
        let mut assoc = Association::accept(&mut ctx, &new);
        assoc.handle_packet(&mut ctx, inbound, true);
        self.insert(id, assoc, Some(ip));
        self.wake(id.index);
    }
}

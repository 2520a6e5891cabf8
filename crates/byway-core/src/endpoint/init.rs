//! INIT (RFC 9260 sections 5.1 and 5.2). The answer is an INIT ACK whose cookie
//! holds all state, so the endpoint keeps nothing about a peer until the cookie
//! comes back.

use super::Endpoint;
use super::answers::Answer;
use super::cookie::{Cookie, CookieAuth};
use super::reply::NOTHING_LISTENS;
use crate::api::AssocId;
use crate::assoc::{
    AuthOffer, BadInit, Inbound, InitAnswer, PeerInit, acceptable_address, write_addresses,
    write_extensions,
};
use crate::auth::Random;
use crate::config::Config;
use crate::path::lower_header_bytes;
use crate::refusals::Rule;
use crate::time::Instant;
use byway_wire::{Chunk, InitFields, ParamWriter, RawChunk, Tsn};
use core::net::{IpAddr, SocketAddr};
use rand::RngExt;

/// The fields of an INIT ACK that describe this side.
struct LocalFields {
    /// Our verification tag, which the peer puts into its packets.
    tag: u32,
    /// Our initial TSN.
    tsn: Tsn,
    /// The Tie-Tags of an existing association (section 5.2.2); zeros if none.
    tie_tags: (u32, u32),
    /// The random number of our INIT, if it offered AUTH.
    random: Option<Random>,
}

impl Endpoint {
    /// An INIT (section 5.1, B; section 5.2 if an association exists).
    #[cold]
    pub(super) fn on_init(&mut self, now: Instant, inbound: &Inbound<'_>, first: &RawChunk<'_>) {
        let alone = inbound.packet.chunks().nth(1).is_none();
        if !alone || inbound.packet.header().verification_tag != 0 {
            return self.drop_malformed(*inbound.source);
        }
        let Ok(Chunk::Init(init)) = first.parse() else {
            return self.drop_malformed(*inbound.source);
        };
        if !self.may_answer(Answer::Init, now, inbound) {
            return;
        }
        let peer = match PeerInit::read(&init) {
            Ok(peer) => peer,
            Err(bad) => return self.refuse_bad_init(inbound, init.initiate_tag, bad),
        };
        let found = self.find_peer(inbound, &peer.addresses);
        match found.or_else(|| self.find_met(inbound, peer.tag)) {
            Some(index) => self.on_unexpected_init(now, inbound, index, &peer),
            None => self.on_new_init(now, inbound, &peer),
        }
    }

    /// An INIT with invalid parameters is discarded or answered with an ABORT.
    fn refuse_bad_init(&mut self, inbound: &Inbound<'_>, tag: u32, bad: BadInit<'_>) {
        match bad {
            BadInit::Discard => self.drop_malformed(*inbound.source),
            BadInit::InvalidMandatory => {
                self.drop_malformed(*inbound.source);
                self.reply(inbound, tag, |p| {
                    p.abort(false, |c| {
                        c.invalid_mandatory_parameter();
                    });
                });
            }
            BadInit::HostName(name) => {
                self.drop_malformed(*inbound.source);
                self.reply(inbound, tag, |p| {
                    p.abort(false, |c| {
                        c.unresolvable_address(name);
                    });
                });
            }
        }
    }

    /// The association with the sender of an INIT, by any of its addresses. Another UDP
    /// port is another host behind the same translator.
    fn find_peer(&self, inbound: &Inbound<'_>, addresses: &[IpAddr]) -> Option<u32> {
        let port = inbound.packet.header().source_port;
        let source = *inbound.source;
        let listed = addresses
            .iter()
            .map(|&ip| SocketAddr::new(ip, source.port()));
        core::iter::once(source)
            .chain(listed)
            .find_map(|remote| self.table.find_proven(remote, port))
    }

    /// The association whose set-up has met one of this peer's before (section 5.2.1). A later INIT of the peer may come
    /// from another address and list none.
    fn find_met(&self, inbound: &Inbound<'_>, tag: u32) -> Option<u32> {
        let port = inbound.packet.header().source_port;
        let id = self.met.find((tag, port))?;
        let slot = self.table.get(id)?;
        (!slot.ended && slot.assoc.is_setting_up()).then_some(id.index)
    }

    /// An INIT from a peer with which no association exists.
    fn on_new_init(&mut self, now: Instant, inbound: &Inbound<'_>, peer: &PeerInit) {
        if !self.cfg.accept {
            self.out.refuse(Rule::NotAccepting, *inbound.source);
            self.refuse_because(inbound, peer.tag, NOTHING_LISTENS);
            return;
        }
        if let Some(rule) = self.full_by(inbound.source.ip()) {
            self.refuse(now, inbound, peer.tag, rule);
            return;
        }
        let ours = self.random_fields(now);
        let cfg = self.accepted_config.clone();
        self.send_init_ack(now, inbound, peer, &ours, &cfg);
    }

    /// An INIT from a peer with which an association exists (section 5.2).
    fn on_unexpected_init(
        &mut self,
        now: Instant,
        inbound: &Inbound<'_>,
        index: u32,
        peer: &PeerInit,
    ) {
        let Some(ours) = self.fields_beside_association(now, inbound, index) else {
            return;
        };
        let a = &self.table[index].assoc;
        if !a.awaits_init_ack() {
            let source = inbound.source.ip();
            let added: Vec<IpAddr> = core::iter::once(source)
                .chain(peer.addresses.iter().copied())
                .filter(|&ip| acceptable_address(ip, source) && !a.knows(ip))
                .collect();
            if !added.is_empty() {
                // The association's own INIT, late or a second time: its peer has deleted an
                // address since, and would obey an ABORT with its tag.
                if a.is_peer_tag(peer.tag) {
                    self.out.refuse(Rule::Misplaced, *inbound.source);
                } else {
                    self.refuse_new_addresses(inbound, peer.tag, &added);
                }
                return;
            }
        }
        if a.is_setting_up() {
            let generation = self.table[index].generation;
            let init = (peer.tag, inbound.packet.header().source_port);
            self.met.note(init, AssocId { index, generation });
        }
        let cfg = self.table[index].assoc.config().clone();
        let expires = self.send_init_ack(now, inbound, peer, &ours, &cfg);
        let a = &mut self.table[index].assoc;
        if let Some(expires) = expires.filter(|_| ours.tag == a.local_tag()) {
            a.note_cookie(expires);
        }
    }

    /// This side's fields of the INIT ACK if an association exists (sections
    /// 5.2.1 and 5.2.2); `None` if no INIT ACK is sent.
    fn fields_beside_association(
        &mut self,
        now: Instant,
        inbound: &Inbound<'_>,
        index: u32,
    ) -> Option<LocalFields> {
        let a = &mut self.table[index].assoc;
        match a.on_unexpected_init(inbound.source.ip()) {
            InitAnswer::Nothing => {
                self.drop_malformed(*inbound.source);
                None
            }
            InitAnswer::ShutdownAck => {
                self.wake(index);
                None
            }
            InitAnswer::OurFields {
                tag,
                tsn,
                tie_tags,
                random,
            } => Some(LocalFields {
                tag,
                tsn,
                tie_tags,
                random,
            }),
            InitAnswer::NewFields { tie_tags } => Some(LocalFields {
                tie_tags,
                ..self.random_fields(now)
            }),
        }
    }

    /// A new tag and initial TSN, for an association that does not exist yet. A cookie with a tag that is
    /// spent would count as a replay, and its peer would wait for an answer until it expires.
    fn random_fields(&mut self, now: Instant) -> LocalFields {
        let tag = loop {
            let tag = self.rng.random_range(1..=u32::MAX);
            if !self.table.is_taken(tag, now) {
                break tag;
            }
        };
        LocalFields {
            tag,
            tsn: Tsn(self.rng.random()),
            tie_tags: (0, 0),
            random: None,
        }
    }

    /// A restart must not add addresses (section 5.2.2).
    fn refuse_new_addresses(&mut self, inbound: &Inbound<'_>, tag: u32, added: &[IpAddr]) {
        self.out.refuse(Rule::NewAddresses, *inbound.source);
        let mut list = Vec::new();
        let mut w = ParamWriter::over(&mut list);
        for &ip in added {
            w.address(ip);
        }
        self.reply(inbound, tag, |p| {
            p.abort(false, |c| {
                c.restart_with_new_addresses(&list);
            });
        });
    }

    /// Sends an INIT ACK whose cookie holds the parameters of both sides. Returns when the cookie expires, if
    /// one was sent.
    fn send_init_ack(
        &mut self,
        now: Instant,
        inbound: &Inbound<'_>,
        peer: &PeerInit,
        ours: &LocalFields,
        cfg: &Config,
    ) -> Option<Instant> {
        let auth = match self.auth_for_cookie(peer, ours, cfg) {
            Ok(auth) => auth,
            Err(AuthRefused) => {
                self.drop_malformed(*inbound.source);
                self.reply(inbound, peer.tag, |p| {
                    p.abort(false, |c| {
                        c.protocol_violation(b"RANDOM has not 32 bytes");
                    });
                });
                return None;
            }
        };
        let random = auth.as_ref().map(|a| a.own);
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
            interleaving: peer.interleaving,
            auth,
        };
        let sealed = self.keys.seal(&cookie, &self.local, now, &mut self.rng);
        let fields = InitFields {
            initiate_tag: ours.tag,
            a_rwnd: cfg.buffer.receive,
            outbound_streams: outbound,
            inbound_streams: cfg.setup.max_inbound_streams,
            initial_tsn: ours.tsn,
        };
        let local = self.local.clone();
        self.stats.inits += 1;
        let most = most_of_init_ack(inbound, cfg);
        self.reply_within(inbound, peer.tag, most, |p| {
            p.init(true, &fields, |w| {
                // The first that do not fit are left out.
                w.state_cookie(&sealed);
                write_extensions(w, cfg, random.as_ref());
                write_addresses(w, &local);
                for u in &peer.unrecognized {
                    w.unrecognized_parameter(u);
                }
            });
        });
        Some(now + cookie.life)
    }

    /// What the cookie keeps of AUTH: nothing unless both sides offer it.
    fn auth_for_cookie(
        &mut self,
        peer: &PeerInit,
        ours: &LocalFields,
        cfg: &Config,
    ) -> Result<Option<CookieAuth>, AuthRefused> {
        if !cfg.auth.enabled {
            return Ok(None);
        }
        match &peer.auth {
            AuthOffer::None => Ok(None),
            AuthOffer::BadRandom => Err(AuthRefused),
            AuthOffer::Given(auth) if auth.hash().is_none() => Ok(None),
            AuthOffer::Given(auth) => Ok(Some(CookieAuth {
                own: ours.random.unwrap_or_else(|| self.rng.random()),
                peer: auth.clone(),
                asconf: cfg.asconf.enabled && peer.asconf,
            })),
        }
    }
}

/// Most bytes of an INIT ACK: one packet. A reply also has at most three times the bytes of what it
/// answers, so a peer that wants to hear of many addresses sends a larger INIT
/// (`setup.min_init_len`).
fn most_of_init_ack(inbound: &Inbound<'_>, cfg: &Config) -> usize {
    (cfg.pmtu.over(None)).saturating_sub(lower_header_bytes(*inbound.source)) as usize
}

/// The peer's random number for AUTH is invalid (RFC 4895 section 6.1).
struct AuthRefused;

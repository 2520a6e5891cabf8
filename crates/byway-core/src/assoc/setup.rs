//! Set-up (RFC 9260 section 5.1): the initiator's side, and the start of an association
//! from a cookie.

use super::authentication::Authentication;
use super::{
    Addresses, Association, AuthOffer, BadInit, Control, Ctx, Failure, Inbound, Optional, PeerInit,
    SetUp, Shutdown, State, Tags, Timers, acceptable_address,
};
use crate::api::{AssocId, AssocStats, Event, LossReason};
use crate::auth::Random;
use crate::config::Config;
use crate::endpoint::cookie::Cookie;
use crate::observe::{Observation, Timer};
use crate::path::{Path, PathId, PathState, PathTable};
use crate::recv::RecvHalf;
use crate::send::SendHalf;
use byway_wire::{Init, InitFields, ParamWriter, Tsn};
use core::net::{IpAddr, SocketAddr};
use rand::RngExt;
use smallvec::SmallVec;
use std::collections::VecDeque;
use std::sync::Arc;

/// The values that an accepted association starts with.
#[derive(Debug)]
pub(crate) struct Accepted<'a> {
    pub(crate) id: AssocId,
    pub(crate) cfg: Arc<Config>,
    pub(crate) ours: Ours,
    pub(crate) cookie: &'a Cookie,
}

/// The addresses of this side when a cookie comes back.
#[derive(Debug)]
pub(crate) struct Ours {
    pub(crate) local: Arc<[SocketAddr]>,
    /// Those that came (true) or went since the cookie was made, in order.
    pub(crate) changed: Vec<(bool, SocketAddr)>,
}

impl Ours {
    /// Whether the INIT ACK with the cookie listed this address.
    pub(crate) fn listed(&self, address: &SocketAddr) -> bool {
        let first = self.changed.iter().find(|(_, a)| a == address);
        first.map_or_else(|| self.local.contains(address), |(came, _)| !came)
    }
}

/// Bytes of an INIT without parameters, the common header included.
const INIT_LEN: usize = 32;
/// Largest `setup.min_init_len`.
const MAX_INIT_LEN: usize = 400;

/// An INIT that was repeated so often says no more which types of addresses this side has: it may be lost, or its peer
/// may drop all that have a parameter which it does not know. The types of addresses (5, 6, 12) have the highest bits 00,
/// with which a receiver stops at them (RFC 9260 section 3.2.1), and pion/sctp drops the whole INIT then.
const WITHOUT_TYPES: u32 = 2;
/// From here on each second INIT lists no addresses either, where the peer can be told of them later.
const WITHOUT_ADDRESSES: u32 = 3;

impl Tags {
    /// New tie-tags.
    pub(super) fn new_tie(ctx: &mut Ctx<'_>) -> (u32, u32) {
        let mut tag = || ctx.rng.random_range(1..=u32::MAX);
        (tag(), tag())
    }
}

impl Association {
    fn empty(
        id: AssocId,
        cfg: Arc<Config>,
        local: Arc<[SocketAddr]>,
        ports: (u16, u16),
        paths: PathTable,
        ctx: &mut Ctx<'_>,
    ) -> Association {
        let tsn = Tsn(ctx.rng.random());
        Association {
            id,
            tags: Tags {
                local_port: ports.0,
                peer_port: ports.1,
                local: ctx.rng.random_range(1..=u32::MAX),
                peer: 0,
                tie: Tags::new_tie(ctx),
            },
            addresses: Addresses {
                local,
                pathless: Vec::new(),
                unverified: super::unverified::NewSources::none(),
                allowance: super::allowance::Allowance::default(),
                listed: super::listed::Listed::default(),
                changed: false,
                other_sources: None,
            },
            state: State::CookieWait,
            setup: SetUp::default(),
            shutdown: Shutdown::default(),
            paths,
            send: SendHalf::new(tsn, cfg.setup.outbound_streams, 0, &cfg),
            recv: RecvHalf::new(Tsn(0), cfg.setup.max_inbound_streams, &cfg.buffer),
            failure: Failure::default(),
            timers: Timers::default(),
            control: VecDeque::new(),
            stamps: None,
            stats: AssocStats::default(),
            optional: Optional {
                estimating: super::estimating::Estimating::of(&cfg),
                trials: super::trial::Trials::of(&cfg),
                dialect: ctx.dialect.map(|d| d.start(&cfg)),
                auth: None,
                seals: false,
                asconf: None,
                stalled: false,
            },
            cfg,
        }
    }

    /// The user starts an association: INIT goes to the first address.
    pub(crate) fn initiate(
        id: AssocId,
        cfg: Arc<Config>,
        local: Arc<[SocketAddr]>,
        ports: (u16, u16),
        remotes: &[(SocketAddr, SocketAddr)],
        ctx: &mut Ctx<'_>,
    ) -> Association {
        let path =
            |r: &(SocketAddr, SocketAddr), ctx: &Ctx<'_>| Path::new(r.0, r.1, true, &cfg, ctx.now);
        let mut paths = PathTable::new(path(&remotes[0], ctx));
        for r in &remotes[1..] {
            paths.push(path(r, ctx));
        }
        let mut a = Association::empty(id, cfg, local, ports, paths, ctx);
        if a.cfg.auth.enabled {
            a.optional.auth = Some(Authentication::offer(ctx));
        }
        a.control.push_back(Control::Init);
        a.enter(ctx, State::CookieWait);
        a
    }

    /// Addresses of the peer, given by the user, that no address of this side reaches. They become
    /// paths when one does.
    pub(crate) fn await_source_for(&mut self, addresses: Vec<IpAddr>) {
        addresses
            .iter()
            .for_each(|ip| self.addresses.listed.know(*ip));
        self.addresses.pathless = addresses;
    }

    /// The parameters of our INIT, also for an INIT ACK in a collision.
    pub(crate) fn init_fields(&self) -> InitFields {
        InitFields {
            initiate_tag: self.tags.local,
            a_rwnd: self.cfg.buffer.receive,
            outbound_streams: self.cfg.setup.outbound_streams,
            inbound_streams: self.cfg.setup.max_inbound_streams,
            initial_tsn: self.send.ledger.tsn_of(0),
        }
    }

    /// T1 starts or restarts with the RTO of the path in use.
    pub(crate) fn start_t1(&mut self, ctx: &Ctx<'_>) {
        let rto = self.paths.get(self.paths.data()).rtt.rto();
        self.timers.t1 = Some(ctx.now + rto);
    }

    /// T1 expired: INIT or COOKIE ECHO leaves again, on another path if there is one.
    pub(crate) fn on_t1(&mut self, ctx: &mut Ctx<'_>) {
        (self.timers.t1, self.timers.answer) = (None, None);
        let timer = match self.state {
            State::CookieWait => Timer::T1Init,
            State::CookieEchoed(_) => Timer::T1Cookie,
            _ => return,
        };
        self.observe(ctx, || Observation::TimerFired { timer, path: None });
        self.timers.init_retransmits += 1;
        if self.timers.init_retransmits > self.cfg.setup.max_init_retransmits {
            self.lose(ctx, LossReason::SetupTimedOut);
            return;
        }
        let path = self.paths.data();
        self.paths.get_mut(path).rtt.back_off(&self.cfg.rto);
        if !self.cfg.setup.first_address_only {
            let view = self.paths.view();
            let next = || view.ring(path).find(|p| view.is_confirmed(*p));
            let to = self.heard_since_echo().or_else(next);
            self.paths.move_data(to.unwrap_or(path));
        }
        self.control.push_back(match timer {
            Timer::T1Init => Control::Init,
            _ => Control::CookieEcho,
        });
    }

    /// The confirmed address from which the peer was heard last, if that was after our COOKIE
    /// ECHO: it has the association, so its COOKIE ACK was lost, and it is reached there. Other
    /// addresses may be gone by now.
    fn heard_since_echo(&self) -> Option<PathId> {
        let echoed = self.setup.echoed.filter(|_| !self.awaits_init_ack())?;
        let view = self.paths.view();
        let heard = self.paths.ids().filter(|p| view.is_confirmed(*p));
        let at = |p: &PathId| self.paths.get(*p).counters.last_heard();
        heard
            .filter(|p| at(p).is_some_and(|t| t > echoed))
            .max_by_key(at)
    }

    /// INIT ACK (section 5.1, C): its addresses become paths and its cookie is echoed.
    pub(crate) fn on_init_ack(
        &mut self,
        ctx: &mut Ctx<'_>,
        inbound: &Inbound<'_>,
        init: &Init<'_>,
    ) {
        if !matches!(self.state, State::CookieWait) {
            return; // section 5.2.3
        }
        let peer = match PeerInit::read(init) {
            Ok(p) => p,
            Err(BadInit::Discard) => {
                // Section 3.3.3: a zero tag ends the attempt.
                self.lose(ctx, LossReason::ProtocolViolation("its INIT ACK has tag 0"));
                return;
            }
            Err(_) if init.a_rwnd < 1500 => return, // section 3.3.3: discard
            Err(_) => {
                self.tags.peer = init.initiate_tag;
                self.state = State::CookieEchoed(Box::default());
                self.violation(ctx, "its INIT ACK has an invalid mandatory parameter");
                return;
            }
        };
        let Some(cookie) = peer.cookie.clone() else {
            self.tags.peer = peer.tag;
            self.state = State::CookieEchoed(Box::default());
            self.violation(ctx, "its INIT ACK has no State Cookie");
            return;
        };
        self.tags.peer = peer.tag;
        if self.cfg.auth.enabled && peer.auth == AuthOffer::BadRandom {
            // RFC 4895 section 6.1.
            self.state = State::CookieEchoed(Box::default());
            self.violation(ctx, "its RANDOM has not 32 bytes");
            return;
        }
        self.agree_on_auth(peer.auth.given(), peer.asconf, peer.tsn);
        self.recv = RecvHalf::new(
            peer.tsn,
            peer.outbound.min(self.cfg.setup.max_inbound_streams),
            &self.cfg.buffer,
        );
        let streams = self.cfg.setup.outbound_streams.min(peer.inbound);
        self.send.adopt_grant(streams, peer.a_rwnd);
        self.adopt_addresses(ctx, inbound, &peer);
        self.agree_on_timestamps(peer.timestamps);
        self.agree_on_interleaving(peer.interleaving);
        self.check_queued_streams(ctx);
        if self.state.is_closed() {
            return;
        }
        self.setup.reports = peer.unrecognized;
        self.timers.init_retransmits = 0;
        self.enter(ctx, State::CookieEchoed(cookie));
        self.control.push_back(Control::CookieEcho);
        self.await_cookie_ack(ctx);
    }

    /// Reports unknown parameters of the INIT ACK once the association is established.
    /// Before COOKIE ACK only COOKIE ECHO may leave (section 5.1, C), and the peer has
    /// no association for the report yet.
    fn report_unrecognized_parameters(&mut self) {
        for bytes in core::mem::take(&mut self.setup.reports) {
            let mut causes = Vec::new();
            byway_wire::CauseWriter::over(&mut causes).unrecognized_parameters(&bytes);
            self.control
                .push_back(Control::Error(self.paths.data(), causes.into()));
        }
    }

    /// A message on a stream that the peer does not accept can never be sent (section
    /// 5.1.1). It must not disappear silently, so the association ends.
    pub(crate) fn check_queued_streams(&mut self, ctx: &mut Ctx<'_>) {
        let streams = self.send.streams();
        if let Some(highest) = self.send.queue.highest_stream().filter(|s| *s >= streams) {
            let why = format!(
                "a message waits for stream {highest}, but the peer accepts {streams} streams"
            );
            self.abort(
                ctx,
                LossReason::Refused(why),
                super::ending::AbortReason::User(b"too few streams"),
            );
        }
    }

    /// The addresses that the peer lists and the source of its INIT ACK become paths
    /// (section 5.1.2). Only addresses that the user gave are confirmed (section 5.4). The
    /// source of the INIT ACK is not confirmed, because it may be forged. The user's
    /// address that answered comes first.
    fn adopt_addresses(&mut self, ctx: &mut Ctx<'_>, inbound: &Inbound<'_>, peer: &PeerInit) {
        let source = inbound.source;
        // After a stale cookie there are paths to listed addresses, too.
        let of_user = self.paths.iter().filter(|p| p.is_confirmed());
        let given: SmallVec<[SocketAddr; 8]> = of_user.map(Path::remote).collect();
        let from_user = |ip: IpAddr| given.iter().find(|g| g.ip() == ip);
        let unreached = core::mem::take(&mut self.addresses.pathless);
        let mut order = self.order_of_addresses(source.ip(), &given, peer);
        // What the user gave stays, whether the peer lists it or not. By now there may be a source, or room.
        order.extend_from_slice(&unreached);
        let old = self
            .paths
            .find(source.ip())
            .map(|p| self.paths.get(p).counters.clone());
        let mut table: Option<PathTable> = None;
        for (i, &ip) in order.iter().enumerate() {
            let known = from_user(ip).is_some() || unreached.contains(&ip);
            if order[..i].contains(&ip) || !(known || acceptable_address(ip, source.ip())) {
                continue;
            }
            let port = from_user(ip).map_or(source.port(), SocketAddr::port);
            let remote = SocketAddr::new(ip, port);
            let full = usize::from(self.cfg.setup.max_paths);
            if table.as_ref().is_some_and(|t| t.len() >= full) {
                // The routes are not asked for what cannot become a path: it costs system calls.
                self.addresses.pathless.push(ip);
                continue;
            }
            let used = table
                .as_ref()
                .map_or_else(SmallVec::new, PathTable::sources);
            let ours = &self.addresses.local;
            let Some(local) = ctx.routes.source_beside(ours, ip, &used) else {
                self.addresses.pathless.push(ip);
                continue;
            };
            let confirmed = from_user(ip).is_some();
            let mut path = Path::new(
                self.addresses.local[local],
                remote,
                confirmed,
                &self.cfg,
                ctx.now,
            );
            if self.addresses.listed.knows(ip) {
                path.note_known();
            }
            if i == 0 {
                if ip == source.ip() {
                    path.send_from(*inbound.destination);
                    path.note_answer_here();
                }
                if let Some(old) = &old {
                    path.counters = old.clone();
                }
            }
            match &mut table {
                None => table = Some(PathTable::new(path)),
                Some(t) => {
                    t.push(path);
                }
            }
        }
        if let Some(table) = table {
            self.paths = table;
            self.addresses.changed = true;
        }
    }

    /// In which order the addresses of the peer become paths; some may be repeated.
    /// `given`: those that the user gave.
    fn order_of_addresses(
        &self,
        source: IpAddr,
        given: &[SocketAddr],
        peer: &PeerInit,
    ) -> SmallVec<[IpAddr; 8]> {
        let mut order: SmallVec<[IpAddr; 8]> = SmallVec::new();
        order.extend(given.iter().map(SocketAddr::ip).filter(|g| *g == source));
        order.extend(
            given
                .iter()
                .map(SocketAddr::ip)
                .filter(|ip| peer.addresses.contains(ip)),
        );
        if order.is_empty() {
            // None of the user's addresses is left. The destination of the INIT stays,
            // because it is the only one that can be trusted.
            order.push(self.paths.get(self.paths.data()).remote().ip());
        }
        order.push(source);
        order.extend(peer.addresses.iter().copied());
        order
    }

    /// COOKIE ACK: the association is established.
    pub(crate) fn on_cookie_ack(&mut self, ctx: &mut Ctx<'_>) {
        if matches!(self.state, State::CookieEchoed(_)) {
            self.establish(ctx);
            self.report_unrecognized_parameters();
            // The peer has the association already.
            self.send_asconf(ctx);
        }
    }

    /// Enters ESTABLISHED from the set-up states.
    pub(crate) fn establish(&mut self, ctx: &mut Ctx<'_>) {
        self.setup.was_up_or_aborted = true;
        self.timers.t1 = None;
        self.timers.answer = None;
        self.failure.errors = 0;
        self.control
            .retain(|c| !matches!(c, Control::Init | Control::CookieEcho | Control::Again));
        self.paths.move_data(self.paths.primary());
        self.paths.detect_as(&self.cfg);
        self.make_room_for_timestamps(ctx.now);
        self.enter(ctx, State::Established);
        for id in self.paths.ids() {
            let (remote, state) = (self.paths.get(id).remote(), self.paths.get(id).state());
            self.announce_path(ctx, id, remote, state);
        }
        self.event(
            ctx,
            Event::Up {
                accepted: self.setup.accepted,
                outbound_streams: self.send.streams(),
                inbound_streams: self.recv.streams(),
            },
        );
        self.add_unlisted(ctx);
        self.begin_verification(ctx);
        self.new_burst();
        self.tell_missed_changes(ctx);
        if self.shutdown.wanted {
            self.begin_shutdown(ctx);
        }
    }

    /// The cookie was stale (section 5.2.6): requests a longer life once.
    pub(crate) fn on_stale_cookie(&mut self, ctx: &mut Ctx<'_>, staleness_us: u32) {
        if !matches!(self.state, State::CookieEchoed(_)) {
            return;
        }
        self.setup.stale_cookies += 1;
        if self.setup.stale_cookies > 1 {
            self.lose(ctx, LossReason::StaleCookie);
            return;
        }
        self.setup.stale_by = Some(staleness_us);
        self.timers.t1 = None;
        self.timers.answer = None;
        self.enter(ctx, State::CookieWait);
        self.control.clear();
        self.control.push_back(Control::Init);
    }

    /// Whether the next INIT lists no addresses of ours. Only where they can follow by ASCONF, and never in two INITs
    /// in a row: a peer that was away, and has no ASCONF, is not to know one address alone for ever. And not where the
    /// peer begins, too, and has got a cookie with our tag: it knows this side by its addresses, and would take an
    /// INIT from another one for that of another peer.
    pub(super) fn leaves_addresses_out(&self) -> bool {
        let repeats = self.timers.init_retransmits;
        self.setup.cookie_expires.is_none()
            && self.cfg.auth.enabled
            && self.cfg.asconf.enabled
            && repeats >= WITHOUT_ADDRESSES
            && (repeats - WITHOUT_ADDRESSES).is_multiple_of(2)
    }

    /// The optional parameters of our INIT.
    pub(crate) fn write_init_params(&self, w: &mut ParamWriter<'_>) {
        let room = w.room();
        let listed = self.setup.listed.as_ref();
        if !self.leaves_addresses_out() {
            write_addresses(w, listed.unwrap_or(&self.addresses.local));
        }
        if let Some(stale) = self.setup.stale_by {
            // "No more than 1 second beyond the measured RTT" (section 5.2.6).
            let ms = stale / 1000 + 1000;
            w.cookie_preservative(ms);
        }
        let says_types = self.timers.init_retransmits < WITHOUT_TYPES;
        if self.cfg.setup.supported_address_types && says_types {
            // A family that the user asked for is used as soon as this side has an address of it.
            let local = self.addresses.local.iter().map(SocketAddr::ip);
            write_address_types(w, local.chain(self.addresses.pathless.iter().copied()));
        }
        write_extensions(w, &self.cfg, self.own_random());
        let written = INIT_LEN + room - w.room();
        let lacking = usize::from(self.cfg.setup.min_init_len).saturating_sub(written);
        // The header of the parameter has 4 bytes.
        if lacking > 0 {
            w.padding(&[0; MAX_INIT_LEN][..lacking.saturating_sub(4).min(MAX_INIT_LEN)]);
        }
    }

    /// Creates an association from an echoed cookie.
    pub(crate) fn accept(ctx: &mut Ctx<'_>, new: &Accepted<'_>) -> Association {
        let c = new.cookie;
        let mut local = c.local;
        if !new.ours.local.contains(&local)
            && let Some(other) = ctx.routes.source(&new.ours.local, c.source.ip())
        {
            // The address of the INIT is gone.
            local = new.ours.local[other];
        }
        let mut first = Path::new(local, c.source, true, &new.cfg, ctx.now);
        first.note_answer_here();
        let mut a = Association::empty(
            new.id,
            new.cfg.clone(),
            new.ours.local.clone(),
            (c.local_port, c.peer_port),
            PathTable::new(first),
            ctx,
        );
        a.setup.accepted = true;
        a.setup.changed.clone_from(&new.ours.changed);
        a.optional.stalled = !new.ours.local.contains(&local);
        a.adopt_cookie(ctx, c);
        a.establish(ctx);
        a.control.push_back(Control::CookieAck(PathId(0)));
        a
    }

    /// Copies the values of the cookie: tags, TSNs, streams, windows, paths.
    pub(crate) fn adopt_cookie(&mut self, ctx: &mut Ctx<'_>, c: &Cookie) {
        self.tags.local = c.local_tag;
        self.setup.cookie_expires = Some(c.created + c.life);
        self.tags.peer = c.peer_tag;
        let send = SendHalf::new(c.local_tsn, c.outbound, c.a_rwnd, &self.cfg);
        let mut old = core::mem::replace(&mut self.send, send);
        old.queue.hand_values_to(&mut self.send.queue);
        self.recv = RecvHalf::new(c.peer_tsn, c.inbound, &self.cfg.buffer);
        self.optional.dialect = ctx.dialect.map(|d| d.start(&self.cfg));
        self.addresses.pathless.clear();
        self.agree_on_timestamps(c.timestamps);
        self.agree_on_interleaving(c.interleaving);
        self.adopt_auth(c.auth.as_ref(), c.peer_tsn);
        self.add_listed(ctx, c);
    }

    /// The addresses that a cookie lists become paths, if they are acceptable and there
    /// is room.
    pub(crate) fn add_listed(&mut self, ctx: &mut Ctx<'_>, c: &Cookie) {
        let trusted = self.trusts_listed_addresses();
        for &ip in core::iter::once(&c.source.ip()).chain(&c.addresses) {
            if self.knows(ip) || !acceptable_address(ip, c.source.ip()) {
                continue;
            }
            if !self.paths.has_room(self.cfg.setup.max_paths) {
                // The routes are not asked for what cannot become a path: it costs system calls.
                self.addresses.pathless.push(ip);
                continue;
            }
            let used = self.paths.sources();
            let ours = &self.addresses.local;
            match ctx.routes.source_beside(ours, ip, &used) {
                Some(local) => {
                    let remote = SocketAddr::new(ip, c.source.port());
                    let path = Path::new(
                        self.addresses.local[local],
                        remote,
                        trusted,
                        &self.cfg,
                        ctx.now,
                    );
                    self.paths.push(path);
                }
                None => self.addresses.pathless.push(ip),
            }
        }
    }

    /// Whether listed addresses count as confirmed, by the rule of a dialect. RFC 9260
    /// section 5.4 requires a heartbeat first.
    pub(super) fn trusts_listed_addresses(&self) -> bool {
        self.dialect_says(|d| d.trusts_listed_addresses())
    }

    /// Whether the peer has this verification tag.
    pub(crate) fn is_peer_tag(&self, tag: u32) -> bool {
        self.tags.peer == tag
    }

    /// Whether an address is the peer's, as a path or not.
    pub(crate) fn knows(&self, ip: IpAddr) -> bool {
        self.paths.find(ip).is_some() || self.addresses.pathless.contains(&ip)
    }

    /// The peer's addresses with their UDP ports, and whether each has proved that it is
    /// the peer's.
    pub(crate) fn peer_addresses(&self) -> impl Iterator<Item = (SocketAddr, bool)> + '_ {
        self.paths.ids().map(|id| {
            let p = self.paths.get(id);
            (p.remote(), p.state() != PathState::Unconfirmed)
        })
    }

    /// Whether the addresses of [`peer_addresses`](Self::peer_addresses) have
    /// changed since the last call.
    #[inline]
    pub(crate) fn take_addresses_changed(&mut self) -> bool {
        core::mem::take(&mut self.addresses.changed)
    }
}

/// The chunk types of extensions, as INIT and INIT ACK list them (RFC 5061 section
/// 4.2.7), and the parameters of AUTH with the random number of this side; nothing if there
/// are none.
pub(crate) fn write_extensions(w: &mut ParamWriter<'_>, cfg: &Config, auth: Option<&Random>) {
    use byway_wire::chunk_type::{ASCONF, ASCONF_ACK, AUTH, I_DATA, I_FORWARD_TSN, TIMESTAMP};
    let mut types: SmallVec<[u8; 8]> = SmallVec::new();
    if auth.is_some() && cfg.asconf.enabled {
        types.extend_from_slice(&[ASCONF, ASCONF_ACK]);
    }
    if auth.is_some() {
        types.push(AUTH);
    }
    if cfg.rto.timestamps {
        types.push(TIMESTAMP);
    }
    if cfg.streams.interleaving {
        types.extend_from_slice(&[I_DATA, I_FORWARD_TSN]);
    }
    if !types.is_empty() {
        w.supported_extensions(&types);
    }
    if let Some(random) = auth {
        crate::auth::write_params(w, random);
    }
}

/// Says which types these addresses have.
fn write_address_types(w: &mut ParamWriter<'_>, addresses: impl Iterator<Item = IpAddr> + Clone) {
    let mut types: SmallVec<[u16; 2]> = SmallVec::new();
    if addresses.clone().any(|a| a.is_ipv4()) {
        types.push(byway_wire::param_type::IPV4_ADDRESS);
    }
    if addresses.clone().any(|a| a.is_ipv6()) {
        types.push(byway_wire::param_type::IPV6_ADDRESS);
    }
    w.supported_address_types(&types);
}

/// Our addresses, as INIT and INIT ACK list them; nothing if the only one is the source
/// of the packet (section 5.1.2, A).
pub(crate) fn write_addresses(w: &mut ParamWriter<'_>, local: &[SocketAddr]) {
    if local.len() > 1 {
        for a in local {
            w.address(a.ip());
        }
    }
}

//! An endpoint: all associations of one SCTP port. It finds the association of
//! a datagram, answers those that belong to none, and keeps the timers.

mod accept;
mod commands;
pub(crate) mod cookie;
mod out_of_the_blue;

use crate::api::{AssocId, ConnectError, Event, Transmit};
use crate::assoc::{Association, Ctx, Handled, Inbound, Outbox, Sent, State};
use crate::config::{ChecksumMode, Config, ConfigError, EndpointConfig};
use crate::observe::Observed;
use crate::routes::{LongestPrefix, Routes};
use crate::time::Instant;
use bytes::Bytes;
use byway_wire::{Chunk, Packet, RawChunk, chunk_type};
use chacha20::ChaCha8Rng;
use chacha20::rand_core::SeedableRng;
use cookie::CookieKeys;
use core::cmp::Reverse;
use core::net::{IpAddr, SocketAddr};
use slab::Slab;
use smallvec::SmallVec;
use std::collections::{BinaryHeap, HashMap, VecDeque};
use std::sync::Arc;

/// Counts of packets that reached no association, and why.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct EndpointStats {
    /// Datagrams handed in.
    pub datagrams_received: u64,
    /// Shorter than a common header, or without a well-formed chunk.
    pub malformed: u64,
    /// With a wrong CRC32c.
    pub bad_checksums: u64,
    /// Of no association (RFC 9260 section 8.4).
    pub out_of_the_blue: u64,
    /// INITs answered with an INIT ACK.
    pub inits: u64,
    /// Cookies that were not ours.
    pub forged_cookies: u64,
    /// Cookies that came too late.
    pub stale_cookies: u64,
    /// Associations refused because a limit was reached.
    pub refused: u64,
    /// Answers not sent because too many waited.
    pub answers_dropped: u64,
}

/// One place of the table.
#[derive(Debug)]
struct Slot {
    assoc: Box<Association>,
    generation: u32,
    /// Stands in `ready`.
    queued: bool,
    /// The entry of `timers` that counts; later ones wait behind it.
    armed: Option<Instant>,
    /// Packets no longer find it.
    unlinked: bool,
    /// The peer's address that it counts for, if it was accepted.
    counted: Option<IpAddr>,
}

/// All associations of one SCTP port, without IO and without a clock.
///
/// Commands and `handle_*` take what happens, `poll_*` give what follows. After
/// each of the former, call [`poll_transmit`](Endpoint::poll_transmit) and
/// [`poll_event`](Endpoint::poll_event) until they give nothing, and
/// [`handle_timeout`](Endpoint::handle_timeout) no later than
/// [`poll_timeout`](Endpoint::poll_timeout) says. The same seed and the same
/// inputs at the same times give the same bytes.
pub struct Endpoint {
    cfg: EndpointConfig,
    local: Arc<[SocketAddr]>,
    accepted: Arc<Config>,
    rng: ChaCha8Rng,
    keys: CookieKeys,
    out: Outbox,
    table: Slab<Slot>,
    /// Peer's address and SCTP port to the place in the table. Only looked up,
    /// never walked, so its random order shows nowhere.
    by_peer: HashMap<(IpAddr, u16), u32>,
    /// Associations accepted from one address.
    per_peer: HashMap<IpAddr, usize>,
    /// Associations that may have something to send.
    ready: VecDeque<u32>,
    timers: BinaryHeap<Reverse<(Instant, u32, u32)>>,
    next_generation: u32,
    stats: EndpointStats,
    routes: Box<dyn Routes>,
    /// The last look-up, as packets come in trains.
    last: Option<(IpAddr, u16, u32)>,
    live: usize,
}

impl core::fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Endpoint")
            .field("port", &self.cfg.port)
            .field("local", &self.local)
            .field("associations", &self.live)
            .finish_non_exhaustive()
    }
}

/// Borrows the parts of an endpoint that an association works with.
macro_rules! ctx {
    ($self:ident, $now:expr) => {
        Ctx {
            now: $now,
            rng: &mut $self.rng,
            out: &mut $self.out,
            checksum: $self.cfg.checksum,
            routes: &mut *$self.routes,
            apart: None,
        }
    };
}
use ctx;

impl Endpoint {
    /// An endpoint without associations.
    ///
    /// # Errors
    /// When a setting cannot work; the error names it.
    pub fn new(cfg: EndpointConfig) -> Result<Endpoint, ConfigError> {
        cfg.check()?;
        let mut rng = ChaCha8Rng::from_seed(cfg.seed);
        let keys = CookieKeys::new(&mut rng);
        Ok(Endpoint {
            local: cfg.local.clone().into(),
            accepted: Arc::new(cfg.accepted.clone()),
            out: Outbox {
                observe: cfg.observe,
                observe_details: cfg.observe_details,
                ..Outbox::default()
            },
            cfg,
            rng,
            keys,
            table: Slab::new(),
            by_peer: HashMap::new(),
            per_peer: HashMap::new(),
            ready: VecDeque::new(),
            timers: BinaryHeap::new(),
            next_generation: 1,
            stats: EndpointStats::default(),
            routes: Box::new(LongestPrefix),
            last: None,
            live: 0,
        })
    }

    /// Replaces the rule by which a new path's local address is chosen.
    pub fn set_routes(&mut self, routes: Box<dyn Routes>) {
        self.routes = routes;
    }

    /// Begins an association with the peer at these addresses, the first of
    /// which is the primary. Their ports are UDP encapsulation ports, 0 for
    /// plain IP; `port` is the peer's SCTP port. The INIT leaves with the next
    /// [`poll_transmit`](Self::poll_transmit); [`Event::Up`] or
    /// [`Event::Lost`] follows.
    ///
    /// # Errors
    /// When an address or a setting cannot work; nothing was begun then.
    pub fn connect(
        &mut self,
        now: Instant,
        remote: &[SocketAddr],
        port: u16,
        config: Config,
    ) -> Result<AssocId, ConnectError> {
        config.check()?;
        if remote.is_empty() {
            return Err(ConnectError::NoAddress);
        }
        if self.live >= self.cfg.max_associations {
            return Err(ConnectError::TooMany(self.cfg.max_associations));
        }
        let mut pairs: SmallVec<[(SocketAddr, SocketAddr); 4]> = SmallVec::new();
        for &r in remote.iter().take(usize::from(config.setup.max_paths)) {
            if r.ip().is_unspecified() || r.ip().is_multicast() || port == 0 {
                return Err(ConnectError::BadAddress(r));
            }
            if self.by_peer.contains_key(&(r.ip(), port)) {
                return Err(ConnectError::AlreadyConnected(r));
            }
            let local = self.routes.source(&self.local, r.ip());
            let local = local.ok_or(ConnectError::NoSource(r))?;
            if !pairs.iter().any(|p| p.1.ip() == r.ip()) {
                pairs.push((self.local[local], r));
            }
        }
        let id = self.next_id();
        let ports = (self.cfg.port, port);
        let local = self.local.clone();
        let mut ctx = ctx!(self, now);
        let assoc = Association::initiate(id, Arc::new(config), local, ports, &pairs, &mut ctx);
        self.insert(id, assoc, None);
        self.wake(id.index);
        Ok(id)
    }

    fn next_id(&mut self) -> AssocId {
        let generation = self.next_generation;
        self.next_generation = self.next_generation.wrapping_add(1).max(1);
        AssocId {
            index: self.table.vacant_key() as u32,
            generation,
        }
    }

    /// `counted`: the address that an accepted association counts for.
    fn insert(&mut self, id: AssocId, assoc: Association, counted: Option<IpAddr>) {
        let at = self.table.insert(Slot {
            assoc: Box::new(assoc),
            generation: id.generation,
            queued: false,
            armed: None,
            unlinked: false,
            counted,
        });
        debug_assert_eq!(at, id.index as usize);
        self.live += 1;
        self.link(id.index);
    }

    /// Makes the association found by all its peer's addresses.
    fn link(&mut self, index: u32) {
        let a = &self.table[index as usize].assoc;
        for ip in a.peer_addresses() {
            self.by_peer.entry((ip, a.peer_port)).or_insert(index);
        }
    }

    fn unlink(&mut self, index: u32) {
        self.last = None;
        let a = &self.table[index as usize].assoc;
        for ip in a.peer_addresses() {
            let key = (ip, a.peer_port);
            if self.by_peer.get(&key) == Some(&index) {
                self.by_peer.remove(&key);
            }
        }
    }

    /// The association of a peer's address.
    fn find(&mut self, ip: IpAddr, port: u16) -> Option<u32> {
        match self.last {
            Some((i, p, index)) if i == ip && p == port => Some(index),
            _ => {
                let index = *self.by_peer.get(&(ip, port))?;
                self.last = Some((ip, port, index));
                Some(index)
            }
        }
    }

    fn slot(&self, id: AssocId) -> Option<&Slot> {
        self.table
            .get(id.index as usize)
            .filter(|s| s.generation == id.generation)
    }

    fn slot_mut(&mut self, id: AssocId) -> Option<&mut Slot> {
        self.table
            .get_mut(id.index as usize)
            .filter(|s| s.generation == id.generation)
    }

    /// After anything happened to an association: it may have something to
    /// send, another timer, or an end.
    #[inline]
    fn wake(&mut self, index: u32) {
        let slot = &mut self.table[index as usize];
        if slot.assoc.state.is_closed() {
            self.retire(index);
        } else if !slot.queued {
            slot.queued = true;
            self.ready.push_back(index);
        }
        // Its timers are looked at when it has nothing more to send.
    }

    /// Puts an association's earliest timer into the queue, unless an earlier
    /// entry stands there: that one will look again.
    fn arm(&mut self, index: u32) {
        let slot = &mut self.table[index as usize];
        if let Some(t) = slot.assoc.next_timeout()
            && slot.armed.is_none_or(|a| t < a)
        {
            slot.armed = Some(t);
            self.timers.push(Reverse((t, index, slot.generation)));
        }
    }

    /// An association ended: packets no longer find it.
    #[cold]
    fn retire(&mut self, index: u32) {
        let slot = &mut self.table[index as usize];
        if core::mem::replace(&mut slot.unlinked, true) {
            return;
        }
        self.unlink(index);
        self.live -= 1;
        if let Some(ip) = self.table[index as usize].counted
            && let Some(n) = self.per_peer.get_mut(&ip)
        {
            *n -= 1;
            if *n == 0 {
                self.per_peer.remove(&ip);
            }
        }
    }

    /// Takes a datagram that came from `source` to the local address
    /// `destination`. Ports are UDP encapsulation ports, 0 for plain IP.
    pub fn handle_datagram(
        &mut self,
        now: Instant,
        source: SocketAddr,
        destination: SocketAddr,
        payload: &[u8],
    ) {
        self.handle_parts(now, source, destination, (payload, &Bytes::new()));
    }

    /// Takes a packet in two parts, as [`poll_transmit_parts`] gives it. The
    /// second part is kept as it is and not copied, unless its message is in
    /// several fragments.
    ///
    /// [`poll_transmit_parts`]: Self::poll_transmit_parts
    pub fn handle_parts(
        &mut self,
        now: Instant,
        source: SocketAddr,
        destination: SocketAddr,
        (payload, tail): (&[u8], &Bytes),
    ) {
        self.stats.datagrams_received += 1;
        let Ok(packet) = Packet::parse_parts(payload, tail) else {
            self.stats.malformed += 1;
            return;
        };
        if self.cfg.checksum == ChecksumMode::Crc32c && !packet.checksum_is_valid() {
            self.stats.bad_checksums += 1;
            return;
        }
        let mut others = packet.chunks();
        let Some(Ok(ref first)) = others.next() else {
            self.stats.malformed += 1;
            return;
        };
        let inbound = Inbound {
            source: &source,
            destination: &destination,
            packet,
            len: payload.len() + tail.len(),
            tail,
            first,
            others,
        };
        let header = packet.header();
        if header.destination_port != self.cfg.port {
            self.out_of_the_blue(now, &inbound);
            return;
        }
        match first.kind {
            chunk_type::INIT => self.on_init(now, &inbound, first),
            chunk_type::COOKIE_ECHO => self.on_cookie_echo(now, &inbound, first),
            _ => match self.find_for(&inbound, first) {
                Some(index) => self.deliver(now, index, &inbound),
                None => self.out_of_the_blue(now, &inbound),
            },
        }
    }

    /// The association of a packet: by its source, or, for an INIT ACK, by any
    /// address that it lists (section 5.1.2, D).
    #[inline]
    fn find_for(&mut self, inbound: &Inbound<'_>, first: &RawChunk<'_>) -> Option<u32> {
        let port = inbound.packet.header().source_port;
        match self.find(inbound.source.ip(), port) {
            None => self.find_for_init_ack(port, first),
            found => found,
        }
    }

    #[cold]
    fn find_for_init_ack(&mut self, port: u16, first: &RawChunk<'_>) -> Option<u32> {
        if first.kind != chunk_type::INIT_ACK {
            return None;
        }
        let Ok(Chunk::InitAck(init)) = first.parse() else {
            return None;
        };
        let peer = crate::assoc::PeerInit::read(&init).ok()?;
        peer.addresses
            .iter()
            .find_map(|&ip| self.find(ip, port))
            .filter(|&i| matches!(self.table[i as usize].assoc.state, State::CookieWait))
    }

    /// Hands a packet to its association.
    fn deliver(&mut self, now: Instant, index: u32, inbound: &Inbound<'_>) {
        let mut ctx = ctx!(self, now);
        let slot = &mut self.table[index as usize];
        if matches!(slot.assoc.state, State::CookieWait) {
            return self.deliver_in_setup(now, index, inbound);
        }
        let handled = slot.assoc.handle_packet(&mut ctx, inbound, false);
        self.wake(index);
        if handled == Handled::OutOfTheBlue {
            self.out_of_the_blue(now, inbound);
        }
    }

    /// The same while INIT is unanswered: INIT ACK may change the list of
    /// addresses.
    #[cold]
    #[inline(never)]
    fn deliver_in_setup(&mut self, now: Instant, index: u32, inbound: &Inbound<'_>) {
        self.unlink(index);
        let mut ctx = ctx!(self, now);
        let slot = &mut self.table[index as usize];
        let handled = slot.assoc.handle_packet(&mut ctx, inbound, false);
        self.link(index);
        self.wake(index);
        if handled == Handled::OutOfTheBlue {
            self.out_of_the_blue(now, inbound);
        }
    }

    /// Fires the timers that are due.
    pub fn handle_timeout(&mut self, now: Instant) {
        while let Some(&Reverse((at, index, generation))) = self.timers.peek() {
            if at > now {
                break;
            }
            self.timers.pop();
            let Some(slot) = self.table.get_mut(index as usize) else {
                continue;
            };
            if slot.generation != generation || slot.armed != Some(at) {
                continue;
            }
            slot.armed = None;
            if slot.assoc.next_timeout().is_some_and(|t| t <= now) {
                let mut ctx = ctx!(self, now);
                self.table[index as usize].assoc.handle_timeout(&mut ctx);
                self.wake(index);
            } else {
                self.arm(index);
            }
        }
    }

    /// When [`handle_timeout`](Self::handle_timeout) is to be called at the
    /// latest. It may do nothing then: timers that moved back are looked at
    /// again when they would have fired.
    pub fn poll_timeout(&mut self) -> Option<Instant> {
        while let Some(&Reverse((at, index, generation))) = self.timers.peek() {
            let counts = self
                .table
                .get(index as usize)
                .is_some_and(|s| s.generation == generation && s.armed == Some(at));
            if counts {
                return Some(at);
            }
            self.timers.pop();
        }
        None
    }

    /// The earliest timer of all, exactly: [`poll_timeout`](Self::poll_timeout)
    /// may be early. It looks at every association, so it is for simulations
    /// in which the moment at which a timer was set counts.
    #[must_use]
    pub fn earliest_timer(&self) -> Option<Instant> {
        self.table
            .iter()
            .filter_map(|(_, slot)| slot.assoc.next_timeout())
            .min()
    }

    /// Appends the next packet to `buf`, at most one, and says where it goes.
    #[inline]
    pub fn poll_transmit(&mut self, now: Instant, buf: &mut Vec<u8>) -> Option<Transmit> {
        self.next_packet(now, buf, None)
    }

    /// The same, but the payload of the packet's last chunk may be left in
    /// `tail`, which is a reference into a message: the packet is what stands in
    /// `buf` and then `tail`. For drivers that can send a packet from two places.
    /// Where the endpoint fills in checksums itself `tail` stays empty.
    #[inline]
    pub fn poll_transmit_parts(
        &mut self,
        now: Instant,
        buf: &mut Vec<u8>,
        tail: &mut Bytes,
    ) -> Option<Transmit> {
        let whole = self.cfg.checksum == ChecksumMode::Crc32c;
        self.next_packet(now, buf, (!whole).then_some(tail))
    }

    /// Drivers ask until there is nothing: that answer costs no call.
    #[inline]
    fn next_packet(
        &mut self,
        now: Instant,
        buf: &mut Vec<u8>,
        apart: Option<&mut Bytes>,
    ) -> Option<Transmit> {
        if self.ready.is_empty() && self.out.replies.is_empty() {
            return None;
        }
        self.fill_packet(now, buf, apart)
    }

    #[inline(never)]
    fn fill_packet(
        &mut self,
        now: Instant,
        buf: &mut Vec<u8>,
        mut apart: Option<&mut Bytes>,
    ) -> Option<Transmit> {
        if !self.out.replies.is_empty() {
            return self.next_reply(buf);
        }
        while let Some(&index) = self.ready.front() {
            if let Some(slot) = self.table.get_mut(index as usize)
                && slot.queued
            {
                if !slot.assoc.is_quiet() {
                    let mut ctx = Ctx {
                        apart: apart.as_deref_mut(),
                        ..ctx!(self, now)
                    };
                    if let Some(Sent { path, len }) = slot.assoc.poll_transmit(&mut ctx, buf) {
                        // The addresses are copied once, from where they stand.
                        let p = slot.assoc.paths.get(path);
                        return Some(Transmit {
                            source: p.local,
                            destination: p.remote,
                            len: len as usize,
                        });
                    }
                }
                slot.queued = false;
                self.arm(index);
            }
            self.ready.pop_front();
        }
        None
    }

    #[cold]
    fn next_reply(&mut self, buf: &mut Vec<u8>) -> Option<Transmit> {
        let reply = self.out.replies.pop_front()?;
        buf.extend_from_slice(&reply.bytes);
        Some(Transmit {
            source: reply.source,
            destination: reply.destination,
            len: reply.bytes.len(),
        })
    }

    /// The next event.
    pub fn poll_event(&mut self) -> Option<(AssocId, Event)> {
        self.out.events.pop_front()
    }

    /// Begins or ends the recording of observations.
    pub fn observe(&mut self, on: bool) {
        self.out.observe = on;
    }

    /// What was observed since the last call, oldest first; nothing unless
    /// `EndpointConfig::observe` is set.
    pub fn drain_observations(&mut self) -> std::vec::Drain<'_, Observed> {
        self.out.observed.drain(..)
    }
}

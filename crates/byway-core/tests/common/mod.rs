//! Two endpoints, A and Z, in virtual time, with control over every packet between
//! them.
//!
//! Each packet becomes a drawing, such as `A -> INIT -> Z` or `Z -> SACK 5 [7-8] -> A
//! (path 1)`; TSNs count from 1. Tests describe their expectations as lists of
//! drawings.

mod drawing;
pub(crate) mod forger;
pub(crate) mod stranger;

use byway_core::dialect::DialectRef;
use byway_core::policy::{ProbeTimeout, Rack};
use byway_core::time::{Duration, Instant};
use byway_core::{
    AssocId, Bytes, Config, Endpoint, EndpointConfig, Event, Message, Observation, PathId,
    PathState, PathStats, Received,
};
use byway_wire::{Checksum, CommonHeader, PacketBuilder};
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use drawing::Reader;
use std::collections::BTreeMap;

pub(crate) const A: usize = 0;
pub(crate) const Z: usize = 1;
/// SCTP ports of A and Z.
pub(crate) const PORTS: [u16; 2] = [5001, 5002];

/// What happens to a packet.
#[derive(Clone, Debug)]
pub(crate) enum Fate {
    Pass,
    Lose,
    Twice,
    /// Arrives later by this number of milliseconds.
    Late(u64),
    /// Arrives with other bytes.
    Changed(Vec<u8>),
}

/// A packet on its way from an endpoint.
#[derive(Clone, Debug)]
pub(crate) struct Passing {
    pub(crate) from: usize,
    pub(crate) path: usize,
    /// As the receiver sees it.
    pub(crate) source: SocketAddr,
    /// As the sender names it.
    pub(crate) destination: SocketAddr,
    /// Chunks only: `SACK 5 [7-8]`.
    pub(crate) text: String,
    pub(crate) bytes: Vec<u8>,
    /// The network may fragment it.
    pub(crate) may_fragment: bool,
}

type Hand = Box<dyn FnMut(&Passing) -> Fate>;

struct Flying {
    to: usize,
    source: SocketAddr,
    destination: SocketAddr,
    bytes: Vec<u8>,
}

/// A translator (NAT) in front of A: the packets from `inside` to `towards`, or to any
/// address, carry the source `outside`, and what is sent to `outside` arrives inside.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Binding {
    pub(crate) inside: SocketAddr,
    pub(crate) towards: Option<SocketAddr>,
    pub(crate) outside: SocketAddr,
}

/// An address of the outside of a translator.
pub(crate) fn outside(host: u8, port: u16) -> SocketAddr {
    SocketAddr::new(Ipv4Addr::new(203, 0, 113, host).into(), port)
}

pub(crate) struct Pair {
    /// Translators; what no binding covers passes unchanged.
    pub(crate) nat: Vec<Binding>,
    pub(crate) now: Instant,
    pub(crate) ends: [Endpoint; 2],
    pub(crate) ids: [Option<AssocId>; 2],
    pub(crate) paths: usize,
    /// The one-way delay of each path.
    pub(crate) delay_ms: [u64; 4],
    /// Whether messages are read as soon as they can be.
    pub(crate) reading: [bool; 2],
    pub(crate) got: [Vec<Received>; 2],
    pub(crate) reader: Reader,
    /// Draw the time in front of each packet.
    pub(crate) timed: bool,
    /// Every packet that was sent, oldest first.
    pub(crate) sent: Vec<Passing>,
    /// Whether packets are taken in two parts.
    pub(crate) in_parts: bool,
    /// Packets whose second part was not empty.
    pub(crate) parted: usize,
    /// Of the packet that is taken out of an endpoint.
    may_fragment: bool,
    hand: Hand,
    flying: BTreeMap<(Instant, u64), Flying>,
    count: u64,
    drawings: Vec<String>,
    events: [Vec<Event>; 2],
    observed: [Vec<Observation>; 2],
}

/// Settings of both sides: those of RFC 9260, without jitter and without heartbeats of
/// idle paths, so that only the events of the test happen.
pub(crate) fn plain() -> Config {
    let mut c = Config::rfc9260();
    c.hb.jitter = byway_core::config::HbJitter::Off;
    c.hb.enabled = false;
    c.setup.keep_on_restart = true;
    c
}

/// These, with loss detection by time and tail probes.
pub(crate) fn probing() -> Config {
    let mut c = plain();
    c.retransmission.rack = Some(Rack::default());
    c.failover.probe_timeout = Some(ProbeTimeout {
        tail_probe: true,
        ..ProbeTimeout::default()
    });
    c
}

pub(crate) fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

pub(crate) fn address(path: usize, side: usize) -> SocketAddr {
    let ip: IpAddr = Ipv4Addr::new(10, path as u8, 0, side as u8 + 1).into();
    SocketAddr::new(ip, 0)
}

/// An address of IPv6 in place of [`address`].
pub(crate) fn address_of_ipv6(path: usize, side: usize) -> SocketAddr {
    let ip: IpAddr = Ipv6Addr::new(0xfd00, path as u16, 0, 0, 0, 0, 0, side as u16 + 1).into();
    SocketAddr::new(ip, 0)
}

pub(crate) fn addresses(paths: usize, side: usize) -> Vec<SocketAddr> {
    (0..paths).map(|p| address(p, side)).collect()
}

pub(crate) fn endpoint(paths: usize, side: usize, seed: u8, accepted: &Config) -> Endpoint {
    endpoint_with(paths, (side, seed), accepted, None)
}

fn endpoint_with(
    paths: usize,
    (side, seed): (usize, u8),
    accepted: &Config,
    dialect: Option<DialectRef>,
) -> Endpoint {
    let config = EndpointConfig {
        accepted: accepted.clone(),
        dialect,
        observe: true,
        ..EndpointConfig::new(PORTS[side], addresses(paths, side), [seed; 32])
    };
    Endpoint::new(config).expect("the settings of the tests are sound")
}

impl Pair {
    /// Two endpoints with this number of paths and these settings; no association is
    /// set up.
    pub(crate) fn new(paths: usize, config: &Config) -> Pair {
        Pair::of(
            [endpoint(paths, A, 1, config), endpoint(paths, Z, 2, config)],
            paths,
        )
    }

    pub(crate) fn of(ends: [Endpoint; 2], paths: usize) -> Pair {
        Pair {
            nat: Vec::new(),
            now: Instant::ZERO,
            ends,
            ids: [None, None],
            paths,
            delay_ms: [10; 4],
            reading: [true; 2],
            got: [Vec::new(), Vec::new()],
            reader: Reader::default(),
            timed: false,
            sent: Vec::new(),
            in_parts: false,
            parted: 0,
            may_fragment: false,
            hand: Box::new(|_| Fate::Pass),
            flying: BTreeMap::new(),
            count: 0,
            drawings: Vec::new(),
            events: [Vec::new(), Vec::new()],
            observed: [Vec::new(), Vec::new()],
        }
    }

    /// A pair with an established association, on which no data has been sent yet.
    pub(crate) fn up(paths: usize, config: &Config) -> Pair {
        Pair::up_with(paths, config, None)
    }

    /// [`up`](Pair::up) with a dialect.
    pub(crate) fn up_with(paths: usize, config: &Config, dialect: Option<DialectRef>) -> Pair {
        let end = |side, seed| endpoint_with(paths, (side, seed), config, dialect.clone());
        let mut p = Pair::of([end(A, 1), end(Z, 2)], paths);
        p.connect(A, config);
        // The addresses are confirmed one after the other, one each RTO.
        p.run(4000);
        for side in [A, Z] {
            assert_eq!(p.state(side), "ESTABLISHED");
            p.take_events(side);
            p.observed[side].clear();
        }
        p.take_drawings();
        p.sent.clear();
        p
    }

    pub(crate) fn connect(&mut self, side: usize, config: &Config) -> AssocId {
        let peer = addresses(self.paths, 1 - side);
        self.connect_to(side, &peer, config)
    }

    pub(crate) fn connect_to(
        &mut self,
        side: usize,
        peer: &[SocketAddr],
        config: &Config,
    ) -> AssocId {
        let id = self.ends[side]
            .connect(self.now, peer, PORTS[1 - side], config.clone())
            .expect("the peer's addresses are sound");
        self.ids[side] = Some(id);
        self.pump(side);
        id
    }

    pub(crate) fn id(&self, side: usize) -> AssocId {
        self.ids[side].expect("an association was begun or accepted")
    }

    pub(crate) fn state(&self, side: usize) -> &'static str {
        self.ends[side]
            .state_name(self.id(side))
            .unwrap_or("released")
    }

    pub(crate) fn path(&self, side: usize, path: u8) -> PathStats {
        self.ends[side]
            .path_stats(self.id(side), PathId(path))
            .expect("the path exists")
    }

    pub(crate) fn path_state(&self, side: usize, path: u8) -> PathState {
        self.path(side, path).state
    }

    /// From now on this function decides what happens to packets.
    pub(crate) fn hand(&mut self, hand: impl FnMut(&Passing) -> Fate + 'static) {
        self.hand = Box::new(hand);
    }

    /// From now on loses packets for which this is true.
    pub(crate) fn lose(&mut self, mut which: impl FnMut(&Passing) -> bool + 'static) {
        self.hand(move |p| if which(p) { Fate::Lose } else { Fate::Pass });
    }

    /// Loses each packet that begins with one of these texts, once.
    pub(crate) fn lose_once(&mut self, texts: &[&str]) {
        let mut left: Vec<String> = texts.iter().map(|t| (*t).to_owned()).collect();
        self.lose(
            move |p| match left.iter().position(|t| p.text.starts_with(t)) {
                Some(i) => {
                    left.remove(i);
                    true
                }
                None => false,
            },
        );
    }

    /// Loses all packets of these paths, in both directions.
    pub(crate) fn cut(&mut self, paths: &'static [usize]) {
        self.lose(move |p| paths.contains(&p.path));
    }

    pub(crate) fn heal(&mut self) {
        self.hand(|_| Fate::Pass);
    }

    pub(crate) fn send(&mut self, side: usize, message: Message) {
        let (now, id) = (self.now, self.id(side));
        self.ends[side]
            .send(now, id, message)
            .expect("the association takes messages");
        self.pump(side);
    }

    /// Sends `count` messages of `len` bytes on stream 0, all at once.
    pub(crate) fn send_many(&mut self, side: usize, len: usize, count: usize) {
        let (now, id) = (self.now, self.id(side));
        for i in 0..count {
            self.ends[side]
                .send(now, id, Message::new(0, vec![i as u8; len]))
                .expect("the association takes messages");
        }
        self.pump(side);
    }

    pub(crate) fn shutdown(&mut self, side: usize) {
        let (now, id) = (self.now, self.id(side));
        self.ends[side].shutdown(now, id).expect("it lives");
        self.pump(side);
    }

    /// Calls an endpoint, and sends the resulting packets.
    pub(crate) fn with<T>(
        &mut self,
        side: usize,
        run: impl FnOnce(Instant, &mut Endpoint, AssocId) -> T,
    ) -> T {
        let id = self.id(side);
        let result = run(self.now, &mut self.ends[side], id);
        self.pump(side);
        result
    }

    /// Sends a packet to `to`, as if it came from the other side, with the correct tag.
    pub(crate) fn inject(
        &mut self,
        to: usize,
        path: usize,
        write: impl FnOnce(&mut PacketBuilder<'_>),
    ) {
        let tag = self.reader.tags[to];
        self.inject_tagged(to, path, tag, write);
    }

    pub(crate) fn inject_tagged(
        &mut self,
        to: usize,
        path: usize,
        tag: u32,
        write: impl FnOnce(&mut PacketBuilder<'_>),
    ) {
        let bytes = packet(1 - to, tag, write);
        self.inject_bytes(to, address(path, 1 - to), &bytes);
    }

    /// Gives bytes to an endpoint, from any address.
    pub(crate) fn inject_bytes(&mut self, to: usize, source: SocketAddr, bytes: &[u8]) {
        let path = match source.ip() {
            IpAddr::V4(ip) => usize::from(ip.octets()[1]).min(self.paths - 1),
            IpAddr::V6(_) => 0,
        };
        self.ends[to].handle_datagram(self.now, source, address(path, to), bytes);
        self.pump(to);
    }

    /// Takes everything out of an endpoint.
    pub(crate) fn pump(&mut self, side: usize) {
        let mut buffer = Vec::new();
        loop {
            while let Some((id, event)) = self.ends[side].poll_event() {
                if let Event::Up { accepted: true, .. } = event {
                    self.ids[side] = Some(id);
                }
                if event == Event::Readable && self.reading[side] {
                    self.read(side);
                }
                self.events[side].push(event);
            }
            buffer.clear();
            let end = &mut self.ends[side];
            let transmit = if self.in_parts {
                let mut tail = Bytes::new();
                let transmit = end.poll_transmit_parts(self.now, &mut buffer, &mut tail);
                self.parted += usize::from(!tail.is_empty());
                buffer.extend_from_slice(&tail);
                transmit
            } else {
                end.poll_transmit(self.now, &mut buffer)
            };
            let Some(t) = transmit else {
                break;
            };
            assert_eq!(t.len, buffer.len());
            self.may_fragment = t.may_fragment;
            self.fly(side, t.source, t.destination, buffer.clone());
        }
        let observed = self.ends[side].drain_observations();
        self.observed[side].extend(observed.map(|o| o.what));
        if let Some(id) = self.ids[side] {
            self.ends[side].check_totals(id).expect("totals agree");
        }
    }

    pub(crate) fn read(&mut self, side: usize) {
        let id = self.id(side);
        while let Some(r) = self.ends[side].receive(id) {
            self.got[side].push(r);
        }
    }

    /// Source and destination behind the translators.
    fn translate(
        &self,
        from: usize,
        source: SocketAddr,
        destination: SocketAddr,
    ) -> (SocketAddr, SocketAddr) {
        let covers = |b: &&Binding, far| b.towards.is_none_or(|t| t == far);
        let mut bindings = self.nat.iter();
        if from == A {
            let own = bindings.find(|b| b.inside == source && covers(b, destination));
            (own.map_or(source, |b| b.outside), destination)
        } else {
            let own = bindings.find(|b| b.outside == destination && covers(b, source));
            (source, own.map_or(destination, |b| b.inside))
        }
    }

    fn fly(&mut self, from: usize, source: SocketAddr, destination: SocketAddr, bytes: Vec<u8>) {
        let named = destination;
        let (source, destination) = self.translate(from, source, destination);
        let to = 1 - from;
        let path = match destination.ip() {
            IpAddr::V4(ip) => ip.octets()[1].into(),
            IpAddr::V6(ip) => ip.segments()[1].into(),
        };
        let text = self.reader.read(from, &bytes);
        let passing = Passing {
            from,
            path,
            source,
            destination: named,
            text,
            bytes: bytes.clone(),
            may_fragment: self.may_fragment,
        };
        let known = [address(path, to), address_of_ipv6(path, to)].contains(&destination);
        let fate = if known {
            (self.hand)(&passing)
        } else {
            Fate::Lose
        };
        let end = match &fate {
            Fate::Lose => "lost".to_owned(),
            Fate::Pass | Fate::Twice | Fate::Changed(_) | Fate::Late(_) => ["A", "Z"][to].into(),
        };
        let at = if self.timed {
            format!("{} ms ", self.now.as_nanos() / 1_000_000)
        } else {
            String::new()
        };
        let on = match path {
            0 => String::new(),
            n => format!(" (path {n})"),
        };
        let text = &passing.text;
        self.drawings
            .push(format!("{at}{} -> {text} -> {end}{on}", ["A", "Z"][from]));
        self.sent.push(passing);
        let delay = self.delay_ms[path.min(3)];
        let (copies, delay, bytes) = match fate {
            Fate::Lose => return,
            Fate::Pass => (1, delay, bytes),
            Fate::Twice => (2, delay, bytes),
            Fate::Late(more) => (1, delay + more, bytes),
            Fate::Changed(other) => (1, delay, other),
        };
        for _ in 0..copies {
            self.count += 1;
            let key = (self.now + ms(delay), self.count);
            let flying = Flying {
                to,
                source,
                destination,
                bytes: bytes.clone(),
            };
            self.flying.insert(key, flying);
        }
    }

    /// Runs for this number of milliseconds.
    pub(crate) fn run(&mut self, millis: u64) {
        let until = self.now + ms(millis);
        loop {
            let timers = [A, Z].map(|s| {
                (
                    self.ends[s].poll_timeout().unwrap_or(Instant::FAR_FUTURE),
                    s,
                )
            });
            let timer = timers[0].min(timers[1]);
            let packet = self.flying.keys().next().copied();
            match packet {
                Some((at, n)) if at <= timer.0 && at <= until => {
                    self.now = at;
                    let f = self.flying.remove(&(at, n)).expect("found above");
                    self.ends[f.to].handle_datagram(at, f.source, f.destination, &f.bytes);
                    self.pump(f.to);
                }
                _ if timer.0 <= until => {
                    self.now = self.now.max(timer.0);
                    self.ends[timer.1].handle_timeout(self.now);
                    self.pump(timer.1);
                }
                _ => break,
            }
        }
        self.now = until;
    }

    /// What was sent since the last call.
    pub(crate) fn take_drawings(&mut self) -> Vec<String> {
        core::mem::take(&mut self.drawings)
    }

    /// [`take_drawings`](Pair::take_drawings), but only drawings with one of these texts.
    pub(crate) fn take_drawings_with(&mut self, texts: &[&str]) -> Vec<String> {
        let mut all = self.take_drawings();
        all.retain(|d| texts.iter().any(|t| d.contains(t)));
        all
    }

    pub(crate) fn take_events(&mut self, side: usize) -> Vec<Event> {
        core::mem::take(&mut self.events[side])
    }

    pub(crate) fn take_observed(&mut self, side: usize) -> Vec<Observation> {
        core::mem::take(&mut self.observed[side])
    }

    /// Why packets or chunks were discarded since the last call.
    pub(crate) fn take_discards(&mut self, side: usize) -> Vec<&'static str> {
        let all = self.take_observed(side);
        let why = |o: &Observation| match o {
            Observation::Discarded { why } => Some(*why),
            _ => None,
        };
        all.iter().filter_map(why).collect()
    }

    /// Stream and length of the messages that were read.
    pub(crate) fn take_got(&mut self, side: usize) -> Vec<(u16, usize)> {
        let got = core::mem::take(&mut self.got[side]);
        got.iter().map(|r| (r.stream, r.payload.len())).collect()
    }

    /// A message each way arrives.
    pub(crate) fn assert_carries_data(&mut self) {
        self.send_many(A, 10, 1);
        self.send_many(Z, 20, 1);
        self.run(1000);
        let got = (self.take_got(Z), self.take_got(A));
        assert_eq!(got, (vec![(0, 10)], vec![(0, 20)]));
    }

    /// Replaces an endpoint with one that has no state.
    pub(crate) fn replace(&mut self, side: usize, seed: u8, config: &Config) {
        self.ends[side] = endpoint(self.paths, side, seed, config);
        self.ids[side] = None;
    }
}

/// A packet from `from` to the other side.
pub(crate) fn packet(from: usize, tag: u32, write: impl FnOnce(&mut PacketBuilder<'_>)) -> Vec<u8> {
    let mut bytes = Vec::new();
    let header = CommonHeader {
        source_port: PORTS[from],
        destination_port: PORTS[1 - from],
        verification_tag: tag,
    };
    let mut p = PacketBuilder::new(&mut bytes, header);
    write(&mut p);
    p.finish(Checksum::Crc32c);
    bytes
}

/// Asserts a list of drawings.
#[track_caller]
pub(crate) fn assert_drawn(found: &[String], expected: &[&str]) {
    if found != expected {
        let list = found.iter().map(|d| format!("        \"{d}\",\n"));
        panic!("drawn otherwise:\n{}", list.collect::<String>());
    }
}

/// The one reason for which the association was lost.
#[track_caller]
pub(crate) fn loss(events: &[Event]) -> String {
    let mut all = events.iter().filter_map(|e| match e {
        Event::Lost { reason, .. } => Some(reason.to_string()),
        _ => None,
    });
    let first = all.next().expect("the association was lost");
    assert_eq!(all.next(), None, "it was lost twice");
    first
}

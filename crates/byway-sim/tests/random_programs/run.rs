//! Runs a program and watches over it.

use crate::book::{Book, pattern};
use crate::program::{Op, PathPlan, Program};
use byway_core::time::{Duration, Instant};
use byway_core::{AssocId, ChecksumMode, Endpoint, EndpointConfig, Event, Message, PathId};
use byway_sim::net::{
    Corrupt, Duplicate, Event as NetEvent, LinkChange, LinkConfig, LossModel, Network, NodeId,
    Outgoing, QueueLimit, Rate, Reorder, TimerId, TopologyBuilder,
};
use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

/// After the last step: more than Association.Max.Retrans timeouts of RTO.Max,
/// and T5 behind them.
const PATIENCE: Duration = Duration::from_secs(8 * 3600);
/// Events of the network in one run at most: a run that needs more goes round
/// in circles.
const MOST_EVENTS: u64 = 3_000_000;
const PORT: u16 = 5000;

/// What came of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Outcome {
    /// Of all packets, events and observations.
    hash: u64,
    events: u64,
    ended_at: Instant,
    /// Messages that never came, whether a failure was reported or not.
    pub(crate) missing: usize,
    /// Reports that an association was lost or restarted, before the shutdown
    /// at the end. (There the last packet may be an ABORT for a packet that
    /// came late to a side that was done.)
    pub(crate) failures: Vec<String>,
}

struct Side {
    endpoint: Endpoint,
    node: NodeId,
    timer: TimerId,
    current: Option<AssocId>,
    /// All that were not released.
    ids: Vec<AssocId>,
    reading: bool,
    lives: u8,
    /// Its addresses, one bit for each.
    addresses: u8,
}

impl Side {
    /// Whether an address of this host is one of the side's now.
    fn has(&self, address: IpAddr) -> bool {
        match address {
            IpAddr::V4(ip) => self.addresses >> ip.octets()[1] & 1 == 1,
            IpAddr::V6(_) => false,
        }
    }
}

struct Run<'a> {
    program: &'a Program,
    net: Network,
    sides: [Side; 2],
    book: Book,
    hash: DefaultHasher,
    events: u64,
    failures: Vec<String>,
    /// Both sides shut down all that they have, and what a peer begins now.
    closing: bool,
}

/// Runs the program to its end; panics when a promise is broken.
pub(crate) fn run(program: &Program) -> Outcome {
    let mut run = Run::new(program);
    run.connect(0);
    if program.both_connect {
        run.connect(1);
    }
    let mut at = Instant::ZERO;
    for step in &program.steps {
        at += Duration::from_millis(step.wait_ms.into());
        run.advance(at, |_| false);
        run.perform(step.side, &step.op, at);
    }
    run.finish(at)
}

fn address(path: usize, side: usize) -> IpAddr {
    Ipv4Addr::new(10, path as u8, 0, side as u8 + 1).into()
}

fn link(plan: &PathPlan, direction: u8) -> LinkConfig {
    let percent = |n: u8| f64::from(n) / 100.0;
    let rate = match plan.queue {
        0 => Rate::default(),
        _ => Rate::mbps(10),
    };
    let mut link = LinkConfig::new(rate, Duration::from_millis(plan.delay_ms.into()));
    if plan.queue > 0 {
        link = link.queue(QueueLimit::Packets(plan.queue.into()));
    }
    link.loss = LossModel::Uniform(percent(plan.loss));
    link.reorder = (plan.reorder > 0).then(|| Reorder {
        probability: percent(plan.reorder),
        max_extra: Duration::from_millis(150),
    });
    link.duplicate = (plan.duplicate > 0).then(|| Duplicate {
        probability: percent(plan.duplicate),
    });
    link.corrupt = (plan.corrupt > 0).then(|| Corrupt {
        probability: percent(plan.corrupt),
        max_bits: 3,
    });
    for &(from, length, which) in &plan.outages {
        if which == direction || which == 2 {
            let from = Instant::from_millis(u64::from(from) * 100);
            link = link.at(from, LinkChange::DOWN);
            if length > 0 {
                let until = from + Duration::from_millis(u64::from(length) * 100);
                link = link.at(until, LinkChange::Up);
            }
        }
    }
    link
}

impl Run<'_> {
    fn new(program: &Program) -> Run<'_> {
        let n = program.paths.len();
        let mut topology = TopologyBuilder::new();
        let nodes = [0, 1].map(|side| {
            let addresses: Vec<IpAddr> = (0..n).map(|p| address(p, side)).collect();
            topology.add_host(["A", "Z"][side], &addresses)
        });
        for (p, plan) in program.paths.iter().enumerate() {
            let ends = nodes.map(|node| node.interface(p as u8));
            topology.add_link(ends[0], ends[1], link(plan, 0));
            topology.add_link(ends[1], ends[0], link(plan, 1));
        }
        let mut net = topology
            .build(program.seed.into())
            .expect("the plan is a sound topology");
        let sides = [0, 1].map(|side| Side {
            endpoint: endpoint(program, side, 0),
            node: nodes[side],
            timer: net.add_timer(nodes[side], side as u64),
            current: None,
            ids: Vec::new(),
            reading: true,
            lives: 0,
            addresses: u8::MAX,
        });
        Run {
            program,
            net,
            sides,
            book: Book::default(),
            hash: DefaultHasher::new(),
            events: 0,
            failures: Vec::new(),
            closing: false,
        }
    }

    fn connect(&mut self, side: usize) {
        let now = self.net.now();
        let peers: Vec<SocketAddr> = (0..self.program.paths.len())
            .map(|p| SocketAddr::new(address(p, 1 - side), 0))
            .collect();
        let config = self.program.settings[side].config();
        let s = &mut self.sides[side];
        if let Ok(id) = s.endpoint.connect(now, &peers, PORT, config) {
            s.current = Some(id);
            s.ids.push(id);
            self.book.begin(side);
        }
        self.pump(side, now);
    }

    /// Handles the network's events up to `until`, or until `done`.
    fn advance(&mut self, until: Instant, done: impl Fn(&Run<'_>) -> bool) -> bool {
        while !done(self) {
            let Some((now, event)) = self.net.pop_until(until) else {
                return done(self);
            };
            self.events += 1;
            assert!(self.events < MOST_EVENTS, "the run does not end");
            let side = match event {
                NetEvent::Arrived(a) => {
                    let side = usize::from(a.node == self.sides[1].node);
                    let lives = self.sides[side].has(a.dst);
                    if lives && (self.program.checksums || !a.corrupted) {
                        let from = SocketAddr::new(a.src, 0);
                        let to = SocketAddr::new(a.dst, 0);
                        self.sides[side]
                            .endpoint
                            .handle_datagram(now, from, to, &a.payload);
                    }
                    self.net.recycle(a.payload);
                    side
                }
                NetEvent::Timer { token, .. } => {
                    let side = token as usize;
                    self.sides[side].endpoint.handle_timeout(now);
                    side
                }
            };
            self.pump(side, now);
        }
        true
    }

    /// Takes everything out of an endpoint.
    fn pump(&mut self, side: usize, now: Instant) {
        let mut buffer = self.net.buffer();
        loop {
            while let Some((id, event)) = self.sides[side].endpoint.poll_event() {
                format!("{side} {now:?} {event:?}").hash(&mut self.hash);
                self.on_event(side, id, &event);
            }
            let Some(t) = self.sides[side].endpoint.poll_transmit(now, &mut buffer) else {
                break;
            };
            (side, now, t.source, t.destination).hash(&mut self.hash);
            buffer.hash(&mut self.hash);
            let source = t.source.ip();
            assert!(
                self.sides[side].has(source),
                "{source} is no address now {now:?} {side} {:x?}",
                &buffer[12..]
            );
            let packet = Outgoing::new(source, t.destination.ip(), buffer);
            self.net
                .send(now, packet)
                .expect("paths lie between addresses of the two hosts");
            buffer = self.net.buffer();
        }
        self.net.recycle(buffer);
        let s = &mut self.sides[side];
        for o in s.endpoint.drain_observations() {
            format!("{o:?}").hash(&mut self.hash);
        }
        for &id in &s.ids {
            let totals = s.endpoint.check_totals(id);
            if let Err(wrong) = totals.and_then(|()| s.endpoint.check_progress(id)) {
                panic!("side {side} at {now:?}: {wrong}");
            }
        }
        let next = s.endpoint.poll_timeout();
        assert!(
            next.is_none_or(|t| t >= now),
            "a timer of side {side} was due at {next:?}, and it is {now:?}"
        );
        self.net.set_timer(s.timer, next);
    }

    fn on_event(&mut self, side: usize, id: AssocId, event: &Event) {
        match event {
            Event::Up { accepted: true, .. } => {
                self.sides[side].current = Some(id);
                self.sides[side].ids.push(id);
                self.book.begin(side);
                if self.closing {
                    let now = self.net.now();
                    // One that is on its way out already is as good.
                    let _ = self.sides[side].endpoint.shutdown(now, id);
                }
            }
            Event::Readable if self.sides[side].reading => self.read(side, id),
            Event::Restarted { .. } => {
                self.failures.push(format!("{side}: restarted by the peer"));
                self.read(side, id);
                self.book.forget_parts(side, id);
                self.book.excuse(Some(side));
                self.book.begin(side);
            }
            Event::Lost {
                reason,
                undelivered_messages,
            } => {
                let now = self.net.now();
                self.failures.push(format!("{side} at {now:?}: {reason}"));
                self.check_undelivered(side, id, *undelivered_messages);
                self.book.excuse(None);
                self.end(side, id);
            }
            Event::ShutdownComplete => self.end(side, id),
            _ => {}
        }
    }

    /// What a lost association gives back is what was sent, from the first byte on that was not
    /// acknowledged; each message once.
    fn check_undelivered(&mut self, side: usize, id: AssocId, told: u64) {
        let endpoint = &mut self.sides[side].endpoint;
        let all: Vec<_> = core::iter::from_fn(|| endpoint.take_undelivered(id)).collect();
        assert_eq!(all.len() as u64, told, "messages that were not delivered");
        endpoint.check_totals(id).expect("totals agree");
        let mut seen = BTreeSet::new();
        for u in all {
            assert!(seen.insert(u.ppid), "message {} twice", u.ppid);
            let from = u.acknowledged as usize;
            let whole = pattern(u.ppid, from + u.payload.len());
            assert_eq!(u.payload, whole[from..], "bytes of message {}", u.ppid);
            assert!(u.sent || from == 0, "acknowledged and never sent");
            self.book.not_delivered(&u);
        }
    }

    fn end(&mut self, side: usize, id: AssocId) {
        self.read(side, id);
        let now = self.net.now();
        let s = &mut self.sides[side];
        s.endpoint.release(now, id);
        s.ids.retain(|i| *i != id);
        self.book.forget_parts(side, id);
        if s.current == Some(id) {
            s.current = None;
        }
        assert!(s.endpoint.receive(id).is_none(), "a released name reads");
        assert!(
            s.endpoint.shutdown(now, id).is_err(),
            "a released name obeys"
        );
    }

    fn read(&mut self, side: usize, id: AssocId) {
        while let Some(r) = self.sides[side].endpoint.receive(id) {
            (r.ppid, r.payload.len()).hash(&mut self.hash);
            let mixed = self.sides[side].endpoint.interleaves(id);
            self.book.received(side, (id, mixed), &r);
        }
    }

    fn perform(&mut self, side: usize, op: &Op, now: Instant) {
        // Refusals are part of the game: a path that does not exist, an
        // association that shuts down. What was accepted counts.
        let endpoint = &mut self.sides[side].endpoint;
        let current = self.sides[side].current;
        match (op, current) {
            (Op::Restart, _) => self.restart(side),
            (Op::Connect, _) => self.connect(side),
            (Op::Reading(on), _) => {
                self.sides[side].reading = *on;
                if *on {
                    for id in self.sides[side].ids.clone() {
                        self.read(side, id);
                    }
                }
            }
            (Op::Send { .. }, Some(id)) => self.send(side, id, op, now),
            (Op::SetPrimary(p), Some(id)) => {
                let _ = endpoint.set_primary(now, id, PathId(*p));
            }
            (Op::Heartbeat(p), Some(id)) => {
                let _ = endpoint.request_heartbeat(now, id, PathId(*p));
            }
            (Op::EnableHeartbeats(p, on), Some(id)) => {
                let on = *on || self.program.settings[side].sack & 32 != 0;
                let _ = endpoint.enable_heartbeat(now, id, PathId(*p), on);
            }
            (Op::Addresses(mask), _) => self.change_addresses(side, *mask, now),
            (Op::PeerPrimary(p), Some(id)) => {
                let local = address(usize::from(*p), side);
                let _ = endpoint.set_peer_primary(now, id, local);
            }
            (Op::Shutdown, Some(id)) => {
                let _ = endpoint.shutdown(now, id);
            }
            (Op::Abort, Some(id)) => {
                let _ = endpoint.abort(now, id, b"as the program says");
            }
            (_, None) => {}
        }
        self.pump(side, now);
    }

    fn send(&mut self, side: usize, id: AssocId, op: &Op, now: Instant) {
        let Op::Send {
            stream,
            len,
            count,
            unordered,
            path,
        } = *op
        else {
            return;
        };
        for _ in 0..count {
            let Some(ppid) = self.book.next(side) else {
                return;
            };
            let mut m = Message::new(stream.into(), pattern(ppid, len as usize));
            m.ppid = ppid;
            m.unordered = unordered;
            m.path = path.map(PathId);
            m.immediate_ack = stream == 3;
            if self.sides[side].endpoint.send(now, id, m).is_ok() {
                self.book.sent(side, stream.into(), len as usize, unordered);
            }
        }
    }

    fn change_addresses(&mut self, side: usize, mask: u8, now: Instant) {
        let all = 0..self.program.paths.len();
        let with = |set: bool| all.clone().filter(move |p| (mask >> p & 1 == 1) == set);
        let come: Vec<SocketAddr> = with(true)
            .map(|p| SocketAddr::new(address(p, side), 0))
            .collect();
        let go: Vec<IpAddr> = with(false).map(|p| address(p, side)).collect();
        let s = &mut self.sides[side];
        // Refused if none would be left.
        if s.endpoint.change_local_addresses(now, &come, &go).is_ok() {
            s.addresses = mask;
        }
    }

    fn restart(&mut self, side: usize) {
        self.book.excuse(None);
        self.failures.push(format!("{side}: replaced"));
        let s = &mut self.sides[side];
        s.lives += 1;
        s.addresses = u8::MAX;
        s.endpoint = endpoint(self.program, side, s.lives);
        s.current = None;
        for id in core::mem::take(&mut s.ids) {
            self.book.forget_parts(side, id);
        }
        if side == 0 {
            self.connect(0);
        }
    }

    /// Lets both sides read, deliver all, and shut down.
    fn finish(mut self, at: Instant) -> Outcome {
        for side in 0..2 {
            self.perform(side, &Op::Reading(true), at);
        }
        let limit = at + PATIENCE;
        let drained = self.advance(limit, |run| {
            run.sides.iter().all(|s| {
                s.ids.iter().all(|&id| {
                    s.endpoint.buffered(id).is_none_or(|b| b == 0)
                        && s.endpoint.state_name(id) != Some("COOKIE-WAIT")
                        && s.endpoint.state_name(id) != Some("COOKIE-ECHOED")
                })
            })
        });
        assert!(drained, "neither delivered nor lost: {:?}", self.states());
        let failures = self.failures.clone();
        let now = self.net.now();
        self.closing = true;
        for side in 0..2 {
            for id in self.sides[side].ids.clone() {
                // One that is on its way out already is as good.
                let _ = self.sides[side].endpoint.shutdown(now, id);
            }
            self.pump(side, now);
        }
        let over = self.advance(now + PATIENCE, |run| {
            run.sides
                .iter()
                .all(|s| s.endpoint.association_count() == 0)
        });
        assert!(over, "an association does not end: {:?}", self.states());
        assert_eq!(self.book.missing(false), [], "(epoch, message) never came");
        Outcome {
            hash: self.hash.finish(),
            events: self.events,
            ended_at: self.net.now(),
            missing: self.book.missing(true).len(),
            failures,
        }
    }

    fn states(&self) -> Vec<String> {
        let of = |e: &Endpoint, id: AssocId| {
            let (state, buffered) = (e.state_name(id), e.buffered(id));
            format!("{state:?}, {buffered:?} buffered, {:?}", e.stats(id))
        };
        self.sides
            .iter()
            .flat_map(|s| s.ids.iter().map(move |id| of(&s.endpoint, *id)))
            .collect()
    }
}

fn endpoint(program: &Program, side: usize, life: u8) -> Endpoint {
    let local: Vec<SocketAddr> = (0..program.paths.len())
        .map(|p| SocketAddr::new(address(p, side), 0))
        .collect();
    let mut seed = [0; 32];
    seed[..3].copy_from_slice(&[program.seed, side as u8, life]);
    let config = EndpointConfig {
        accepted: program.settings[side].config(),
        checksum: if program.checksums {
            ChecksumMode::Crc32c
        } else {
            ChecksumMode::Offloaded
        },
        observe: true,
        ..EndpointConfig::new(PORT, local, seed)
    };
    Endpoint::new(config).expect("every choice of settings is sound")
}

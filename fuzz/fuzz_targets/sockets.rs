//! The state of the socket layer (`byway`) without sockets: two hosts whose processes
//! end and begin again on the same ports, with losses, copies, invented packets, readers
//! of single streams, handles that are dropped, addresses that go.
//!
//! Every message says which process sent it, and which of its stream it is. So a reader
//! proves with each message that no association joins the bytes of two processes, and
//! that no stream skips, repeats or swaps a message.
#![no_main]

#[path = "world.rs"]
#[allow(dead_code, reason = "the other targets use the rest of it")]
mod world;

use byway::fuzzing::{Datagram, Node};
use byway_core::time::Instant;
use byway_core::{AssocId, Config, EndpointConfig, Message, SendFailure};
use byway_wire::{Checksum, PacketBuilder};
use libfuzzer_sys::fuzz_target;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use world::{Bytes, address};

const PATHS: u8 = 2;
/// UDP port of a stranger behind the address of a peer.
const STRANGER: u16 = 9900;

/// A handle of an association.
#[derive(Default)]
struct Handle {
    /// The process at the other end, once a message has told it.
    peer: Option<u8>,
    /// Messages sent and received, by stream.
    sent: BTreeMap<u16, u8>,
    got: BTreeMap<u16, u8>,
    /// Streams whose last message has come in part.
    begun: BTreeSet<u16>,
}

/// A process on a host.
struct Process {
    node: Node,
    /// Of both hosts together, the how many-th.
    number: u8,
    handles: BTreeMap<AssocId, Handle>,
}

struct World {
    now: Instant,
    hosts: [Process; 2],
    wire: VecDeque<(usize, Datagram)>,
    tags: [u32; 2],
    processes: u8,
}

fn config(flavour: u8) -> Config {
    let mut c = [Config::rfc9260, Config::byway][usize::from(flavour & 1)]();
    // A silent peer is given up after some seconds and not after many minutes.
    c.rto.max = c.rto.initial;
    c.failure.association_max_retrans = 4;
    c.failure.path_max_retrans = 2;
    if flavour & 2 != 0 {
        c.buffer.receive = 4000;
        c.buffer.send = 6000;
    }
    // Parts of messages of several streams take turns then, and readers get them so.
    c.streams.interleaving = flavour & 4 != 0;
    c
}

fn process(host: usize, number: u8, flavour: u8) -> Process {
    let local = (0..PATHS).map(|p| at(p, host)).collect();
    let config = EndpointConfig {
        accepted: config(flavour),
        max_memory: 1 << 20,
        ..EndpointConfig::new(5000, local, [number; 32])
    };
    Process {
        node: Node::new(config, 3),
        number,
        handles: BTreeMap::new(),
    }
}

/// The address with a UDP port, as sockets have it.
fn at(path: u8, host: usize) -> std::net::SocketAddr {
    let mut address = address(path, host);
    address.set_port(9899);
    address
}

impl World {
    fn new(flavour: u8) -> World {
        World {
            now: Instant::ZERO,
            hosts: [0, 1].map(|host| process(host, host as u8, flavour >> (4 * host))),
            wire: VecDeque::new(),
            tags: [0, 0],
            processes: 2,
        }
    }

    fn turn(&mut self, host: usize) {
        let now = self.now;
        let process = &mut self.hosts[host];
        let (datagrams, _) = process.node.turn(now);
        assert!(
            datagrams.len() < 10_000,
            "one input is answered without end"
        );
        for datagram in datagrams {
            if let Some(tag) = datagram.bytes.get(4..8).filter(|t| **t != [0; 4]) {
                self.tags[1 - host] = u32::from_be_bytes(tag.try_into().expect("four bytes"));
            }
            if self.wire.len() < 400 {
                self.wire.push_back((1 - host, datagram));
            }
        }
        for id in process.handles.keys() {
            process.node.check(*id);
        }
    }

    fn deliver(&mut self, again: bool) {
        let Some((to, datagram)) = self.wire.pop_front() else {
            return;
        };
        let Some(place) = (0..PATHS).position(|p| at(p, to) == datagram.destination) else {
            self.reaches_stranger(to, &datagram);
            return;
        };
        let node = &mut self.hosts[to].node;
        node.arrive(self.now, datagram.source, place, &datagram.bytes);
        if again {
            self.wire.push_back((to, datagram));
        }
        self.turn(to);
    }

    /// A packet to the stranger that invented one: its source is asked whether the peer is there now, and
    /// is told what its packet was no part of. It gets no data.
    fn reaches_stranger(&self, to: usize, datagram: &Datagram) {
        let known = (0..PATHS).any(|p| {
            let mut stranger = at(p, to);
            stranger.set_port(STRANGER);
            stranger == datagram.destination
        });
        assert!(known, "{} has said nothing", datagram.destination);
        let packet = byway_wire::Packet::parse(&datagram.bytes).expect("well-formed");
        let data = packet
            .chunks()
            .any(|chunk| chunk.is_ok_and(|c| c.kind == 0));
        assert!(!data, "DATA to {}", datagram.destination);
    }

    /// The process ends without a word, and another begins on the same ports.
    fn replace(&mut self, host: usize, flavour: u8) {
        self.hosts[host] = process(host, self.processes, flavour);
        self.processes = self.processes.wrapping_add(1);
    }

    fn invent(&mut self, b: &mut Bytes<'_>) {
        let how = b.byte();
        let to = usize::from(how & 1);
        // No DATA: its bytes would be nobody's.
        let kind = 1 + b.byte() % 15;
        let tag = if kind == 1 { 0 } else { self.tags[to] };
        let mut bytes = Vec::new();
        let header = byway_wire::CommonHeader {
            source_port: 5000,
            destination_port: 5000,
            verification_tag: tag,
        };
        let mut p = PacketBuilder::new(&mut bytes, header);
        p.raw(kind, how >> 4, b.take(usize::from(how >> 1)));
        p.finish(Checksum::Crc32c);
        let mut from = at(how >> 7, 1 - to);
        // A stranger behind the same address.
        if how >> 6 & 1 == 1 {
            from.set_port(STRANGER);
        }
        self.hosts[to].node.arrive(self.now, from, 0, &bytes);
        self.turn(to);
    }

    fn read(&mut self, host: usize, id: AssocId, stream: Option<u16>) {
        let now = self.now;
        let Process { node, handles, .. } = &mut self.hosts[host];
        let handle = handles.get_mut(&id).expect("it is held");
        while let Some(received) = node.receive(now, id, stream) {
            // A long message of which a small receive buffer held a part: only the first one has the head.
            let goes_on = handle.begun.remove(&received.stream);
            assert_eq!(received.first, !goes_on, "stream {}", received.stream);
            if !received.last {
                handle.begun.insert(received.stream);
            }
            if goes_on {
                continue;
            }
            let [from, to, stream, number] = received.payload[..4] else {
                panic!("a message is cut short");
            };
            assert_eq!(usize::from(to), host);
            assert_eq!(
                *handle.peer.get_or_insert(from),
                from,
                "two processes in one"
            );
            assert_eq!(u16::from(stream), received.stream);
            let next = handle.got.entry(received.stream).or_default();
            assert_eq!(number, *next, "stream {stream}");
            *next = next.wrapping_add(1);
        }
    }

    fn command(&mut self, b: &mut Bytes<'_>) {
        let what = b.byte();
        let host = usize::from(what & 1);
        let now = self.now;
        if what >> 1 & 7 == 0 {
            while let Some(id) = self.hosts[host].node.accept() {
                self.hosts[host].handles.insert(id, Handle::default());
            }
        }
        let process = &mut self.hosts[host];
        let Some(id) = process.handles.keys().next_back().copied() else {
            return;
        };
        let stream = u16::from(what >> 4 & 3);
        let handle = process.handles.get_mut(&id).expect("it is held");
        match what >> 1 & 7 {
            1 | 2 => {
                let next = handle.sent.entry(stream).or_default();
                let mut bytes = vec![process.number, 1 - host as u8, stream as u8, *next];
                bytes.resize(4 + (usize::from(b.byte()) << (what >> 6)), 0);
                if process.node.send(now, id, &Message::new(stream, bytes)) {
                    *next = next.wrapping_add(1);
                }
            }
            3 => self.read(host, id, None),
            4 => self.read(host, id, Some(stream)),
            5 => process.node.open_stream(id, stream),
            6 if what & 0x40 == 0 => {
                process.handles.remove(&id);
                process.node.drop_association(now, id);
            }
            6 if what & 0x30 == 0 => process.node.abort(now, id),
            6 => process.node.shutdown(now, id),
            7 if what & 0x70 == 0x60 => {
                process.node.charge(now, id, usize::from(b.byte()) << 11);
            }
            7 if what & 0x70 == 0x70 => process.node.lose_address(now, at(1, host).ip()),
            7 => {
                if let Some((to, datagram)) = self.wire.pop_back()
                    && to != host
                {
                    process
                        .node
                        .send_failed(now, &datagram, SendFailure::Unreachable);
                }
            }
            _ => {}
        }
        self.turn(host);
    }

    fn connect(&mut self, host: usize, flavour: u8) {
        let peers: Vec<_> = (0..PATHS).map(|p| at(p, 1 - host)).collect();
        let process = &mut self.hosts[host];
        if let Some(id) = process.node.connect(self.now, &peers, config(flavour)) {
            process.handles.insert(id, Handle::default());
        }
        self.turn(host);
    }

    fn timeout(&mut self, host: usize) {
        let (datagrams, due) = self.hosts[host].node.turn(self.now);
        self.wire
            .extend(datagrams.into_iter().map(|d| (1 - host, d)));
        if let Some(due) = due {
            self.now = self.now.max(due);
        }
        self.turn(host);
    }

    /// Closed by their applications, both hosts must hold nothing.
    fn end(mut self, abort: bool) {
        for host in [0, 1] {
            let process = &mut self.hosts[host];
            process.node.close(self.now, abort);
            for id in core::mem::take(&mut process.handles).into_keys() {
                process.node.drop_association(self.now, id);
            }
        }
        // With the other side gone, a shutdown ends by its timers, T5-shutdown-guard the last.
        let limit = self.now + byway_core::time::Duration::from_secs(3600);
        for host in [0, 1] {
            let mut turns = 0;
            while !self.hosts[host].node.finished() {
                self.timeout(host);
                turns += 1;
                assert!(self.now < limit, "it does not end");
                assert!(turns < 1_000_000, "its timers do not move: {:?}", self.now);
            }
            assert_eq!(self.hosts[host].node.held().0, 0, "associations are left");
        }
    }
}

fuzz_target!(|data: &[u8]| {
    let mut b = Bytes(data);
    let flavour = b.byte();
    let mut w = World::new(flavour);
    w.connect(0, flavour);
    while !b.0.is_empty() {
        let op = b.byte();
        match op >> 5 {
            0 | 1 => (0..=op & 15).for_each(|_| w.deliver(false)),
            2 if op & 16 == 0 => drop(w.wire.pop_front()),
            2 => w.deliver(true),
            3 if op & 16 == 0 => w.invent(&mut b),
            3 if op & 8 == 0 => w.replace(usize::from(op & 1), flavour),
            3 => w.connect(usize::from(op & 1), flavour),
            4 | 5 => w.command(&mut b),
            6 => w.timeout(usize::from(op & 1)),
            _ => w.now += byway_core::time::Duration::from_millis(u64::from(op & 31) * 10),
        }
    }
    let abort = flavour & 0x80 != 0;
    w.end(abort);
});

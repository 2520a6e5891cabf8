//! The input drives two endpoints through commands, losses, changed and invented
//! packets, and time. After every step the running totals must agree with their
//! parts, and at the end both endpoints must become idle.
#![no_main]

use byway_core::time::{Duration, Instant};
use byway_core::{AssocId, Config, Endpoint, EndpointConfig, Event, Message, PathId};
use byway_wire::{Checksum, CommonHeader, PacketBuilder};
use libfuzzer_sys::fuzz_target;
use std::collections::VecDeque;
use std::net::SocketAddr;

const PATHS: u8 = 2;

struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else {
            return 0;
        };
        self.0 = rest;
        *first
    }

    fn word(&mut self) -> u32 {
        u32::from_be_bytes([self.byte(), self.byte(), self.byte(), self.byte()])
    }

    fn take(&mut self, len: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at(len.min(self.0.len()));
        self.0 = rest;
        taken
    }
}

struct Flying {
    to: usize,
    source: SocketAddr,
    destination: SocketAddr,
    bytes: Vec<u8>,
}

struct World {
    now: Instant,
    ends: [Endpoint; 2],
    ids: [Vec<AssocId>; 2],
    wire: VecDeque<Flying>,
    /// The verification tag of the last packet to each side.
    tags: [u32; 2],
}

fn address(path: u8, side: usize) -> SocketAddr {
    SocketAddr::new([10, path, 0, side as u8 + 1].into(), 0)
}

fn config(flavour: u8) -> Config {
    let mut c = if flavour & 1 == 0 {
        Config::rfc9260()
    } else {
        Config::rfc2960()
    };
    if flavour & 2 != 0 {
        c.buffer.receive = 3000;
        c.buffer.send = 5000;
    }
    if flavour & 4 != 0 {
        c.pmtu.0 = 512;
    }
    c.setup.outbound_streams = 10;
    c
}

impl World {
    fn new(flavour: u8) -> World {
        let ends = [0, 1].map(|side| {
            let local = (0..PATHS).map(|p| address(p, side)).collect();
            let config = EndpointConfig {
                accepted: config(flavour >> (4 * side)),
                // With a right checksum, so that changed packets are not dropped early.
                checksum: byway_core::ChecksumMode::Offloaded,
                observe: true,
                ..EndpointConfig::new(5000, local, [side as u8; 32])
            };
            Endpoint::new(config).expect("the settings are sound")
        });
        World {
            now: Instant::ZERO,
            ends,
            ids: [Vec::new(), Vec::new()],
            wire: VecDeque::new(),
            tags: [0, 0],
        }
    }

    fn connect(&mut self, side: usize, flavour: u8) {
        let peers: Vec<SocketAddr> = (0..PATHS).map(|p| address(p, 1 - side)).collect();
        if let Ok(id) = self.ends[side].connect(self.now, &peers, 5000, config(flavour)) {
            self.ids[side].push(id);
        }
    }

    fn pump(&mut self, side: usize) {
        let mut bytes = Vec::new();
        let mut packets = 0;
        loop {
            while let Some((id, event)) = self.ends[side].poll_event() {
                if let Event::Up { accepted: true, .. } = event {
                    self.ids[side].push(id);
                }
            }
            bytes.clear();
            let Some(t) = self.ends[side].poll_transmit(self.now, &mut bytes) else {
                break;
            };
            packets += 1;
            assert!(packets < 10_000, "one input is answered without end");
            assert_eq!(t.len, bytes.len());
            if let Some(tag) = bytes.get(4..8).filter(|t| **t != [0; 4]) {
                self.tags[1 - side] = u32::from_be_bytes(tag.try_into().expect("four bytes"));
            }
            if self.wire.len() < 400 {
                self.wire.push_back(Flying {
                    to: 1 - side,
                    source: t.source,
                    destination: t.destination,
                    bytes: bytes.clone(),
                });
            }
        }
        self.ends[side].drain_observations();
        for &id in &self.ids[side] {
            self.ends[side].check_totals(id).expect("totals agree");
        }
    }

    fn deliver(&mut self, mut change: impl FnMut(&mut Vec<u8>)) {
        if let Some(mut f) = self.wire.pop_front() {
            change(&mut f.bytes);
            self.ends[f.to].handle_datagram(self.now, f.source, f.destination, &f.bytes);
            self.pump(f.to);
        }
    }

    /// A packet of one arbitrary chunk, with the right tag or an arbitrary one.
    fn invent(&mut self, b: &mut Bytes<'_>) {
        let how = b.byte();
        let to = usize::from(how & 1);
        let tag = if how & 2 == 0 {
            self.tags[to]
        } else {
            b.word()
        };
        let (kind, flags) = (b.byte() % 16, b.byte());
        let len = usize::from(b.byte());
        let value = b.take(len).to_vec();
        let mut bytes = Vec::new();
        let header = CommonHeader {
            source_port: 5000,
            destination_port: 5000,
            verification_tag: if kind == 1 { 0 } else { tag },
        };
        let mut p = PacketBuilder::new(&mut bytes, header);
        p.raw(if how & 4 == 0 { kind } else { how }, flags, &value);
        p.finish(Checksum::Zero);
        let (from, at) = (address(how >> 7, 1 - to), address(how >> 7, to));
        self.ends[to].handle_datagram(self.now, from, at, &bytes);
        self.pump(to);
    }

    fn timeout(&mut self, side: usize) {
        if let Some(t) = self.ends[side].poll_timeout() {
            self.now = self.now.max(t);
            self.ends[side].handle_timeout(self.now);
            self.pump(side);
        }
    }

    fn command(&mut self, b: &mut Bytes<'_>) {
        let what = b.byte();
        let side = usize::from(what & 1);
        let Some(&id) = self.ids[side].last() else {
            return;
        };
        let (now, e) = (self.now, &mut self.ends[side]);
        let path = PathId(b.byte() % (PATHS + 1));
        // A refused command is a valid result.
        let _ = match what >> 1 & 7 {
            0..=2 => {
                let flags = b.byte();
                let len = usize::from(b.byte()) << (flags >> 5);
                let mut m = Message::new(u16::from(flags & 15), vec![flags; len]);
                m.unordered = what & 0x80 != 0;
                m.immediate_ack = what & 0x40 != 0;
                m.path = (what & 0x20 != 0).then_some(path);
                e.send(now, id, m)
            }
            3 => {
                while e.receive(id).is_some() {}
                Ok(())
            }
            4 => e.set_primary(now, id, path),
            5 => e.request_heartbeat(now, id, path),
            6 if what & 0x10 == 0 => e.enable_heartbeat(now, id, path, what & 0x20 == 0),
            6 => e.abort(now, id, b"fuzz"),
            _ if what & 0x30 == 0 => e.shutdown(now, id),
            _ if what & 0x70 == 0x70 => {
                e.release(now, id);
                Ok(())
            }
            _ => Ok(()),
        };
        self.pump(side);
    }
}

fuzz_target!(|data: &[u8]| {
    let mut b = Bytes(data);
    let flavour = b.byte();
    let mut w = World::new(flavour);
    w.connect(0, flavour);
    w.pump(0);
    while !b.0.is_empty() {
        let op = b.byte();
        match op >> 5 {
            0 | 1 => (0..=op & 15).for_each(|_| w.deliver(|_| {})),
            2 => drop(w.wire.pop_front()),
            3 => {
                let (at, with) = (usize::from(b.byte()) << (op & 3), b.byte());
                w.deliver(|bytes| {
                    if let Some(x) = bytes.get_mut(at) {
                        *x ^= with;
                    }
                });
            }
            4 => w.invent(&mut b),
            5 => w.command(&mut b),
            6 => w.timeout(usize::from(op & 1)),
            _ if op & 31 == 31 => {
                w.connect(1, flavour);
                w.pump(1);
            }
            _ => w.now += Duration::from_millis(u64::from(op & 31) * 10),
        }
    }
    // Released by their users, both endpoints must become idle.
    for side in [0, 1] {
        for id in w.ids[side].clone() {
            let now = w.now;
            w.ends[side].release(now, id);
        }
        w.pump(side);
        assert_eq!(w.ends[side].association_count(), 0);
        assert_eq!(w.ends[side].poll_timeout(), None);
    }
});

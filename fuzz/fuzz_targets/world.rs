//! Two endpoints with a wire between them that an input controls: what the targets
//! `association` and `addresses` share.

use byway_core::time::{Duration, Instant};
use byway_core::{AssocId, Config, Endpoint, EndpointConfig, Event};
use byway_wire::{Checksum, CommonHeader, PacketBuilder};
use std::collections::VecDeque;
use std::net::SocketAddr;

/// The input, of which an end without end is zeros.
pub(crate) struct Bytes<'a>(pub(crate) &'a [u8]);

impl<'a> Bytes<'a> {
    pub(crate) fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else {
            return 0;
        };
        self.0 = rest;
        *first
    }

    #[allow(dead_code, reason = "not every target needs it")]
    pub(crate) fn word(&mut self) -> u32 {
        u32::from_be_bytes([self.byte(), self.byte(), self.byte(), self.byte()])
    }

    pub(crate) fn take(&mut self, len: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at(len.min(self.0.len()));
        self.0 = rest;
        taken
    }
}

/// A packet on its way.
pub(crate) struct Flying {
    pub(crate) to: usize,
    pub(crate) source: SocketAddr,
    pub(crate) destination: SocketAddr,
    pub(crate) bytes: Vec<u8>,
}

pub(crate) struct World {
    pub(crate) now: Instant,
    pub(crate) ends: [Endpoint; 2],
    pub(crate) ids: [Vec<AssocId>; 2],
    pub(crate) wire: VecDeque<Flying>,
    /// The verification tag of the last packet to each side.
    pub(crate) tags: [u32; 2],
    /// The TSN of the last DATA or I-DATA to each side, or the one before the first.
    #[allow(dead_code, reason = "not every target needs it")]
    pub(crate) tsns: [u32; 2],
    /// The last INIT and INIT ACK.
    pub(crate) set_up: [Vec<u8>; 2],
}

pub(crate) fn address(path: u8, side: usize) -> SocketAddr {
    SocketAddr::new([10, path, 0, side as u8 + 1].into(), 0)
}

impl World {
    /// Two endpoints with these settings and so many addresses.
    pub(crate) fn new(sides: [(Config, u8); 2]) -> World {
        let mut side = 0;
        let ends = sides.map(|(accepted, paths)| {
            let local = (0..paths).map(|p| address(p, side)).collect();
            let config = EndpointConfig {
                accepted,
                // With a right checksum, so that changed packets are not dropped early.
                checksum: byway_core::ChecksumMode::Offloaded,
                observe: true,
                ..EndpointConfig::new(5000, local, [side as u8; 32])
            };
            side += 1;
            Endpoint::new(config).expect("the settings are sound")
        });
        World {
            now: Instant::ZERO,
            ends,
            ids: [Vec::new(), Vec::new()],
            wire: VecDeque::new(),
            tags: [0, 0],
            tsns: [0, 0],
            set_up: [Vec::new(), Vec::new()],
        }
    }

    pub(crate) fn connect(&mut self, side: usize, paths: u8, config: Config) {
        let peers: Vec<SocketAddr> = (0..paths).map(|p| address(p, 1 - side)).collect();
        if let Ok(id) = self.ends[side].connect(self.now, &peers, 5000, config) {
            self.ids[side].push(id);
        }
    }

    /// Takes all events and packets of a side, and recounts its totals.
    pub(crate) fn pump(&mut self, side: usize) {
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
            // Of the first chunk: a TSN behind its head, or the initial one as the last word of an INIT.
            let at = |place: usize| {
                let word = bytes.get(place..place + 4)?;
                Some(u32::from_be_bytes(word.try_into().ok()?))
            };
            match bytes.get(12) {
                Some(0 | 64) => self.tsns[1 - side] = at(16).unwrap_or(0),
                Some(1 | 2) => self.tsns[1 - side] = at(28).unwrap_or(0).wrapping_sub(1),
                _ => {}
            }
            if let Some(kind @ (1 | 2)) = bytes.get(12) {
                self.set_up[usize::from(kind - 1)].clone_from(&bytes);
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

    /// Delivers the oldest packet, changed; nowhere if its address is gone.
    pub(crate) fn deliver(&mut self, mut change: impl FnMut(&mut Vec<u8>)) {
        if let Some(mut f) = self.wire.pop_front() {
            change(&mut f.bytes);
            if self.ends[f.to].local_addresses().contains(&f.destination) {
                self.ends[f.to].handle_datagram(self.now, f.source, f.destination, &f.bytes);
                self.pump(f.to);
            }
        }
    }

    /// A packet from the other side of `to`, with the chunks that `write` writes.
    pub(crate) fn packet(tag: u32, write: impl FnOnce(&mut PacketBuilder<'_>)) -> Vec<u8> {
        let mut bytes = Vec::new();
        let header = CommonHeader {
            source_port: 5000,
            destination_port: 5000,
            verification_tag: tag,
        };
        let mut p = PacketBuilder::new(&mut bytes, header);
        write(&mut p);
        p.finish(Checksum::Zero);
        bytes
    }

    /// A packet that comes over a path, whoever sent it.
    pub(crate) fn arrive(&mut self, to: usize, path: u8, bytes: &[u8]) {
        let at = address(path, to);
        let at = match self.ends[to].local_addresses() {
            local if local.contains(&at) => at,
            local => local[0],
        };
        self.ends[to].handle_datagram(self.now, address(path, 1 - to), at, bytes);
        self.pump(to);
    }

    pub(crate) fn timeout(&mut self, side: usize) {
        if let Some(t) = self.ends[side].poll_timeout() {
            self.now = self.now.max(t);
            self.ends[side].handle_timeout(self.now);
            self.pump(side);
        }
    }

    pub(crate) fn wait(&mut self, tens_of_ms: u8) {
        self.now += Duration::from_millis(u64::from(tens_of_ms) * 10);
    }

    /// Released by their users, both endpoints must become idle.
    pub(crate) fn end(mut self) {
        for side in [0, 1] {
            for id in self.ids[side].clone() {
                let now = self.now;
                self.ends[side].release(now, id);
            }
            self.pump(side);
            assert_eq!(self.ends[side].association_count(), 0);
            assert_eq!(self.ends[side].poll_timeout(), None);
        }
    }
}

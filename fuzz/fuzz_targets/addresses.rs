//! Changes of addresses (RFC 5061) behind authenticated chunks (RFC 4895). The input
//! drives two endpoints whose addresses come and go, with losses, invented packets and
//! time. Somebody who saw the set-up knows the key: changed packets are signed again, and
//! invented chunks stand behind a valid AUTH.
#![no_main]

#[path = "world.rs"]
mod world;

use byway_core::config::Wildcard;
use byway_core::{Config, Message, PathId};
use byway_wire::{Auth, Checksum, Chunk, Packet, PacketBuilder, Params, chunk_type, param_type};
use hmac::{Hmac, KeyInit, Mac};
use libfuzzer_sys::fuzz_target;
use sha2::Sha256;
use world::{Bytes, World, address};

fn config(flavour: u8) -> Config {
    let mut c = Config::rfc9260();
    c.auth.enabled = flavour & 1 == 0;
    c.asconf.enabled = c.auth.enabled && flavour & 2 == 0;
    c.asconf.wildcard = [Wildcard::Private, Wildcard::Always][usize::from(flavour >> 2 & 1)];
    if flavour & 8 != 0 {
        c.buffer.receive = 3000;
        c.buffer.send = 5000;
    }
    c
}

/// The key vector of the parameters of an INIT or INIT ACK.
fn vector(set_up: &[u8]) -> Vec<u8> {
    let read = || {
        let raw = Packet::parse(set_up).ok()?.chunks().next()?.ok()?;
        match raw.parse().ok()? {
            Chunk::Init(i) | Chunk::InitAck(i) => Some(i.params),
            _ => None,
        }
    };
    let of = |params: Params<'_>, kind| params.find(kind).map_or(Vec::new(), |p| p.bytes.to_vec());
    let kinds = [
        param_type::RANDOM,
        param_type::CHUNK_LIST,
        param_type::HMAC_ALGO,
    ];
    read().map_or(Vec::new(), |params| {
        kinds.map(|kind| of(params, kind)).concat()
    })
}

fn hash(w: &World, covered: &[u8]) -> Vec<u8> {
    let mut vectors = w.set_up.each_ref().map(|s| vector(s));
    vectors.sort();
    let mut mac = Hmac::<Sha256>::new_from_slice(&vectors.concat()).expect("keys of any length");
    mac.update(covered);
    mac.finalize().into_bytes().to_vec()
}

/// A packet whose chunks stand behind an AUTH chunk.
fn sign(w: &World, mut bytes: Vec<u8>) -> Vec<u8> {
    let blank = Auth {
        shared_key_id: 0,
        hmac_id: 3,
        hmac: &[0; 32],
    };
    blank.seal(&mut bytes, 0, Checksum::Zero, |covered| hash(w, covered));
    bytes
}

/// Computes the hash of a changed packet that begins with AUTH.
fn sign_again(w: &World, bytes: &mut [u8]) {
    if bytes.len() >= 52 && bytes[12] == chunk_type::AUTH && bytes[14..16] == [0, 40] {
        bytes[20..52].fill(0);
        let hash = hash(w, &bytes[12..]);
        bytes[20..52].copy_from_slice(&hash);
    }
}

/// Writes a change of addresses, or anything in its place.
fn change(p: &mut PacketBuilder<'_>, serial: u32, b: &mut Bytes<'_>, from: usize) {
    let count = b.byte() % 6;
    if count == 5 {
        let len = usize::from(b.byte());
        p.asconf_raw(serial, address(b.byte() % 4, from).ip(), b.take(len));
        return;
    }
    let at = address(b.byte() % 4, from).ip();
    p.asconf(serial, at, |w| {
        for id in 0..u32::from(count) {
            let what = b.byte();
            let ip = match what >> 6 {
                0 => [0, 0, 0, 0].into(),
                1 => [198, 51, 100, what & 7].into(),
                _ => address(what >> 3 & 3, from).ip(),
            };
            match what % 3 {
                0 => w.add_ip(id, ip),
                1 => w.delete_ip(id, ip),
                _ => w.set_primary(id, ip),
            };
        }
    });
}

/// A packet behind a valid AUTH. Serial numbers are near those in use: both begin at the
/// initial TSN, which the set-up tells.
fn invent(w: &mut World, b: &mut Bytes<'_>) {
    let how = b.byte();
    let to = usize::from(how & 1);
    let from = 1 - to;
    let begins = |set_up: &[u8]| {
        set_up
            .get(28..32)
            .map_or([0; 4], |t| t.try_into().expect("four"))
    };
    let ahead = u32::from(how >> 3 & 7);
    let [init, ack] = w.set_up.each_ref().map(|s| u32::from_be_bytes(begins(s)));
    // Who sent the INIT is not known here: the input says it.
    let serial = if how & 0x40 == 0 { init } else { ack }.wrapping_add(ahead);
    let bytes = World::packet(w.tags[to], |p| match how >> 1 & 3 {
        0..=1 => change(p, serial, b, from),
        2 => p.asconf_ack_raw(serial, b.take(usize::from(how >> 3))),
        _ => p.raw(b.byte(), how, b.take(usize::from(how >> 3))),
    });
    let bytes = if how & 0x80 == 0 {
        sign(w, bytes)
    } else {
        bytes
    };
    w.arrive(to, b.byte() % 4, &bytes);
}

fn command(w: &mut World, b: &mut Bytes<'_>) {
    let what = b.byte();
    let side = usize::from(what & 1);
    let now = w.now;
    let path = what >> 4 & 3;
    let Some(&id) = w.ids[side].last() else {
        return;
    };
    let e = &mut w.ends[side];
    // What is refused is a valid result, here and below.
    match what >> 1 & 7 {
        0 | 1 => {
            let _ = e.add_local_address(now, address(path, side));
        }
        2 | 3 => {
            let _ = e.remove_local_address(now, address(path, side).ip());
        }
        4 => {
            let (add, remove) = (address(b.byte() % 4, side), address(path, side).ip());
            let _ = e.change_local_addresses(now, &[add], &[remove]);
        }
        5 if what & 0x40 == 0 => {
            let _ = e.set_peer_primary(now, id, address(path, side).ip());
        }
        5 => {
            let _ = e.set_primary(now, id, PathId(path));
        }
        6 => {
            let len = usize::from(b.byte()) << (what >> 6);
            let _ = e.send(now, id, Message::new(0, vec![what; len]));
        }
        _ if what & 0x70 == 0x70 => {
            let _ = e.shutdown(now, id);
        }
        _ if what & 0x70 == 0x60 => {
            let _ = e.abort(now, id, b"fuzz");
        }
        _ => while e.receive(id).is_some() {},
    }
    w.pump(side);
}

fuzz_target!(|data: &[u8]| {
    let mut b = Bytes(data);
    let (flavour, paths) = (b.byte(), b.byte());
    let counts = [paths & 1, paths >> 1 & 1].map(|more| 1 + more);
    let mut w = World::new([
        (config(flavour), counts[0]),
        (config(flavour >> 4), counts[1]),
    ]);
    w.connect(0, counts[1], config(flavour));
    w.pump(0);
    while !b.0.is_empty() {
        let op = b.byte();
        match op >> 5 {
            0 | 1 => (0..=op & 15).for_each(|_| w.deliver(|_| {})),
            2 => drop(w.wire.pop_front()),
            3 => {
                let (at, with) = (usize::from(b.byte()) << (op & 1), b.byte());
                if let Some(mut flying) = w.wire.pop_front() {
                    if let Some(x) = flying.bytes.get_mut(at) {
                        *x ^= with;
                    }
                    sign_again(&w, &mut flying.bytes);
                    w.wire.push_front(flying);
                    w.deliver(|_| {});
                }
            }
            4 => invent(&mut w, &mut b),
            5 => command(&mut w, &mut b),
            6 => w.timeout(usize::from(op & 1)),
            _ if op & 31 == 31 => {
                w.connect(1, counts[0], config(flavour));
                w.pump(1);
            }
            _ => w.wait(op & 31),
        }
    }
    w.end();
});

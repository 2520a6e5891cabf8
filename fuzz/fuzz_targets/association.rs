//! The input drives two endpoints through commands, losses, changed and invented
//! packets, and time. After every step the running totals must agree with their
//! parts, and at the end both endpoints must become idle.
#![no_main]

#[path = "world.rs"]
mod world;

use byway_core::policy::StreamScheduler;
use byway_core::{Config, Message, PathId};
use libfuzzer_sys::fuzz_target;
use world::{Bytes, World};

const PATHS: u8 = 2;

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
    if flavour & 8 != 0 {
        c.streams.interleaving = true;
        c.streams.scheduler = StreamScheduler::RoundRobin;
    }
    c.setup.outbound_streams = 10;
    c
}

/// A packet of one arbitrary chunk, with the right tag or an arbitrary one. I-DATA and I-FORWARD-TSN have a
/// TSN near the last one: nobody would find it.
fn invent(w: &mut World, b: &mut Bytes<'_>) {
    let how = b.byte();
    let to = usize::from(how & 1);
    let tag = if how & 2 == 0 { w.tags[to] } else { b.word() };
    let kind = match b.byte() {
        240.. => 194,
        224.. => 64,
        other => other % 16,
    };
    let flags = b.byte();
    let len = usize::from(b.byte());
    let mut value = b.take(len).to_vec();
    if kind >= 64
        && let Some(tsn) = value.first_chunk_mut::<4>()
    {
        *tsn = w.tsns[to].wrapping_add(tsn[0].into()).to_be_bytes();
    }
    let bytes = World::packet(if kind == 1 { 0 } else { tag }, |p| {
        p.raw(if how & 4 == 0 { kind } else { how }, flags, &value);
    });
    w.arrive(to, how >> 7, &bytes);
}

fn command(w: &mut World, b: &mut Bytes<'_>) {
    let what = b.byte();
    let side = usize::from(what & 1);
    let Some(&id) = w.ids[side].last() else {
        return;
    };
    let (now, e) = (w.now, &mut w.ends[side]);
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
    w.pump(side);
}

fuzz_target!(|data: &[u8]| {
    let mut b = Bytes(data);
    let flavour = b.byte();
    let mut w = World::new([0, 4].map(|shift| (config(flavour >> shift), PATHS)));
    w.connect(0, PATHS, config(flavour));
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
            4 => invent(&mut w, &mut b),
            5 => command(&mut w, &mut b),
            6 => w.timeout(usize::from(op & 1)),
            _ if op & 31 == 31 => {
                w.connect(1, PATHS, config(flavour));
                w.pump(1);
            }
            _ => w.wait(op & 31),
        }
    }
    w.end();
});

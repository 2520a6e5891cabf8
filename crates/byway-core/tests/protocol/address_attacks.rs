//! Attacks on changes of addresses (RFC 5061 section 6; RFC 5062).

use crate::address_changes::{Changing, changing};
use crate::common::{A, Fate, Pair, Z, address};
use byway_core::{Event, PathState, Rule};
use byway_wire::{Chunk, Packet, chunk_type};
use core::net::{IpAddr, Ipv4Addr, SocketAddr};

fn remotes(p: &mut Pair) -> Vec<SocketAddr> {
    p.with(Z, |_, e, id| e.paths(id).iter().map(|s| s.remote).collect())
}

#[test]
fn attack_asconf_without_auth_has_no_effect() {
    let (mut p, _) = Changing { a: 2, z: 1 }.up();
    let serial = p.reader.tsn(A, 1).0;
    p.inject(Z, 0, |b| {
        b.asconf(serial, address(0, A).ip(), |w| {
            w.add_ip(1, Ipv4Addr::new(10, 3, 0, 1).into());
            w.delete_ip(2, address(1, A).ip());
        });
        // D5: the rest of the packet goes with it.
        b.heartbeat(&[1]);
    });
    assert_eq!(p.take_discards(Z), ["ASCONF or ASCONF-ACK without AUTH"]);
    let refusals = p.ends[Z].endpoint_stats().refusals;
    assert_eq!(refusals.of(Rule::Unauthenticated), 1);
    assert!(p.take_drawings().is_empty());
    assert_eq!(remotes(&mut p), [address(0, A), address(1, A)]);
}

/// A packet behind AUTH whose AUTH chunk is cut out, or that is changed in any byte.
#[test]
fn attack_stripped_or_changed_asconf_has_no_effect() {
    let (mut p, forger) = Changing { a: 2, z: 1 }.forged();
    let (tag, serial) = (p.reader.tags[Z], p.reader.tsn(A, 1).0);
    let good = forger.packet(A, tag, |b| {
        b.asconf(serial, address(0, A).ip(), |w| {
            w.delete_ip(1, address(1, A).ip());
        });
    });
    let sum = |mut bytes: Vec<u8>| {
        let sum = byway_wire::crc32c::packet_checksum(&bytes);
        bytes[8..12].copy_from_slice(&sum.to_le_bytes());
        bytes
    };
    let mut stripped = good.clone();
    stripped.drain(12..52);
    let stripped = sum(stripped);
    p.inject_bytes(Z, address(0, A), &stripped);
    for at in 12..good.len() {
        let mut changed = good.clone();
        changed[at] ^= 0x10;
        let changed = sum(changed);
        p.inject_bytes(Z, address(0, A), &changed);
        assert_eq!(remotes(&mut p).len(), 2, "byte {at}");
    }
    p.inject_bytes(Z, address(0, A), &good);
    assert_eq!(remotes(&mut p).len(), 1, "the unchanged packet is taken");
}

/// A recorded packet comes again, also from another source.
#[test]
fn attack_replayed_asconf_has_no_effect() {
    let (mut p, _) = Changing { a: 2, z: 1 }.up();
    let delete = [address(1, A).ip()];
    p.with(A, |now, e, _| e.change_local_addresses(now, &[], &delete))
        .unwrap();
    p.run(100);
    let recorded = p
        .sent
        .iter()
        .find(|q| q.text.contains("ASCONF -"))
        .unwrap()
        .bytes
        .clone();
    p.with(A, |now, e, _| e.add_local_address(now, address(1, A)))
        .unwrap();
    p.run(2000);
    assert_eq!(remotes(&mut p).len(), 2);
    for source in [address(0, A), address(3, A)] {
        p.inject_bytes(Z, source, &recorded);
        p.run(100);
        assert_eq!(remotes(&mut p).len(), 2);
    }
}

/// The recorded packet of another association has another key.
#[test]
fn attack_asconf_of_another_association_has_no_effect() {
    let (p, _) = Changing { a: 2, z: 1 }.up();
    let (mut other, _) = {
        let mut p = Pair::of(
            [
                crate::common::endpoint(2, A, 77, &changing()),
                crate::common::endpoint(1, Z, 78, &changing()),
            ],
            4,
        );
        Changing { a: 2, z: 1 }.connect(&mut p, &changing());
        p.run(4000);
        (p, ())
    };
    let forger = crate::common::forger::Forger::of(&other.sent);
    let mut p = p;
    let bytes = forger.packet(A, p.reader.tags[Z], |b| {
        b.asconf(p.reader.tsn(A, 1).0, address(0, A).ip(), |w| {
            w.delete_ip(1, address(1, A).ip());
        });
    });
    p.inject_bytes(Z, address(0, A), &bytes);
    assert_eq!(remotes(&mut p).len(), 2);
    assert_eq!(remotes(&mut other).len(), 2);
}

/// Somebody on the way takes the parameters of AUTH out of the INIT or the INIT ACK, so that
/// ASCONF would be taken without it: then neither side takes it at all.
#[test]
fn attack_downgrade_leaves_no_asconf_without_auth() {
    for text in ["INIT", "INIT ACK"] {
        for kind in [0x8002_u16, 0x8004] {
            let shape = Changing { a: 2, z: 1 };
            let mut p = shape.pair(&changing(), &changing());
            p.hand(move |q| {
                if q.text != text {
                    return Fate::Pass;
                }
                let mut bytes = q.bytes.clone();
                let parsed = Packet::parse(&q.bytes).unwrap();
                let raw = parsed.chunks().next().unwrap().unwrap();
                let (Ok(Chunk::Init(i)) | Ok(Chunk::InitAck(i))) = raw.parse() else {
                    return Fate::Pass;
                };
                let param = i.params.find(kind).unwrap().bytes;
                let at = bytes.windows(param.len()).position(|w| w == param).unwrap();
                bytes[at] = 0xBF; // a type that is skipped
                let sum = byway_wire::crc32c::packet_checksum(&bytes);
                bytes[8..12].copy_from_slice(&sum.to_le_bytes());
                Fate::Changed(bytes)
            });
            shape.connect(&mut p, &changing());
            p.run(4000);
            let (state, asks) = (p.state(A), p.with(A, |_, e, id| e.changes_addresses(id)));
            assert_eq!((state, asks), ("ESTABLISHED", false));
            let serial = p.reader.tsn(A, 1).0;
            p.inject(Z, 0, |b| {
                b.asconf(serial, address(0, A).ip(), |w| {
                    w.delete_ip(1, address(1, A).ip());
                });
            });
            assert_eq!(remotes(&mut p).len(), 2);
        }
    }
}

#[test]
fn attack_deletion_of_all_addresses_leaves_one() {
    let (mut p, forger) = Changing { a: 3, z: 1 }.forged();
    let (tag, serial) = (p.reader.tags[Z], p.reader.tsn(A, 1).0);
    let bytes = forger.packet(A, tag, |b| {
        b.asconf(serial, address(0, A).ip(), |w| {
            for n in [2, 1, 0] {
                w.delete_ip(n, address(n as usize, A).ip());
            }
        });
    });
    p.inject_bytes(Z, address(3, A), &bytes);
    assert_eq!(remotes(&mut p), [address(0, A)]);
    // The wildcard from an address that is not part of the association.
    let bytes = forger.packet(A, tag, |b| {
        b.asconf(serial.wrapping_add(1), address(0, A).ip(), |w| {
            w.delete_ip(1, Ipv4Addr::UNSPECIFIED.into());
        });
    });
    p.inject_bytes(Z, address(3, A), &bytes);
    assert_eq!(remotes(&mut p), [address(0, A)]);
    p.send_many(Z, 1000, 5);
    p.run(1000);
    assert_eq!(p.take_got(A).len(), 5);
}

/// A peer with the key adds other hosts' addresses as fast as it can: each gets at most a
/// heartbeat now and then, and all together one new one per RTO.Initial.
#[test]
fn attack_addition_of_victims_is_bounded() {
    let (mut p, forger) = Changing { a: 1, z: 1 }.forged();
    let (tag, first) = (p.reader.tags[Z], p.reader.tsn(A, 1).0);
    let victim = |n: u32| -> IpAddr { Ipv4Addr::new(198, 51, 100, n as u8).into() };
    p.take_drawings();
    for n in 0..200_u32 {
        let bytes = forger.packet(A, tag, |b| {
            b.asconf(first.wrapping_add(n), address(0, A).ip(), |w| {
                w.add_ip(1, victim(n));
                if n > 0 {
                    w.delete_ip(2, victim(n - 1));
                }
            });
        });
        p.inject_bytes(Z, address(0, A), &bytes);
        p.run(50);
    }
    assert_eq!(remotes(&mut p).len(), 2);
    let sent = p.take_drawings_with(&["path 51"]);
    assert!(sent.iter().all(|d| d.contains("HEARTBEAT")), "{sent:?}");
    assert!(sent.len() <= 11, "{} packets in 10 s", sent.len());
}

/// Many ASCONFs of one serial number, and endless lists: each packet gets one answer no
/// larger than a packet, and the state of the receiver does not grow.
#[test]
fn attack_asconf_flood_is_bounded() {
    let (mut p, forger) = Changing { a: 1, z: 1 }.forged();
    let (tag, first) = (p.reader.tags[Z], p.reader.tsn(A, 1).0);
    let many = forger.packet(A, tag, |b| {
        for n in 0..40_u32 {
            b.asconf(first.wrapping_add(n), address(0, A).ip(), |w| {
                for id in 0..60 {
                    w.delete_ip(id, address(0, A).ip());
                }
            });
        }
    });
    for _ in 0..10 {
        p.inject_bytes(Z, address(0, A), &many);
    }
    assert!(p.sent.len() <= 10, "{}", p.sent.len());
    assert!(p.sent.iter().all(|q| q.bytes.len() <= 1500));
    assert_eq!(remotes(&mut p), [address(0, A)]);
    assert_eq!(p.path_state(Z, 0), PathState::Active);
}

/// Lengths and types inside an ASCONF that do not fit.
#[test]
fn attack_malformed_asconf_behind_a_valid_hash_is_harmless() {
    let (mut p, forger) = Changing { a: 2, z: 1 }.forged();
    let (tag, mut serial) = (p.reader.tags[Z], p.reader.tsn(A, 1).0);
    let mut params: Vec<Vec<u8>> = vec![vec![0xC0, 1, 0, 3], vec![0xC0, 2, 0, 200]];
    params.push([&[0xC0, 1, 0, 12, 0, 0, 0, 1][..], &[0, 11, 0, 4]].concat());
    params.push(vec![0xC0, 4, 0, 8, 0, 0, 0, 1]);
    params.push(vec![0; 64]);
    for body in params {
        let bytes = forger.packet(A, tag, |b| {
            b.asconf_raw(serial, address(0, A).ip(), &body);
        });
        p.inject_bytes(Z, address(0, A), &bytes);
        serial = serial.wrapping_add(1);
        assert_eq!(remotes(&mut p).len(), 2);
    }
    let cut = forger.packet(A, tag, |b| b.raw(chunk_type::ASCONF, 0, &[0, 0]));
    p.inject_bytes(Z, address(0, A), &cut);
    assert!(
        !p.take_events(Z)
            .iter()
            .any(|e| matches!(e, Event::Lost { .. }))
    );
}

//! Authenticated chunks (RFC 4895).

use crate::address_changes::{Changing, changing};
use crate::common::{A, Pair, Z, assert_drawn, loss, packet, plain};
use byway_core::{Config, Event};
use byway_wire::{Chunk, Packet, Params, chunk_type, param_type};

/// The types of the parameters of the INIT and the INIT ACK that were sent.
fn params(p: &Pair) -> [Vec<u16>; 2] {
    let mut found: [Vec<u16>; 2] = Default::default();
    for passing in &p.sent {
        let packet = Packet::parse(&passing.bytes).unwrap();
        let raw = packet.chunks().next().unwrap().unwrap();
        let kinds = |params: Params<'_>| params.iter().map(|q| q.unwrap().kind).collect();
        match raw.parse().unwrap() {
            Chunk::Init(i) => found[0] = kinds(i.params),
            Chunk::InitAck(i) => found[1] = kinds(i.params),
            _ => {}
        }
    }
    found
}

const OF_AUTH: [u16; 3] = [
    param_type::RANDOM,
    param_type::CHUNK_LIST,
    param_type::HMAC_ALGO,
];

/// Section 6.1. A side that supports AUTH answers with it only if the peer offers it.
#[test]
fn both_sides_offer_auth_or_none_has_it() {
    for (a, z) in [(true, true), (true, false), (false, true), (false, false)] {
        let cfg = |on| if on { changing() } else { plain() };
        let mut p = Changing { a: 1, z: 1 }.begin(&cfg(a), &cfg(z));
        p.run(100);
        let found = params(&p);
        for kind in OF_AUTH {
            assert_eq!(found[0].contains(&kind), a);
            assert_eq!(found[1].contains(&kind), a && z);
        }
        for side in [A, Z] {
            let can = p.with(side, |_, e, id| e.changes_addresses(id));
            assert_eq!(can, a && z, "side {side}");
        }
    }
}

#[test]
fn auth_alone_does_not_offer_changes_of_addresses() {
    let mut cfg = changing();
    cfg.asconf.enabled = false;
    let mut p = Changing { a: 1, z: 1 }.begin(&cfg, &changing());
    p.run(100);
    assert_eq!(p.state(A), "ESTABLISHED");
    assert!(!p.with(A, |_, e, id| e.changes_addresses(id)));
    assert!(!p.with(Z, |_, e, id| e.changes_addresses(id)));
}

#[test]
fn asconf_without_auth_is_an_invalid_setting() {
    let mut cfg = Config::rfc9260();
    cfg.asconf.enabled = true;
    let error = cfg.check().unwrap_err().to_string();
    assert!(error.contains("set auth.enabled"), "{error}");
    cfg.auth.enabled = true;
    assert!(cfg.check().is_ok());
}

/// Rewrites the RANDOM parameter of a packet to this length.
fn shorten_random(bytes: &[u8]) -> Vec<u8> {
    let at = bytes
        .windows(4)
        .position(|w| w == [0x80, 2, 0, 36])
        .unwrap();
    let mut new = bytes.to_vec();
    new.drain(at + 32..at + 36);
    new[at + 3] = 32;
    let len = u16::from_be_bytes([new[14], new[15]]) - 4;
    new[14..16].copy_from_slice(&len.to_be_bytes());
    let sum = byway_wire::crc32c::packet_checksum(&new);
    new[8..12].copy_from_slice(&sum.to_le_bytes());
    new
}

/// Section 6.1: "If the Random Number is not 32 bytes, the association MUST be aborted."
#[test]
fn a_random_number_of_another_length_ends_the_set_up() {
    for text in ["INIT", "INIT ACK"] {
        let mut p = Changing { a: 1, z: 1 }.pair(&changing(), &changing());
        p.hand(move |q| {
            if q.text == text {
                crate::common::Fate::Changed(shorten_random(&q.bytes))
            } else {
                crate::common::Fate::Pass
            }
        });
        Changing { a: 1, z: 1 }.connect(&mut p, &changing());
        p.run(100);
        let drawn = p.take_drawings();
        let aborts: Vec<_> = drawn.iter().filter(|d| d.contains("ABORT")).collect();
        assert_eq!(aborts.len(), 1, "{drawn:?}");
        assert!(aborts[0].contains("Protocol Violation"), "{drawn:?}");
        loss(&p.take_events(A));
    }
}

/// Without AUTH, RFC 9260 leaves the parameters unread.
#[test]
fn a_side_without_auth_does_not_mind_a_wrong_random_number() {
    let mut p = Changing { a: 1, z: 1 }.pair(&changing(), &plain());
    p.hand(|q| {
        if q.text == "INIT" {
            crate::common::Fate::Changed(shorten_random(&q.bytes))
        } else {
            crate::common::Fate::Pass
        }
    });
    Changing { a: 1, z: 1 }.connect(&mut p, &changing());
    p.run(100);
    assert_eq!(p.state(A), "ESTABLISHED");
}

/// Section 6.3: the rest of the packet goes with an AUTH chunk that is wrong.
#[test]
fn chunks_behind_a_wrong_auth_chunk_are_discarded() {
    let (mut p, forger) = Changing { a: 1, z: 1 }.up();
    let tag = p.reader.tags[Z];
    let good = forger.packet(A, tag, |b| b.heartbeat(&[1, 2, 3]));
    let mut wrong = good.clone();
    wrong[12 + 8] ^= 1;
    let sum = byway_wire::crc32c::packet_checksum(&wrong);
    wrong[8..12].copy_from_slice(&sum.to_le_bytes());
    p.inject_bytes(Z, crate::common::address(0, A), &wrong);
    assert_eq!(p.take_discards(Z), ["AUTH with a wrong hash"]);
    assert_drawn(&p.take_drawings(), &[]);
    p.inject_bytes(Z, crate::common::address(0, A), &good);
    assert_drawn(&p.take_drawings(), &["Z -> HEARTBEAT ACK -> A"]);
}

/// Sections 4.1 and 6.3: a hash that was not offered is reported.
#[test]
fn an_unknown_hash_is_reported_and_an_unknown_key_is_not() {
    let (mut p, _) = Changing { a: 1, z: 1 }.up();
    let with = |key: u16, hash: u16| {
        let auth = byway_wire::Auth {
            shared_key_id: key,
            hmac_id: hash,
            hmac: &[0; 32],
        };
        move |b: &mut byway_wire::PacketBuilder<'_>| {
            b.auth(&auth);
            b.heartbeat(&[1]);
        }
    };
    p.inject(Z, 0, with(0, 2));
    assert_drawn(
        &p.take_drawings(),
        &["Z -> ERROR: Unsupported HMAC Identifier -> A"],
    );
    p.take_discards(Z);
    p.inject(Z, 0, with(7, 3));
    assert_eq!(p.take_discards(Z), ["AUTH with an unknown shared key"]);
    assert_drawn(&p.take_drawings(), &[]);
}

/// RFC 9260 section 3.2: without AUTH the chunk type is unknown, and its upper bits end
/// the packet.
#[test]
fn without_an_agreement_auth_is_an_unknown_chunk() {
    let mut p = Pair::up(1, &plain());
    let tag = p.reader.tags[Z];
    let bytes = packet(A, tag, |b| {
        b.raw(chunk_type::AUTH, 0, &[0; 36]);
        b.heartbeat(&[1]);
    });
    p.inject_bytes(Z, crate::common::address(0, A), &bytes);
    assert_eq!(p.take_discards(Z), ["unknown chunk type"]);
    assert_drawn(&p.take_drawings(), &[]);
}

#[test]
fn shared_keys_must_agree() {
    let keyed = |secret: &[u8]| {
        let mut c = changing();
        c.auth.keys = vec![byway_core::config::SharedKey::new(9, secret)];
        c
    };
    for (z, expected) in [
        (keyed(b"one"), true),
        (keyed(b"two"), false),
        (changing(), false),
    ] {
        let shape = Changing { a: 1, z: 1 };
        let mut p = shape.begin(&keyed(b"one"), &z);
        p.run(100);
        p.take_events(A);
        p.with(A, |now, e, _| {
            e.add_local_address(now, crate::common::address(1, A))
        })
        .unwrap();
        p.run(100);
        let added = p
            .take_events(A)
            .iter()
            .any(|e| matches!(e, Event::AddressChanged { .. }));
        assert_eq!(added, expected);
        let found = p
            .sent
            .iter()
            .any(|q| q.bytes.windows(3).any(|w| w == b"one"));
        assert!(!found, "a shared key never leaves");
    }
}

/// Both sides begin at the same time (RFC 9260 section 5.2.1): each INIT ACK repeats the
/// random number of the INIT, so both find one key.
#[test]
fn a_collision_keeps_the_random_numbers() {
    let shape = Changing { a: 1, z: 1 };
    let mut p = shape.pair(&changing(), &changing());
    shape.connect(&mut p, &changing());
    let id = p.ends[Z]
        .connect(
            p.now,
            &[crate::common::address(0, A)],
            crate::common::PORTS[A],
            changing(),
        )
        .unwrap();
    p.ids[Z] = Some(id);
    p.pump(Z);
    p.run(1000);
    assert_eq!((p.state(A), p.state(Z)), ("ESTABLISHED", "ESTABLISHED"));
    for side in [A, Z] {
        p.take_events(side);
        p.with(side, |now, e, _| {
            e.add_local_address(now, crate::common::address(1, side))
        })
        .unwrap();
        p.run(100);
        let events = p.take_events(side);
        assert!(
            events
                .iter()
                .any(|e| matches!(e, Event::AddressChanged { .. })),
            "{events:?}"
        );
    }
}

/// A list of more hashes or chunk types than there are is not kept, and hashes that this side does not know are of no use: the
/// association is set up without AUTH.
#[test]
fn an_offer_of_auth_of_absurd_size_or_with_other_hashes_is_no_offer() {
    for (chunks, hashes, hash, takes) in [
        (2, 2, 3, true),
        (256, 2, 3, false),
        (2, 17, 3, false),
        (2, 2, 77, false),
    ] {
        let mut p = Changing { a: 1, z: 1 }.pair(&changing(), &changing());
        p.lose(|_| true);
        crate::common::stranger::set_up(&mut p, crate::common::address(0, A), 77, |w| {
            w.random(&[7; 32]);
            w.chunk_list(&vec![chunk_type::ASCONF; chunks]);
            w.hmac_algo(&vec![hash; hashes]);
        });
        assert_eq!(p.state(Z), "ESTABLISHED");
        let answer = p.sent.iter().find(|q| q.text == "INIT ACK").unwrap();
        let packet = Packet::parse(&answer.bytes).unwrap();
        let Ok(Chunk::InitAck(ack)) = packet.chunks().next().unwrap().unwrap().parse() else {
            panic!("an INIT ACK")
        };
        let offers = ack.params.find(param_type::RANDOM).is_some();
        assert_eq!(offers, takes, "{chunks} types, {hashes} hashes, {hash}");
    }
}

/// Section 6.2: the peer says which chunks it takes behind an AUTH chunk alone, and these may be any but those of set-up.
#[test]
fn an_abort_and_an_answer_beside_the_paths_are_authenticated_if_the_peer_asks_for_it() {
    for asks in [true, false] {
        let mut p = Changing { a: 1, z: 1 }.pair(&changing(), &changing());
        p.lose(|_| true);
        let at = crate::common::address(0, A);
        let kinds = [chunk_type::ABORT, chunk_type::HEARTBEAT_ACK];
        let tag = crate::common::stranger::set_up(&mut p, at, 77, |w| {
            w.random(&[7; 32]);
            w.chunk_list(if asks { &kinds } else { &[] });
            w.hmac_algo(&[3]);
        });
        let elsewhere = crate::common::address(1, A);
        let heartbeat = packet(A, tag, |b| b.heartbeat(&[1, 2, 3]));
        p.inject_bytes(Z, elsewhere, &heartbeat);
        p.with(Z, |now, e, id| e.abort(now, id, b"bye")).unwrap();
        let drawn = p.take_drawings_with(&["HEARTBEAT ACK", "ABORT"]);
        let auth = if asks { "AUTH, " } else { "" };
        assert_drawn(
            &drawn,
            &[
                &format!("Z -> {auth}HEARTBEAT ACK -> lost (path 1)"),
                &format!("Z -> {auth}ABORT: User-Initiated Abort -> lost"),
            ],
        );
    }
}

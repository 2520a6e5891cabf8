//! One test for each known attack on a feature that the core has; ATTACKS.md lists
//! which test belongs to which row.

use crate::common::{A, Fate, PORTS, Pair, Z, address, assert_drawn, packet, plain};
use byway_core::{Endpoint, EndpointConfig, Event, PathState, Refusal, Rule};
use byway_wire::{InitFields, Tsn};
use core::net::SocketAddr;
use core::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;

fn init(tag: u32) -> InitFields {
    InitFields {
        initiate_tag: tag,
        a_rwnd: 65_536,
        outbound_streams: 1,
        inbound_streams: 1,
        initial_tsn: Tsn(1),
    }
}

fn stranger(n: u8) -> SocketAddr {
    SocketAddr::new([172, 100 + n % 100, 0, 1].into(), 0)
}

/// A pair in set-up, with the COOKIE ECHO of A held back.
fn with_cookie() -> (Pair, Vec<u8>) {
    let mut p = Pair::new(1, &plain());
    p.lose(|q| q.text == "COOKIE ECHO");
    p.connect(A, &plain());
    p.run(50);
    let echo = p.sent.last().unwrap();
    assert_eq!(echo.text, "COOKIE ECHO");
    let bytes = echo.bytes.clone();
    (p, bytes)
}

/// The cookie of a packet with a COOKIE ECHO, without its padding.
fn cookie_of(echo: &[u8]) -> &[u8] {
    &echo[16..12 + usize::from(u16::from_be_bytes([echo[14], echo[15]]))]
}

/// Computes the checksum of a changed packet.
fn summed(mut bytes: Vec<u8>) -> Vec<u8> {
    bytes[8..12].fill(0);
    let sum = byway_wire::crc32c::checksum(&bytes);
    bytes[8..12].copy_from_slice(&sum.to_le_bytes());
    bytes
}

#[test]
fn attack_init_flood_keeps_no_state() {
    let mut p = Pair::new(1, &plain());
    for n in 0..200u32 {
        let bytes = packet(A, 0, |b| b.init(false, &init(n + 1), |_| {}));
        p.inject_bytes(Z, stranger(n as u8), &bytes);
    }
    assert_eq!(p.ends[Z].endpoint_stats().inits, 200);
    assert_eq!(p.ends[Z].association_count(), 0);
    assert_eq!(p.ends[Z].poll_timeout(), None);
}

#[test]
fn attack_association_flood_meets_a_limit_for_each_peer_and_for_all() {
    for (all, each) in [(0, 9), (9, 0)] {
        let mut config = EndpointConfig::new(PORTS[Z], vec![address(0, Z)], [2; 32]);
        config.max_associations = all;
        config.max_associations_per_peer = each;
        let ends = [
            crate::common::endpoint(1, A, 1, &plain()),
            Endpoint::new(config).unwrap(),
        ];
        let mut p = Pair::of(ends, 1);
        p.connect(A, &plain());
        p.run(50);
        assert_drawn(
            &p.take_drawings(),
            &["A -> INIT -> Z", "Z -> ABORT: Out of Resource -> A"],
        );
        let rule = match all {
            0 => Rule::Associations,
            _ => Rule::AssociationsOfPeer,
        };
        let refusals = p.ends[Z].take_refusals();
        assert_eq!(
            refusals,
            [Refusal {
                rule,
                count: 1,
                last: address(0, A)
            }]
        );
        let stats = p.ends[Z].endpoint_stats();
        assert_eq!(
            (stats.refused, stats.refused_of_peer),
            (1, u64::from(all > 0))
        );
        assert!(p.ends[Z].take_refusals().is_empty());
    }
}

#[test]
fn attack_forged_cookie_is_dropped_without_an_answer() {
    let (mut p, echo) = with_cookie();
    p.take_drawings();
    let end = 16 + cookie_of(&echo).len();
    for at in 16..end {
        let mut forged = echo.clone();
        forged[at] ^= 0x40;
        p.inject_bytes(Z, address(0, A), &summed(forged));
    }
    assert_drawn(&p.take_drawings(), &[]);
    assert_eq!(p.ends[Z].association_count(), 0);
    assert_eq!(p.ends[Z].endpoint_stats().forged_cookies, end as u64 - 16);
}

#[test]
fn attack_malformed_cookie_of_any_length_is_dropped() {
    let (mut p, echo) = with_cookie();
    p.take_drawings();
    let tag = p.reader.tags[Z];
    let cookie = cookie_of(&echo);
    for len in 0..cookie.len() {
        let bytes = packet(A, tag, |b| b.cookie_echo(&cookie[..len]));
        p.inject_bytes(Z, address(0, A), &bytes);
    }
    assert_drawn(&p.take_drawings(), &[]);
    assert_eq!(p.ends[Z].association_count(), 0);
}

#[test]
fn attack_stale_cookie_replayed_later_sets_nothing_up() {
    let (mut p, echo) = with_cookie();
    let id = p.id(A);
    let now = p.now;
    p.ends[A].release(now, id);
    p.pump(A);
    p.now += crate::common::ms(61_000);
    p.take_drawings();
    p.inject_bytes(Z, address(0, A), &echo);
    assert_drawn(&p.take_drawings(), &["Z -> ERROR: Stale Cookie -> A"]);
    assert_eq!(p.ends[Z].association_count(), 0);
}

#[test]
fn attack_long_lived_cookie_cannot_be_asked_for() {
    let mut p = Pair::new(1, &plain());
    let bytes = packet(A, 0, |b| {
        b.init(false, &init(9), |w| {
            w.cookie_preservative(u32::MAX);
        });
    });
    p.inject_bytes(Z, address(0, A), &bytes);
    let ack = p.sent.pop().unwrap().bytes;
    let parsed = byway_wire::Packet::parse(&ack).unwrap();
    let chunk = parsed.chunks().next().unwrap().unwrap();
    let byway_wire::Chunk::InitAck(ack) = chunk.parse().unwrap() else {
        panic!("an INIT ACK was sent")
    };
    let cookie = ack.params.iter().find_map(|q| match q.unwrap().parse() {
        Ok(byway_wire::Param::StateCookie(c)) => Some(c.to_vec()),
        _ => None,
    });
    let echo = packet(A, ack.initiate_tag, |b| b.cookie_echo(&cookie.unwrap()));
    p.now += crate::common::ms(65_001);
    p.inject_bytes(Z, address(0, A), &echo);
    assert_eq!(p.ends[Z].endpoint_stats().stale_cookies, 1);
    assert_eq!(p.ends[Z].association_count(), 0);
}

#[test]
fn attack_cookie_echo_with_changed_ports_is_dropped() {
    let (mut p, echo) = with_cookie();
    let mut changed = echo.clone();
    changed[1] ^= 1;
    p.inject_bytes(Z, address(0, A), &summed(changed));
    assert_eq!(p.ends[Z].association_count(), 0);
    assert_eq!(p.ends[Z].endpoint_stats().forged_cookies, 1);
}

#[test]
fn attack_blind_packets_without_the_tag_change_nothing() {
    let mut p = Pair::up(1, &plain());
    for tag in [0, 1, u32::MAX, p.reader.tags[Z] ^ 1] {
        p.inject_tagged(Z, 0, tag, |b| b.abort(false, |_| {}));
        p.inject_tagged(Z, 0, tag, |b| b.shutdown(Tsn(0)));
        p.inject_tagged(Z, 0, tag, |b| b.raw(6, 1, &[]));
        p.inject_tagged(Z, 0, tag, |b| b.raw(0xfe, 0, &[1, 2, 3]));
    }
    assert_drawn(&p.take_drawings(), &[]);
    assert_eq!(p.state(Z), "ESTABLISHED");
}

#[test]
fn attack_tags_and_tsns_do_not_repeat() {
    let mut seen = std::collections::BTreeSet::new();
    let mut p = Pair::new(1, &plain());
    for n in 0..50 {
        let bytes = packet(A, 0, |b| b.init(false, &init(n + 1), |_| {}));
        p.inject_bytes(Z, stranger(1), &bytes);
        assert!(seen.insert(p.reader.tags[Z]) && p.reader.tags[Z] != 0);
        assert!(seen.insert(p.reader.initial[Z].0));
    }
}

#[test]
fn attack_out_of_the_blue_with_a_short_first_chunk() {
    let mut p = Pair::new(1, &plain());
    let good = packet(A, 7, |b| b.init(false, &init(1), |_| {}));
    for len in 0..good.len() {
        p.inject_bytes(Z, address(0, A), &summed_or_short(&good[..len]));
    }
    assert_drawn(&p.take_drawings(), &[]);
}

fn summed_or_short(bytes: &[u8]) -> Vec<u8> {
    if bytes.len() < 12 {
        bytes.to_vec()
    } else {
        summed(bytes.to_vec())
    }
}

#[test]
fn attack_chunk_length_below_four_ends_the_packet() {
    for length in 0..4u8 {
        for first in [true, false] {
            let mut p = Pair::up(1, &plain());
            let mut bytes = packet(A, p.reader.tags[Z], |b| {
                if !first {
                    b.cookie_ack();
                }
                b.heartbeat(b"never seen");
                b.abort(false, |_| {});
            });
            let at = if first { 12 } else { 16 };
            bytes[at + 3] = length;
            p.inject_bytes(Z, address(0, A), &summed(bytes));
            assert_drawn(&p.take_drawings(), &[]);
            assert_eq!(p.state(Z), "ESTABLISHED");
        }
    }
}

#[test]
fn attack_parameter_overrun_in_an_init_is_refused() {
    let mut p = Pair::new(1, &plain());
    let mut bytes = packet(A, 0, |b| {
        b.init(false, &init(3), |w| {
            w.raw(0x8123, &[1; 8]);
        });
    });
    let at = bytes.len() - 9;
    bytes[at] = 200;
    p.inject_bytes(Z, address(0, A), &summed(bytes));
    assert_drawn(
        &p.take_drawings(),
        &["Z -> ABORT: Invalid Mandatory Parameter -> A"],
    );
}

#[test]
fn attack_unknown_parameter_bomb_gets_a_small_answer() {
    let mut p = Pair::new(1, &plain());
    let bytes = packet(A, 0, |b| {
        b.init(false, &init(3), |w| {
            for _ in 0..300 {
                w.raw(0xc123, &[]);
            }
        });
    });
    p.inject_bytes(Z, address(0, A), &bytes);
    assert_eq!(p.sent[0].text, "INIT ACK");
    assert!(p.sent[0].bytes.len() < bytes.len());
    let huge = packet(A, 0, |b| {
        b.init(false, &init(3), |w| {
            w.raw(0xc123, &[0; 1300]);
        });
    });
    p.inject_bytes(Z, address(0, A), &huge);
    assert!(p.sent[1].bytes.len() < huge.len());
}

#[test]
fn attack_malformed_heartbeat_ack_is_ignored() {
    let mut p = Pair::up(1, &plain());
    for len in 0..64 {
        p.inject(Z, 0, |b| b.heartbeat_ack(&vec![0; len]));
    }
    p.inject(Z, 0, |b| b.raw(5, 0, &[]));
    p.inject(Z, 0, |b| b.raw(5, 0, &[0, 1]));
    assert_drawn(&p.take_drawings(), &[]);
    assert_eq!(p.state(Z), "ESTABLISHED");
}

#[test]
fn attack_heartbeat_ack_nonce_cannot_be_forged() {
    let mut p = Pair::new(2, &plain());
    p.lose(|q| q.text == "HEARTBEAT ACK");
    p.connect(A, &plain());
    p.run(100);
    for guess in 0..255u8 {
        let mut info = [guess; 17];
        info[0] = 1;
        p.inject(Z, 1, |b| b.heartbeat_ack(&info));
    }
    assert_eq!(p.path_state(Z, 1), PathState::Unconfirmed);
}

/// Sets up an association from A, which lists more addresses than it has.
fn listing(count: u8) -> Pair {
    listing_to(Pair::new(1, &plain()), count)
}

/// The same to a Z that is ready.
fn listing_to(mut p: Pair, count: u8) -> Pair {
    p.lose(|_| true);
    let bytes = packet(A, 0, |b| {
        b.init(false, &init(9), |w| {
            for n in 0..count {
                w.address(stranger(n).ip());
            }
        });
    });
    p.inject_bytes(Z, address(0, A), &bytes);
    let ack = p.sent.last().unwrap().bytes.clone();
    let parsed = byway_wire::Packet::parse(&ack).unwrap();
    let byway_wire::Chunk::InitAck(ack) = parsed.chunks().next().unwrap().unwrap().parse().unwrap()
    else {
        panic!("an INIT ACK was sent")
    };
    let cookie = ack.params.iter().find_map(|q| match q.unwrap().parse() {
        Ok(byway_wire::Param::StateCookie(c)) => Some(c.to_vec()),
        _ => None,
    });
    let echo = packet(A, ack.initiate_tag, |b| b.cookie_echo(&cookie.unwrap()));
    p.inject_bytes(Z, address(0, A), &echo);
    assert_eq!(p.state(Z), "ESTABLISHED");
    p
}

/// Counts how often the routes are asked.
#[derive(Debug)]
struct Counting(Arc<AtomicUsize>);

impl byway_core::Routes for Counting {
    fn source(&mut self, _: &[SocketAddr], _: core::net::IpAddr) -> Option<usize> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Some(0)
    }
}

#[test]
fn attack_a_long_list_of_addresses_does_not_ask_the_routes_for_each() {
    let asked = Arc::new(AtomicUsize::new(0));
    let mut p = Pair::new(1, &plain());
    p.ends[Z].set_routes(Box::new(Counting(asked.clone())));
    let p = listing_to(p, 30);
    // Eight paths: the source of the INIT needs no route.
    assert_eq!(p.ends[Z].paths(p.id(Z)).len(), 8);
    assert_eq!(asked.load(Ordering::Relaxed), 7);
}

#[test]
fn attack_address_camping_ends_when_the_victim_answers() {
    let mut p = listing(1);
    assert_eq!(p.path_state(Z, 1), PathState::Unconfirmed);
    p.run(10);
    assert_eq!(p.sent.last().unwrap().text, "HEARTBEAT");
    // The victim has no association, so its ABORT reflects the tag.
    let abort = packet(A, 9, |b| b.abort(true, |_| {}));
    p.inject_bytes(Z, stranger(0), &abort);
    assert_eq!(p.state(Z), "CLOSED");
}

#[test]
fn attack_data_bombing_of_a_listed_victim_sends_it_no_data() {
    let mut p = listing(1);
    p.send_many(Z, 1000, 50);
    p.run(60_000);
    let to_victim = p.sent.iter().filter(|q| q.path != 0);
    assert!(to_victim.clone().count() > 0);
    assert!(to_victim.clone().all(|q| q.text == "HEARTBEAT"));
}

#[test]
fn attack_heartbeat_amplification_is_bounded_by_burst_and_paths() {
    let mut p = listing(30);
    p.run(10);
    let beats = |p: &Pair| p.sent.iter().filter(|q| q.text == "HEARTBEAT").count();
    assert_eq!(beats(&p), 1, "one an RTO");
    p.run(3_600_000);
    assert_eq!(p.with(Z, |_, e, id| e.paths(id)).len(), 8);
    let targets: std::collections::BTreeSet<_> = p.sent.iter().map(|q| q.path).collect();
    assert!(targets.len() <= 8);
}

#[test]
fn attack_listed_victims_get_five_heartbeats_each_also_while_data_waits() {
    for waits in [false, true] {
        let mut p = listing(30);
        if waits {
            // The attacker acknowledges nothing. What waits for him probes no victim.
            p.send(Z, byway_core::Message::new(0, vec![1; 5000]));
        }
        p.run(500_000);
        let mut beats = std::collections::BTreeMap::new();
        for q in p.sent.iter().filter(|q| q.from == Z && q.path != 0) {
            *beats.entry(q.path).or_insert(0) += 1;
        }
        assert_eq!(beats.len(), 7);
        assert!(beats.values().all(|n| *n <= 5), "{beats:?}");
        assert!(p.sent.iter().all(|q| q.path == 0 || q.text == "HEARTBEAT"));
    }
}

#[test]
fn attack_init_ack_amplification_is_small() {
    // Whatever the INIT holds, and however many addresses this side has.
    type Params = fn(&mut byway_wire::ParamWriter<'_>);
    let rows: [(&str, Params); 6] = [
        ("nothing", |_| {}),
        ("padding", |w| {
            w.padding(&[0; 100]);
        }),
        ("unknown parameters", |w| {
            for n in 0..300 {
                w.raw(0xc200 + n, &[]);
            }
        }),
        ("a long unknown parameter", |w| {
            w.raw(0xc200, &[7; 1300]);
        }),
        ("addresses", |w| {
            for n in 0..32 {
                w.address([10, 77, 0, n].into());
            }
        }),
        ("AUTH", |w| {
            w.random(&[7; 32]);
            w.chunk_list(&[0xc1, 0x80]);
            w.hmac_algo(&[3, 1]);
        }),
    ];
    let mut auth = plain();
    (auth.auth.enabled, auth.asconf.enabled, auth.rto.timestamps) = (true, true, true);
    for config in [&plain(), &auth] {
        for v6 in [false, true] {
            let ip = |n: u16| match v6 {
                true => core::net::IpAddr::from([0xfd00, 0, 0, 0, 0, 0, 0, n]),
                false => core::net::IpAddr::from([10, n as u8, 0, 2]),
            };
            let local: Vec<_> = (0..8).map(|n| SocketAddr::new(ip(n), 9899)).collect();
            let settings = EndpointConfig {
                accepted: config.clone(),
                ..EndpointConfig::new(PORTS[Z], local.clone(), [2; 32])
            };
            let mut end = Endpoint::new(settings).unwrap();
            let source = SocketAddr::new(ip(99), 4242);
            for (what, params) in rows {
                let bytes = packet(A, 0, |b| b.init(false, &init(9), params));
                let now = byway_core::time::Instant::ZERO;
                end.handle_datagram(now, source, local[0], &bytes);
                let mut answer = Vec::new();
                end.poll_transmit(now, &mut answer).expect("it is answered");
                assert!(end.poll_transmit(now, &mut Vec::new()).is_none());
                let (asked, got) = (bytes.len(), answer.len());
                assert!(got <= 3 * asked, "{what}: {got} bytes for {asked}");
                assert!(got <= 1500 - 28, "{what}: {got} bytes");
                let cookie = byway_wire::Packet::parse(&answer).unwrap();
                let cookie = cookie.chunks().next().unwrap().unwrap();
                let byway_wire::Chunk::InitAck(ack) = cookie.parse().unwrap() else {
                    panic!("{what}: no INIT ACK");
                };
                let cookie = ack.params.find(byway_wire::param_type::STATE_COOKIE);
                assert!(cookie.is_some(), "{what}: no cookie");
            }
        }
    }
}

#[test]
fn attack_cut_reports_of_unknown_parameters_keep_their_form() {
    // R17: a parameter that is cut says its new length.
    let mut p = Pair::new(1, &plain());
    let bytes = packet(A, 0, |b| {
        b.init(false, &init(3), |w| {
            w.raw(0xc200, &[7; 1000]);
            w.raw(0xc201, &[7; 5]);
        });
    });
    p.inject_bytes(Z, address(0, A), &bytes);
    let answer = byway_wire::Packet::parse(&p.sent[0].bytes).unwrap();
    let chunk = answer.chunks().next().unwrap().unwrap();
    let byway_wire::Chunk::InitAck(ack) = chunk.parse().unwrap() else {
        panic!("no INIT ACK");
    };
    let mut reported = Vec::new();
    for raw in ack.params.iter() {
        if let byway_wire::Param::UnrecognizedParameter(inner) = raw.unwrap().parse().unwrap() {
            let length = u16::from_be_bytes([inner[2], inner[3]]);
            reported.push((u16::from_be_bytes([inner[0], inner[1]]), length));
            assert_eq!(usize::from(length), inner.len());
        }
    }
    assert_eq!(reported, [(0xc200, 256), (0xc201, 9)]);
}

#[test]
fn what_is_read_but_not_spoken_is_reported() {
    // R19: Forward-TSN-Supported and an adaptation layer, of which nothing is done here.
    let mut p = Pair::new(1, &plain());
    let bytes = packet(A, 0, |b| {
        b.init(false, &init(3), |w| {
            w.supported_address_types(&[5]);
            w.ecn_capable();
            w.forward_tsn_supported();
            w.adaptation_indication(7);
            w.padding(&[0; 60]);
        });
    });
    p.inject_bytes(Z, address(0, A), &bytes);
    let answer = byway_wire::Packet::parse(&p.sent[0].bytes).unwrap();
    let chunk = answer.chunks().next().unwrap().unwrap();
    let byway_wire::Chunk::InitAck(ack) = chunk.parse().unwrap() else {
        panic!("no INIT ACK");
    };
    let reported: Vec<u16> = ack
        .params
        .iter()
        .filter_map(|raw| match raw.unwrap().parse().unwrap() {
            byway_wire::Param::UnrecognizedParameter(p) => Some(u16::from_be_bytes([p[0], p[1]])),
            _ => None,
        })
        .collect();
    assert_eq!(reported, [0xc000, 0xc006]);
}

#[test]
fn attack_errors_without_end_tell_the_user_of_few() {
    // R20: 370 ERRORs a packet, and a packet every millisecond for two seconds.
    let mut p = Pair::up(1, &plain());
    for _ in 0..2000 {
        p.inject(Z, 0, |b| {
            for _ in 0..370 {
                b.error(|_| {});
            }
        });
        p.run(1);
    }
    let told = p.take_events(Z);
    let errors = told
        .iter()
        .filter(|e| matches!(e, Event::PeerError { .. }))
        .count();
    assert!((8..=24).contains(&errors), "{errors}");
    assert_eq!(p.state(Z), "ESTABLISHED");
}

#[test]
fn attack_many_chunks_in_a_packet_get_one_answer() {
    type Write = fn(&mut byway_wire::PacketBuilder<'_>);
    let rows: [(&str, Write, usize); 4] = [
        ("heartbeats", |b| b.heartbeat(b"x"), 1),
        ("unknown chunks", |b| b.raw(0xff, 0, b"x"), 1),
        ("SHUTDOWN ACKs out of place", |b| b.shutdown_ack(), 0),
        ("COOKIE ACKs", |b| b.cookie_ack(), 0),
    ];
    for (what, write, answers) in rows {
        let mut p = Pair::up(1, &plain());
        p.inject(Z, 0, |b| {
            for _ in 0..100 {
                write(b);
            }
        });
        assert_eq!(p.take_drawings().len(), answers, "{what}");
    }
}

#[test]
fn attack_sack_of_what_was_never_sent_ends_the_association() {
    let rows: [(u32, &[(u16, u16)]); 4] =
        [(4, &[]), (0, &[(2, 4)]), (2, &[(2, 2)]), (1 << 30, &[])];
    for (cumulative, gaps) in rows {
        let mut p = Pair::up(1, &plain());
        p.lose(|q| q.from == Z);
        p.send_many(A, 1400, 3);
        p.take_drawings();
        let tsn = p.reader.tsn(A, cumulative);
        p.inject(A, 0, |b| b.sack(tsn, 1500, gaps, &[]));
        assert_drawn(&p.take_drawings(), &["A -> ABORT: Protocol Violation -> Z"]);
    }
    let mut p = Pair::up(1, &plain());
    let tsn = p.reader.tsn(A, 1);
    p.inject(A, 0, |b| b.shutdown(tsn));
    assert_drawn(&p.take_drawings(), &["A -> ABORT: Protocol Violation -> Z"]);
}

#[test]
fn attack_ack_splitting_does_not_open_the_window_faster() {
    // Section 7.2.1 counts bytes, and at most one PMDCS per SACK.
    let grown = |splits: u32| {
        let mut p = Pair::up(1, &plain());
        p.lose(|q| q.from == Z);
        p.send_many(A, 40, 60);
        let before = p.path(A, 0).cwnd;
        for n in 0..splits {
            let tsn = p.reader.tsn(A, (n + 1) * 30 / splits);
            p.inject(A, 0, |b| b.sack(tsn, 1 << 20, &[], &[]));
        }
        p.path(A, 0).cwnd - before
    };
    assert!(grown(30) <= grown(1));
}

#[test]
fn attack_gap_blocks_and_duplicates_without_end_cost_little() {
    let mut p = Pair::up(1, &plain());
    p.lose(|q| q.from == Z);
    p.send_many(A, 1400, 3);
    let gaps: Vec<(u16, u16)> = (0..16_000).map(|_| (2, 3)).collect();
    let tsn = p.reader.tsn(A, 0);
    p.inject(A, 0, |b| b.sack(tsn, 1500, &gaps, &[]));
    assert_eq!(p.state(A), "ESTABLISHED");
    let twice: Vec<Tsn> = (0..16_000).map(Tsn).collect();
    p.inject(A, 0, |b| {
        b.sack(tsn, 1500, &[(3, 2), (0, 9), (2, 3)], &twice)
    });
    assert_eq!(p.state(A), "ESTABLISHED");
    // The chunk announces more blocks than it has.
    p.inject(A, 0, |b| {
        b.raw(3, 0, &[0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff])
    });
    assert_eq!(p.state(A), "ESTABLISHED");
}

#[test]
fn attack_reneging_brings_chunks_back_to_their_path() {
    let mut p = Pair::up(2, &plain());
    p.lose(|q| q.from == Z);
    p.send_many(A, 1400, 3);
    let tsn = p.reader.tsn(A, 0);
    for gaps in [&[(2, 3)][..], &[], &[(3, 3)], &[(2, 2)], &[]] {
        p.inject(A, 0, |b| b.sack(tsn, 1 << 20, gaps, &[]));
    }
    assert_eq!(p.path(A, 0).flight, 3 * 1416);
    p.heal();
    p.run(5000);
    assert_eq!(p.take_got(Z).len(), 3);
}

#[test]
fn attack_serial_numbers_wrap_at_2_to_the_16_without_harm() {
    let mut p = Pair::up(1, &plain());
    for _ in 0..660 {
        p.send_many(A, 4, 100);
        p.run(300);
    }
    let got = core::mem::take(&mut p.got[Z]);
    assert_eq!(got.len(), 66_000);
    let ssns = got.iter().map(|r| usize::from(r.ssn));
    assert!(ssns.enumerate().all(|(i, ssn)| ssn == i % 65_536));
}

#[test]
fn attack_fragment_hoarding_is_bounded_and_tells_an_honest_window() {
    let mut c = plain();
    c.buffer.receive = 10_000;
    let mut p = Pair::up(1, &c);
    // Fragments of one byte from messages that never end, each after a gap.
    for n in 1..2000u32 {
        let tsn = p.reader.tsn(A, 2 * n);
        p.inject(Z, 0, |b| {
            b.data(&byway_wire::Data {
                tsn,
                stream_id: 0,
                ssn: n as u16,
                ppid: 0,
                unordered: false,
                begin: true,
                end: false,
                immediate: false,
                payload: b"x",
            });
        });
    }
    let last = p
        .sent
        .iter()
        .rev()
        .find(|q| q.text.starts_with("SACK"))
        .unwrap();
    assert!(last.text.ends_with("closed"));
    // 49 bytes for each fragment, and at most twice the buffer.
    assert!(
        p.sent
            .iter()
            .map(|q| q.text.matches('[').count())
            .max()
            .unwrap()
            <= 2 * 10_000 / 49 + 1
    );
}

/// A DATA chunk of one byte, for stream 0.
fn one_byte(p: &mut Pair, n: u32, (begin, end): (bool, bool)) {
    let tsn = p.reader.tsn(A, n);
    p.inject(Z, 0, |b| {
        b.data(&byway_wire::Data {
            tsn,
            stream_id: 0,
            ssn: n as u16,
            ppid: 0,
            unordered: false,
            begin,
            end,
            immediate: false,
            payload: b"x",
        });
    });
}

#[test]
fn attack_fragments_that_never_began_are_a_violation() {
    // Only ends of messages, in order: they would be acknowledged and never delivered.
    let mut p = Pair::up(1, &plain());
    one_byte(&mut p, 1, (false, true));
    assert!(p.sent.last().unwrap().text.starts_with("ABORT"));
    // The same behind a gap: nothing is wrong until it fills.
    let mut p = Pair::up(1, &plain());
    one_byte(&mut p, 2, (false, true));
    assert!(!p.sent.iter().any(|q| q.text.starts_with("ABORT")));
    one_byte(&mut p, 1, (true, true));
    assert!(p.sent.last().unwrap().text.starts_with("ABORT"));
}

#[test]
fn attack_self_referencing_reassembly_is_a_violation() {
    // A message begins inside another one.
    let mut p = Pair::up(1, &plain());
    for n in 1..=2u32 {
        let tsn = p.reader.tsn(A, n);
        p.inject(Z, 0, |b| {
            b.data(&byway_wire::Data {
                tsn,
                stream_id: 0,
                ssn: 0,
                ppid: 0,
                unordered: false,
                begin: true,
                end: false,
                immediate: false,
                payload: b"x",
            });
        });
    }
    assert_eq!(p.state(Z), "CLOSED");
    assert!(
        p.take_drawings()
            .contains(&"Z -> ABORT: Protocol Violation -> A".to_owned())
    );
}

#[test]
fn attack_bundled_init_is_dropped() {
    let mut p = Pair::new(1, &plain());
    for first in [true, false] {
        let bytes = packet(A, 0, |b| {
            if !first {
                b.cookie_ack();
            }
            b.init(false, &init(4), |_| {});
            if first {
                b.cookie_ack();
            }
        });
        p.inject_bytes(Z, address(0, A), &bytes);
    }
    assert_drawn(&p.take_drawings(), &[]);
    let tagged = packet(A, 4, |b| b.init(false, &init(4), |_| {}));
    p.inject_bytes(Z, address(0, A), &tagged);
    assert_drawn(&p.take_drawings(), &[]);
}

#[test]
fn attack_restart_with_added_addresses_is_refused() {
    let mut p = Pair::up(1, &plain());
    let bytes = packet(A, 0, |b| {
        b.init(false, &init(4), |w| {
            w.address(stranger(1).ip());
        });
    });
    p.inject_bytes(Z, address(0, A), &bytes);
    assert_drawn(
        &p.take_drawings(),
        &["Z -> ABORT: Restart of an Association with New Addresses -> A"],
    );
    assert_eq!(p.state(Z), "ESTABLISHED");
    // Also not from a new address, even if the INIT lists one of the peer's.
    let bytes = packet(A, 0, |b| {
        b.init(false, &init(4), |w| {
            w.address(address(0, A).ip());
        });
    });
    p.inject_bytes(Z, stranger(1), &bytes);
    assert_drawn(
        &p.take_drawings(),
        &["Z -> ABORT: Restart of an Association with New Addresses -> lost (path 101)"],
    );
}

#[test]
fn attack_short_stale_cookie_cause_is_ignored() {
    for len in 0..4 {
        let (mut p, _) = with_cookie();
        p.inject(A, 0, |b| {
            b.error(|c| {
                c.raw(3, &[0; 4][..len]);
            });
        });
        assert_eq!(p.state(A), "COOKIE-ECHOED");
    }
}

#[test]
fn attack_cookie_echo_with_shutdown_and_shutdown_ack_in_one_packet() {
    let (mut p, echo) = with_cookie();
    let cookie = cookie_of(&echo).to_vec();
    let (tag, tsn) = (p.reader.tags[Z], p.reader.tsn(Z, 0));
    let bytes = packet(A, tag, |b| {
        b.cookie_echo(&cookie);
        b.shutdown(tsn);
        b.shutdown_ack();
        b.heartbeat(b"dead");
        b.shutdown(tsn);
    });
    p.take_drawings();
    p.inject_bytes(Z, address(0, A), &bytes);
    assert_eq!(p.take_drawings().len(), 1);
    assert_eq!(p.ends[Z].association_count(), 0);
    assert_eq!(p.take_events(Z).last(), Some(&Event::ShutdownComplete));
}

#[test]
fn attack_packets_queued_for_a_path_that_went_away_go_nowhere() {
    // A restart from one address leaves only one path. What waited for the second path
    // is gone, and its id is refused.
    let mut p = Pair::up(2, &plain());
    p.with(Z, |now, e, id| {
        e.request_heartbeat(now, id, byway_core::PathId(1))
    })
    .unwrap();
    p.replace(A, 7, &plain());
    p.ends[A] = crate::common::endpoint(1, A, 7, &plain());
    p.paths = 1;
    p.connect(A, &plain());
    p.run(5000);
    assert_eq!(p.with(Z, |_, e, id| e.paths(id)).len(), 1);
    let gone = p.with(Z, |now, e, id| {
        e.set_primary(now, id, byway_core::PathId(1))
    });
    assert_eq!(
        gone.unwrap_err().to_string(),
        "path 1 does not exist; the association has paths 0 to 0"
    );
}

#[test]
fn attack_cookies_and_heartbeats_hold_no_memory_of_ours() {
    // Equal endpoints in equal states make equal bytes, so none is uninitialised.
    let run = || {
        let mut p = Pair::new(2, &plain());
        p.connect(A, &plain());
        p.run(5000);
        p.sent.into_iter().map(|q| q.bytes).collect::<Vec<_>>()
    };
    assert_eq!(run(), run());
}

#[test]
fn attack_forced_path_switch_leaves_the_primary_where_it_is() {
    // RFC 7829 section 8: losses that an attacker causes move data, but the
    // primary stays and traffic returns to it.
    let mut c = plain();
    c.hb.enabled = true;
    let mut p = Pair::up(2, &c);
    for _ in 0..5 {
        p.cut(&[0]);
        p.send_many(A, 10, 1);
        p.run(1500);
        p.heal();
        p.run(20_000);
    }
    assert!(p.path(A, 0).primary && p.path(A, 0).in_use);
    assert_eq!(p.take_got(Z).len(), 5);
}

#[test]
fn attack_changed_packets_never_change_a_message() {
    let mut p = Pair::up(1, &plain());
    let mut n = 0usize;
    p.hand(move |q| {
        n += 1;
        let mut bytes = q.bytes.clone();
        let at = n * 31 % bytes.len();
        if n.is_multiple_of(3) {
            bytes[at] ^= 1 << (n % 8);
            Fate::Changed(bytes)
        } else {
            Fate::Pass
        }
    });
    p.send_many(A, 700, 100);
    p.run(600_000);
    let got = core::mem::take(&mut p.got[Z]);
    assert_eq!(got.len(), 100);
    assert!(
        got.iter()
            .enumerate()
            .all(|(i, r)| r.payload.iter().all(|b| *b == i as u8))
    );
    assert!(p.ends[Z].endpoint_stats().bad_checksums > 0);
}

#[test]
fn attack_many_errors_in_a_packet_are_one_event() {
    let mut p = Pair::up(1, &plain());
    p.inject(Z, 0, |b| {
        for _ in 0..300 {
            b.error(|c| {
                c.out_of_resource();
            });
        }
    });
    let errors = p.take_events(Z).into_iter();
    let errors = errors.filter(|e| matches!(e, byway_core::Event::PeerError { .. }));
    assert_eq!(errors.count(), 1);
}

#[test]
fn attack_port_zero_sets_up_nothing_and_gets_no_answer() {
    let mut p = Pair::new(1, &plain());
    let mut bytes = Vec::new();
    let header = byway_wire::CommonHeader {
        source_port: 0,
        destination_port: crate::common::PORTS[Z],
        verification_tag: 0,
    };
    let mut b = byway_wire::PacketBuilder::new(&mut bytes, header);
    b.init(false, &init(9), |_| {});
    b.finish(byway_wire::Checksum::Crc32c);
    p.inject_bytes(Z, address(0, A), &bytes);
    assert_eq!(p.take_drawings(), [""; 0]);
}

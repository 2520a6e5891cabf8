//! Packets that ask for more than they cost: amplification, victims that are listed, reports.

use super::stranger;
use crate::common::stranger::{init, set_up};
use crate::common::{A, PORTS, Pair, Z, address, packet, plain};
use byway_core::{Endpoint, EndpointConfig, Event, PathState};
use core::net::SocketAddr;
use core::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;

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

/// Sets up an association from A, which lists more addresses than it has.
fn listing(count: u8) -> Pair {
    listing_to(Pair::new(1, &plain()), count)
}

/// The same to a Z that is ready.
fn listing_to(mut p: Pair, count: u8) -> Pair {
    p.lose(|_| true);
    set_up(&mut p, address(0, A), 9, |w| {
        for n in 0..count {
            w.address(stranger(n).ip());
        }
    });
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
        // All together have three times the bytes of the attacker, which sends nothing more.
        assert!((4..=7).contains(&beats.len()), "{beats:?}");
        assert!(beats.values().all(|n| *n <= 5), "{beats:?}");
        assert!(p.sent.iter().all(|q| q.path == 0 || q.text == "HEARTBEAT"));
        // Those that wait for bytes of the attacker are counted.
        let put_off = p.ends[Z].endpoint_stats().heartbeats_put_off;
        assert!(put_off > 0);
        let refusals = p.ends[Z].take_refusals();
        let rule = byway_core::Rule::HeartbeatAllowance;
        assert!(
            refusals
                .iter()
                .any(|r| r.rule == rule && r.count == put_off)
        );
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
    // R20: 370 ERRORs a packet, or one that says as much as it can, and a packet every
    // millisecond for two seconds.
    let mut p = Pair::up(1, &plain());
    for ms in 0..2000 {
        p.inject(Z, 0, |b| {
            if ms % 2 == 0 {
                b.error(|causes| {
                    for _ in 0..40 {
                        causes.protocol_violation(&[1; 300]);
                    }
                });
                return;
            }
            for _ in 0..370 {
                b.error(|_| {});
            }
        });
        p.run(1);
    }
    let told = p.take_events(Z);
    // Each text is cut: some kilobytes, however long the causes are.
    let texts: Vec<usize> = told.iter().map(Event::text_memory).collect();
    assert!(
        texts.iter().any(|t| *t > 1000) && texts.iter().all(|t| *t < 2700),
        "{texts:?}"
    );
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

/// What Z sends to addresses that a forged INIT lists, for the bytes that it got, in half an hour:
/// each row of a Z with so many addresses and an INIT that lists so many.
#[test]
fn attack_listed_victims_get_three_bytes_for_each_that_was_sent() {
    let mut auth = plain();
    (auth.auth.enabled, auth.asconf.enabled) = (true, true);
    let mut hasty = plain();
    hasty.hb.max_burst = 8;
    for config in [&plain(), &auth, &hasty] {
        for locals in 1..=8 {
            for listed in 1..=8 {
                // Whether the attacker answers what comes to its own address.
                for answers in [false, true] {
                    let (asked, got) = bomb(config, locals, listed, answers);
                    let row = format!("{locals} addresses, {listed} listed, answers: {answers}");
                    assert!(got <= 3 * asked, "{row}: {got} bytes for {asked}");
                    assert!(got > 0, "{row}");
                }
            }
        }
    }
}

/// Bytes that came from an attacker, without its INIT, and that went to the addresses it listed.
fn bomb(config: &byway_core::Config, locals: usize, listed: u8, answers: bool) -> (usize, usize) {
    let ends = [
        crate::common::endpoint(1, A, 1, config),
        crate::common::endpoint(locals, Z, 2, config),
    ];
    let mut p = Pair::of(ends, locals);
    p.lose(|_| true);
    let own = address(0, A);
    let (tag, echo) = crate::common::stranger::cookie_echo(&mut p, own, 9, |w| {
        for n in 0..listed {
            w.address(stranger(n).ip());
        }
        if config.auth.enabled {
            w.random(&[7; 32]);
            w.chunk_list(&[0xc1, 0x80, 4]);
            w.hmac_algo(&[3, 1]);
            w.supported_extensions(&[0xc1, 0x80, 0x0f]);
        }
    });
    p.sent.clear();
    p.inject_bytes(Z, own, &echo);
    let (mut asked, mut got) = (echo.len(), 0);
    for _ in 0..1800 {
        p.run(1000);
        for passing in core::mem::take(&mut p.sent) {
            if passing.from != Z {
                continue;
            }
            if passing.path != 0 {
                got += passing.bytes.len();
            } else if answers && passing.text == "HEARTBEAT" {
                let heard = byway_wire::Packet::parse(&passing.bytes).unwrap();
                let Some(Ok(beat)) = heard.chunks().next() else {
                    panic!("a HEARTBEAT")
                };
                let kind = byway_wire::chunk_type::HEARTBEAT_ACK;
                let ack = packet(A, tag, |b| b.raw(kind, 0, beat.value));
                asked += ack.len();
                p.inject_bytes(Z, own, &ack);
            }
        }
    }
    (asked, got)
}

/// Honest peers: the same table, with what it may cost.
#[test]
fn honest_addresses_are_confirmed_as_soon_as_the_burst_lets_them() {
    for burst in [1, 8] {
        for locals in 1..=8 {
            for listed in 1..=8 {
                let mut config = plain();
                config.hb.max_burst = burst;
                let ends = [
                    crate::common::endpoint(listed, A, 1, &config),
                    crate::common::endpoint(locals, Z, 2, &config),
                ];
                let mut p = Pair::of(ends, locals.max(listed));
                p.connect(A, &config);
                // Time to set up, and one RTO for each address behind the burst.
                let rtos = (listed as u64 - 1)
                    .div_ceil(u64::from(burst))
                    .saturating_sub(1);
                p.run(200 + rtos * 1000);
                let paths = p.with(Z, |_, e, id| e.paths(id));
                let confirmed = |q: &&byway_core::PathStats| q.state == PathState::Active;
                let count = paths.iter().filter(confirmed).count();
                assert_eq!(count, paths.len(), "burst {burst}, {locals} x {listed}");
                assert!(count >= listed.min(locals));
            }
        }
    }
}

//! Whole networks: routing, merging flows, determinism, captures.

use super::*;
use byway_core::time::{Duration, Instant};
use proptest::prelude::*;
use std::net::IpAddr;

fn v4(last: u8) -> IpAddr {
    [10, 0, 0, last].into()
}

fn ms(millis: u64) -> Instant {
    Instant::from_millis(millis)
}

fn wire(mbps: u64, delay_ms: u64) -> LinkConfig {
    LinkConfig::new(Rate::mbps(mbps), Duration::from_millis(delay_ms))
}

fn send(net: &mut Network, now: Instant, src: IpAddr, dst: IpAddr, size: u32) -> u64 {
    let mut payload = net.buffer();
    payload.resize(28, 0);
    let packet = Outgoing {
        wire_size: Some(size),
        ..Outgoing::new(src, dst, payload)
    };
    net.send(now, packet).expect("a sendable packet")
}

fn arrivals(net: &mut Network) -> Vec<(Instant, Arrival)> {
    std::iter::from_fn(|| net.pop())
        .filter_map(|(at, event)| match event {
            Event::Arrived(arrival) => Some((at, arrival)),
            Event::Timer { .. } => None,
        })
        .collect()
}

/// a -- r0 -- r1 -- b, and x and y merging at r0 and r1:
/// the papers' path with cross traffic.
struct Dumbbell {
    topology: TopologyBuilder,
    core: LinkId,
    last: LinkId,
}

fn dumbbell(core: LinkConfig) -> Dumbbell {
    let mut t = TopologyBuilder::new();
    let a = t.add_host("a", &[v4(1)]);
    let b = t.add_host("b", &[v4(2)]);
    let x = t.add_host("x", &[v4(3)]);
    let y = t.add_host("y", &[v4(4)]);
    let r0 = t.add_router("r0");
    let r1 = t.add_router("r1");
    t.add_duplex(a, r0, wire(100, 10));
    t.add_duplex(x, r0, wire(100, 7));
    let (core, _) = t.add_duplex(r0, r1, core);
    let (last, _) = t.add_duplex(r1, b, wire(100, 10));
    t.add_duplex(r1, y, wire(100, 7));
    Dumbbell {
        topology: t,
        core,
        last,
    }
}

#[test]
fn three_links_add_up() {
    let mut net = dumbbell(wire(10, 25)).topology.build(1).expect("valid");
    send(&mut net, Instant::ZERO, v4(1), v4(2), 1500);
    let (at, arrival) = arrivals(&mut net).remove(0);
    // 0.12 + 10 + 1.2 + 25 + 0.12 + 10 ms
    assert_eq!(at, Instant::from_nanos(46_440_000));
    assert_eq!((arrival.src, arrival.dst), (v4(1), v4(2)));
    assert_eq!((arrival.interface, arrival.sent_at), (0, Instant::ZERO));
    assert_eq!(net.in_flight(), 0);
}

#[test]
fn flows_share_the_core_queue() {
    let d = dumbbell(wire(10, 25).queue(QueueLimit::Packets(10)));
    let mut net = d.topology.build(1).expect("valid");
    assert!(!net.is_followed_ahead(d.core));
    for _ in 0..20 {
        send(&mut net, Instant::ZERO, v4(1), v4(2), 1500);
        send(&mut net, Instant::ZERO, v4(3), v4(4), 1500);
    }
    let got = arrivals(&mut net);
    let core = net.counters(d.core);
    assert_eq!(core.offered_packets, 40);
    assert_eq!(core.max_queue_packets, 10);
    assert_eq!(got.len() as u64, 40 - core.dropped_queue);
    assert!(core.dropped_queue > 0);
    // x is nearer, so its packets fill the queue first.
    assert_eq!(got[0].1.src, v4(3));
}

#[test]
fn a_lone_path_needs_no_events_on_the_way() {
    let mut t = TopologyBuilder::new();
    let a = t.add_host("a", &[v4(1)]);
    let b = t.add_host("b", &[v4(2)]);
    let r = t.add_router("r");
    let (up, _) = t.add_duplex(a, r, wire(10, 1));
    let (down, _) = t.add_duplex(r, b, wire(10, 1));
    assert!(t.build(1).expect("valid").is_followed_ahead(down));
    // Reordering before a link prevents this.
    let mut jitter = t.clone();
    let reorder = LinkConfig {
        reorder: Some(Reorder {
            probability: 0.1,
            max_extra: Duration::from_millis(1),
        }),
        cost: 1,
        ..wire(10, 1)
    };
    let c = jitter.add_host("c", &[v4(3)]);
    let r2 = jitter.add_router("r2");
    let first = jitter.add_link(c, r2, reorder);
    let second = jitter.add_link(r2, b, wire(10, 1));
    let net = jitter.build(1).expect("valid");
    assert!(net.is_followed_ahead(first) && !net.is_followed_ahead(second));
    assert!(net.is_followed_ahead(up));
}

#[test]
fn multihomed_hosts_use_the_interface_of_the_source_address() {
    let mut t = TopologyBuilder::new();
    let first: Vec<IpAddr> = (0..8).map(|i| [10, 0, i, 1].into()).collect();
    let second: Vec<IpAddr> = (0..8).map(|i| [10, 0, i, 2].into()).collect();
    let a = t.add_host("a", &first);
    let b = t.add_host("b", &second);
    for i in 0..8 {
        t.add_duplex(a.interface(i), b.interface(i), wire(10, u64::from(i) + 1));
    }
    let v6: IpAddr = "fd00::2".parse().expect("an address");
    let v6_source: IpAddr = "fd00::1".parse().expect("an address");
    t.add_address(a.interface(3), v6_source);
    t.add_address(b.interface(3), v6);
    let mut net = t.build(1).expect("valid");
    for i in [5, 0, 7] {
        send(&mut net, Instant::ZERO, first[i], second[i], 1250);
    }
    send(&mut net, Instant::ZERO, v6_source, v6, 1250);
    let got: Vec<(u64, u8, IpAddr)> = arrivals(&mut net)
        .iter()
        .map(|(at, a)| (at.as_nanos() / 1_000_000, a.interface, a.dst))
        .collect();
    assert_eq!(
        got,
        [
            (2, 0, second[0]),
            (5, 3, v6),
            (7, 5, second[5]),
            (9, 7, second[7])
        ]
    );
    // There is no route from one path to the other path's address.
    send(&mut net, ms(20), first[0], second[1], 100);
    assert!(arrivals(&mut net).is_empty());
    assert_eq!((net.unroutable(), net.in_flight()), (1, 0));
    assert_eq!(net.route_cost(a.interface(0), second[1]), None);
    assert_eq!(net.route_cost(a.interface(1), second[1]), Some(1));
}

#[test]
fn routes_can_be_laid_by_hand() {
    let mut t = TopologyBuilder::new();
    let a = t.add_host("a", &[v4(1)]);
    let b = t.add_host("b", &[v4(2)]);
    let [r0, r1, r2] = ["r0", "r1", "r2"].map(|name| t.add_router(name));
    t.add_link(a, r0, wire(10, 1));
    t.add_link(r0, r1, wire(10, 1));
    let detour = t.add_link(r0, r2, wire(10, 5));
    let back = t.add_link(r2, r0, wire(10, 1));
    t.add_link(r1, b, wire(10, 1));
    t.add_link(r2, b, wire(10, 5));
    let time = |t: &TopologyBuilder| {
        let mut net = t.build(1).expect("valid");
        send(&mut net, Instant::ZERO, v4(1), v4(2), 1250);
        arrivals(&mut net)[0].0
    };
    assert_eq!(time(&t), ms(6));
    t.add_route(r0, v4(2), detour);
    assert_eq!(time(&t), ms(14));
    t.add_route(r2, v4(2), back);
    assert!(matches!(t.build(1), Err(TopologyError::RoutingLoop { .. })));
}

#[test]
fn mistakes_are_named() {
    let a = v4(1);
    let build = |f: &dyn Fn(&mut TopologyBuilder)| {
        let mut t = TopologyBuilder::new();
        f(&mut t);
        t.build(1).err().expect("invalid").to_string()
    };
    let said = build(&|t| {
        t.add_host("h", &[]);
    });
    assert_eq!(said, "host \"h\" has 0 interfaces; a host needs 1 to 255");
    let said = build(&|t| {
        t.add_host("h", &[a, a]);
    });
    assert_eq!(
        said,
        "address 10.0.0.1 is used twice; every interface needs its own"
    );
    let said = build(&|t| {
        let h = t.add_host("h", &[a]);
        t.add_link(h.interface(1), h, LinkConfig::default());
    });
    assert!(said.starts_with("link 0 names node 0 interface 1, which does not exist"));
    let said = build(&|t| {
        let h = t.add_host("h", &[a]);
        t.add_duplex(h, h, LinkConfig::default().loss(LossModel::Uniform(2.0)));
    });
    assert_eq!(said, "link 0: loss rate is 2, but must be 0 to 1");
}

#[test]
fn bad_packets_are_refused() {
    let mut net = dumbbell(wire(10, 1)).topology.build(1).expect("valid");
    let foreign = v4(99);
    let mut try_send = |at, src, dst, via| {
        let packet = Outgoing {
            via,
            ..Outgoing::new(src, dst, Vec::new())
        };
        net.send(at, packet).err()
    };
    let v6: IpAddr = "::1".parse().expect("an address");
    let unknown = Some(SendError::UnknownSource(foreign));
    assert_eq!(try_send(ms(1), foreign, v4(2), None), unknown);
    let a = NodeId(0);
    assert_eq!(
        try_send(ms(1), foreign, v4(2), Some(a.into())),
        None,
        "spoofed"
    );
    let mixed = Some(SendError::MixedFamilies {
        src: v4(1),
        dst: v6,
    });
    assert_eq!(try_send(ms(1), v4(1), v6, None), mixed);
    let port = a.interface(1);
    let missing = Some(SendError::NoSuchInterface(port));
    assert_eq!(try_send(ms(1), v4(1), v4(2), Some(port)), missing);
    let past = try_send(ms(0), v4(1), v4(2), None);
    assert!(matches!(past, Some(SendError::InThePast { .. })));
    let early = try_send(ms(1000), v4(1), v4(2), None);
    assert!(matches!(early, Some(SendError::EventsPending { .. })));
    let got = arrivals(&mut net);
    assert_eq!((got.len(), got[0].1.src), (1, foreign));
}

#[test]
fn timers_and_packets_come_in_order_and_time_stops_at_the_limit() {
    let mut net = dumbbell(wire(10, 1)).topology.build(1).expect("valid");
    let timer = net.add_timer(NodeId(0), 42);
    net.set_timer(timer, Some(ms(5)));
    net.set_timer(timer, Some(ms(50)));
    assert!(net.pop_until(ms(20)).is_none());
    assert_eq!(net.now(), ms(20));
    send(&mut net, ms(20), v4(1), v4(2), 1500);
    let (at, event) = net.pop().expect("a packet");
    assert!(at < ms(50) && matches!(event, Event::Arrived(_)));
    let (at, event) = net.pop().expect("a timer");
    assert_eq!(at, ms(50));
    let node = NodeId(0);
    let token = 42;
    assert_eq!(event, Event::Timer { node, timer, token });
    net.set_timer(timer, Some(ms(1)));
    assert_eq!(
        net.pop().map(|(at, _)| at),
        Some(ms(50)),
        "the past means at once"
    );
    assert_eq!(net.next_event_time(), None);
}

#[test]
fn cross_traffic_loads_the_core_and_ends() {
    let d = dumbbell(wire(10, 25).queue(QueueLimit::Packets(41)));
    let mut t = d.topology.clone();
    let sources: Vec<TrafficId> = TrafficConfig::caro_2003_edge_node(8_000_000)
        .into_iter()
        .map(|mut config| {
            config.stop = Some(Instant::from_millis(200_000));
            t.add_traffic(v4(3), v4(4), config)
        })
        .collect();
    let mut net = t.build(5).expect("valid");
    assert!(
        net.pop().is_none(),
        "cross traffic makes no events for hosts"
    );
    let core = net.counters(d.core);
    let rate = core.offered_bytes as f64 * 8.0 / 200.0;
    // Infinite variance: 200 s give only the magnitude.
    assert!((4e6..14e6).contains(&rate), "{rate}");
    assert!(core.dropped_queue > 0);
    let totals = sources.iter().map(|s| net.traffic_counters(*s));
    let (sent, arrived) = totals.fold((0, 0), |(s, a), c| {
        (s + c.sent_packets, a + c.arrived_packets)
    });
    assert_eq!(sent, core.offered_packets);
    assert_eq!(arrived, sent - core.dropped());
    assert_eq!(net.in_flight(), 0);
}

/// Everything that a run shows, as one number.
fn fingerprint(seed: u64) -> u64 {
    use std::hash::{DefaultHasher, Hash, Hasher};
    let mut t = dumbbell(
        wire(10, 25)
            .queue(QueueLimit::Packets(20))
            .loss(LossModel::Uniform(0.05)),
    );
    t.topology.record_log(true);
    for config in TrafficConfig::caro_2003_edge_node(5_000_000) {
        t.topology.add_traffic(v4(3), v4(4), config);
    }
    let mut net = t.topology.build(seed).expect("valid");
    let mut hash = DefaultHasher::new();
    for i in 0..500 {
        send(&mut net, ms(i * 3), v4(1), v4(2), 1500);
        while let Some((at, Event::Arrived(a))) = net.pop_until(ms(i * 3 + 3)) {
            (at.as_nanos(), a.packet).hash(&mut hash);
        }
    }
    net.take_log().hash(&mut hash);
    hash.finish()
}

#[test]
fn the_same_seed_gives_the_same_run() {
    assert_eq!(fingerprint(1), fingerprint(1));
    assert_ne!(fingerprint(1), fingerprint(2));
}

#[test]
fn chance_is_the_same_on_every_machine() {
    // These numbers must never change: results of earlier versions depend on them.
    let mut d = dumbbell(wire(10, 1).loss(LossModel::Uniform(0.05)));
    let mut config = TrafficConfig::caro_2003(1_000_000);
    config.stop = Some(ms(20_000));
    let source = d.topology.add_traffic(v4(3), v4(4), config);
    let mut net = d.topology.build(1).expect("valid");
    assert!(net.pop().is_none());
    let core = net.counters(d.core);
    let sent = net.traffic_counters(source).sent_bytes;
    assert_eq!(
        (core.offered_packets, sent, core.dropped_loss),
        (4776, 2_588_576, 263)
    );
}

#[test]
fn a_link_added_later_changes_nothing_for_others() {
    let losses = |extra: bool| {
        let mut d = dumbbell(wire(10, 1).loss(LossModel::Uniform(0.3)));
        if extra {
            let z = d.topology.add_host("z", &[v4(9)]);
            d.topology.add_duplex(z, NodeId(4), wire(10, 1));
        }
        let mut net = d.topology.build(3).expect("valid");
        for i in 0..200 {
            send(&mut net, ms(i), v4(1), v4(2), 100);
            while net.pop_until(ms(i + 1)).is_some() {}
        }
        arrivals(&mut net);
        net.counters(d.last)
    };
    assert_eq!(losses(false), losses(true));
}

#[test]
fn the_log_tells_every_packets_fate() {
    let mut d = dumbbell(wire(10, 25).outage(ms(20), None));
    d.topology.record_log(true);
    let mut net = d.topology.build(1).expect("valid");
    let id = send(&mut net, Instant::ZERO, v4(1), v4(2), 1500);
    let mut log = net.take_log();
    assert_eq!(log.len(), 1, "the loss lies in the future");
    arrivals(&mut net);
    log.append(&mut net.take_log());
    assert_eq!(log.len(), 2);
    assert!(log.iter().all(|e| e.packet == id && e.wire_size == 1500));
    let arrives = Instant::from_nanos(10_120_000);
    assert_eq!(log[0].what, LogKind::Forwarded { arrives });
    assert_eq!(log[1].what, LogKind::Dropped(DropReason::InFlight));
    assert_eq!((log[1].at, log[1].link), (ms(20), Some(d.core)));
}

/// Type and body of each block of a pcapng file.
fn blocks(mut file: &[u8]) -> Vec<(u32, &[u8])> {
    let word = |b: &[u8], at: usize| u32::from_le_bytes(b[at..at + 4].try_into().expect("4 bytes"));
    let mut blocks = Vec::new();
    while !file.is_empty() {
        let length = word(file, 4) as usize;
        assert_eq!(length % 4, 0);
        assert_eq!(
            word(file, length - 4) as usize,
            length,
            "the length is written twice"
        );
        blocks.push((word(file, 0), &file[8..length - 4]));
        file = &file[length..];
    }
    blocks
}

#[test]
fn captures_have_an_interface_a_link_and_packets_in_time_order() {
    const INTERFACE: u32 = 1;
    const PACKET: u32 = 6;
    let mut t = TopologyBuilder::new();
    let a = t.add_host("a", &[v4(1), v4(2)]);
    let r = t.add_router("r");
    let b = t.add_host("b", &[v4(3)]);
    t.add_link(a, r, wire(10, 30).capture(Capture::Sent));
    t.add_link(a.interface(1), r, wire(10, 1));
    t.add_link(r, b, wire(10, 5).capture(Capture::Delivered));
    let mut net = t.build(1).expect("valid");
    send(&mut net, ms(0), v4(1), v4(3), 1500);
    send(&mut net, ms(10), v4(2), v4(3), 1500);
    arrivals(&mut net);
    let mut file = Vec::new();
    net.write_pcapng(&mut file)
        .expect("a vector takes everything");
    let blocks = blocks(&file);
    let kinds: Vec<u32> = blocks.iter().map(|b| b.0).collect();
    assert_eq!(
        kinds,
        [0x0A0D_0D0A, INTERFACE, INTERFACE, PACKET, PACKET, PACKET]
    );
    // Interface, microseconds, bytes captured.
    let seen: Vec<(u8, u64, u8)> = blocks[3..]
        .iter()
        .map(|(_, body)| {
            let low = u32::from_le_bytes(body[8..12].try_into().expect("4 bytes"));
            (body[0], u64::from(low) / 1000, body[12])
        })
        .collect();
    assert_eq!(seen, [(0, 0, 48), (1, 18_400, 48), (1, 37_400, 48)]);
    let name = String::from_utf8_lossy(blocks[1].1);
    assert!(name.contains("a.0 > r"), "{name}");
    // The checksum that was left zero is filled in.
    let sctp = &blocks[3].1[40..68];
    let sum = byway_wire::crc32c::packet_checksum(sctp);
    assert_eq!(sctp[8..12], sum.to_le_bytes());
}

fn any_link() -> impl Strategy<Value = LinkConfig> {
    let queue = prop_oneof![
        Just(QueueLimit::Unlimited),
        (1..8u32).prop_map(QueueLimit::Packets),
        (1500..9000u64).prop_map(QueueLimit::Bytes),
    ];
    let loss = prop_oneof![
        Just(LossModel::None),
        (0.0..0.5).prop_map(LossModel::Uniform),
        (0.01..0.3, 1.0..5.0).prop_map(|(rate, burst)| LossModel::bursts(rate, burst)),
    ];
    let change = prop_oneof![
        Just(LinkChange::DOWN),
        Just(LinkChange::Up),
        Just(LinkChange::Down {
            drop_in_flight: false
        }),
        (0..20u64).prop_map(|n| LinkChange::Rate(Rate::BitsPerSecond(n * 500_000))),
        (0..20u64).prop_map(|n| LinkChange::Delay(Duration::from_micros(n * 700 + 1))),
        (0.0..0.5).prop_map(|p| LinkChange::Loss(LossModel::Uniform(p))),
    ];
    let schedule = proptest::collection::vec(
        (0..60u64)
            .prop_flat_map(move |t| (Just(Instant::from_nanos(t * 1_300_000)), change.clone())),
        0..4,
    );
    let effects = (0..4u32, 0..4u32, 0..4u32);
    (1..12u64, 1..9000u64, queue, loss, schedule, effects).prop_map(
        |(mbps, micros, queue, loss, schedule, (reorder, duplicate, policer))| LinkConfig {
            rate: Rate::mbps(mbps),
            delay: Duration::from_micros(micros),
            queue,
            loss,
            schedule,
            reorder: (reorder == 0).then_some(Reorder {
                probability: 0.3,
                max_extra: Duration::from_millis(5),
            }),
            duplicate: (duplicate == 0).then_some(Duplicate { probability: 0.2 }),
            policer: (policer == 0).then_some(Policer {
                rate: mbps * 400_000,
                burst: 3000,
            }),
            ..LinkConfig::default()
        },
    )
}

/// A random network of four hosts on a ring of routers, so that some links are
/// shared and others are not.
fn any_network() -> impl Strategy<Value = TopologyBuilder> {
    let routers = 2..5usize;
    (
        routers,
        proptest::collection::vec(any_link(), 30),
        any::<bool>(),
    )
        .prop_map(|(routers, links, traffic)| {
            let mut t = TopologyBuilder::new();
            let mut links = links.into_iter().cycle();
            let mut next = || links.next().expect("a cycle has no end");
            let routers: Vec<NodeId> = (0..routers)
                .map(|i| t.add_router(&format!("r{i}")))
                .collect();
            for (i, router) in routers.iter().enumerate() {
                t.add_link(*router, routers[(i + 1) % routers.len()], next());
                t.add_link(routers[(i + 1) % routers.len()], *router, next());
            }
            // Each host is connected to the ring by a private chain of 0 to 3 routers.
            for i in 0..4u8 {
                let h = t.add_host(&format!("h{i}"), &[v4(i + 1)]);
                let mut at = routers[usize::from(i) % routers.len()];
                for hop in 0..i {
                    let router = t.add_router(&format!("h{i}.{hop}"));
                    t.add_link(at, router, next());
                    t.add_link(router, at, next());
                    at = router;
                }
                t.add_link(h, at, next());
                t.add_link(at, h, next());
            }
            if traffic {
                t.add_traffic(v4(4), v4(1), TrafficConfig::caro_2003(2_000_000));
            }
            t.record_log(true);
            t
        })
}

/// Runs a schedule of packets. Hosts answer some of them.
fn run(
    topology: &TopologyBuilder,
    event_per_hop: bool,
    packets: &[(u8, u8, u8, u32)],
) -> (Vec<(Instant, Arrival)>, Vec<LogEntry>) {
    let mut topology = topology.clone();
    topology.event_per_hop(event_per_hop);
    let mut net = topology.build(11).expect("valid");
    let mut got = Vec::new();
    let mut now = 0;
    let drain = |net: &mut Network, until: u64, got: &mut Vec<_>| {
        while let Some((at, event)) = net.pop_until(Instant::from_nanos(until)) {
            let Event::Arrived(arrival) = event else {
                continue;
            };
            if arrival.packet % 2 == 0 {
                send(net, at, arrival.dst, arrival.src, 60);
            }
            got.push((at, arrival));
        }
    };
    for &(src, dst, gap, size) in packets {
        now += u64::from(gap) * 10_000;
        drain(&mut net, now, &mut got);
        send(
            &mut net,
            Instant::from_nanos(now),
            v4(src + 1),
            v4(dst + 1),
            size,
        );
    }
    drain(&mut net, now + 2_000_000_000, &mut got);
    (got, net.take_log())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn following_ahead_changes_nothing(
        topology in any_network(),
        packets in proptest::collection::vec((0..4u8, 0..4u8, 0..200u8, 40..1500u32), 1..60),
    ) {
        let ahead = run(&topology, false, &packets);
        let slow = run(&topology, true, &packets);
        prop_assert_eq!(ahead, slow);
    }

    #[test]
    fn no_packet_is_counted_twice_or_lost_without_a_reason(
        topology in any_network(),
        packets in proptest::collection::vec((0..4u8, 0..4u8, 0..200u8, 40..1500u32), 1..60),
    ) {
        let mut net = topology.build(3).expect("valid");
        for &(src, dst, _, size) in &packets {
            send(&mut net, Instant::ZERO, v4(src + 1), v4(dst + 1), size);
        }
        while net.pop_until(ms(3000)).is_some() {}
        for i in 0..net.link_count() {
            let c = net.counters(LinkId(i as u32));
            prop_assert_eq!(c.offered_packets + c.duplicated, c.delivered_packets + c.dropped());
        }
    }
}

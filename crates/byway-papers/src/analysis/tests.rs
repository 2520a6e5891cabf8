use super::*;
use byway_core::config::InitialCwnd;
use byway_core::observe::Observation;
use byway_core::time::Instant;
use byway_core::{Config, EndpointConfig, PathId};
use byway_sim::Simulation;
use byway_sim::host::{Sender, Sink};
use byway_sim::net::{LinkChange, LinkConfig, NodeId, Rate, TopologyBuilder};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

#[test]
fn the_equations_with_the_papers_paths() {
    // 90 ms both ways, RTO.Min 1 s: the second RTO is 2 s.
    let r = rounds_scenario_3(ms(2000), ms(90), ms(90));
    assert!((r - 23.2).abs() < 0.1, "{r}");
    assert!((rounds_scenario_4(ms(2000), ms(1000), ms(90)) - 11.1).abs() < 0.1);
    // "When r = 1, it follows that d = 1."
    assert!((packets(1.0, 44.0) - 1.0).abs() < 1e-9);
    // A round trip that is longer than the wait still counts as one.
    assert!((rounds_scenario_3(ms(200), ms(90), ms(1040)) - 1.0).abs() < 1e-9);
    // Four packets in avoidance from a threshold of 10: 11 + 12 + 13 + 14.
    assert!((avoidance_packets(10.0, 4.0) - 50.0).abs() < 1e-9);
    assert!((avoidance_window(10.0, 4.0) - 14.0).abs() < 1e-9);
    // (4) and (8) join where the window reaches ssthresh, and d grows with r.
    let d: Vec<f64> = (1..40).map(|r| packets(f64::from(r), 20.0)).collect();
    assert!(d.is_sorted() && d[0] >= 1.0);
}

/// Scenario 3 in the simulator: packets with data that PMR 0 sends to the
/// alternate, and until when, and how many PMR 1 does meanwhile.
fn scenario_3(
    pmr: u32,
    rtt_alternate: u64,
    ssthresh: u32,
    down: Option<(Instant, Instant)>,
) -> Run {
    let c = model_settings(pmr, ssthresh);
    let mut topology = TopologyBuilder::new();
    let [a, b] = two_paths(&mut topology, [90, rtt_alternate], down);
    let mut sim = Simulation::new(topology.build(1).unwrap());
    let of = |host: u8| EndpointConfig {
        accepted: c.clone(),
        ..EndpointConfig::new(5001, native(host), [host; 32])
    };
    let app = Sender::bulk(native(2), 5001, c.clone(), 8 << 20, 1452);
    let a = sim.add_host(a, of(1), app).unwrap();
    sim.add_host(b, of(2), Sink::new()).unwrap();
    sim.observe(a, true);
    sim.run_until(Instant::from_millis(8000));
    let mut run = Run::default();
    sim.with_endpoint(a, |_, e| {
        for o in e.drain_observations() {
            match o.what {
                Observation::DataSent { path, .. } => run.sent.push((o.at, path)),
                Observation::HeartbeatAcked {
                    path: PathId(0), ..
                } => run.answered.push(o.at),
                _ => {}
            }
        }
    });
    run
}

/// The settings of the paper, with the simplifications of its model.
fn model_settings(pmr: u32, ssthresh: u32) -> Config {
    let mut c = Config::caro2006();
    c.failure.path_max_retrans = pmr;
    c.congestion.initial_cwnd = InitialCwnd::Pmdcs(1);
    c.congestion.initial_ssthresh = Some(ssthresh * 1468);
    // The paper's model has neither limit.
    c.congestion.max_burst = None;
    c.buffer.receive = 4 << 20;
    c.rto.initial = c.rto.min;
    c.retransmission.new_data_at_rto = true;
    // A lone packet would wait for the delayed SACK, which no equation knows.
    c.sack.delay = ms(1);
    c
}

fn ips(host: u8) -> [IpAddr; 2] {
    [0, 1].map(|p| Ipv4Addr::new(10, p, 0, host).into())
}

fn native(host: u8) -> Vec<SocketAddr> {
    ips(host).map(|ip| SocketAddr::new(ip, 0)).into()
}

/// Two hosts with two paths of these round trips (ms); the first one is `down`
/// for some time, in the direction of the data.
fn two_paths(
    topology: &mut TopologyBuilder,
    rtts: [u64; 2],
    down: Option<(Instant, Instant)>,
) -> [NodeId; 2] {
    let (a, b) = (
        topology.add_host("A", &ips(1)),
        topology.add_host("B", &ips(2)),
    );
    for (p, rtt) in (0..).zip(rtts) {
        let back = LinkConfig::new(Rate::mbps(1000), Duration::from_micros(rtt * 500));
        let mut there = back.clone();
        if let (0, Some((from, until))) = (p, down) {
            there = there.at(from, LinkChange::DOWN).at(until, LinkChange::Up);
        }
        topology.add_link(a.interface(p), b.interface(p), there);
        topology.add_link(b.interface(p), a.interface(p), back);
    }
    [a, b]
}

#[derive(Default)]
struct Run {
    /// Chunks sent, with their paths.
    sent: Vec<(Instant, PathId)>,
    /// Heartbeats answered on the primary.
    answered: Vec<Instant>,
}

/// (9) as packets come: every second one and the last of a round trip is
/// acknowledged, and a round trip that has begun sends its whole window.
fn in_whole_packets(rounds: u32, ssthresh: u32) -> u32 {
    let (mut window, mut sent) = (1, 0);
    for _ in 0..rounds {
        sent += window;
        let slow_start = window <= ssthresh;
        window += if slow_start { window.div_ceil(2) } else { 1 };
    }
    sent
}

#[test]
fn claim_a9_the_simulated_count_agrees_with_equation_9() {
    for (rtt, ssthresh) in [
        (90, 44),
        (90, 8),
        (210, 44),
        (210, 6),
        (500, 44),
        // Below the RTO: (9) knows no timeout on the alternate path.
        (990, 44),
    ] {
        // Data begins here; the primary is away for its timeout and the
        // heartbeat behind it.
        let begins = scenario_3(0, rtt, ssthresh, None).sent[0].0;
        let just_before = Instant::from_nanos(begins.as_nanos() - 1);
        let down = Some((just_before, begins + ms(1500)));
        let run = scenario_3(0, rtt, ssthresh, down);
        let back = *run.answered.iter().find(|t| **t > begins).unwrap();
        let wait = back.since(begins + ms(1000));
        assert_eq!(wait.as_millis(), 2090, "the second RTO and a round trip");
        let to_alternate = |run: &Run| {
            let during = run.sent.iter().filter(|s| s.1 == PathId(1) && s.0 < back);
            during.count() as f64
        };
        let d = to_alternate(&run);
        let r = rounds_scenario_3(ms(2000), ms(90), ms(rtt));
        let least = packets(r, f64::from(ssthresh));
        let most = in_whole_packets(r.ceil() as u32, ssthresh);
        println!("{rtt} ms, ssthresh {ssthresh}: r {r:.1}, d {d}, (9) {least:.1}, whole {most}");
        assert!(d >= 1.0);
        assert!(least <= d && d <= f64::from(most), "{least} {d} {most}");
        // PMR 1 sends one packet there, until its second timeout.
        let blocked = scenario_3(1, rtt, ssthresh, down);
        let second = begins + ms(3000);
        let one = blocked
            .sent
            .iter()
            .filter(|s| s.1 == PathId(1) && s.0 < second);
        assert_eq!(one.count(), 1);
    }
}

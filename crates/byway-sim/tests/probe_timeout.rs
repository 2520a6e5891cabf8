//! What a silent death costs with probe-timeout failover, for sparse, medium
//! and bulk traffic and many phases of the failure, and what the watchfulness
//! costs while nothing fails.
//!
//! `cargo test --release -p byway-sim --test probe_timeout -- --nocapture --test-threads 1`
//! prints the tables of docs/mechanisms.md.

use byway_core::policy::ProbeTimeout;
use byway_core::time::{Duration, Instant};
use byway_core::{AssocId, AssocStats, ChecksumMode, Config, EndpointConfig, PathId};
use byway_sim::host::{Application, Bulk, Periodic, Sink};
use byway_sim::net::{LinkChange, LinkConfig, LossModel, QueueLimit, Rate, TopologyBuilder};
use byway_sim::{HostId, Simulation};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

/// caro-2006's core: 10 Mbit/s, 25 ms; with the access links 45 ms one way.
fn core_link() -> LinkConfig {
    LinkConfig::new(Rate::mbps(10), Duration::from_millis(25)).queue(QueueLimit::Packets(50))
}

fn ip(path: u8, host: u8) -> IpAddr {
    Ipv4Addr::new(10, path, 0, host).into()
}

fn addresses(host: u8) -> Vec<SocketAddr> {
    (0..2).map(|p| SocketAddr::new(ip(p, host), 0)).collect()
}

/// What the application sends.
#[derive(Copy, Clone, Debug)]
enum Traffic {
    /// Messages of so many bytes, one each so many milliseconds.
    Periodic(usize, u64),
    /// As much as the windows take.
    Bulk,
}

const ALL: [Traffic; 6] = [
    Traffic::Periodic(40, 1000),
    Traffic::Periodic(40, 100),
    Traffic::Periodic(400, 37),
    Traffic::Periodic(1000, 10),
    Traffic::Periodic(1400, 2),
    Traffic::Bulk,
];

fn simulation<A: Application>(
    primary: LinkConfig,
    config: &Config,
    app: A,
    seed: u8,
) -> (Simulation, HostId, HostId) {
    let mut t = TopologyBuilder::new();
    let [a, b] = [1, 2].map(|h| t.add_host(&format!("host {h}"), &[ip(0, h), ip(1, h)]));
    let edge = LinkConfig::new(Rate::mbps(100), Duration::from_millis(10));
    for (p, core) in [(0, primary), (1, core_link())] {
        let [left, right] = ["left", "right"].map(|side| t.add_router(&format!("{side} {p}")));
        t.add_duplex(a.interface(p), left, edge.clone());
        t.add_duplex(left, right, core);
        t.add_duplex(right, b.interface(p), edge.clone());
    }
    let mut sim = Simulation::new(t.build(u64::from(seed)).unwrap());
    let endpoint = |host: u8| EndpointConfig {
        checksum: ChecksumMode::Offloaded,
        accepted: config.clone(),
        ..EndpointConfig::new(5001, addresses(host), [host ^ seed; 32])
    };
    let sink = Sink::new().keep_deliveries();
    let a = sim.add_host(a, endpoint(1), app).unwrap();
    let b = sim.add_host(b, endpoint(2), sink).unwrap();
    (sim, a, b)
}

fn start(
    traffic: Traffic,
    primary: LinkConfig,
    config: &Config,
    seed: u8,
) -> (Simulation, HostId, HostId) {
    let (peer, config) = (addresses(2), config.clone());
    match traffic {
        Traffic::Periodic(bytes, ms) => {
            let every = Duration::from_millis(ms);
            let app = Periodic::new(peer, 5001, config.clone(), bytes, every, u64::MAX);
            simulation(primary, &config, app, seed)
        }
        Traffic::Bulk => {
            let app = Bulk::new(peer, 5001, config.clone(), 1 << 40, 1452);
            simulation(primary, &config, app, seed)
        }
    }
}

/// The sender's association, and when it stood.
fn association(sim: &Simulation, a: HostId) -> (AssocId, Instant) {
    let begun = match sim.app::<Bulk>(a) {
        Some(bulk) => (bulk.report().assoc, bulk.report().up_at),
        None => {
            let report = sim.app::<Periodic>(a).unwrap().report();
            (report.assoc, report.up_at)
        }
    };
    (begun.0.unwrap(), begun.1.unwrap())
}

/// The longest time without delivery since `dies`, beyond the messages' own
/// rhythm.
fn stall(sim: &Simulation, b: HostId, traffic: Traffic, dies: Instant) -> Duration {
    let sink = sim.app::<Sink>(b).unwrap().report();
    let gaps = sink.deliveries.windows(2).filter(|d| d[1].at > dies);
    let longest = gaps.map(|d| d[1].at.since(d[0].at)).max().unwrap();
    match traffic {
        Traffic::Periodic(_, ms) => longest.saturating_sub(Duration::from_millis(ms)),
        Traffic::Bulk => longest,
    }
}

/// A death after that many milliseconds: what it cost, and the primary's
/// smoothed round trip when it died.
fn death(
    traffic: Traffic,
    config: &Config,
    at_us: u64,
    drop_in_flight: bool,
) -> (Duration, Duration) {
    let dies = Instant::from_nanos(at_us * 1000);
    let primary = core_link().at(dies, LinkChange::Down { drop_in_flight });
    let (mut sim, a, b) = start(traffic, primary, config, 7);
    sim.run_until(dies);
    let (id, _) = association(&sim, a);
    let srtt = sim.endpoint(a).path_stats(id, PathId(0)).unwrap().srtt;
    sim.run_until(dies + Duration::from_secs(4));
    let stats = sim.endpoint(a).stats(id).unwrap();
    assert_eq!(
        stats.suspicions,
        1 + stats.needless_suspicions,
        "{traffic:?} at {at_us}"
    );
    (stall(&sim, b, traffic, dies), srtt.unwrap())
}

fn config() -> Config {
    let mut c = Config::rfc9260();
    c.failover.probe_timeout = Some(ProbeTimeout::default());
    c
}

#[test]
fn a_silent_death_costs_three_round_trips_at_most() {
    println!("traffic, cost min / mean / max in ms, largest in round trips, SRTT");
    for traffic in ALL {
        let mut costs = Vec::new();
        for k in 0..24u64 {
            // Phases of the messages' rhythm, of the SACKs', and of the queue's.
            let at = 5_000_000 + k * 43_700 + k * k * 130;
            let (cost, srtt) = death(traffic, &config(), at, k % 2 == 0);
            costs.push((cost, srtt));
        }
        let ms = |d: Duration| d.as_secs_f64() * 1e3;
        let all = || costs.iter().map(|c| ms(c.0));
        let (min, max) = (all().fold(f64::MAX, f64::min), all().fold(0.0, f64::max));
        let trips = costs.iter().map(|c| ms(c.0) / ms(c.1)).fold(0.0, f64::max);
        let srtt = costs.iter().map(|c| ms(c.1)).sum::<f64>() / 24.0;
        println!(
            "{traffic:?}: {min:.0} / {:.0} / {max:.0}, {trips:.2}, {srtt:.0}",
            all().sum::<f64>() / 24.0
        );
    }
}

/// A minute without a death: the association's counts, and how many packets
/// each side sent.
fn minute(traffic: Traffic, config: &Config, loss: f64, seed: u8) -> (AssocStats, u64, u64) {
    let primary = core_link().loss(LossModel::Uniform(loss));
    let (mut sim, a, b) = start(traffic, primary, config, seed);
    sim.run_until(Instant::from_millis(60_000));
    let (id, _) = association(&sim, a);
    let stats = sim.endpoint(a).stats(id).unwrap();
    let packets = |host: HostId, id: AssocId| -> u64 {
        let paths = sim.endpoint(host).paths(id);
        paths.iter().map(|p| p.packets_sent).sum()
    };
    let other = sim.app::<Sink>(b).unwrap().report().assoc.unwrap();
    (stats, packets(a, id), packets(b, other))
}

#[test]
fn what_it_costs_while_nothing_fails() {
    println!("traffic, loss: suspicions, needless, retransmissions, packets there, back; without");
    for traffic in ALL {
        for loss in [0.0, 0.01, 0.08] {
            let (with, there, back) = minute(traffic, &config(), loss, 3);
            let (without, there0, back0) = minute(traffic, &Config::rfc9260(), loss, 3);
            println!(
                "{traffic:?} {loss}: {} {} {} {there} {back}; {} {there0} {back0}",
                with.suspicions,
                with.needless_suspicions,
                with.data_chunks_retransmitted,
                without.data_chunks_retransmitted,
            );
        }
    }
}

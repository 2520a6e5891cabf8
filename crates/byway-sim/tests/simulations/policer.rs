//! A policer in the network (a token bucket that drops what exceeds it and delays nothing):
//! with the preset `byway` no delivery waits for a second, over one path or two.

use byway_core::config::ConcurrentConfig;
use byway_core::time::{Duration, Instant};
use byway_core::{ChecksumMode, Config, EndpointConfig};
use byway_sim::Simulation;
use byway_sim::host::{Sender, Sink};
use byway_sim::net::{LinkConfig, LossModel, Policer, QueueLimit, Rate, TopologyBuilder};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

/// 10 Mbit/s, and ten packets at once.
const POLICER: Policer = Policer {
    rate: 10_000_000,
    burst: 15_000,
};

fn address(path: u8, host: u8) -> IpAddr {
    Ipv4Addr::new(10, path, 0, host).into()
}

fn endpoint(paths: u8, host: u8, seed: u8, config: &Config) -> EndpointConfig {
    let addresses = (0..paths).map(|p| SocketAddr::new(address(p, host), 0));
    EndpointConfig {
        accepted: config.clone(),
        checksum: ChecksumMode::Offloaded,
        ..EndpointConfig::new(5001, addresses.collect(), [seed; 32])
    }
}

/// What the receiver saw of a transfer.
#[derive(Debug)]
struct Seen {
    stall: Duration,
    took: Duration,
    /// Packets that the policers dropped, and packets offered to them.
    dropped: u64,
    offered: u64,
}

/// `bytes` over paths of 100 Mbit/s with this one-way delay, each behind a policer on the way
/// to the receiver. Before it, this share of the packets is lost by chance.
fn transfer(config: &Config, paths: u8, (rtt, loss): (u64, f64), bytes: u64, seed: u8) -> Seen {
    let mut topology = TopologyBuilder::new();
    let hosts = [1, 2].map(|host| {
        let own: Vec<_> = (0..paths).map(|p| address(p, host)).collect();
        topology.add_host(&format!("host {host}"), &own)
    });
    let delay = Duration::from_millis(rtt / 2);
    let link = LinkConfig::new(Rate::mbps(100), delay).queue(QueueLimit::Packets(1000));
    let lossy = link.clone().loss(LossModel::Uniform(loss));
    let there: Vec<_> = (0..paths)
        .map(|p| {
            let [a, b] = hosts.map(|h| h.interface(p));
            topology.add_link(b, a, link.clone());
            topology.add_link(a, b, lossy.clone().policer(POLICER))
        })
        .collect();
    let mut sim = Simulation::new(topology.build(seed.into()).unwrap());
    let to = endpoint(paths, 2, seed ^ 0x80, config);
    let bulk = Sender::bulk(to.local.clone(), 5001, config.clone(), bytes, 1452);
    let a = sim
        .add_host(hosts[0], endpoint(paths, 1, seed, config), bulk)
        .unwrap();
    let b = sim.add_host(hosts[1], to, Sink::new()).unwrap();
    let done = |s: &Simulation| {
        s.app::<Sender>(a)
            .is_some_and(|a| a.report().acked_at.is_some())
    };
    assert!(sim.run_until_done(Instant::from_millis(600_000), done));
    let counters: Vec<_> = there.iter().map(|l| sim.network().counters(*l)).collect();
    let seen = sim.app::<Sink>(b).unwrap().report();
    assert_eq!(seen.bytes, bytes);
    Seen {
        stall: seen.longest_stall,
        took: seen.last_at.unwrap().since(seen.first_at.unwrap()),
        dropped: counters.iter().map(|c| c.dropped_policed).sum(),
        offered: counters.iter().map(|c| c.offered_packets).sum(),
    }
}

/// The longest stall of ten transfers of these bytes and a few more each. Tells the figures.
fn longest(name: &str, config: &Config, paths: u8, path: (u64, f64), bytes: u64) -> Duration {
    let (mut stall, mut rates, mut shares) = (Duration::ZERO, 0.0, 0.0);
    for seed in 1..=10u8 {
        let bytes = bytes + bytes / 11 * u64::from(seed);
        let seen = transfer(config, paths, path, bytes, seed);
        stall = stall.max(seen.stall);
        rates += bytes as f64 * 8e-6 / seen.took.as_secs_f64();
        shares += 100.0 * seen.dropped as f64 / seen.offered as f64;
    }
    assert!(shares > 0.0, "the policer drops nothing");
    println!(
        "{name}, {paths} paths, {:?} (ms, loss), from {bytes} bytes on: the longest stall {:.0} ms; \
         {:.1} Mbit/s, {:.1} % of the packets dropped",
        path,
        stall.as_secs_f64() * 1e3,
        rates / 10.0,
        shares / 10.0
    );
    stall
}

/// A short transfer loses its tail, a long one its retransmissions.
const BYTES: [u64; 2] = [300_000, 10_000_000];
const SECOND: Duration = Duration::from_secs(1);
/// A few round trips of the longer way, where a timeout would be a second.
const REPAIRED: Duration = Duration::from_millis(400);

#[test]
fn a_policer_costs_no_second() {
    let mut all = Config::byway();
    all.concurrent = Some(ConcurrentConfig::default());
    for path in [(20, 0.0), (90, 0.0), (20, 0.002), (90, 0.002)] {
        for bytes in BYTES {
            let one = longest("byway", &Config::byway(), 1, path, bytes);
            let two = longest("byway", &Config::byway(), 2, path, bytes);
            let both = longest("byway, concurrent", &all, 2, path, bytes);
            assert!(
                one.max(two).max(both) < REPAIRED,
                "{one:?}, {two:?}, {both:?}"
            );
        }
    }
}

/// The same policer costs the standard's sender what the test above forbids.
#[test]
fn without_the_preset_a_policer_costs_a_second() {
    for rtt in [20, 90] {
        for paths in [1, 2] {
            let stall = longest("rfc9260", &Config::rfc9260(), paths, (rtt, 0.0), BYTES[1]);
            assert!(stall > SECOND, "{stall:?}");
        }
    }
}

//! A failover policy of one's own, outside of byway-core: leave a path at its
//! first timeout, and come back after three answered heartbeats, not after one. A
//! primary that fails again and again then stalls the data once, not each time.
//!
//! `cargo run --release -p byway-sim --example own_failover`

use byway_core::config::{Custom, FailoverConfig};
use byway_core::path::PathsView;
use byway_core::policy::Failover;
use byway_core::time::{Duration, Instant};
use byway_core::{ChecksumMode, Config, EndpointConfig, PathId, PathState};
use byway_sim::Simulation;
use byway_sim::host::{Sender, Sink};
use byway_sim::net::{LinkConfig, QueueLimit, Rate, TopologyBuilder};
use std::net::SocketAddr;

/// Data returns to the primary after so many answered heartbeats.
#[derive(Debug)]
struct SlowReturn {
    answers: u32,
    /// What it does not decide itself.
    rest: FailoverConfig,
}

impl Failover for SlowReturn {
    fn data_path(&self, paths: &PathsView<'_>, timed_out: Option<PathId>) -> PathId {
        let (now, primary) = (paths.data_path(), paths.primary());
        let away = now != primary && paths.state(now) == PathState::Active;
        if away && paths.heartbeats_answered(primary) < self.answers {
            return now; // The primary has not proved itself yet.
        }
        self.rest.data_path(paths, timed_out)
    }

    fn judge(&self, paths: &PathsView<'_>, path: PathId, limit: u32) -> PathState {
        match paths.state(path) {
            _ if paths.errors(path) > limit => PathState::Inactive,
            PathState::Active => PathState::PotentiallyFailed, // At the first error.
            other => other,
        }
    }
}

/// What the receiver felt of the failures.
#[derive(Debug)]
pub(crate) struct Stalls {
    /// All the times of more than half a second without data.
    pub(crate) total: Duration,
    /// How often new data moved to another path.
    pub(crate) moves: u64,
}

/// A message each 20 ms for two minutes, two paths. The primary fails for 4 s in
/// every 8 s of the first minute.
fn stalls(custom: Custom) -> Result<Stalls, Box<dyn std::error::Error>> {
    let mut config = Config::default();
    config.hb.interval = Duration::from_secs(1);
    config.custom = custom;
    let address = |path: u8, host: u8| SocketAddr::from(([10, path, 0, host], 0));
    let [a, b] = [1, 2].map(|host| vec![address(0, host), address(1, host)]);
    let ips = |all: &[SocketAddr]| all.iter().map(SocketAddr::ip).collect::<Vec<_>>();
    let mut topology = TopologyBuilder::new();
    let (node_a, node_b) = (
        topology.add_host("a", &ips(&a)),
        topology.add_host("b", &ips(&b)),
    );
    let good =
        LinkConfig::new(Rate::mbps(10), Duration::from_millis(45)).queue(QueueLimit::Packets(50));
    let second = |n: u64| Instant::from_millis(1000 * n);
    let bad = (1..8).fold(good.clone(), |link, k| {
        link.outage(second(8 * k), Some(second(8 * k + 4)))
    });
    for (path, link) in [(0, bad), (1, good)] {
        topology.add_duplex(node_a.interface(path), node_b.interface(path), link);
    }
    let mut sim = Simulation::new(topology.build(1)?);
    let endpoint = |addresses: &[SocketAddr], seed| EndpointConfig {
        checksum: ChecksumMode::Offloaded,
        ..EndpointConfig::new(5001, addresses.to_vec(), [seed; 32])
    };
    let app = Sender::periodic(
        b.clone(),
        5001,
        config,
        200,
        Duration::from_millis(20),
        6000,
    )
    .skip_when_full();
    let sender = sim.add_host(node_a, endpoint(&a, 1), app)?;
    let sink = sim.add_host(node_b, endpoint(&b, 2), Sink::new().keep_deliveries())?;
    sim.run_until(second(118));
    let id = sim
        .app::<Sender>(sender)
        .and_then(|p| p.report().assoc)
        .ok_or("no association")?;
    let stats = sim.endpoint(sender).stats(id).ok_or("it has ended")?;
    let report = sim.app::<Sink>(sink).ok_or("the sink is gone")?.report();
    let gaps = report
        .deliveries
        .windows(2)
        .map(|two| two[1].at.since(two[0].at));
    Ok(Stalls {
        total: gaps.filter(|gap| *gap > Duration::from_millis(500)).sum(),
        moves: stats.failovers,
    })
}

/// The default's stalls and those of the own policy.
pub(crate) fn compare() -> Result<[Stalls; 2], Box<dyn std::error::Error>> {
    let own = SlowReturn {
        answers: 3,
        rest: FailoverConfig::default(),
    };
    Ok([stalls(Custom::new())?, stalls(Custom::new().failover(own))?])
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let [default, own] = compare()?;
    println!("a primary that fails for 4 s in every 8 s");
    for (name, s) in [("default", default), ("three answers", own)] {
        let total = s.total.as_secs_f64();
        println!("{name:13} {total:6.2} s without data, {} moves", s.moves);
    }
    Ok(())
}

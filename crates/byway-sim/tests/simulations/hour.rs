//! An hour over two paths that lose packets and never fail, as `experiments/real-networks/hour.toml`
//! and `hour-loads.toml` have it: the preset `byway` stays where it is.

use byway_core::policy::DataMove;
use byway_core::time::{Duration, Instant};
use byway_core::{ChecksumMode, Config, EndpointConfig};
use byway_sim::Simulation;
use byway_sim::host::{Sender, Sink};
use byway_sim::net::{LinkConfig, LossModel, Rate, TopologyBuilder};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

/// One message of 1000 bytes each so often, and how long a packet takes one way.
#[derive(Copy, Clone)]
struct Load {
    every: Duration,
    one_way: Duration,
}

const FLOW: Load = Load {
    every: Duration::from_millis(10),
    one_way: Duration::from_millis(45),
};

/// No message follows one that is lost before its acknowledgement is overdue.
const SINGLE: Load = Load {
    every: Duration::from_millis(100),
    one_way: Duration::from_millis(10),
};

fn ip(path: u8, host: u8) -> IpAddr {
    Ipv4Addr::new(10, path, 0, host).into()
}

/// What a time over two paths that lose 1 % brought.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
struct Moves {
    /// The association left the path that it used.
    all: u64,
    /// The path answered after all.
    needless: u64,
}

const NONE: Moves = Moves {
    all: 0,
    needless: 0,
};

fn moves(load: Load, config: &Config, minutes: u64, seed: u8) -> Moves {
    let time = Duration::from_secs(60 * minutes);
    let count = minutes * 60 * 1000 / load.every.as_millis() as u64;
    let mut t = TopologyBuilder::new();
    let [a, b] = [1, 2].map(|h| t.add_host(&format!("host {h}"), &[ip(0, h), ip(1, h)]));
    for p in 0..2 {
        let link = LinkConfig::new(Rate::mbps(10), load.one_way).loss(LossModel::Uniform(0.01));
        t.add_duplex(a.interface(p), b.interface(p), link);
    }
    let mut sim = Simulation::new(t.build(u64::from(seed)).unwrap());
    let addresses =
        |host: u8| -> Vec<SocketAddr> { (0..2).map(|p| SocketAddr::new(ip(p, host), 0)).collect() };
    let endpoint = |host: u8| EndpointConfig {
        checksum: ChecksumMode::Offloaded,
        accepted: config.clone(),
        ..EndpointConfig::new(5001, addresses(host), [host ^ seed; 32])
    };
    let app = Sender::periodic(addresses(2), 5001, config.clone(), 1000, load.every, count);
    let a = sim.add_host(a, endpoint(1), app).unwrap();
    let b = sim.add_host(b, endpoint(2), Sink::new()).unwrap();
    // The association lives until its last message has arrived and been told.
    let last = Instant::ZERO + time;
    sim.run_until(last);
    let id = sim.app::<Sender>(a).unwrap().report().assoc.unwrap();
    let stats = sim.endpoint(a).stats(id).unwrap();
    let lost = stats.data_chunks_retransmitted;
    let arrived = sim.app::<Sink>(b).unwrap().report().bytes;
    assert!(
        arrived + 100_000 > count * 1000 && lost > count / 200,
        "{arrived} bytes of {count} messages arrived, {lost} chunks left twice: no such network"
    );
    Moves {
        all: stats.failovers,
        needless: stats.spurious_failovers,
    }
}

/// Losses may come together by chance, so a trial in some hundred hours would be no fault; these ten hours have none.
#[test]
fn no_needless_move_in_an_hour_of_one_percent_loss() {
    for seed in 1..=10 {
        assert_eq!(moves(FLOW, &Config::byway(), 60, seed), NONE, "seed {seed}");
    }
}

/// A packet and the heartbeat that asks for it are both lost some fourteen times an hour, and the second and third heartbeat
/// with them in a thousand hours.
#[test]
fn no_needless_move_where_single_messages_are_lost() {
    for seed in 1..=10 {
        assert_eq!(
            moves(SINGLE, &Config::byway(), 60, seed),
            NONE,
            "seed {seed}"
        );
    }
    let mut config = Config::byway();
    config.failover.probe_timeout.as_mut().unwrap().heartbeats = 1;
    let seen = moves(SINGLE, &config, 60, 1);
    assert!(seen.all >= 10, "with one heartbeat: {seen:?}");
}

/// The control: data that leaves at the probe timeout itself, before a heartbeat is overdue, moves each few seconds.
#[test]
fn one_that_moves_at_once_is_seen() {
    let mut config = Config::byway();
    let probe_timeout = config.failover.probe_timeout.as_mut().unwrap();
    probe_timeout.moves = DataMove::AtOnce;
    let seen = moves(FLOW, &config, 10, 1);
    assert!(seen.all >= 20 && seen.needless >= 10, "{seen:?}");
}

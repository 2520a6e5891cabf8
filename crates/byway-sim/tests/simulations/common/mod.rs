//! The papers' topology: two hosts, and for each path an access link, a core
//! link and an access link each way.

use byway_core::time::{Duration, Instant};
use byway_core::{ChecksumMode, Config, EndpointConfig};
use byway_sim::host::{Sender, Sink};
use byway_sim::net::{LinkConfig, LinkId, NodeId, QueueLimit, Rate, TopologyBuilder};
use byway_sim::{HostId, Simulation};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

/// Address of host `host` (1 or 2) on path `path`.
pub(crate) fn address(path: u8, host: u8) -> IpAddr {
    Ipv4Addr::new(10, path, 0, host).into()
}

pub(crate) fn native(ips: impl IntoIterator<Item = IpAddr>) -> Vec<SocketAddr> {
    ips.into_iter().map(|ip| SocketAddr::new(ip, 0)).collect()
}

pub(crate) struct Dumbbells {
    pub(crate) topology: TopologyBuilder,
    pub(crate) a: NodeId,
    pub(crate) b: NodeId,
    /// Core links of each path: from A to B, and back.
    pub(crate) cores: Vec<(LinkId, LinkId)>,
}

/// One dumbbell for each core link, as in caro-2006.
pub(crate) fn dumbbells(cores: &[LinkConfig]) -> Dumbbells {
    let n = cores.len() as u8;
    let mut topology = TopologyBuilder::new();
    let a = topology.add_host("A", &(0..n).map(|p| address(p, 1)).collect::<Vec<_>>());
    let b = topology.add_host("B", &(0..n).map(|p| address(p, 2)).collect::<Vec<_>>());
    let edge =
        LinkConfig::new(Rate::mbps(100), Duration::from_millis(10)).queue(QueueLimit::Packets(50));
    let cores = cores
        .iter()
        .enumerate()
        .map(|(p, core)| {
            let left = topology.add_router(&format!("left{p}"));
            let right = topology.add_router(&format!("right{p}"));
            topology.add_duplex(a.interface(p as u8), left, edge.clone());
            let core = topology.add_duplex(left, right, core.clone());
            topology.add_duplex(right, b.interface(p as u8), edge.clone());
            core
        })
        .collect();
    Dumbbells {
        topology,
        a,
        b,
        cores,
    }
}

/// Whether all of a sender's messages are acknowledged; its shutdown may be under way.
pub(crate) fn acked(sim: &Simulation, host: HostId) -> bool {
    sim.app::<Sender>(host)
        .is_some_and(|s| s.report().acked_at.is_some())
}

/// Two hosts, and between them these links, without a router.
pub(crate) fn direct(links: &[LinkConfig]) -> Dumbbells {
    let mut topology = TopologyBuilder::new();
    let ends = [1, 2].map(|host| (0..links.len() as u8).map(move |p| address(p, host)));
    let [a, b] = ends.map(|all| topology.add_host("host", &all.collect::<Vec<_>>()));
    let between = (0..).zip(links);
    let cores = between
        .map(|(p, link)| topology.add_duplex(a.interface(p), b.interface(p), link.clone()))
        .collect();
    Dumbbells {
        topology,
        a,
        b,
        cores,
    }
}

pub(crate) fn core_link() -> LinkConfig {
    LinkConfig::new(Rate::mbps(10), Duration::from_millis(25)).queue(QueueLimit::Packets(50))
}

pub(crate) fn endpoint(addresses: Vec<SocketAddr>, seed: u8, config: &Config) -> EndpointConfig {
    EndpointConfig {
        accepted: config.clone(),
        checksum: ChecksumMode::Offloaded,
        ..EndpointConfig::new(5001, addresses, [seed; 32])
    }
}

/// A transfer from A to B over the dumbbells.
pub(crate) fn transfer(
    d: &Dumbbells,
    config: &Config,
    bytes: u64,
    seed: u8,
) -> (Simulation, HostId, HostId) {
    let n = d.cores.len() as u8;
    let net = d.topology.build(u64::from(seed)).unwrap();
    let mut sim = Simulation::new(net);
    let peer = native((0..n).map(|p| address(p, 2)));
    let local = native((0..n).map(|p| address(p, 1)));
    let bulk = Sender::bulk(peer.clone(), 5001, config.clone(), bytes, 1452);
    let a = sim
        .add_host(d.a, endpoint(local, seed, config), bulk)
        .unwrap();
    let b = sim
        .add_host(d.b, endpoint(peer, seed ^ 0x80, config), Sink::new())
        .unwrap();
    (sim, a, b)
}

pub(crate) const LIMIT: Instant = Instant::from_millis(3_600_000);

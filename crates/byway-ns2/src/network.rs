//! The scenario's network: nodes that are interfaces of a host, nodes that
//! forward, and links.

use crate::scenario::{Link, Role, Scenario, What};
use anyhow::{Context, Result, bail};
use byway_core::Routes;
use byway_core::time::{Duration, Instant};
use byway_sim::net::{
    LinkChange, LinkConfig, LinkId, LossModel, Network, NodeId, PacketMatch, Port, QueueLimit,
    Rate, Simultaneous, TopologyBuilder,
};
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

/// A network with what is needed to talk about it in node numbers.
pub struct Built {
    /// The network.
    pub net: Network,
    /// The two hosts.
    pub initiator: NodeId,
    /// The other one.
    pub responder: NodeId,
    /// The ends of each link.
    pub ends: BTreeMap<LinkId, (u32, u32)>,
}

/// The address of a node.
#[must_use]
pub fn address(node: u32) -> IpAddr {
    let [_, a, b, c] = node.to_be_bytes();
    Ipv4Addr::new(10, a, b, c).into()
}

/// The address of a node as a destination of plain SCTP.
#[must_use]
pub fn destination(node: u32) -> SocketAddr {
    SocketAddr::new(address(node), 0)
}

/// A time in seconds.
#[must_use]
pub fn at(seconds: f64) -> Instant {
    Instant::from_nanos((seconds * 1e9).round() as u64)
}

/// Builds the network of a scenario; every packet's fate is logged.
///
/// # Errors
/// When a link or an event names a node that does not fit.
pub fn build(scenario: &Scenario) -> Result<Built> {
    let mut topology = TopologyBuilder::new();
    topology.record_log(true);
    topology.simultaneous(Simultaneous::AsScheduled);
    let mut ports: BTreeMap<u32, Port> = BTreeMap::new();
    let mut host = |role: Role, name: &str| -> Result<NodeId> {
        let nodes = &scenario.host(role)?.interfaces;
        let addresses: Vec<IpAddr> = nodes.iter().map(|n| address(*n)).collect();
        let id = topology.add_host(name, &addresses);
        for (i, node) in nodes.iter().enumerate() {
            if ports.insert(*node, id.interface(i as u8)).is_some() {
                bail!("node {node} is the interface of two hosts");
            }
        }
        Ok(id)
    };
    let initiator = host(Role::Initiator, "initiator")?;
    let responder = host(Role::Responder, "responder")?;
    for node in scenario.links.iter().flat_map(|l| [l.a, l.b]) {
        ports
            .entry(node)
            .or_insert_with(|| topology.add_router(&node.to_string()).interface(0));
    }
    let mut ends = BTreeMap::new();
    for link in &scenario.links {
        for (from, to, queue) in [
            (link.a, link.b, link.queue_limit_a_to_b_pkts),
            (link.b, link.a, link.queue_limit_b_to_a_pkts),
        ] {
            let config = config(scenario, link, (from, to), queue);
            let id = topology.add_link(ports[&from], ports[&to], config);
            ends.insert(id, (from, to));
        }
    }
    let net = topology
        .build(1)
        .with_context(|| format!("{}: the network cannot be built", scenario.name))?;
    Ok(Built {
        net,
        initiator,
        responder,
        ends,
    })
}

fn config(scenario: &Scenario, link: &Link, (from, to): (u32, u32), queue: u32) -> LinkConfig {
    let delay = Duration::from_nanos((link.delay_s * 1e9).round() as u64);
    let rate = Rate::BitsPerSecond(link.bandwidth_bps.round() as u64);
    let mut config = LinkConfig::new(rate, delay).queue(QueueLimit::Packets(queue));
    let lost = scenario
        .loss_models
        .iter()
        .find(|l| (l.from, l.to) == (from, to));
    if let Some(lost) = lost {
        config = config.loss(LossModel::Positions {
            of: PacketMatch::Any,
            // Positions are counted from 1.
            positions: lost.packet_ordinals.iter().map(|n| n + 1).collect(),
        });
    }
    for event in &scenario.events {
        let change = match event.what {
            What::LinkDown { a, b } if same(link, a, b) => LinkChange::DOWN,
            What::LinkUp { a, b } if same(link, a, b) => LinkChange::Up,
            _ => continue,
        };
        config = config.at(at(event.time_s), change);
    }
    config
}

fn same(link: &Link, a: u32, b: u32) -> bool {
    (link.a, link.b) == (a, b) || (link.a, link.b) == (b, a)
}

/// Chooses source addresses as ns-2's routing does: the interface with the
/// shortest way, the first one among equals.
#[derive(Clone, Debug)]
pub struct ShortestWay {
    /// Interface and destination addresses, to the place of the interface.
    best: BTreeMap<IpAddr, usize>,
}

impl ShortestWay {
    /// The ways from a host's interfaces to the peer's.
    #[must_use]
    pub fn new(net: &Network, host: NodeId, interfaces: usize, peer: &[u32]) -> ShortestWay {
        let mut best = BTreeMap::new();
        for node in peer {
            let to = address(*node);
            let way = (0..interfaces)
                .filter_map(|i| Some((net.route_cost(host.interface(i as u8), to)?, i)))
                .min();
            if let Some((_, i)) = way {
                best.insert(to, i);
            }
        }
        ShortestWay { best }
    }
}

impl Routes for ShortestWay {
    fn source(&mut self, _local: &[SocketAddr], remote: IpAddr) -> Option<usize> {
        self.best.get(&remote).copied()
    }
}

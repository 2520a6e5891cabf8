//! Many associations in one topology: one server, a client host for each
//! association, two paths each. Some transfer, the others stand idle.

use crate::figures::{cpu_seconds, status_kib};
use anyhow::{Context, Result, ensure};
use byway_core::time::{Duration, Instant};
use byway_core::{ChecksumMode, Config, EndpointConfig};
use byway_sim::host::{Sender, Sink};
use byway_sim::net::{LinkConfig, NodeId, QueueLimit, Rate, TopologyBuilder};
use byway_sim::{HostId, Simulation};
use serde_json::json;
use std::net::{IpAddr, SocketAddr};

/// Simulate many associations with one server in one topology
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Associations that transfer
    #[arg(long, default_value_t = 1)]
    transfers: u32,
    /// Associations that are set up before and stay idle
    #[arg(long, default_value_t = 0)]
    idle: u32,
    /// Bytes of each transfer
    #[arg(long, default_value_t = 80 << 20)]
    bytes: u64,
}

/// The transfers begin then; all idle associations stand.
const BEGIN: Instant = Instant::from_millis(60_000);

/// Host 0 is the server.
fn ip(path: u8, host: u32) -> IpAddr {
    let [_, high, middle, low] = host.to_be_bytes();
    [10 + path, high, middle, low].into()
}

fn addresses(host: u32) -> Vec<SocketAddr> {
    (0..2).map(|p| SocketAddr::new(ip(p, host), 0)).collect()
}

/// The server's host and `clients` more, each with a link to both routers.
fn hosts(t: &mut TopologyBuilder, clients: u32) -> Vec<NodeId> {
    let near =
        LinkConfig::new(Rate::mbps(100), Duration::from_millis(10)).queue(QueueLimit::Packets(50));
    // Room for all at once: this measures the simulator, not congestion.
    let shared = LinkConfig::new(Rate::mbps(100_000), Duration::from_millis(25))
        .queue(QueueLimit::Packets(100_000));
    let routers = [0, 1].map(|p| t.add_router(&format!("router {p}")));
    let mut host = |number: u32| {
        let node = t.add_host(&format!("host {number}"), &[ip(0, number), ip(1, number)]);
        let link = if number == 0 { &shared } else { &near };
        for (p, router) in routers.iter().enumerate() {
            t.add_duplex(node.interface(p as u8), *router, link.clone());
        }
        node
    };
    (0..=clients).map(&mut host).collect()
}

fn endpoint(host: u32, config: &Config) -> EndpointConfig {
    let mut seed = [7; 32];
    seed[..4].copy_from_slice(&host.to_be_bytes());
    EndpointConfig {
        checksum: ChecksumMode::Offloaded,
        accepted: config.clone(),
        ..EndpointConfig::new(5001, addresses(host), seed)
    }
}

/// Adds the server and all clients; the hosts that transfer.
fn add_applications(
    sim: &mut Simulation,
    nodes: &[NodeId],
    arguments: &Arguments,
) -> Result<Vec<HostId>> {
    let mut config = Config::rfc2960();
    config.hb.enabled = false;
    sim.add_host(nodes[0], endpoint(0, &config), Sink::new())?;
    let mut senders = Vec::new();
    for (host, node) in (0..).zip(nodes).skip(1) {
        let transfers = host <= arguments.transfers;
        let bytes = if transfers { arguments.bytes } else { 1 };
        let bulk = Sender::bulk(addresses(0), 5001, config.clone(), bytes, 1452);
        let spread = Duration::from_millis(u64::from(host % 1000));
        let bulk = if transfers {
            bulk.begin_at(BEGIN + spread)
        } else {
            bulk.begin_at(Instant::ZERO + spread).keep_open()
        };
        let id = sim.add_host(*node, endpoint(host, &config), bulk)?;
        if transfers {
            senders.push(id);
        }
    }
    Ok(senders)
}

/// The packets with data that the senders sent; an error if one has not finished.
fn data_packets(sim: &Simulation, senders: &[HostId]) -> Result<u64> {
    let mut packets = 0;
    for &sender in senders {
        let report = sim.app::<Sender>(sender).context("no sender")?.report();
        ensure!(report.acked_at.is_some(), "a transfer did not end");
        let id = report.assoc.context("never begun")?;
        let stats = sim.endpoint(sender).stats(id).context("gone")?;
        packets += stats.data_chunks_sent + stats.data_chunks_retransmitted;
    }
    Ok(packets)
}

pub(crate) fn run(arguments: Arguments) -> Result<()> {
    let mut t = TopologyBuilder::new();
    let nodes = hosts(&mut t, arguments.transfers + arguments.idle);
    let mut sim = Simulation::new(t.build(1)?);
    let senders = add_applications(&mut sim, &nodes, &arguments)?;
    sim.run_until(Instant::from_millis(59_999));
    let before = cpu_seconds();
    sim.run_until(Instant::from_millis(100_000_000));
    let cpu = cpu_seconds() - before;
    let packets = data_packets(&sim, &senders)?;
    println!(
        "{}",
        json!({
            "transfers": arguments.transfers,
            "idle": arguments.idle,
            "data_packets": packets,
            "cpu_seconds": cpu,
            "ns_per_data_packet": cpu * 1e9 / packets as f64,
            "peak_kib": status_kib("VmHWM")?,
        })
    );
    Ok(())
}

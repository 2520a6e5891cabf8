//! One transfer of paper caro-2006 in the simulator: two dumbbells of 10 Mbit/s
//! with 45 ms one way, RFC 2960 settings, loss on the first path.

use crate::figures::status_kib;
use anyhow::{Context, Result, anyhow, ensure};
use byway_core::policy::RetransmitTarget;
use byway_core::time::{Duration, Instant};
use byway_core::{ChecksumMode, Config, EndpointConfig};
use byway_sim::host::{Sender, Sink};
use byway_sim::net::{LinkConfig, LossModel, NodeId, QueueLimit, Rate, TopologyBuilder};
use byway_sim::{HostId, Simulation};
use serde_json::{Value, json};
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicU64, Ordering};

/// Simulate one transfer of paper caro-2006
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Bytes to transfer
    #[arg(long, default_value_t = 80 << 20)]
    bytes: u64,
    /// Share of packets lost on the first path, each way
    #[arg(long, default_value_t = 0.0)]
    loss: f64,
    /// Seeds the losses
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Transfers to simulate, one with each seed from `seed` on
    #[arg(long, default_value_t = 1)]
    repeat: u64,
    /// Threads that share them, as in a sweep
    #[arg(long, default_value_t = 1)]
    threads: usize,
}

const PATHS: u8 = 2;

fn ip(path: u8, host: u8) -> IpAddr {
    [10, path, 0, host].into()
}

pub(crate) fn run(arguments: Arguments) -> Result<()> {
    let began = std::time::Instant::now();
    let first = simulate(&arguments, arguments.seed)?;
    let next = AtomicU64::new(1);
    let work = || -> Result<()> {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= arguments.repeat {
                return Ok(());
            }
            simulate(&arguments, arguments.seed + number)?;
        }
    };
    if arguments.repeat > 1 {
        std::thread::scope(|scope| {
            let others: Vec<_> = (1..arguments.threads).map(|_| scope.spawn(work)).collect();
            let mine = work();
            others
                .into_iter()
                .map(|o| o.join().map_err(|_| anyhow!("a simulation panicked"))?)
                .fold(mine, Result::and)
        })?;
    }
    let mut line = first;
    line["wall_seconds"] = began.elapsed().as_secs_f64().into();
    line["peak_kib"] = status_kib("VmHWM")?.into();
    println!("{line}");
    Ok(())
}

/// Simulates one transfer; its result as JSON.
fn simulate(arguments: &Arguments, seed: u64) -> Result<Value> {
    let mut t = TopologyBuilder::new();
    let [a, b] = dumbbells(&mut t, arguments.loss);
    let mut sim = Simulation::new(t.build(seed)?);
    let config = config();
    let endpoint = |host: u8| EndpointConfig {
        checksum: ChecksumMode::Offloaded,
        accepted: config.clone(),
        ..EndpointConfig::new(5001, addresses(host), [host ^ seed as u8; 32])
    };
    // 1452 bytes fill a packet: as ns-2 cuts a file.
    let bulk = Sender::bulk(addresses(2), 5001, config.clone(), arguments.bytes, 1452);
    let a = sim.add_host(a, endpoint(1), bulk)?;
    let b = sim.add_host(b, endpoint(2), Sink::new())?;
    let limit = Instant::from_millis(100_000_000);
    // As ns-2 does: to the end, which comes when no timer runs any more.
    sim.run_until(limit);
    result(&sim, a, b, arguments.bytes)
}

/// Two hosts with a dumbbell for each path; the first one loses packets.
fn dumbbells(t: &mut TopologyBuilder, loss: f64) -> [NodeId; 2] {
    let [a, b] = [1, 2].map(|h| t.add_host(&format!("host {h}"), &[ip(0, h), ip(1, h)]));
    let edge =
        LinkConfig::new(Rate::mbps(100), Duration::from_millis(10)).queue(QueueLimit::Packets(50));
    for p in 0..PATHS {
        let mut core = LinkConfig::new(Rate::mbps(10), Duration::from_millis(25))
            .queue(QueueLimit::Packets(50));
        if p == 0 && loss > 0.0 {
            core = core.loss(LossModel::Uniform(loss));
        }
        let [left, right] = ["left", "right"].map(|side| t.add_router(&format!("{side} {p}")));
        t.add_duplex(a.interface(p), left, edge.clone());
        t.add_duplex(left, right, core);
        t.add_duplex(right, b.interface(p), edge.clone());
    }
    [a, b]
}

fn config() -> Config {
    let mut config = Config::rfc2960();
    config.retransmission.target = RetransmitTarget::FrSameRtoAlt;
    // As in the papers: an INIT that is lost does not move the association to the other
    // path, which loses nothing.
    config.setup.first_address_only = true;
    config
}

fn addresses(host: u8) -> Vec<SocketAddr> {
    (0..PATHS)
        .map(|p| SocketAddr::new(ip(p, host), 0))
        .collect()
}

/// Checks that all bytes arrived, and reports time and counts.
fn result(sim: &Simulation, a: HostId, b: HostId, bytes: u64) -> Result<Value> {
    let sent = sim.app::<Sender>(a).context("no sender")?.report();
    ensure!(sent.ended_at.is_some(), "the transfer did not end");
    let received = sim.app::<Sink>(b).context("no receiver")?.report();
    ensure!(sent.lost.is_none(), "lost: {:?}", sent.lost);
    ensure!(received.bytes == bytes, "{} bytes arrived", received.bytes);
    let up = sent.up_at.context("never up")?;
    let acked = sent.acked_at.context("never done")?;
    let id = sent.assoc.context("never begun")?;
    let stats = sim.endpoint(a).stats(id);
    let stats = stats.context("the association is gone")?;
    Ok(json!({
        "bytes": bytes,
        "seconds": acked.since(up).as_secs_f64(),
        "data_packets": stats.data_chunks_sent,
        "retransmitted": stats.data_chunks_retransmitted,
        "timeouts": stats.timeouts,
        "failovers": stats.failovers,
    }))
}

//! What an idle association costs, both ends counted, in one simulation: a
//! hundred clients, each with an association to each of a hundred servers, two
//! paths each, all confirmed.

use crate::figures::{preset, status_kib};
use anyhow::{Result, ensure};
use byway_core::time::{Duration, Instant};
use byway_core::{AssocId, ChecksumMode, Config, EndpointConfig, Event};
use byway_sim::host::{AppCtx, Application, Idle};
use byway_sim::net::{LinkConfig, QueueLimit, Rate, TopologyBuilder};
use byway_sim::{HostId, Simulation};
use serde_json::json;
use std::net::{IpAddr, SocketAddr};

/// Count the memory of idle associations
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Associations, a square number
    #[arg(long, default_value_t = 10_000)]
    associations: u32,
    /// Settings of both sides: byway or rfc9260
    #[arg(long, default_value = "rfc9260", value_parser = preset)]
    preset: Config,
}

/// Connects to one peer after the other, so that set-up needs little at once.
struct Opener {
    peers: Vec<Vec<SocketAddr>>,
    config: Config,
    next: usize,
    up: usize,
}

impl Application for Opener {
    fn start(&mut self, ctx: &mut AppCtx<'_>) {
        *ctx.timer = Some(ctx.now);
    }

    fn on_timer(&mut self, ctx: &mut AppCtx<'_>) {
        let Some(peer) = self.peers.get(self.next) else {
            return;
        };
        if ctx
            .endpoint
            .connect(ctx.now, peer, 5001, self.config.clone())
            .is_ok()
        {
            self.next += 1;
            *ctx.timer = Some(ctx.now + Duration::from_millis(20));
        }
    }

    fn on_event(&mut self, _ctx: &mut AppCtx<'_>, _id: AssocId, event: &Event) {
        self.up += usize::from(matches!(event, Event::Up { .. }));
    }
}

fn ip(path: u8, side: u8, host: u32) -> IpAddr {
    [
        10,
        path * 2 + side,
        (host / 250) as u8,
        (host % 250 + 1) as u8,
    ]
    .into()
}

fn addresses(side: u8, host: u32) -> Vec<SocketAddr> {
    (0..2)
        .map(|p| SocketAddr::new(ip(p, side, host), 0))
        .collect()
}

pub(crate) fn run(arguments: Arguments) -> Result<()> {
    let side = arguments.associations.isqrt();
    let mut t = TopologyBuilder::new();
    let link = LinkConfig::new(Rate::mbps(1000), Duration::from_millis(5))
        .queue(QueueLimit::Packets(1000));
    let routers = [0, 1].map(|p| t.add_router(&format!("router {p}")));
    let mut nodes = Vec::new();
    for (s, host) in (0..2).flat_map(|s| (0..side).map(move |h| (s, h))) {
        let node = t.add_host(
            &format!("host {s}.{host}"),
            &[ip(0, s, host), ip(1, s, host)],
        );
        for p in 0..2u8 {
            t.add_duplex(node.interface(p), routers[usize::from(p)], link.clone());
        }
        nodes.push((s, host, node));
    }
    let mut sim = Simulation::new(t.build(1)?);
    let before = status_kib("VmRSS")?;
    let mut clients: Vec<HostId> = Vec::new();
    for (k, &(s, host, node)) in nodes.iter().enumerate() {
        let mut seed = [s; 32];
        seed[..4].copy_from_slice(&(k as u32).to_be_bytes());
        let config = EndpointConfig {
            checksum: ChecksumMode::Offloaded,
            accepted: arguments.preset.clone(),
            ..EndpointConfig::new(5001, addresses(s, host), seed)
        };
        if s == 0 {
            let peers = (0..side).map(|h| addresses(1, h)).collect();
            let opener = Opener {
                peers,
                config: arguments.preset.clone(),
                next: 0,
                up: 0,
            };
            clients.push(sim.add_host(node, config, opener)?);
        } else {
            sim.add_host(node, config, Idle)?;
        }
    }
    sim.run_until(Instant::from_millis(20_000));
    let up: usize = clients
        .iter()
        .filter_map(|&c| sim.app::<Opener>(c))
        .map(|o| o.up)
        .sum();
    let count = side * side;
    ensure!(up == count as usize, "{up} of {count} associations came up");
    let each = (status_kib("VmRSS")? - before) / f64::from(count) / 2.0;
    println!(
        "{}",
        json!({ "associations": count, "kib_per_end": each, "paths_each": 2 })
    );
    Ok(())
}

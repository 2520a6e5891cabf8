//! What the network alone costs: an 80 MB transfer's packets (57,773 with DATA,
//! half as many SACKs) over three links each way.
//!
//! `cargo run --release -p byway-sim --example netspeed`

use byway_core::time::{Duration, Instant};
use byway_sim::net::{
    Event, LinkConfig, LossModel, Network, Outgoing, QueueLimit, Rate, TopologyBuilder,
};
use std::net::IpAddr;

const DATA_PACKETS: u64 = 57_773;
const WINDOW: u64 = 44;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    for (name, event_per_hop, loss) in [
        ("followed ahead", false, 0.0),
        ("followed ahead, loss model", false, 1e-9),
        ("event per hop", true, 0.0),
    ] {
        let mut best = f64::MAX;
        for round in 0..30 {
            let mut net = build(event_per_hop, loss, round)?;
            let start = std::time::Instant::now();
            let packets = transfer(&mut net)?;
            best = best.min(start.elapsed().as_secs_f64() * 1e9 / packets as f64);
        }
        println!("{name}: {best:.1} ns per packet, three links each");
    }
    Ok(())
}

fn addresses() -> (IpAddr, IpAddr) {
    ([10, 0, 0, 1].into(), [10, 0, 0, 2].into())
}

fn build(event_per_hop: bool, loss: f64, seed: u64) -> Result<Network, Box<dyn std::error::Error>> {
    let (a_address, b_address) = addresses();
    let mut topology = TopologyBuilder::new();
    let a = topology.add_host("a", &[a_address]);
    let b = topology.add_host("b", &[b_address]);
    let r0 = topology.add_router("r0");
    let r1 = topology.add_router("r1");
    let edge =
        LinkConfig::new(Rate::mbps(100), Duration::from_millis(10)).queue(QueueLimit::Packets(50));
    let mut core =
        LinkConfig::new(Rate::mbps(10), Duration::from_millis(25)).queue(QueueLimit::Packets(50));
    if loss > 0.0 {
        core = core.loss(LossModel::Uniform(loss));
    }
    topology.add_duplex(a, r0, edge.clone());
    topology.add_duplex(r0, r1, core);
    topology.add_duplex(r1, b, edge);
    topology.event_per_hop(event_per_hop);
    Ok(topology.build(seed)?)
}

/// A window's worth of packets under way, every second one answered; restarts a
/// timer with every answer as a sender would.
fn transfer(net: &mut Network) -> Result<u64, Box<dyn std::error::Error>> {
    let (a_address, b_address) = addresses();
    let a = net.port_of(a_address).ok_or("a has no port")?.node;
    let timer = net.add_timer(a, 0);
    let send = |net: &mut Network, now, from_a: bool, wire_size: u32| {
        let (src, dst) = match from_a {
            true => (a_address, b_address),
            false => (b_address, a_address),
        };
        // Writing the packet is the protocol's cost, not the network's.
        let mut payload = net.buffer();
        payload.extend_from_slice(&[0; 12]);
        let packet = Outgoing {
            wire_size: Some(wire_size),
            ..Outgoing::new(src, dst, payload)
        };
        net.send(now, packet)
    };
    let (mut sent, mut received, mut packets) = (0, 0, 0);
    while sent < WINDOW {
        send(net, Instant::ZERO, true, 1500)?;
        sent += 1;
    }
    while let Some((now, event)) = net.pop() {
        let Event::Arrived(arrival) = event else {
            continue;
        };
        packets += 1;
        if arrival.node == a {
            net.set_timer(timer, Some(now + Duration::from_secs(1)));
            for _ in 0..2.min(DATA_PACKETS - sent) {
                send(net, now, true, 1500)?;
                sent += 1;
            }
        } else {
            received += 1;
            if received % 2 == 0 || received == DATA_PACKETS {
                send(net, now, false, 48)?;
            }
        }
        net.recycle(arrival.payload);
    }
    Ok(packets)
}

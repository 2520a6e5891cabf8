//! Writes a pcapng file of two captured links, IPv4, IPv6 and cross traffic, to
//! look at with Wireshark.
//!
//! `cargo run -p byway-sim --example capture -- out.pcapng`

use byway_core::time::{Duration, Instant};
use byway_sim::net::{
    Capture, Corrupt, LinkConfig, Outgoing, QueueLimit, Rate, TopologyBuilder, TrafficConfig,
};
use byway_wire::{Checksum, CommonHeader, PacketBuilder, Tsn};
use std::net::IpAddr;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).unwrap_or("capture.pcapng".into());
    let corrupt = std::env::args().nth(2).is_some_and(|a| a == "corrupt");
    let addresses = |last: u8| -> Result<[IpAddr; 2], std::net::AddrParseError> {
        Ok([[10, 0, 0, last].into(), format!("fd00::{last}").parse()?])
    };
    let (a_addresses, b_addresses) = (addresses(1)?, addresses(2)?);
    let mut topology = TopologyBuilder::new();
    let a = topology.add_host("a", &a_addresses[..1]);
    let b = topology.add_host("b", &b_addresses[..1]);
    topology.add_address(a, a_addresses[1]);
    topology.add_address(b, b_addresses[1]);
    let router = topology.add_router("router");
    let mut config = LinkConfig::new(Rate::mbps(10), Duration::from_millis(25))
        .queue(QueueLimit::Packets(50))
        .capture(Capture::Sent);
    if corrupt {
        config.corrupt = Some(Corrupt {
            probability: 0.5,
            max_bits: 1,
        });
    }
    topology.add_duplex(a, router, config.clone());
    topology.add_duplex(router, b, config.capture(Capture::Delivered));
    for (from, to) in std::iter::zip(a_addresses, b_addresses) {
        for mut source in TrafficConfig::caro_2003_edge_node(1_000_000) {
            source.stop = Some(Instant::from_millis(200));
            topology.add_traffic(from, to, source);
        }
    }
    let mut net = topology.build(1)?;

    let header = CommonHeader {
        source_port: 5000,
        destination_port: 5001,
        verification_tag: 7,
    };
    for (i, family) in [0, 1, 0, 1, 0].into_iter().enumerate() {
        let mut payload = net.buffer();
        let mut packet = PacketBuilder::new(&mut payload, header);
        packet.sack(Tsn(10 + i as u32), 65_536, &[(2, 3)], &[]);
        packet.finish(Checksum::Zero);
        let (src, dst) = (a_addresses[family], b_addresses[family]);
        net.send(
            Instant::from_millis(40 * i as u64),
            Outgoing::new(src, dst, payload),
        )?;
        while net
            .pop_until(Instant::from_millis(40 * i as u64 + 40))
            .is_some()
        {}
    }
    while net.pop().is_some() {}
    net.write_pcapng(&mut std::io::BufWriter::new(std::fs::File::create(&path)?))?;
    println!("{path} written");
    Ok(())
}

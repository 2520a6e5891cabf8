//! The stall at the receiving application when the path in use dies silently, with nothing set:
//! the networks and phases of `cargo xtask measure failover`, simulated.

use byway_core::time::{Duration, Instant};
use byway_core::{ChecksumMode, Config, EndpointConfig};
use byway_sim::Simulation;
use byway_sim::host::{Sender, Sink};
use byway_sim::net::{LinkChange, LinkConfig, QueueLimit, Rate, TopologyBuilder};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

const PHASES: u64 = 20;

#[derive(Copy, Clone, Debug)]
enum Load {
    /// 1 kB each 2 ms.
    Paced,
    /// As much as the windows take, in messages of 16 KiB: the reader gets the last one that the path
    /// took with it when all of its chunks have left on the other path.
    Bulk,
}

fn ip(path: u8, host: u8) -> IpAddr {
    Ipv4Addr::new(10, path, 0, host).into()
}

/// The stall when the first path dies after `dies`.
fn stall(rtt: Duration, load: Load, dies: Instant, seed: u8) -> Duration {
    let addresses =
        |host: u8| -> Vec<SocketAddr> { (0..2).map(|p| SocketAddr::new(ip(p, host), 0)).collect() };
    let config = Config::byway();
    let mut t = TopologyBuilder::new();
    let [a, b] = [1, 2].map(|h| t.add_host(&format!("host {h}"), &[ip(0, h), ip(1, h)]));
    for p in 0..2 {
        let link = LinkConfig::new(Rate::mbps(50), rtt / 2).queue(QueueLimit::Packets(64));
        let link = match p {
            0 => link.at(
                dies,
                LinkChange::Down {
                    drop_in_flight: true,
                },
            ),
            _ => link,
        };
        t.add_duplex(a.interface(p), b.interface(p), link);
    }
    let mut sim = Simulation::new(t.build(u64::from(seed)).unwrap());
    let endpoint = |host: u8| EndpointConfig {
        checksum: ChecksumMode::Offloaded,
        accepted: config.clone(),
        ..EndpointConfig::new(5001, addresses(host), [host ^ seed; 32])
    };
    let app = match load {
        Load::Paced => {
            let every = Duration::from_millis(2);
            Sender::periodic(addresses(2), 5001, config.clone(), 1000, every, u64::MAX)
        }
        Load::Bulk => Sender::bulk(addresses(2), 5001, config.clone(), 1 << 40, 16 << 10),
    };
    sim.add_host(a, endpoint(1), app).unwrap();
    let b = sim
        .add_host(b, endpoint(2), Sink::new().keep_deliveries())
        .unwrap();
    let end = dies + Duration::from_secs(3);
    sim.run_until(end);
    let sink = sim.app::<Sink>(b).unwrap().report();
    // What is still waited for at the end is a stall, too.
    let arrivals = sink.deliveries.iter().map(|d| d.at);
    let next = arrivals.clone().skip(1).chain([end]);
    let gaps = arrivals.zip(next).filter(|(_, next)| *next > dies);
    gaps.map(|(at, next)| next.since(at)).max().unwrap()
}

/// Three round trips of the empty path, and 50 ms.
#[test]
fn a_silent_death_stalls_delivery_for_three_round_trips_and_50_ms_at_most() {
    let ms = |d: Duration| d.as_secs_f64() * 1e3;
    let mut over = Vec::new();
    for rtt in [1, 20, 90, 200] {
        for load in [Load::Paced, Load::Bulk] {
            let bound = Duration::from_millis(3 * rtt + 50);
            let mut all: Vec<Duration> = (0..PHASES)
                .map(|k| {
                    let dies = Instant::from_nanos(
                        2_300_000_000 + k * rtt * 1_000_000 / PHASES + k * 100_000,
                    );
                    stall(Duration::from_millis(rtt), load, dies, k as u8)
                })
                .collect();
            all.sort();
            let (least, median, most) = (all[0], all[all.len() / 2], all[all.len() - 1]);
            println!(
                "{rtt} ms, {load:?}: {:.0} ({:.0} to {:.0}) ms, at most {:.0}",
                ms(median),
                ms(least),
                ms(most),
                ms(bound)
            );
            if most > bound {
                over.push((rtt, load, most));
            }
        }
    }
    assert!(over.is_empty(), "{over:?}");
}

//! The stall at the receiving application when the path in use dies silently, with nothing set:
//! the networks and phases of `cargo xtask measure failover`, simulated.

use byway_core::time::{Duration, Instant};
use byway_core::{ChecksumMode, Config, EndpointConfig};
use byway_sim::Simulation;
use byway_sim::host::{Sender, Sink};
use byway_sim::net::{LinkChange, LinkConfig, QueueLimit, Rate, TopologyBuilder};
use chacha20::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

const PHASES: u64 = 20;
/// Bits a second of each path.
const RATE: u64 = 50_000_000;

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

/// A network, and when its first path dies.
#[derive(Copy, Clone)]
struct Phase {
    rtt: Duration,
    dies: Instant,
    seed: u8,
    /// Links that pause, as those of a busy machine or of a wireless network.
    pauses: Option<u64>,
}

/// A pause of up to 12 ms, each sixth time up to 60 ms, each 5 to 125 ms.
fn pauses(seed: u64, until: Instant) -> Vec<(Instant, u64)> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut below = |n: u64| rng.random_range(0..n);
    let mut steps = Vec::new();
    let mut at = Instant::from_millis(100);
    while at < until {
        at += Duration::from_millis(5 + below(120));
        steps.push((at, 100_000));
        let most = if below(6) == 0 { 60 } else { 12 };
        at += Duration::from_millis(1 + below(most));
        steps.push((at, RATE));
    }
    steps
}

/// The stall when the first path dies.
fn stall(phase: Phase, load: Load, config: &Config) -> Duration {
    let Phase {
        rtt, dies, seed, ..
    } = phase;
    let end = dies + Duration::from_secs(3);
    let addresses =
        |host: u8| -> Vec<SocketAddr> { (0..2).map(|p| SocketAddr::new(ip(p, host), 0)).collect() };
    let mut t = TopologyBuilder::new();
    let [a, b] = [1, 2].map(|h| t.add_host(&format!("host {h}"), &[ip(0, h), ip(1, h)]));
    for p in 0..2 {
        let rate = Rate::BitsPerSecond(RATE);
        let link = LinkConfig::new(rate, rtt / 2).queue(QueueLimit::Packets(64));
        let link = match phase.pauses {
            Some(seed) => link.rate_over_time(&pauses(seed ^ (u64::from(p) + 1) << 60, end)),
            None => link,
        };
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
    sim.run_until(end);
    let sink = sim.app::<Sink>(b).unwrap().report();
    // What is still waited for at the end is a stall, too.
    let arrivals = sink.deliveries.iter().map(|d| d.at);
    let next = arrivals.clone().skip(1).chain([end]);
    let gaps = arrivals.zip(next).filter(|(_, next)| *next > dies);
    gaps.map(|(at, next)| next.since(at)).max().unwrap()
}

/// The stalls of all phases over a round trip of so many ms.
fn stalls(rtt: u64, load: Load, config: &Config) -> Vec<Duration> {
    let of = |k: u64| {
        let dies = 2_300_000_000 + k * rtt * 1_000_000 / PHASES + k * 100_000;
        let phase = Phase {
            rtt: Duration::from_millis(rtt),
            dies: Instant::from_nanos(dies),
            seed: k as u8,
            pauses: None,
        };
        stall(phase, load, config)
    };
    (0..PHASES).map(of).collect()
}

/// T3-rtx waits for a second at least: the bound sees it in each phase.
#[test]
fn without_the_probe_timeout_each_stall_is_longer() {
    let mut config = Config::byway();
    config.failover.probe_timeout = None;
    for rtt in [1, 20, 90, 200] {
        for load in [Load::Paced, Load::Bulk] {
            let least = stalls(rtt, load, &config).into_iter().min().unwrap();
            assert!(
                least > Duration::from_millis(3 * rtt + 50),
                "{rtt} ms, {load:?}: {least:?}"
            );
        }
    }
}

/// Three round trips of the empty path, and 50 ms.
#[test]
fn a_silent_death_stalls_delivery_for_three_round_trips_and_50_ms_at_most() {
    let ms = |d: Duration| d.as_secs_f64() * 1e3;
    let mut over = Vec::new();
    for rtt in [1, 20, 90, 200] {
        for load in [Load::Paced, Load::Bulk] {
            let bound = Duration::from_millis(3 * rtt + 50);
            let mut all = stalls(rtt, load, &Config::byway());
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

/// Pauses move chunks to the other path and fill its queue. What is lost there, where nothing left first,
/// is noticed by time, too.
#[test]
fn on_links_that_pause_no_stall_is_as_long_as_a_second() {
    let stalls = (1..=150u64).map(|k| {
        let phase = Phase {
            rtt: Duration::from_millis(90),
            dies: Instant::from_millis(1_900 + k * 5),
            seed: k as u8,
            pauses: Some(k),
        };
        (stall(phase, Load::Bulk, &Config::byway()), k)
    });
    let (most, k) = stalls.max().unwrap();
    println!("{:.0} ms, phase {k}", most.as_secs_f64() * 1e3);
    assert!(most < Duration::from_secs(1), "{most:?}, phase {k}");
}

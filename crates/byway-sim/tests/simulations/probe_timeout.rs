//! What a silent death costs with probe-timeout failover, for sparse, medium
//! and bulk traffic and many phases of the failure, and what the watchfulness
//! costs while nothing fails.
//!
//! `cargo test --release -p byway-sim --test simulations probe_timeout:: -- --nocapture --test-threads 1`
//! prints the tables of experiments/probe-timeout.

use byway_core::policy::{ProbeTimeout, WaitsSince};
use byway_core::time::{Duration, Instant};
use byway_core::{AssocId, ChecksumMode, Config, EndpointConfig, PathId};
use byway_sim::host::{Application, Delivery, Sender, Sink};
use byway_sim::net::{
    LinkChange, LinkConfig, LossModel, QueueLimit, Rate, TopologyBuilder, TrafficConfig,
};
use byway_sim::{HostId, Simulation};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

/// caro-2006's core: 10 Mbit/s, 25 ms; with the access links 45 ms one way.
fn core_link() -> LinkConfig {
    LinkConfig::new(Rate::mbps(10), Duration::from_millis(25)).queue(QueueLimit::Packets(50))
}

fn ip(path: u8, host: u8) -> IpAddr {
    Ipv4Addr::new(10, path, 0, host).into()
}

fn addresses(host: u8) -> Vec<SocketAddr> {
    (0..2).map(|p| SocketAddr::new(ip(p, host), 0)).collect()
}

/// What the application sends.
#[derive(Copy, Clone, Debug)]
enum Traffic {
    /// Messages of so many bytes, one each so many milliseconds.
    Periodic(usize, u64),
    /// As much as the windows take.
    Bulk,
}

const ALL: [Traffic; 6] = [
    Traffic::Periodic(40, 1000),
    Traffic::Periodic(40, 100),
    Traffic::Periodic(400, 37),
    Traffic::Periodic(1000, 10),
    Traffic::Periodic(1400, 2),
    Traffic::Bulk,
];

fn simulation<A: Application>(
    primary: LinkConfig,
    bursts: Option<TrafficConfig>,
    config: &Config,
    app: A,
    seed: u8,
) -> (Simulation, HostId, HostId) {
    let mut t = TopologyBuilder::new();
    let [a, b] = [1, 2].map(|h| t.add_host(&format!("host {h}"), &[ip(0, h), ip(1, h)]));
    let edge = LinkConfig::new(Rate::mbps(100), Duration::from_millis(10));
    for (p, core) in [(0, primary), (1, core_link())] {
        let [left, right] = ["left", "right"].map(|side| t.add_router(&format!("{side} {p}")));
        t.add_duplex(a.interface(p), left, edge.clone());
        t.add_duplex(left, right, core);
        t.add_duplex(right, b.interface(p), edge.clone());
        if let Some(bursts) = bursts.clone().filter(|_| p == 0) {
            let [from, to] = [ip(9, 1), ip(9, 2)];
            for (name, address, router) in [("from", from, left), ("to", to, right)] {
                let host = t.add_host(name, &[address]);
                t.add_duplex(host.interface(0), router, edge.clone());
            }
            t.add_traffic(from, to, bursts);
        }
    }
    let mut sim = Simulation::new(t.build(u64::from(seed)).unwrap());
    let endpoint = |host: u8| EndpointConfig {
        checksum: ChecksumMode::Offloaded,
        accepted: config.clone(),
        ..EndpointConfig::new(5001, addresses(host), [host ^ seed; 32])
    };
    let sink = Sink::new().keep_deliveries();
    let a = sim.add_host(a, endpoint(1), app).unwrap();
    let b = sim.add_host(b, endpoint(2), sink).unwrap();
    (sim, a, b)
}

fn start(
    traffic: Traffic,
    primary: LinkConfig,
    bursts: Option<TrafficConfig>,
    config: &Config,
    seed: u8,
) -> (Simulation, HostId, HostId) {
    let (peer, config) = (addresses(2), config.clone());
    match traffic {
        Traffic::Periodic(bytes, ms) => {
            let every = Duration::from_millis(ms);
            let app = Sender::periodic(peer, 5001, config.clone(), bytes, every, u64::MAX)
                .skip_when_full();
            simulation(primary, bursts, &config, app, seed)
        }
        Traffic::Bulk => {
            let app = Sender::bulk(peer, 5001, config.clone(), 1 << 40, 1452);
            simulation(primary, bursts, &config, app, seed)
        }
    }
}

/// The sender's association, and when it stood.
fn association(sim: &Simulation, a: HostId) -> (AssocId, Instant) {
    let report = sim.app::<Sender>(a).unwrap().report();
    (report.assoc.unwrap(), report.up_at.unwrap())
}

/// The longest time without delivery that begins within half a second of the
/// death, beyond the messages' own rhythm. (Later the other path's slow start may
/// find the end of its queue: that is no part of the failover.)
fn stall(sim: &Simulation, b: HostId, traffic: Traffic, dies: Instant) -> Duration {
    let rhythm = match traffic {
        Traffic::Periodic(_, ms) => Duration::from_millis(ms),
        Traffic::Bulk => Duration::ZERO,
    };
    let sink = sim.app::<Sink>(b).unwrap().report();
    let until = dies + rhythm + Duration::from_millis(500);
    let of_interest = |d: &&[Delivery]| d[1].at > dies && d[0].at < until;
    let gaps = sink.deliveries.windows(2).filter(of_interest);
    let longest = gaps.map(|d| d[1].at.since(d[0].at)).max().unwrap();
    longest.saturating_sub(rhythm)
}

/// A death after that many milliseconds: what it cost, and the primary's
/// smoothed round trip when it died.
fn death(
    traffic: Traffic,
    config: &Config,
    at_us: u64,
    drop_in_flight: bool,
) -> (Duration, Duration) {
    let dies = Instant::from_nanos(at_us * 1000);
    let primary = core_link().at(dies, LinkChange::Down { drop_in_flight });
    let (mut sim, a, b) = start(traffic, primary, None, config, 7);
    sim.run_until(dies);
    let (id, _) = association(&sim, a);
    let srtt = sim.endpoint(a).path_stats(id, PathId(0)).unwrap().srtt;
    sim.run_until(dies + Duration::from_secs(4));
    let stats = sim.endpoint(a).stats(id).unwrap();
    assert_eq!(
        stats.suspicions,
        1 + stats.needless_suspicions,
        "{traffic:?} at {at_us}"
    );
    (stall(&sim, b, traffic, dies), srtt.unwrap())
}

fn config() -> Config {
    let mut c = Config::rfc9260();
    c.failover.probe_timeout = Some(ProbeTimeout::default());
    c
}

/// A longest stall of three round trips and 50 ms, with nothing set.
#[test]
fn a_silent_death_costs_the_preset_byway_three_round_trips_and_50_ms_at_most() {
    for traffic in ALL {
        let mut worst = 0.0f64;
        for k in 0..24u64 {
            let at = 5_000_000 + k * 43_700 + k * k * 130;
            let (stall, srtt) = death(traffic, &Config::byway(), at, k % 2 == 0);
            let limit = 3 * srtt + Duration::from_millis(50);
            assert!(
                stall <= limit,
                "{traffic:?}: {stall:?} at {at} us, SRTT {srtt:?}"
            );
            worst = worst.max(stall.as_secs_f64() / srtt.as_secs_f64());
        }
        println!("{traffic:?} | {worst:.2} round trips at most");
        // While data flows, the wait runs since a chunk left, and not since the last
        // acknowledgement: 2.7 round trips.
        if matches!(traffic, Traffic::Periodic(_, ..=10) | Traffic::Bulk) {
            assert!(worst <= 2.0, "{traffic:?}: {worst:.2} round trips");
        }
    }
}

#[test]
fn a_silent_death_costs_three_round_trips_at_most() {
    let ms = |d: Duration| d.as_secs_f64() * 1e3;
    println!("traffic | stall: least, mean, most | most in round trips | SRTT");
    for traffic in ALL {
        let mut stalls = Vec::new();
        let mut trips = Vec::new();
        for k in 0..24u64 {
            // Phases of the messages' rhythm, of the SACKs', and of the queue's;
            // with and without what is on its way then.
            let at = 5_000_000 + k * 43_700 + k * k * 130;
            let (stall, srtt) = death(traffic, &config(), at, k % 2 == 0);
            // Issue 3, 6(a): 3 RTT and the peer's delayed acknowledgement, which
            // only windows that are full let happen: others ask for none.
            let delayed = match traffic {
                Traffic::Periodic(..) => Duration::ZERO,
                Traffic::Bulk => Duration::from_millis(200),
            };
            assert!(
                stall <= 3 * srtt + delayed,
                "{traffic:?}: {stall:?} at {at} us, SRTT {srtt:?}"
            );
            stalls.push((ms(stall), ms(srtt)));
            trips.push(ms(stall) / ms(srtt));
        }
        let mean = |f: fn(&(f64, f64)) -> f64| stalls.iter().map(f).sum::<f64>() / 24.0;
        let most = |all: &[f64]| all.iter().copied().fold(0.0, f64::max);
        let all: Vec<f64> = stalls.iter().map(|s| s.0).collect();
        println!(
            "{traffic:?} | {:.0}, {:.0}, {:.0} ms | {:.2} | {:.0} ms",
            all.iter().copied().fold(f64::MAX, f64::min),
            mean(|s| s.0),
            most(&all),
            most(&trips),
            mean(|s| s.1),
        );
    }
}

/// What may happen to a primary that does not fail.
#[derive(Copy, Clone, Debug)]
enum Weather {
    Calm,
    /// So many packets of 100 are lost, each way.
    Loss(u32),
    /// Pareto bursts of 5 Mbit/s in the mean cross the data's way.
    Bursts,
}

/// What a minute brought, summed over the seeds.
#[derive(Default)]
struct Minutes {
    suspicions: u64,
    needless: u64,
    /// Data left the path although it had not failed.
    moves: u64,
    delivered: u64,
    repeated: u64,
    packets: [u64; 2],
}

fn minutes(traffic: Traffic, config: &Config, weather: Weather) -> Minutes {
    let mut sum = Minutes::default();
    for seed in 1..=3 {
        let (loss, bursts) = match weather {
            Weather::Calm => (0, None),
            Weather::Loss(percent) => (percent, None),
            Weather::Bursts => (0, Some(TrafficConfig::caro_2003(5_000_000))),
        };
        let primary = core_link().loss(LossModel::Uniform(f64::from(loss) / 100.0));
        let (mut sim, a, b) = start(traffic, primary, bursts, config, seed);
        sim.run_until(Instant::from_millis(60_000));
        let (id, _) = association(&sim, a);
        let stats = sim.endpoint(a).stats(id).unwrap();
        sum.moves += stats.spurious_failovers;
        sum.delivered += sim.app::<Sink>(b).unwrap().report().bytes;
        let other = sim.app::<Sink>(b).unwrap().report().assoc.unwrap();
        for (sum, (host, id)) in sum.packets.iter_mut().zip([(a, id), (b, other)]) {
            let paths = sim.endpoint(host).paths(id);
            *sum += paths.iter().map(|p| p.packets_sent).sum::<u64>();
        }
        sum.suspicions += stats.suspicions;
        sum.needless += stats.needless_suspicions;
        sum.repeated += stats.data_chunks_retransmitted;
    }
    sum
}

#[test]
fn what_it_costs_while_nothing_fails() {
    println!(
        "traffic, weather | suspicions (needless) | packets there, repeated, SACKs and other \
         packets back | the same without; three minutes"
    );
    for traffic in ALL {
        for weather in [
            Weather::Calm,
            Weather::Loss(1),
            Weather::Loss(8),
            Weather::Bursts,
        ] {
            let with = minutes(traffic, &config(), weather);
            let without = minutes(traffic, &Config::rfc9260(), weather);
            println!(
                "{traffic:?}, {weather:?} | {} ({}) | {}, {}, {} | {}, {}, {}",
                with.suspicions,
                with.needless,
                with.packets[0],
                with.repeated,
                with.packets[1],
                without.packets[0],
                without.repeated,
                without.packets[1],
            );
            // No suspicion without a cause: a lost packet, there or back.
            let lost = match weather {
                Weather::Calm => 0.0,
                Weather::Loss(p) => f64::from(p) / 100.0,
                Weather::Bursts => 0.05,
            };
            let packets = (with.packets[0] + with.packets[1]) as f64;
            assert!(
                with.suspicions as f64 <= 1.5 * lost * packets,
                "{traffic:?} {weather:?}: {} of {packets}",
                with.suspicions
            );
        }
    }
}

/// The preset `byway` waits since the sending of a chunk, and not since the last
/// acknowledgement: what that costs while nothing fails. No data moves.
#[test]
fn what_the_earlier_wait_costs_while_nothing_fails() {
    let mut later = Config::byway();
    if let Some(rule) = &mut later.failover.probe_timeout {
        rule.since = WaitsSince::Acknowledgement;
    }
    println!(
        "traffic, weather | suspicions, moves, chunks repeated, bytes delivered | the same \
         since the acknowledgement; three minutes"
    );
    for traffic in ALL {
        for weather in [Weather::Calm, Weather::Loss(1), Weather::Bursts] {
            let early = minutes(traffic, &Config::byway(), weather);
            let line = |m: &Minutes| {
                let Minutes {
                    suspicions,
                    moves,
                    repeated,
                    delivered,
                    ..
                } = m;
                format!("{suspicions}, {moves}, {repeated}, {delivered}")
            };
            let late = minutes(traffic, &later, weather);
            println!(
                "{traffic:?}, {weather:?} | {} | {}",
                line(&early),
                line(&late)
            );
            assert_eq!(early.moves, 0, "{traffic:?}, {weather:?}");
            let most = match weather {
                Weather::Calm => 0.0,
                Weather::Loss(_) | Weather::Bursts => 0.03 * early.packets[0] as f64,
            };
            assert!(early.suspicions as f64 <= most, "{traffic:?}, {weather:?}");
        }
    }
}

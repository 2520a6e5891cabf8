//! Associations that lose and regain their paths at random, followed along the
//! edges of their machines (`byway_papers::machine`).

use byway_core::config::{AllPathsSuspect, Dormant, PfConfig, PrimarySwitch};
use byway_core::policy::{Detection, ProbeTimeout};
use byway_core::time::{Duration, Instant};
use byway_core::{ChecksumMode, Config, EndpointConfig};
use byway_papers::machine::figures::{FIGURES, Figure, RFC_7829};
use byway_papers::machine::{Edge, Machine, Phase, Watcher};
use byway_sim::Simulation;
use byway_sim::host::{Sender, Sink};
use byway_sim::net::{LinkChange, LinkConfig, LossModel, Rate, TopologyBuilder};
use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

fn ips(paths: u8, host: u8) -> Vec<IpAddr> {
    (0..paths)
        .map(|p| Ipv4Addr::new(10, p, 0, host).into())
        .collect()
}

fn native(paths: u8, host: u8) -> Vec<SocketAddr> {
    let at = |ip| SocketAddr::new(ip, 0);
    ips(paths, host).into_iter().map(at).collect()
}

fn endpoint(paths: u8, host: u8, seed: u64, config: &Config) -> EndpointConfig {
    EndpointConfig {
        accepted: config.clone(),
        checksum: ChecksumMode::Offloaded,
        ..EndpointConfig::new(5001, native(paths, host), [seed as u8 ^ host; 32])
    }
}

/// Short timeouts, so that much happens in little time, and no end of the
/// association by errors.
fn hasty(mut c: Config) -> Config {
    let ms = Duration::from_millis;
    (c.rto.initial, c.rto.min, c.rto.max) = (ms(100), ms(60), ms(400));
    c.hb.interval = ms(300);
    c.sack.delay = ms(20);
    c.failure.association_max_retrans = u32::MAX;
    c.failure.idle_heartbeats_count = false;
    c
}

/// A generator of its own, so that a seed is all that a walk depends on.
struct Chance(u64);

impl Chance {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % n
    }
}

/// A walk of so many seconds: every path is up and down for times of its own.
fn walk(config: &Config, paths: u8, seed: u64, seconds: u64) -> Watcher {
    let mut topology = TopologyBuilder::new();
    let (a, b) = (
        topology.add_host("A", &ips(paths, 1)),
        topology.add_host("B", &ips(paths, 2)),
    );
    let mut chance = Chance(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    for p in 0..paths {
        let mut link = LinkConfig::new(Rate::mbps(10), Duration::from_millis(5))
            .loss(LossModel::Uniform(0.05));
        let mut at = 500 + chance.below(1000);
        while at < 1000 * seconds {
            link = link.at(Instant::from_millis(at), LinkChange::DOWN);
            at += 50 + chance.below(2000);
            link = link.at(Instant::from_millis(at), LinkChange::Up);
            at += 50 + chance.below(1500);
        }
        topology.add_duplex(a.interface(p), b.interface(p), link);
    }
    let mut sim = Simulation::new(topology.build(seed).unwrap());
    let every = Duration::from_millis(15);
    let peer = native(paths, 2);
    let app = Sender::periodic(peer, 5001, config.clone(), 200, every, 1_000_000).skip_when_full();
    let a = sim
        .add_host(a, endpoint(paths, 1, seed, config), app)
        .unwrap();
    sim.add_host(b, endpoint(paths, 2, seed, config), Sink::new())
        .unwrap();
    sim.observe(a, true);
    let mut watcher = Watcher::new();
    for second in 1..=seconds {
        sim.run_until(Instant::from_millis(1000 * second));
        sim.with_endpoint(a, |_, e| {
            for o in e.drain_observations() {
                watcher.see(&o.what);
            }
        });
    }
    watcher
}

/// All that was taken in walks over so many paths; each step must be an edge of
/// the machine.
fn walks(config: &Config, seeds: u64, paths: &[u8], seconds: u64) -> (Machine, Machine) {
    let most = paths.iter().copied().max().unwrap_or(2);
    let machine = Machine::of(config, most.min(4));
    let mut taken = Machine {
        edges: BTreeSet::new(),
        ..machine.clone()
    };
    let mut changes = Vec::new();
    for seed in 1..=seeds {
        for &paths in paths {
            let mut watcher = walk(config, paths, seed, seconds);
            if let Err(strange) = watcher.check(&machine) {
                panic!("{paths} paths, seed {seed}: {strange}\n{config:?}");
            }
            taken.edges.append(&mut watcher.taken);
            changes.append(&mut watcher.path_changes);
        }
    }
    taken
        .path_edges
        .retain(|e| changes.contains(&(e.from, e.to)));
    (machine, taken)
}

fn assert_all_drawn(figure: &Figure, config: &Config, seeds: u64) {
    let (_, taken) = walks(&hasty(config.clone()), seeds, &[2, 3], 120);
    let seen = figure.view(&taken);
    let unseen: Vec<_> = figure.arcs.iter().filter(|a| !seen.contains(a)).collect();
    assert!(unseen.is_empty(), "{}: never taken {unseen:?}", figure.name);
}

#[test]
fn every_arc_of_the_figures_is_taken_and_no_other() {
    for (figure, pmr) in FIGURES.iter().zip([1, 1, 0, 5]) {
        let mut c = (figure.config)();
        c.failure.path_max_retrans = pmr;
        assert_all_drawn(figure, &c, 8);
    }
}

#[test]
fn every_step_of_rfc_7829_is_taken_and_no_other() {
    let mut c = Config::rfc9260();
    c.failure.path_max_retrans = 2;
    c.failure.dead_data = None;
    let (machine, taken) = walks(&hasty(c), 3, &[2, 3], 60);
    assert_eq!(machine.path_edges, RFC_7829);
    assert_eq!(taken.path_edges, RFC_7829);
}

#[test]
fn whatever_the_settings_no_step_leaves_the_machine() {
    let mut all = Vec::new();
    for dormant in [
        Dormant::Hop,
        Dormant::Primary,
        Dormant::Last,
        Dormant::LeastErrors,
    ] {
        for primary_switch in [
            PrimarySwitch::Never,
            PrimarySwitch::Cpt(3),
            PrimarySwitch::CptHeartbeats(1),
            PrimarySwitch::Psmr(2),
        ] {
            for suspects in [
                None,
                Some(AllPathsSuspect::Hop),
                Some(AllPathsSuspect::LeastErrorsThenDivergent),
            ] {
                let mut c = hasty(Config::caro2006());
                c.failure.path_max_retrans = 2;
                c.failover.dormant = dormant;
                c.failover.primary_switch = primary_switch;
                c.failover.potentially_failed = suspects.map(|_| PfConfig::default());
                c.failover.all_paths_suspect = suspects.unwrap_or_default();
                // Some of them with the detectors that are not by count.
                if all.len() % 3 == 1 {
                    c.failure.detection = Detection::Probing(Default::default());
                }
                if all.len() % 5 == 2 {
                    c.failover.probe_timeout = Some(ProbeTimeout::default());
                }
                all.push(c);
            }
        }
    }
    for config in all {
        walks(&config, 1, &[3], 8);
    }
}

#[test]
fn every_dormant_rule_with_three_and_with_eight_paths() {
    for dormant in [
        Dormant::Hop,
        Dormant::Primary,
        Dormant::Last,
        Dormant::LeastErrors,
    ] {
        let mut c = hasty(Config::caro2006());
        c.failure.path_max_retrans = 0;
        c.failover.dormant = dormant;
        let (_, taken) = walks(&c, 1, &[3, 8], 20);
        assert!(taken.phases().contains(&Phase::Dormant), "{dormant:?}");
        let hops = |e: &&Edge| e.from == Phase::Dormant && e.to == Phase::Dormant;
        let hops = taken.edges.iter().any(|e| hops(&e));
        let moves = matches!(dormant, Dormant::Hop | Dormant::LeastErrors);
        assert!(hops == moves || dormant == Dormant::Primary, "{dormant:?}");
    }
}

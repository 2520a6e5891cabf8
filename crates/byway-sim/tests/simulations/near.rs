//! A near link of 100 Mbit/s with a loss of 5 % of what the sender sends: a lost packet of the set-up or the shutdown, a
//! first chunk or a last retransmission costs no second. `bench/netns/compare.py lossy --quick` is the same link.

use crate::common::{Dumbbells, LIMIT, address, transfer};
use byway_core::Config;
use byway_core::time::{Duration, Instant};
use byway_sim::host::Sender;
use byway_sim::net::{LinkConfig, LossModel, QueueLimit, Rate, TopologyBuilder};

/// 160 ms at the rate of the link.
const BYTES: u64 = 2_000_000;
const SEEDS: u8 = 200;

/// Seconds until the association is established, and from then until it has ended, of a transfer for each seed.
fn transfers(config: &Config) -> Vec<[f64; 2]> {
    let link =
        LinkConfig::new(Rate::mbps(100), Duration::from_micros(50)).queue(QueueLimit::Packets(208));
    let lossy = link.clone().loss(LossModel::Uniform(0.05));
    let mut topology = TopologyBuilder::new();
    let [a, b] = [1, 2].map(|host| topology.add_host("host", &[address(0, host)]));
    let there = topology.add_link(a.interface(0), b.interface(0), lossy);
    let back = topology.add_link(b.interface(0), a.interface(0), link);
    let cores = vec![(there, back)];
    let d = Dumbbells {
        topology,
        a,
        b,
        cores,
    };
    let each = (1..=SEEDS).map(|seed| {
        let (mut sim, a, _) = transfer(&d, config, BYTES, seed);
        assert!(sim.run_until_done(LIMIT, |s| {
            s.app::<Sender>(a)
                .is_some_and(|a| a.report().ended_at.is_some())
        }));
        let report = sim.app::<Sender>(a).unwrap().report();
        let (up, ended) = (report.up_at.unwrap(), report.ended_at.unwrap());
        [up.since(Instant::ZERO), ended.since(up)].map(|t| t.as_secs_f64())
    });
    each.collect()
}

/// How many of them wait for a second before the establishment, and how many after it.
fn late(all: &[[f64; 2]]) -> [usize; 2] {
    [0, 1].map(|part| all.iter().filter(|t| t[part] >= 0.9).count())
}

#[test]
fn at_five_percent_of_loss_only_a_lost_init_costs_a_second() {
    let [mut plain, byway] = [Config::byway(), Config::byway()];
    if let Some(rule) = &mut plain.failover.probe_timeout {
        rule.tail_probe = false;
    }
    let [without, with] = [plain, byway].map(|c| transfers(&c));
    let longest = with.iter().map(|t| t[1]).fold(0.0, f64::max);
    let [without, with] = [late(&without), late(&with)];
    println!(
        "of {SEEDS} transfers, before and after the establishment: without tail probes {without:?} waited for a second, \
         with them {with:?}; the longest of these took {longest:.3} s"
    );
    // About 5 % lose INIT: no round trip is known, and T1-init waits for RTO.Initial.
    assert!(with[0] <= 14, "{with:?}");
    assert_eq!(with[1], 0, "{longest:.3} s");
    assert!(longest < 0.3, "{longest:.3} s");
    // The control: about 5 % lose COOKIE ECHO, too, and 10 % the first chunk or SHUTDOWN.
    assert!(without[0] > with[0] && without[1] > 10, "{without:?}");
}

//! Slow links: the packets of a window take longer than all else.

use crate::common::{Dumbbells, LIMIT, acked, address, direct, endpoint, native, transfer};
use byway_core::time::{Duration, Instant};
use byway_core::{AssocStats, Config, PathStats};
use byway_sim::host::{Sender, Sink};
use byway_sim::net::{LinkChange, LinkConfig, QueueLimit, Rate};
use byway_sim::{HostId, Simulation};

fn link(kilobits: u64, delay: u64) -> LinkConfig {
    let rate = Rate::BitsPerSecond(1000 * kilobits);
    LinkConfig::new(rate, Duration::from_millis(delay)).queue(QueueLimit::Packets(50))
}

/// What a transfer of 1 MB in messages of 1452 bytes over these links brought: each fills a packet of 1500.
fn over(links: &[LinkConfig], config: &Config) -> (AssocStats, Vec<PathStats>) {
    let (mut sim, a, _) = transfer(&direct(links), config, 1_000_000, 1);
    assert!(sim.run_until_done(LIMIT, |s| acked(s, a)));
    let id = sim.app::<Sender>(a).unwrap().report().assoc.unwrap();
    let endpoint = sim.endpoint(a);
    (endpoint.stats(id).unwrap(), endpoint.paths(id))
}

/// The round trips of the set-up are those of small packets, and the packets of the first windows take
/// much longer. Nothing fails, so nothing moves, and not even a heartbeat asks.
#[test]
fn a_slow_link_without_a_fault_is_not_left() {
    for kilobits in [1000, 2000, 5000, 10_000] {
        for delay in [1, 2, 5, 10, 20, 40] {
            let links = [link(kilobits, delay), link(kilobits, delay)];
            let (stats, paths) = over(&links, &Config::byway());
            let moves = (stats.suspicions, stats.failovers, stats.trials);
            assert_eq!(moves, (0, 0, 0), "{kilobits} kbit/s, {delay} ms");
            assert_eq!(paths[0].pmtu, 1500, "{kilobits} kbit/s, {delay} ms");
        }
    }
}

/// The answers of probes wait in the queue for longer than all round trips before. They are late, and count.
#[test]
fn a_late_answer_tells_the_path_mtu() {
    for kilobits in [64, 100, 200, 300, 500, 700] {
        let links = [link(kilobits, 2), link(kilobits, 2)];
        let (_, paths) = over(&links, &Config::byway());
        assert_eq!(paths[0].pmtu, 1500, "{kilobits} kbit/s");
    }
}

/// The primary dies before its MTU is known. It takes no data any more, so its base of 1200 bytes cuts no
/// message of the other path in two.
#[test]
fn a_dead_path_does_not_bound_the_chunks_of_another() {
    let down = LinkChange::Down {
        drop_in_flight: true,
    };
    let dies = link(2000, 150).at(Instant::from_millis(700), down);
    let (stats, paths) = over(&[dies, link(2000, 150)], &Config::byway());
    assert_eq!([paths[0].pmtu, paths[1].pmtu], [1200, 1500]);
    let messages = 1_000_000_u64.div_ceil(1452);
    // A few left before the size of the other path was known.
    let first = stats.data_chunks_sent - stats.data_chunks_retransmitted;
    assert!(
        first < messages + 20,
        "{first} chunks for {messages} messages"
    );
}

/// The other path has died, and the queue of this one makes its round trips a hundred times longer. Tail
/// probes repeat chunks, so that none may be a sample of SRTT. They must not go on for that: 17 s are the rate.
#[test]
fn after_a_death_a_slow_link_is_filled() {
    let link = link(2000, 2);
    for at in [300, 500, 600, 700, 800, 900, 1100, 1300, 1500] {
        let down = LinkChange::Down {
            drop_in_flight: true,
        };
        let dies = link.clone().at(Instant::from_millis(at), down);
        let d = direct(&[dies, link.clone()]);
        let (mut sim, a, _) = transfer(&d, &Config::byway(), 4_000_000, 1);
        assert!(
            sim.run_until_done(Instant::from_millis(18_000), |s| acked(s, a)),
            "died at {at} ms"
        );
    }
}

/// Bits a second of a link that loses nine tenths of its rate in so many steps of so many ms, from 500 ms on.
fn falls(from: u64, steps: u64, every: u64) -> Vec<(Instant, u64)> {
    let rate = |n: u64| from - from * 9 / 10 * n / steps;
    (1..=steps)
        .map(|n| (Instant::from_millis(500 + n * every), rate(n)))
        .collect()
}

/// The rate of a wireless link falls, and its queue fills: round trips grow up to twenty times. Nothing fails, so no data moves,
/// and not even a heartbeat asks.
#[test]
fn a_link_whose_round_trips_grow_is_not_left() {
    for megabits in [20, 50, 100] {
        for delay in [2, 10, 40] {
            for (steps, every) in [(1, 1), (5, 20), (10, 100), (40, 50)] {
                let rates = falls(megabits * 1_000_000, steps, every);
                let first = link(megabits * 1000, delay).rate_over_time(&rates);
                let d = direct(&[first, link(megabits * 1000, delay)]);
                // In bulk, and a message each so many ms.
                for every in [None, Some(2), Some(10), Some(37)] {
                    let (mut sim, a) = match every {
                        None => {
                            let (sim, a, _) = transfer(&d, &Config::byway(), 1 << 30, 1);
                            (sim, a)
                        }
                        Some(every) => periodic(&d, every),
                    };
                    sim.run_until(Instant::from_millis(5000));
                    let id = sim.app::<Sender>(a).unwrap().report().assoc.unwrap();
                    let stats = sim.endpoint(a).stats(id).unwrap();
                    assert_eq!(
                        (stats.suspicions, stats.failovers, stats.trials),
                        (0, 0, 0),
                        "{megabits} Mbit/s, {delay} ms, {steps} steps, {every:?}"
                    );
                }
            }
        }
    }
}

/// A message of 1000 bytes each so many ms.
fn periodic(d: &Dumbbells, every: u64) -> (Simulation, HostId) {
    let mut sim = Simulation::new(d.topology.build(1).unwrap());
    let [local, peer] = [1, 2].map(|host| native((0..2).map(move |p| address(p, host))));
    let every = Duration::from_millis(every);
    let app = Sender::periodic(peer.clone(), 5001, Config::byway(), 1000, every, u64::MAX);
    let a = sim
        .add_host(d.a, endpoint(local, 1, &Config::byway()), app)
        .unwrap();
    sim.add_host(d.b, endpoint(peer, 2, &Config::byway()), Sink::new())
        .unwrap();
    (sim, a)
}

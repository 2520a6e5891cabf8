//! Slow links: the packets of a window take longer than all else.

#[expect(dead_code, reason = "other tests use the rest")]
mod common;

use byway_core::time::{Duration, Instant};
use byway_core::{AssocStats, Config};
use byway_sim::Simulation;
use byway_sim::host::Sender;
use byway_sim::net::{LinkChange, LinkConfig, QueueLimit, Rate};
use common::{LIMIT, direct, transfer};

/// What a transfer of 1 MB over two such links brought.
fn over(kilobits: u64, delay: u64, config: &Config) -> AssocStats {
    let rate = Rate::BitsPerSecond(1000 * kilobits);
    let link = LinkConfig::new(rate, Duration::from_millis(delay)).queue(QueueLimit::Packets(50));
    let (mut sim, a, _) = transfer(&direct(&[link.clone(), link]), config, 1_000_000, 1);
    assert!(sim.run_until_done(LIMIT, |s| {
        s.app::<Sender>(a)
            .is_some_and(|b| b.report().acked_at.is_some())
    }));
    let id = sim.app::<Sender>(a).unwrap().report().assoc.unwrap();
    sim.endpoint(a).stats(id).unwrap()
}

/// The round trips of the set-up are those of small packets, and the packets of the first windows take
/// much longer. Nothing fails, so nothing moves, and not even a heartbeat asks.
#[test]
fn a_slow_link_without_a_fault_is_not_left() {
    for kilobits in [1000, 2000, 5000, 10_000] {
        for delay in [1, 2, 5, 10, 20, 40] {
            let stats = over(kilobits, delay, &Config::byway());
            let moves = (stats.suspicions, stats.failovers, stats.trials);
            assert_eq!(moves, (0, 0, 0), "{kilobits} kbit/s, {delay} ms");
        }
    }
}

/// The other path has died, and the queue of this one makes its round trips a hundred times longer. Tail
/// probes repeat chunks, so that none may be a sample of SRTT. They must not go on for that: 17 s are the rate.
#[test]
fn after_a_death_a_slow_link_is_filled() {
    let rate = Rate::BitsPerSecond(2_000_000);
    let link = LinkConfig::new(rate, Duration::from_millis(2)).queue(QueueLimit::Packets(50));
    for at in [300, 500, 600, 700, 800, 900, 1100, 1300, 1500] {
        let down = LinkChange::Down {
            drop_in_flight: true,
        };
        let dies = link.clone().at(Instant::from_millis(at), down);
        let d = direct(&[dies, link.clone()]);
        let (mut sim, a, _) = transfer(&d, &Config::byway(), 4_000_000, 1);
        let done = |s: &Simulation| {
            s.app::<Sender>(a)
                .is_some_and(|b| b.report().acked_at.is_some())
        };
        assert!(
            sim.run_until_done(Instant::from_millis(18_000), done),
            "died at {at} ms"
        );
    }
}

//! Slow links: the packets of a window take longer than all else.

#[expect(dead_code, reason = "other tests use the rest")]
mod common;

use byway_core::time::Duration;
use byway_core::{AssocStats, Config};
use byway_sim::host::Sender;
use byway_sim::net::{LinkConfig, QueueLimit, Rate};
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

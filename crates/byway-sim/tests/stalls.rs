//! The longest stall of transfers without a fault, with queues from 3 packets to 100: no
//! delivery waits longer than two round trips and 50 ms with the preset `byway`.

#[expect(dead_code, reason = "other tests use the rest")]
mod common;

use byway_core::Config;
use byway_core::time::Duration;
use byway_sim::Simulation;
use byway_sim::host::{Sender, Sink};
use byway_sim::net::{LinkConfig, QueueLimit, Rate};
use common::{LIMIT, dumbbells, transfer};

/// The links of the dumbbell's edges take 10 ms each, both ways.
const EDGES: u64 = 40;
/// Bytes of a packet.
const PACKET: u64 = 1500;

/// A transfer over two like paths: its longest stall, and a round trip with the queue
/// empty and full.
fn stall(config: &Config, (mbps, delay, queue): (u64, u64, u32), seed: u8) -> [Duration; 3] {
    let core = LinkConfig::new(Rate::mbps(mbps), Duration::from_millis(delay))
        .queue(QueueLimit::Packets(queue));
    let d = dumbbells(&[core.clone(), core]);
    let bytes = 1_000_000 + 400_000 * u64::from(seed);
    let (mut sim, a, b) = transfer(&d, config, bytes, seed);
    let done = |s: &Simulation| {
        s.app::<Sender>(a)
            .is_some_and(|b| b.report().acked_at.is_some())
    };
    assert!(sim.run_until_done(LIMIT, done));
    let sink = sim.app::<Sink>(b).unwrap().report();
    let longest = sink.longest_stall;
    let empty = Duration::from_millis(2 * delay + EDGES);
    let drain = Duration::from_micros(u64::from(queue) * PACKET * 8 / mbps);
    [longest, empty, empty + drain]
}

#[test]
fn no_stall_of_more_than_two_round_trips_and_50_ms_without_a_fault() {
    let (mut transfers, mut worst, mut over_empty) = (0, 0.0f64, 0);
    for queue in [3, 5, 10, 25, 100] {
        for (mbps, delay) in [(2, 5), (10, 25), (10, 80), (50, 5)] {
            for seed in 1..=5 {
                let [longest, empty, full] = stall(&Config::byway(), (mbps, delay, queue), seed);
                let margin = Duration::from_millis(50);
                let limit = 2 * full + margin;
                over_empty += u32::from(longest > 2 * empty + margin);
                worst = worst.max(longest.as_secs_f64() / limit.as_secs_f64());
                transfers += 1;
                assert!(
                    longest <= limit,
                    "{mbps} Mbit/s, {delay} ms, {queue} packets, seed {seed}: {longest:?} of {limit:?}"
                );
            }
        }
    }
    println!(
        "{transfers} transfers; the longest stall is {worst:.2} of its limit; {over_empty} above \
         two round trips of an empty queue and 50 ms"
    );
}

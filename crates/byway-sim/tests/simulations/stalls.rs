//! The longest stall of transfers without a fault, with queues from 3 packets to 100: no
//! delivery waits longer than two round trips and 50 ms with the preset `byway`.

use crate::common::{LIMIT, acked, dumbbells, transfer};
use byway_core::Config;
use byway_core::time::Duration;
use byway_sim::host::{Sender, Sink};
use byway_sim::net::{LinkConfig, QueueLimit, Rate};

/// The links of the dumbbell's edges take 10 ms each, both ways.
const EDGES: u64 = 40;
/// Bytes of a packet.
const PACKET: u64 = 1500;

/// Of the hundred transfers, those that may have a stall above two round trips of an *empty* queue and
/// 50 ms: with 2 Mbit/s and 5 ms, where three packets in the queue are most of a round trip.
const MOST_OVER_EMPTY: u32 = 24;

/// What a transfer over two like paths showed.
struct Seen {
    longest: Duration,
    /// A round trip with the queue empty, and full.
    empty: Duration,
    full: Duration,
    /// T3-rtx expired so many times.
    timeouts: u64,
}

fn transferred(config: &Config, (mbps, delay, queue): (u64, u64, u32), seed: u8) -> Seen {
    let core = LinkConfig::new(Rate::mbps(mbps), Duration::from_millis(delay))
        .queue(QueueLimit::Packets(queue));
    let d = dumbbells(&[core.clone(), core]);
    let bytes = 1_000_000 + 400_000 * u64::from(seed);
    let (mut sim, a, b) = transfer(&d, config, bytes, seed);
    assert!(sim.run_until_done(LIMIT, |s| acked(s, a)));
    let assoc = sim.app::<Sender>(a).unwrap().report().assoc.unwrap();
    let empty = Duration::from_millis(2 * delay + EDGES);
    Seen {
        longest: sim.app::<Sink>(b).unwrap().report().longest_stall,
        empty,
        full: empty + Duration::from_micros(u64::from(queue) * PACKET * 8 / mbps),
        timeouts: sim.endpoint(a).stats(assoc).unwrap().timeouts,
    }
}

/// Each transfer of the grid.
fn each(config: &Config, mut look: impl FnMut(&str, &Seen)) {
    for queue in [3, 5, 10, 25, 100] {
        for (mbps, delay) in [(2, 5), (10, 25), (10, 80), (50, 5)] {
            for seed in 1..=5 {
                let seen = transferred(config, (mbps, delay, queue), seed);
                let name = format!("{mbps} Mbit/s, {delay} ms, {queue} packets, seed {seed}");
                look(&name, &seen);
            }
        }
    }
}

#[test]
fn no_stall_of_more_than_two_round_trips_and_50_ms_without_a_fault() {
    let (mut transfers, mut worst, mut over_empty) = (0, 0.0f64, 0);
    each(&Config::byway(), |name, seen| {
        let margin = Duration::from_millis(50);
        let (longest, limit) = (seen.longest, 2 * seen.full + margin);
        over_empty += u32::from(longest > 2 * seen.empty + margin);
        worst = worst.max(longest.as_secs_f64() / limit.as_secs_f64());
        transfers += 1;
        assert!(longest <= limit, "{name}: {longest:?} of {limit:?}");
        // With 2 Mbit/s and 100 packets the limit is 1.35 s, in which a timeout of a second fits.
        assert_eq!(seen.timeouts, 0, "{name}");
    });
    println!(
        "{transfers} transfers; the longest stall is {worst:.2} of its limit; {over_empty} above \
         two round trips of an empty queue and 50 ms"
    );
    assert!(over_empty <= MOST_OVER_EMPTY, "{over_empty}");
}

/// The same transfers of the standard's sender have what the test above forbids.
#[test]
fn without_the_preset_a_queue_that_drops_costs_timeouts() {
    let mut with_timeouts = 0;
    each(&Config::rfc9260(), |_, seen| {
        with_timeouts += u32::from(seen.timeouts > 0);
    });
    println!("rfc9260: {with_timeouts} of the hundred transfers have timeouts");
    assert!(with_timeouts > 0);
}

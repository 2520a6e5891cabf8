//! All paths at once, whatever they are: with the preset `byway`, concurrent multipath transfer over
//! unlike paths delivers at least what the better path alone delivers, and 95 % of the sum
//! where the buffers can hold it (experiments/unequal-paths).

use crate::common::{address, endpoint, native};
use byway_core::Config;
use byway_core::config::ConcurrentConfig;
use byway_core::policy::Scheduler;
use byway_core::time::{Duration, Instant};
use byway_sim::host::{Sender, Sink};
use byway_sim::net::{LinkConfig, QueueLimit, Rate, TopologyBuilder};
use byway_sim::{HostId, Simulation};

/// A path: Mbit/s and round trip in milliseconds. The queue has room for 200 packets, which
/// are half a second at 5 Mbit/s.
type Path = (u64, u64);

const FAST: Path = (200, 20);
const SLOW: Path = (5, 20);
/// Its queue alone is 2.4 s, in which the fast one delivers 60 MB, and the buffers hold 16 MiB at most.
const SLOWEST: Path = (1, 20);
const NEAR: Path = (50, 10);
const FAR: Path = (50, 300);

/// Payload bytes in the bytes of a full packet: 1444 of 1500, as a DATA chunk of 1452 would
/// not leave room for the UDP header that IP packets of 1500 bytes may need.
const PAYLOAD: f64 = 1444.0 / 1500.0;

fn link((mbps, ms): Path, queue: u32) -> LinkConfig {
    LinkConfig::new(Rate::mbps(mbps), Duration::from_millis(ms / 2))
        .queue(QueueLimit::Packets(queue))
}

/// An endless transfer over these paths, the first one the primary, with queues of so many packets.
fn endless(config: &Config, paths: &[Path], queue: u32) -> (Simulation, HostId, HostId) {
    let n = paths.len() as u8;
    let of = |host: u8| (0..n).map(move |p| address(p, host)).collect::<Vec<_>>();
    let mut topology = TopologyBuilder::new();
    let (a, b) = (
        topology.add_host("A", &of(1)),
        topology.add_host("B", &of(2)),
    );
    for (i, path) in paths.iter().enumerate() {
        topology.add_duplex(
            a.interface(i as u8),
            b.interface(i as u8),
            link(*path, queue),
        );
    }
    let mut sim = Simulation::new(topology.build(1).unwrap());
    let sender = Sender::endless(native(of(2)), 5001, config.clone(), 1452);
    let a = sim
        .add_host(a, endpoint(native(of(1)), 1, config), sender)
        .unwrap();
    let b = sim
        .add_host(b, endpoint(native(of(2)), 2, config), Sink::new())
        .unwrap();
    (sim, a, b)
}

/// Mbit/s of payload that the reader gets between these seconds.
fn rate(config: &Config, paths: &[Path], time: (u64, u64)) -> f64 {
    rate_behind(config, paths, 200, time)
}

/// The same behind queues of so many packets.
fn rate_behind(config: &Config, paths: &[Path], queue: u32, (from, to): (u64, u64)) -> f64 {
    let (mut sim, _, b) = endless(config, paths, queue);
    let mut read = |s: u64| {
        sim.run_until(Instant::from_millis(1000 * s));
        sim.app::<Sink>(b).unwrap().report().bytes
    };
    let before = read(from);
    (read(to) - before) as f64 * 8.0 / (to - from) as f64 / 1e6
}

fn concurrent(scheduler: Scheduler) -> Config {
    let mut c = Config::byway();
    c.concurrent = Some(ConcurrentConfig::default());
    c.scheduler = scheduler;
    c
}

/// What the better path alone delivers, and what both deliver at once in either order, from
/// the third second to the sixth.
fn alone_and_both(config: &Config, better: Path, other: Path) -> (f64, [f64; 2]) {
    let time = (2, 6);
    let alone = rate(&Config::byway(), &[better], time);
    let both = [[better, other], [other, better]].map(|paths| rate(config, &paths, time));
    println!("{better:?} and {other:?}: alone {alone:.1} Mbit/s, both {both:.1?}");
    (alone, both)
}

#[test]
fn a_slow_path_beside_a_fast_one_takes_nothing_from_it() {
    let config = concurrent(Config::byway().scheduler);
    let beside = [
        (FAST, SLOW),
        (FAST, SLOWEST),
        (NEAR, FAR),
        (FAST, (20, 300)),
    ];
    for (better, other) in beside {
        let (alone, both) = alone_and_both(&config, better, other);
        assert!(both.iter().all(|b| *b >= alone), "{both:?} against {alone}");
    }
}

/// The check above fails for a sender that fills every window: with buffers that tune themselves it loses a
/// tenth, and with fixed ones of 1 MiB (`buffer.tuning` off) more than half.
#[test]
fn without_a_scheduler_the_slow_path_takes_most_of_it() {
    let (alone, both) = alone_and_both(&concurrent(Scheduler::Fill), FAST, SLOWEST);
    assert!(
        both.iter().all(|b| *b < 0.95 * alone),
        "{both:?} against {alone}"
    );
    let mut fixed = concurrent(Scheduler::Fill);
    fixed.buffer.tuning = None;
    let (alone, both) = alone_and_both(&fixed, FAST, SLOW);
    assert!(
        both.iter().all(|b| *b < alone / 2.0),
        "{both:?} against {alone}"
    );
}

/// The buffers hold the sum of the rates for the longest round trip: 205 Mbit/s for 20 ms are
/// 0.5 MB, and 100 Mbit/s for 300 ms are 3.75 MB, of which the receive buffer offers twice as
/// much, below its limit of 16 MiB.
#[test]
fn the_sum_of_the_rates_where_the_buffers_hold_it() {
    let config = concurrent(Config::byway().scheduler);
    let farther = (50, 100);
    for paths in [
        [FAST, SLOW],
        [SLOW, FAST],
        [NEAR, FAR],
        [FAR, NEAR],
        [NEAR, farther],
        [farther, NEAR],
    ] {
        let sum = paths.iter().map(|p| p.0 as f64).sum::<f64>() * PAYLOAD;
        let both = rate(&config, &paths, (6, 10));
        println!("{paths:?}: {both:.1} of {sum:.1} Mbit/s");
        assert!(both >= 0.95 * sum, "{both} of {sum}");
    }
}

/// With fixed buffers of 1 MiB the far path would block the near one: it gets nothing.
#[test]
fn without_room_in_the_buffers_the_better_path_keeps_its_rate() {
    let mut config = concurrent(Scheduler::Earliest);
    config.buffer.tuning = None;
    let both = rate(&config, &[NEAR, FAR], (4, 8));
    let mut alone = Config::byway();
    alone.buffer.tuning = None;
    let alone = rate(&alone, &[NEAR], (4, 8));
    println!("fixed buffers: alone {alone:.1} Mbit/s, both {both:.1}");
    assert!(both >= 0.99 * alone, "{both} against {alone}");
    config.scheduler = Scheduler::Fill;
    let filled = rate(&config, &[NEAR, FAR], (4, 8));
    println!("filled: {filled:.1}");
    assert!(filled < 0.9 * alone, "{filled} against {alone}");
}

/// Behind a queue of 50 packets (12 ms) CUBIC does not fill a path of 300 ms alone: its window falls and grows again in ten
/// seconds. Over ten of such times both together deliver more than each of them alone, and 95 % of the sum of the rates.
#[test]
fn behind_short_queues_they_deliver_the_sum_of_the_rates_too() {
    let (config, time) = (concurrent(Config::byway().scheduler), (10, 110));
    let of = |config: &Config, paths: &[Path]| rate_behind(config, paths, 50, time);
    let [near, far] = [NEAR, FAR].map(|path| of(&Config::byway(), &[path]));
    let sum = (NEAR.0 + FAR.0) as f64 * PAYLOAD;
    for paths in [[NEAR, FAR], [FAR, NEAR]] {
        let both = of(&config, &paths);
        println!("{paths:?}: {near:.1} and {far:.1} Mbit/s alone, {both:.1} of {sum:.1} both");
        assert!(both >= near + far && both >= 0.95 * sum, "{both}");
    }
}

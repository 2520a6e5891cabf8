//! Concurrent multipath transfer over two unequal paths: 10 Mb/s with 20 ms, and
//! 2 Mb/s with 100 ms, one way.

use crate::common::{LIMIT, core_link, dumbbells, transfer};
use byway_core::config::ConcurrentConfig;
use byway_core::time::Duration;
use byway_core::{AssocStats, Config};
use byway_sim::Simulation;
use byway_sim::host::{Sender, Sink};
use byway_sim::net::{LinkConfig, LossModel, Rate};

/// The sum of both core links' rates, bits per second.
const SUM: f64 = 12e6;
/// Bytes of a full packet, IP header included, for so much payload.
const PACKET: f64 = 1500.0 / 1452.0;

/// Ample buffers, and all of CMT.
fn cmt() -> Config {
    let mut c = Config::rfc9260();
    c.concurrent = Some(ConcurrentConfig::default());
    c.buffer.receive = 4 << 20;
    c.buffer.send = 4 << 20;
    c
}

fn links(loss: f64) -> [LinkConfig; 2] {
    // The access links add 10 ms at either end.
    [(10, 0), (2, 80)].map(|(mbps, ms)| {
        let link = LinkConfig {
            rate: Rate::mbps(mbps),
            delay: Duration::from_millis(ms),
            ..core_link()
        };
        if loss > 0.0 {
            link.loss(LossModel::Uniform(loss))
        } else {
            link
        }
    })
}

/// Seconds that a transfer takes, from the association's beginning to the last
/// acknowledgement, and what the sender counted.
fn seconds(config: &Config, links: &[LinkConfig], bytes: u64, seed: u8) -> (f64, AssocStats) {
    let d = dumbbells(links);
    let (mut sim, a, b) = transfer(&d, config, bytes, seed);
    let done = |s: &Simulation| {
        let report = s.app::<Sender>(a).map(Sender::report);
        report.is_some_and(|r| r.acked_at.is_some() || r.lost.is_some())
    };
    assert!(sim.run_until_done(LIMIT, done));
    assert_eq!(sim.app::<Sink>(b).unwrap().report().bytes, bytes);
    let report = sim.app::<Sender>(a).unwrap().report();
    let stats = sim.endpoint(a).stats(report.assoc.unwrap()).unwrap();
    let took = report.acked_at.unwrap().since(report.up_at.unwrap());
    (took.as_secs_f64(), stats)
}

#[test]
fn cmt_delivers_nearly_the_sum_of_unequal_paths() {
    let bytes = 200 << 20;
    let (took, stats) = seconds(&cmt(), &links(0.0), bytes, 1);
    let share = bytes as f64 * PACKET * 8.0 / took / SUM;
    println!("{share:.4} of the sum, {took:.2} s, {stats:?}");
    assert!(share >= 0.95, "{share}");
}

fn mean_with_losses(config: &Config) -> f64 {
    let times = (1..=30).map(|seed| seconds(config, &links(0.01), 8 << 20, seed).0);
    times.sum::<f64>() / 30.0
}

/// Delayed acknowledgements spare SACKs, and windows grow more slowly by them.
#[test]
fn cmt_with_losses_is_at_least_as_fast_as_ns2() {
    let mut delayed = cmt();
    delayed.concurrent.as_mut().unwrap().dac = true;
    let [mean, delayed] = [cmt(), delayed].map(|c| mean_with_losses(&c));
    println!("1 % loss, mean of 30 seeds: {mean:.2} s, {delayed:.2} s with DAC");
    assert!(mean <= NS2_MEAN_S, "{mean}");
}

/// ns-2.35's CMT over the same network, 8 MiB from the first DATA to the last SACK:
/// mean of seeds 1 to 30 (standard deviation 2.31 s). The reference's
/// `multihome.tcl` with `[lindex {10Mb 2Mb} $i]` for the core's rate, and
/// `class=SCTP/CMT cmtrtx=2 cmtpf=0 size=8388608 rbuf=4194304 issthresh=65536
/// loss0=0.01 loss1=0.01 edge_delay=10ms d0=0ms d1=80ms seed=1 pkttrace=1
/// horizon=200`.
const NS2_MEAN_S: f64 = 13.05;

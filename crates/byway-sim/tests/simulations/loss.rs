//! Random loss of 5 % on both paths of 100 Mbit/s: what the preset `byway` gains over plain RFC 9260.
//! `cargo xtask measure grid` has the whole grid of losses, and `measure lossy` TCP in the same run.

use crate::common::{LIMIT, dumbbells, transfer};
use byway_core::Config;
use byway_core::time::Duration;
use byway_sim::Simulation;
use byway_sim::host::Sender;
use byway_sim::net::{LinkConfig, LossModel, QueueLimit, Rate};

const BYTES: u64 = 4_000_000;
const SEEDS: u8 = 10;

/// Mbit/s of a transfer, with a round trip of 50 ms.
fn rate(config: &Config, seed: u8) -> f64 {
    let core = LinkConfig::new(Rate::mbps(100), Duration::from_millis(5))
        .queue(QueueLimit::Packets(100))
        .loss(LossModel::Uniform(0.05));
    let d = dumbbells(&[core.clone(), core]);
    let (mut sim, a, _) = transfer(&d, config, BYTES, seed);
    let report = |s: &Simulation| s.app::<Sender>(a).unwrap().report().clone();
    assert!(sim.run_until_done(LIMIT, |s| report(s).acked_at.is_some()));
    let report = report(&sim);
    let took = report.acked_at.unwrap().since(report.up_at.unwrap());
    BYTES as f64 * 8e-6 / took.as_secs_f64()
}

/// N7.
#[test]
fn at_five_percent_of_loss_the_preset_is_half_as_fast_again_as_the_standard() {
    let mean = |c: &Config| (1..=SEEDS).map(|s| rate(c, s)).sum::<f64>() / f64::from(SEEDS);
    let [plain, byway] = [Config::rfc9260(), Config::byway()].map(|c| mean(&c));
    println!("5 % of loss, 50 ms, {SEEDS} seeds: RFC 9260 {plain:.2}, byway {byway:.2} Mbit/s");
    assert!(byway > 1.5 * plain, "{byway:.2} and {plain:.2} Mbit/s");
}

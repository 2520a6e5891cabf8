//! The trial of another path (`failover.trial`; `policy/trial.rs`), over the papers'
//! lossy paths.

use crate::common::{Dumbbells, LIMIT, acked, core_link, direct, dumbbells, transfer};
use byway_core::time::Duration;
use byway_core::{AssocId, AssocStats, Config, Endpoint, PathId};
use byway_sim::Simulation;
use byway_sim::host::Sender;
use byway_sim::net::{LinkConfig, LossModel, QueueLimit, Rate};

/// A transfer of 4 MB: seconds, counts, and the primary at its end.
fn run(config: &Config, links: &[LinkConfig; 2], seed: u8) -> (f64, AssocStats, PathId) {
    run_over(&dumbbells(links), config, seed)
}

fn run_over(d: &Dumbbells, config: &Config, seed: u8) -> (f64, AssocStats, PathId) {
    let (mut sim, a, _) = transfer(d, config, 4_000_000, seed);
    assert!(sim.run_until_done(LIMIT, |s| acked(s, a)));
    let report = sim.app::<Sender>(a).unwrap().report();
    let id = report.assoc.unwrap();
    let took = report.acked_at.unwrap().since(report.up_at.unwrap());
    let stats = sim.endpoint(a).stats(id).unwrap();
    (took.as_secs_f64(), stats, primary(sim.endpoint(a), id))
}

fn primary(end: &Endpoint, id: AssocId) -> PathId {
    let paths = end.paths(id);
    paths.iter().find(|p| p.primary).unwrap().path
}

fn without() -> Config {
    let mut c = Config::byway();
    c.failover.trial = None;
    c
}

fn slow() -> LinkConfig {
    LinkConfig {
        rate: Rate::BitsPerSecond(200_000),
        ..core_link()
    }
}

fn lossy(share: f64) -> LinkConfig {
    core_link().loss(LossModel::Uniform(share))
}

#[test]
fn a_lossy_path_is_left_for_a_clean_one() {
    let (mut won, mut times) = (0, [0.0, 0.0]);
    for seed in 1..=5 {
        let links = [lossy(0.08), core_link()];
        let (with, stats, _) = run(&Config::byway(), &links, seed);
        let (without, ..) = run(&without(), &links, seed);
        println!(
            "seed {seed}: {} trials, {with} s, {without} s without",
            stats.trials
        );
        won += stats.trials_won;
        times[0] += with;
        times[1] += without;
    }
    // A failover may come before the trial is due.
    assert!(won >= 3, "{won} of 5");
    assert!(times[0] < times[1] / 2.0, "{times:?}");
}

#[test]
fn a_fast_path_with_some_loss_is_kept_beside_a_slow_clean_one() {
    for seed in 1..=5 {
        let links = [lossy(0.03), slow()];
        let (with, stats, primary) = run(&Config::byway(), &links, seed);
        let (without, ..) = run(&without(), &links, seed);
        assert_eq!((stats.trials_won, primary), (0, PathId(0)), "seed {seed}");
        assert!(with < without * 1.3, "{with} s, {without} s without");
    }
}

#[test]
fn paths_without_loss_are_not_tried() {
    for seed in 1..=5 {
        let (_, stats, _) = run(&Config::byway(), &[core_link(), core_link()], seed);
        assert_eq!(stats.trials, 0, "seed {seed}");
    }
}

/// A queue that overflows at the end of slow start loses many chunks, and its recovery takes several
/// round trips. That is one event and says nothing of the path: the lossy one beside it is not tried.
#[test]
fn one_overflow_of_a_queue_is_no_reason_for_a_trial() {
    let short =
        LinkConfig::new(Rate::mbps(50), Duration::from_millis(2)).queue(QueueLimit::Packets(50));
    let d = direct(&[short.clone(), short.loss(LossModel::Uniform(0.07))]);
    for seed in 1..=24 {
        let (_, stats, _) = run_over(&d, &Config::byway(), seed);
        let again = stats.data_chunks_retransmitted;
        assert!(
            again > 20,
            "seed {seed}: {again} chunks left again, no queue overflowed"
        );
        assert_eq!((stats.trials, stats.failovers), (0, 0), "seed {seed}");
    }
}

/// A user, or a peer by an ASCONF, who chooses the path that is being tried gets it for good:
/// the end of the trial does not take it back.
#[test]
fn a_choice_of_the_primary_ends_a_trial() {
    for seed in 1..=5 {
        let d = dumbbells(&[lossy(0.03), slow()]);
        let (mut sim, a, _) = transfer(&d, &Config::byway(), 4_000_000, seed);
        let stats = |s: &Simulation| {
            let id = s.app::<Sender>(a)?.report().assoc?;
            s.endpoint(a).stats(id)
        };
        assert!(sim.run_until_done(LIMIT, |s| stats(s).is_some_and(|n| n.trials == 1)));
        let id = sim.app::<Sender>(a).unwrap().report().assoc.unwrap();
        let tried = primary(sim.endpoint(a), id);
        assert_eq!(tried, PathId(1), "seed {seed}");
        sim.with_endpoint(a, |now, e| e.set_primary(now, id, tried))
            .unwrap();
        // A trial lasts ten round trips, and the next one waits ten seconds.
        sim.run_until(sim.now() + Duration::from_secs(9));
        let primary = primary(sim.endpoint(a), id);
        assert_eq!(
            (stats(&sim).unwrap().trials, primary),
            (1, tried),
            "seed {seed}"
        );
    }
}

//! Claim A14: the mechanism that caro-2006 proposes (section V) performs as PMR
//! 0 does and detects failures as a high PMR does.

use crate::common::{LIMIT, core_link, dumbbells, transfer};
use byway_core::config::{Config, Dormant};
use byway_core::observe::Observation;
use byway_core::{PathId, PathState};
use byway_sim::host::Sender;
use byway_sim::net::LossModel;

/// Seconds, and how often the primary was taken for failed (no link ever is).
fn run(config: &Config, seed: u8) -> (f64, usize) {
    let lossy = || core_link().loss(LossModel::Uniform(0.08));
    let d = dumbbells(&[lossy(), lossy()]);
    let (mut sim, a, _) = transfer(&d, config, 1 << 20, seed);
    sim.observe(a, true);
    assert!(sim.run_until_done(LIMIT, |s| {
        s.app::<Sender>(a)
            .is_some_and(|b| b.report().ended_at.is_some())
    }));
    let report = sim.app::<Sender>(a).unwrap().report().clone();
    let took = report.acked_at.unwrap().since(report.up_at.unwrap());
    let failed = |o: &Observation| {
        matches!(
            o,
            Observation::PathState {
                path: PathId(0),
                to: PathState::Inactive,
                ..
            }
        )
    };
    let detections = sim.with_endpoint(a, |_, e| {
        e.drain_observations().filter(|o| failed(&o.what)).count()
    });
    (took.as_secs_f64(), detections)
}

#[test]
fn claim_a14_as_fast_as_pmr_0_and_as_sure_as_pmr_5() {
    let mut pmr_0 = Config::caro2006();
    pmr_0.failure.path_max_retrans = 0;
    let mut totals = Vec::new();
    for config in [pmr_0, Config::caro2006(), Config::caro2006_proposed()] {
        let runs: Vec<(f64, usize)> = (1..=60).map(|seed| run(&config, seed)).collect();
        let seconds: f64 = runs.iter().map(|r| r.0).sum::<f64>() / 60.0;
        let wrong: usize = runs.iter().map(|r| r.1).sum();
        totals.push((seconds, wrong));
    }
    println!("{totals:?}");
    let [fast, sure, proposed] = totals[..] else {
        unreachable!("three configurations")
    };
    assert!((proposed.0 / fast.0 - 1.0).abs() < 0.08, "{totals:?}");
    assert!(proposed.1 <= sure.1 + 2 && fast.1 > 100, "{totals:?}");
    assert_eq!(Config::caro2006_proposed().failover.dormant, Dormant::Hop);
}

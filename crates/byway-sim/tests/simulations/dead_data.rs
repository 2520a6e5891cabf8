//! Links that carry heartbeats and no data (`failure.dead_data`).

use crate::common::{LIMIT, core_link, dumbbells, transfer};
use byway_core::time::{Duration, Instant};
use byway_core::{Config, LossReason, PathId, PathState};
use byway_sim::host::{Sender, Sink};
use byway_sim::net::{LinkChange, LinkConfig, LossModel, PacketMatch};
use byway_sim::{HostId, Simulation};
use byway_wire::chunk_type;

fn ended(a: HostId) -> impl FnMut(&Simulation) -> bool {
    move |s| {
        s.app::<Sender>(a)
            .is_some_and(|b| b.report().ended_at.is_some() || b.report().lost.is_some())
    }
}

/// From 2 s on nothing of more than 1200 bytes passes.
fn black_hole() -> LinkConfig {
    let smaller = LinkChange::Loss(LossModel::LargerThan(1200));
    core_link().at(Instant::from_millis(2000), smaller)
}

#[test]
fn a_black_hole_of_the_mtu_on_one_of_two_paths_costs_three_timeouts_and_no_more() {
    let runs = [true, false].map(|on| {
        let mut config = Config::rfc9260();
        if !on {
            config.failure.dead_data = None;
        }
        let d = dumbbells(&[black_hole(), core_link()]);
        let (mut sim, a, b) = transfer(&d, &config, 16 << 20, 7);
        assert!(sim.run_until_done(LIMIT, ended(a)));
        let sink = sim.app::<Sink>(b).unwrap().report();
        assert_eq!(sink.bytes, 16 << 20);
        let report = sim.app::<Sender>(a).unwrap().report();
        let id = report.assoc.unwrap();
        let stats = sim.endpoint(a).stats(id).unwrap();
        let first = sim.endpoint(a).path_stats(id, PathId(0)).unwrap();
        (stats, first)
    });
    let [(with, first), (without, _)] = runs;
    assert_eq!((with.dead_for_data, without.dead_for_data), (1, 0));
    assert!(first.dead_for_data);
    assert_eq!(first.state, PathState::Inactive);
    assert_eq!(with.timeouts, 3);
    // RFC 9260 alone goes back each time that a heartbeat is answered.
    assert!(without.timeouts > 6, "{}", without.timeouts);
}

#[test]
fn a_path_whose_mtu_grows_again_is_used_again() {
    let healed = LinkChange::Loss(LossModel::None);
    let primary = black_hole().at(Instant::from_millis(20_000), healed);
    let d = dumbbells(&[primary, core_link()]);
    let (mut sim, a, _) = transfer(&d, &Config::rfc9260(), 128 << 20, 7);
    sim.run_until(Instant::from_millis(19_000));
    let id = sim.app::<Sender>(a).unwrap().report().assoc.unwrap();
    let first = |sim: &Simulation| sim.endpoint(a).path_stats(id, PathId(0)).unwrap();
    assert!(first(&sim).dead_for_data && !first(&sim).in_use);
    // A heartbeat of full size comes each HB.interval and RTO.
    sim.run_until(Instant::from_millis(60_000));
    assert!(!first(&sim).dead_for_data && first(&sim).in_use);
}

#[test]
fn a_half_dead_peer_ends_the_association_with_that_reason() {
    // It answers every heartbeat, and none of its SACKs is ever seen.
    let silent = LossModel::All(PacketMatch::Chunk(chunk_type::SACK));
    let link = core_link().at(Instant::from_millis(3000), LinkChange::Loss(silent));
    let d = dumbbells(&[link.clone(), link]);
    let (mut sim, a, _) = transfer(&d, &Config::rfc9260(), 64 << 20, 7);
    assert!(sim.run_until_done(LIMIT, ended(a)));
    let report = sim.app::<Sender>(a).unwrap().report();
    assert_eq!(report.lost, Some(LossReason::DataUnacknowledged));
    let took = sim.now().since(Instant::from_millis(3000));
    let bounds = Duration::from_secs(120)..Duration::from_secs(120 + 61);
    assert!(bounds.contains(&took), "{took:?}");
}

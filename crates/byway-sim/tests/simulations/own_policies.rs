//! The examples of docs/extending.md: policies written outside of byway-core, and
//! what an association keeps to whatever they say.

#[allow(dead_code)]
#[path = "../../examples/own_congestion_control.rs"]
mod own_congestion_control;
#[allow(dead_code)]
#[path = "../../examples/own_failover.rs"]
mod own_failover;

use crate::common::{LIMIT, core_link, dumbbells, transfer};
use byway_core::cc::{CongestionControl, Moment, PathAck, Rfc9260Control, Window};
use byway_core::config::{CongestionConfig, Custom};
use byway_core::path::PathsView;
use byway_core::policy::probing::Probing;
use byway_core::policy::{
    Detection, Detector, Doubt, Failover, LossCause, RetransmissionTarget, RetransmitTarget,
    Verdict,
};
use byway_core::time::{Duration, Instant};
use byway_core::{Config, PathId, PathState};
use byway_sim::host::{Sender, Sink};
use byway_sim::net::LossModel;

#[test]
fn a_window_that_grows_by_two_chunks_is_faster_over_a_lossy_path() {
    let [rfc9260, own] = own_congestion_control::compare().unwrap();
    assert!(own < rfc9260 * 3 / 4, "{own:?} {rfc9260:?}");
}

#[test]
fn data_that_returns_after_three_answers_stalls_less_on_a_path_that_flaps() {
    let [default, own] = own_failover::compare().unwrap();
    assert!(own.total < default.total / 3, "{own:?} {default:?}");
    assert!(own.moves < default.moves, "{own:?} {default:?}");
}

/// Answers that no association can follow.
#[derive(Clone, Debug)]
struct Nonsense;

impl CongestionControl for Nonsense {
    fn on_ack(&mut self, w: &mut Window, _: PathAck, _: Moment, _: &CongestionConfig) {
        (w.cwnd, w.flight, w.lost, w.pmdcs) = (0, 1, 2, 3);
    }

    fn on_fast_retransmit(&mut self, w: &mut Window, _: &CongestionConfig) {
        w.flight = u32::MAX;
    }

    fn on_timeout(&mut self, w: &mut Window, _: &CongestionConfig) {
        w.lost = 0;
    }
}

impl RetransmissionTarget for Nonsense {
    fn target(&self, _: LossCause, _: PathId, _: &PathsView<'_>) -> PathId {
        PathId(77)
    }
}

impl Failover for Nonsense {
    fn data_path(&self, _: &PathsView<'_>, _: Option<PathId>) -> PathId {
        PathId(77)
    }

    fn judge(&self, _: &PathsView<'_>, _: PathId, _: u32) -> PathState {
        PathState::Unconfirmed
    }

    fn switch_primary(&self, _: &PathsView<'_>) -> Option<PathId> {
        Some(PathId(77))
    }
}

impl Detector for Nonsense {
    fn verdict(&self, _: &PathsView<'_>, doubt: Doubt) -> Option<Verdict> {
        Some(Verdict::Probe(doubt.since))
    }
}

#[test]
fn an_association_outlives_policies_that_answer_nonsense() {
    let config = Config {
        custom: Custom::new()
            .congestion(Nonsense)
            .retransmission(Nonsense)
            .failover(Nonsense)
            .detection(Nonsense),
        ..Config::default()
    };
    let lossy = core_link().loss(LossModel::Uniform(0.05));
    let outage = lossy
        .clone()
        .outage(Instant::from_millis(2000), Some(Instant::from_millis(5000)));
    let (mut sim, _, sink) = transfer(&dumbbells(&[outage, lossy]), &config, 200_000, 1);
    sim.run_until(LIMIT);
    assert_eq!(sim.app::<Sink>(sink).unwrap().report().bytes, 200_000);
}

/// Three round trips without an answer are enough.
#[derive(Debug)]
struct RoundTrips;

impl Detector for RoundTrips {
    fn verdict(&self, paths: &PathsView<'_>, doubt: Doubt) -> Option<Verdict> {
        let srtt = paths.srtt(doubt.path)?;
        Some(if doubt.now.since(doubt.since) >= srtt * 3 {
            Verdict::Failed
        } else {
            Verdict::Probe(doubt.now + srtt)
        })
    }
}

#[test]
fn a_detector_of_ones_own_counts_round_trips() {
    let inactive_at = |custom: Custom| {
        let mut config = Config::rfc2960();
        config.custom = custom;
        let dead = core_link().outage(Instant::from_millis(2000), None);
        let d = dumbbells(&[dead, core_link()]);
        let (mut sim, a, _) = transfer(&d, &config, 20_000_000, 1);
        sim.start();
        let id = sim.app::<Sender>(a).unwrap().report().assoc.unwrap();
        let done = sim.run_until_done(LIMIT, |sim| {
            let path = sim.endpoint(a).path_stats(id, PathId(0));
            path.is_some_and(|p| p.state == PathState::Inactive)
        });
        assert!(done);
        sim.now()
    };
    let (own, errors) = (
        inactive_at(Custom::new().detection(RoundTrips)),
        inactive_at(Custom::new()),
    );
    // The first timeout is 1 s after the last acknowledgement, then three round
    // trips of about 0.1 s; six timeouts take a minute.
    assert!(own < Instant::from_millis(4000), "{own:?}");
    assert!(errors > Instant::from_millis(60_000), "{errors:?}");
}

/// Retransmissions never stay on the path that lost the chunk.
#[derive(Debug)]
struct Elsewhere;

impl RetransmissionTarget for Elsewhere {
    fn target(&self, _: LossCause, last: PathId, paths: &PathsView<'_>) -> PathId {
        paths.alternate(last).unwrap_or(paths.data_path())
    }
}

/// What each path had carried after each event of a transfer with an outage.
fn trace(config: &Config) -> Vec<(Instant, [u64; 2])> {
    let lossy = core_link().loss(LossModel::Uniform(0.03));
    let outage = lossy
        .clone()
        .outage(Instant::from_millis(2000), Some(Instant::from_millis(9000)));
    let (mut sim, a, _) = transfer(&dumbbells(&[outage, lossy]), config, 2_000_000, 1);
    sim.start();
    let id = sim.app::<Sender>(a).unwrap().report().assoc.unwrap();
    let mut seen = Vec::new();
    let mut carried = [0; 2];
    while sim.step(LIMIT) {
        let stats = |path| sim.endpoint(a).path_stats(id, PathId(path));
        if let (Some(first), Some(second)) = (stats(0), stats(1)) {
            carried = [first.bytes_sent, second.bytes_sent];
        }
        seen.push((sim.now(), carried));
    }
    seen
}

#[test]
fn built_in_policies_work_alike_as_settings_and_as_values() {
    let probing = Detection::Probing(Probing {
        dmax: Duration::from_secs(2),
        ..Probing::default()
    });
    let mut as_settings = Config::rfc2960();
    as_settings.retransmission.target = RetransmitTarget::AllRtxAlt;
    as_settings.failure.detection = probing;
    let mut as_values = Config::rfc2960();
    as_values.retransmission.target = RetransmitTarget::AllRtxSame;
    let values = Custom::new()
        .congestion(Rfc9260Control)
        .failover(as_values.failover.clone())
        .detection(probing);
    for target in [true, false] {
        as_values.custom = if target {
            values.clone().retransmission(RetransmitTarget::AllRtxAlt)
        } else {
            values.clone().retransmission(Elsewhere)
        };
        let (seen, expected) = (trace(&as_values), trace(&as_settings));
        assert!(seen == expected, "{:?} {:?}", seen.last(), expected.last());
    }
}

#[test]
fn the_documentation_quotes_the_examples() {
    // It is not part of the package, and read where the whole repository is.
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/extending.md");
    let Ok(page) = std::fs::read_to_string(page) else {
        assert!(std::env::var_os("CI").is_none(), "no docs/extending.md");
        return;
    };
    for example in [
        include_str!("../../examples/own_congestion_control.rs"),
        include_str!("../../examples/own_failover.rs"),
    ] {
        let from = example
            .find("\nimpl C")
            .or(example.find("\nimpl Failover"))
            .unwrap();
        let block = &example[from..][..example[from..].find("\n}\n").unwrap()];
        assert!(page.contains(block), "not in docs/extending.md: {block}");
    }
}

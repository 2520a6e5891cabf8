//! The fingerprint of a build. Builds that simulate differently have different ones.
//!
//! A release number is not enough: between two releases any change of the protocol
//! core, the simulator or a metric changes figures. A commit or the program's
//! file changes too often, as most changes leave every figure as it is, and a
//! program does not know its commit. So each build does a few
//! runs that are the same for all builds, and their packets and metrics make the
//! fingerprint. It does not cover what these runs do not use; for that
//! the engine repeats runs of the file itself (`try_out`), which costs more.

use super::hex::hex;
use byway_lab::metrics::Metrics;
use byway_lab::result::RunResult;
use byway_lab::run::{RunOptions, run};
use byway_lab::scenario::Scenario;
use sha2::{Digest, Sha256};

/// The runs: a lossy network with cross traffic whose first path fails and
/// comes back, and the mechanisms of the papers and of today. They belong to
/// the fingerprint: a change here makes every file of kept runs a foreign one.
const RUNS: &str = r#"
name = "fingerprint"
seed = 1
limit = "600 s"
[traffic]
kind = "bulk"
size = "1500 kB"
message = "1452 B"
[[path]]
rate = "2 Mbit/s"
delay = "45 ms"
loss = "3 %"
[[path]]
rate = "2 Mbit/s"
delay = "30 ms"
loss = { to_bad = "2 %", to_good = "50 %", bad = "100 %" }
[[cross]]
path = 2
rate = "200 kbit/s"
shape = "edge-nodes"
[[event]]
at = "600 ms"
path = 1
do = "down"
[[event]]
at = "8 s"
path = 1
do = "up"
[[policy]]
name = "RFC 9260"
[[policy]]
name = "probe timeout, CUBIC, best path"
failover.probe_timeout = { margin = "5 ms" }
congestion.algorithm = { Cubic = {} }
failover.estimate = { choice = "Best" }
[[policy]]
name = "CMT-PF"
concurrent = "on"
[[policy]]
name = "ns-2"
preset = "ns2"
retransmission.target = "FrSameRtoAlt"
retransmission.fast_retransmits = "Multiple"
retransmission.after_rto = "Heartbeat"
failure.path_max_retrans = 0
failover.primary_switch = "Cpt(1)"
failover.dormant = "Hop"
[[policy]]
name = "section V, timestamps"
preset = "caro2006-proposed"
retransmission.target = "AllRtxAlt"
retransmission.fast_retransmits = "Once"
rto.timestamps = true
[[policy]]
name = "decoupled"
preset = "rfc2960"
retransmission.target = "AllRtxSame"
failure.detection = { Probing = { dmax = "3 s", n = 3 } }
"#;

/// Metrics that together take part in every way in which one is computed.
const METRICS: &[&str] = &[
    "transfer_s",
    "suspect_s",
    "failure1_inactive_s",
    "detected_at_s",
    "in_doubt_s",
    "done_at_s",
    "error1_at_s",
    "error3_at_s",
    "timeouts_in_doubt",
    "heartbeats_in_doubt",
    "finished",
    "stall_s",
    "timeouts",
    "timeouts_1",
    "timeouts_2",
    "timeouts_4",
    "timeouts_8",
    "timeouts_16",
    "failovers",
    "path1_failures",
    "failures",
    "path2_failures",
    "primary_changes",
    "path1_rto_s",
    "path2_rto_s",
    "path2_rto_raised",
    "path2_rto_lowered",
    "path1_loss",
    "path2_loss",
    "start_s",
    "path2_chunks",
    "originals",
    "sent_again",
    "sent_thrice",
    "caught",
    "recovered_s",
    "path@9",
    "again@9",
    "sent@9",
    "done@2",
    "rate@0-2",
];

/// The fingerprint of this build's figures, the same on every machine.
///
/// # Errors
/// When its runs cannot be done.
pub(super) fn figures() -> Result<String, String> {
    let cannot = |why: String| format!("the runs of the fingerprint: {why}");
    let scenario = Scenario::parse("fingerprint", RUNS).map_err(|e| cannot(e.to_string()))?;
    let done = run(&scenario, RunOptions::default()).map_err(|e| cannot(e.to_string()))?;
    Ok(of_runs(&done.results))
}

fn of_runs(runs: &[RunResult]) -> String {
    let mut text = String::new();
    for run in runs {
        text.push_str(&run.digest);
        for name in METRICS {
            text.push_str(&format!(" {name}={:?}", value(run, name)));
        }
        text.push('\n');
    }
    digest(&text)
}

fn value(run: &RunResult, name: &str) -> Option<f64> {
    Metrics::standard().find(name)?.value(run)
}

/// A short name for a text, the same on every machine.
fn digest(text: &str) -> String {
    hex(&Sha256::digest(text)[..16])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_runs_are_the_same_again_and_meet_what_they_are_for() {
        let scenario = Scenario::parse("fingerprint", RUNS).unwrap_or_else(|e| panic!("{e}"));
        let done = run(&scenario, RunOptions::default()).unwrap();
        assert_eq!(figures().unwrap(), of_runs(&done.results));
        let runs = &done.results;
        for r in runs {
            assert!(r.failovers > 0 && r.retransmissions > 0, "{}", r.policy);
            assert!(r.transfer_s.is_some(), "{}", r.policy);
        }
        for (i, r) in runs.iter().enumerate() {
            assert!(
                runs[..i].iter().all(|o| o.digest != r.digest),
                "{}",
                r.policy
            );
        }
        for name in METRICS {
            let there = runs.iter().any(|r| value(r, name).is_some());
            assert!(there, "{name}");
        }
        // A packet or a measure more or less is another build.
        let mut other = done.results.clone();
        other[2].digest = "0".repeat(16);
        assert_ne!(of_runs(&other), of_runs(&done.results));
        let mut other = done.results.clone();
        other[5].timeouts += 1;
        assert_ne!(of_runs(&other), of_runs(&done.results));
    }
}

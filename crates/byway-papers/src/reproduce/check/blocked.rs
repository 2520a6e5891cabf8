//! What PMR 0 sends while PMR 1 waits for its second timeout: Caro, Amer and Stewart, "Rethinking
//! end-to-end failover with transport layer multihoming" (2006), section III.7. The equations
//! are `analysis`.
//!
//! In scenario 3 PMR 0 sends to the alternate path until a heartbeat of the primary is answered.
//! In scenario 4 the alternate path loses the retransmission; after its timeout PMR 0 sends to the
//! primary, which works again.

use super::finding::{Finding, RunCount};
use crate::analysis::{packets, rounds_scenario_3, rounds_scenario_4};
use crate::reproduce::cells::{Cells, Value};
use crate::reproduce::near;
use crate::reproduce::rule::{Outcome, Tally};
use std::time::Duration;

/// RTO of the second consecutive timeout: twice RTO.Min.
const SECOND_RTO: Duration = Duration::from_secs(2);
/// RTO of the alternate path: RTO.Min.
const ALTERNATE_RTO: Duration = Duration::from_secs(1);
/// Round trip of the primary, where it is no axis.
const RTT1: Duration = Duration::from_millis(90);
/// How far a figure without chance may be from a computed one (`RULE.md`: "about").
const NEAR: f64 = 0.05;

/// One of the scenarios.
pub(super) struct Scenario {
    /// Packets of PMR 0.
    pub(super) measure: &'static str,
    /// The axis of the round trip that counts.
    axis: &'static str,
    /// Round trips that fit into the wait.
    rounds: fn(Duration) -> f64,
    /// Packets of ssthresh.
    ssthresh: f64,
}

/// Packets of ssthresh: the initial 16 KiB in those of 1468 bytes. ns-2's module leaves it at a timeout
/// with a window of one packet (`ns2.keeps_ssthresh_at_one`), so it is the primary's, too.
const SSTHRESH: f64 = 16_384.0 / 1468.0;

/// Scenario 3: DATA chunks on the alternate path.
pub(super) const ALTERNATE: Scenario = Scenario {
    measure: "path2_chunks",
    axis: "rtt2",
    rounds: |rtt2| rounds_scenario_3(SECOND_RTO, RTT1, rtt2),
    ssthresh: SSTHRESH,
};

/// Scenario 4: chunks acknowledged when the second timeout of PMR 1 comes, 3.28 s after the start.
pub(super) const PRIMARY: Scenario = Scenario {
    measure: "acked@3.28",
    axis: "rtt1",
    rounds: |rtt1| rounds_scenario_4(SECOND_RTO, ALTERNATE_RTO, rtt1),
    ssthresh: SSTHRESH,
};

pub(super) fn evaluate(scenario: &Scenario, cells: &Cells, off: bool) -> Option<Finding> {
    // Without the mechanism it is PMR 1, which waits.
    let policy = Value::Text(if off { "PMR 1" } else { "PMR 0" }.to_owned());
    let (mut words, mut used, mut tally) = (Vec::new(), Vec::new(), Tally::default());
    let mut furthest = 0.0;
    let meant = |place: &&crate::reproduce::cells::Cell| place.place.get("policy") == Some(&policy);
    for cell in cells.0.iter().filter(meant) {
        let rtt_ms = cell.place.get(scenario.axis).and_then(Value::number)?;
        let rtt = Duration::try_from_secs_f64(rtt_ms / 1e3).ok()?;
        let sample = cell.sample(scenario.measure)?;
        let d = packets((scenario.rounds)(rtt), scenario.ssthresh);
        let off = sample.mean / d - 1.0;
        let holds = sample.mean >= 1.0 && off.abs() <= NEAR;
        tally.add(if holds {
            Outcome::Holds
        } else {
            Outcome::Fails
        });
        furthest = if off.abs() > f64::abs(furthest) {
            off
        } else {
            furthest
        };
        let sent = sample.mean;
        used.push(sample);
        words.push(format!(
            "{rtt_ms:.0} ms: {sent:.0}, by the equations {d:.0}"
        ));
    }
    (!words.is_empty()).then(|| Finding {
        text: words.join("; "),
        outcome: tally.outcome(1.0),
        detail: Some(format!("counts within {:.0} %", 100.0 * NEAR)),
        runs: RunCount::together(&used),
        near: Some(near::of_share(furthest, NEAR)),
    })
}

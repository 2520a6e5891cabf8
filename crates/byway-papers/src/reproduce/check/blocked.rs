//! What PMR 0 sends to the alternate path while PMR 1 waits: Caro, Amer and
//! Stewart, "Rethinking end-to-end failover with transport layer multihoming"
//! (2006), section III.7, scenario 3. The equations are `analysis`.
//!
//! After the first timeout on the primary PMR 0 sends to the alternate path
//! until a heartbeat of the primary is answered.

use super::finding::{Finding, RunCount};
use crate::analysis::{packets, rounds_scenario_3};
use crate::reproduce::cells::{Cells, Value};
use crate::reproduce::rule::{Outcome, Tally};
use std::time::Duration;

/// DATA chunks on the alternate path.
pub(super) const MEASURE: &str = "path2_chunks";
/// RTO of the second consecutive timeout: twice RTO.Min.
const SECOND_RTO: Duration = Duration::from_secs(2);
/// Round trip of the primary.
const RTT1: Duration = Duration::from_millis(90);
/// Packets of ssthresh: 16 KiB in those of 1468 bytes.
const SSTHRESH: f64 = 16_384.0 / 1468.0;
/// How far a figure without chance may be from a computed one (`RULE.md`: "about").
const NEAR: f64 = 0.05;

pub(super) fn evaluate(cells: &Cells, off: bool) -> Option<Finding> {
    // Without the mechanism it is PMR 1, which waits.
    let policy = Value::Text(if off { "PMR 1" } else { "PMR 0" }.to_owned());
    let (mut words, mut used, mut tally) = (Vec::new(), Vec::new(), Tally::default());
    let meant = |place: &&crate::reproduce::cells::Cell| place.place.get("policy") == Some(&policy);
    for cell in cells.0.iter().filter(meant) {
        let rtt2_ms = cell.place.get("rtt2").and_then(Value::number)?;
        let rtt2 = Duration::try_from_secs_f64(rtt2_ms / 1e3).ok()?;
        let sample = cell.sample(MEASURE)?;
        let d = packets(rounds_scenario_3(SECOND_RTO, RTT1, rtt2), SSTHRESH);
        let near = sample.mean >= 1.0 && (sample.mean / d - 1.0).abs() <= NEAR;
        tally.add(if near { Outcome::Holds } else { Outcome::Fails });
        let sent = sample.mean;
        used.push(sample);
        words.push(format!(
            "{rtt2_ms:.0} ms: {sent:.0}, by the equations {d:.0}"
        ));
    }
    (!words.is_empty()).then(|| Finding {
        text: words.join("; "),
        outcome: tally.outcome(1.0),
        detail: Some(format!("counts within {:.0} %", 100.0 * NEAR)),
        runs: RunCount::together(&used),
    })
}

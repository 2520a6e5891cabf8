//! What PMR 0 sends to the alternate path while PMR 1 waits: Caro, Amer and
//! Stewart, "Rethinking end-to-end failover with transport layer multihoming"
//! (2006), section III.7, scenario 3. The equations are `analysis`.
//!
//! After the first timeout on the primary PMR 0 sends to the alternate path
//! until a heartbeat of the primary is answered. PMR 1 sends one packet there, the
//! retransmission, and waits.

use super::finding::Finding;
use crate::analysis::{packets, rounds_scenario_3};
use crate::reproduce::cells::{Cells, Value};
use std::time::Duration;

/// DATA chunks on the alternate path.
pub(super) const MEASURE: &str = "path2_chunks";
/// RTO of the second consecutive timeout: twice RTO.Min.
const SECOND_RTO: Duration = Duration::from_secs(2);
/// Round trip of the primary.
const RTT1: Duration = Duration::from_millis(90);
/// Packets of ssthresh: 16 KiB in those of 1468 bytes.
const SSTHRESH: f64 = 16_384.0 / 1468.0;
/// How far the simulation may be from the formula, which knows nothing of
/// parts of packets and of round trips.
const NEAR: f64 = 0.15;

pub(super) fn evaluate(cells: &Cells) -> Option<Finding> {
    let mut words = Vec::new();
    let mut holds = true;
    for (pmr, formula) in [("PMR 0", true), ("PMR 1", false)] {
        for cell in &cells.0 {
            let at = |axis: &str| cell.place.get(axis);
            if at("policy") != Some(&Value::Text(pmr.to_owned())) {
                continue;
            }
            let rtt2_ms = at("rtt2").and_then(Value::number)?;
            let rtt2 = Duration::try_from_secs_f64(rtt2_ms / 1e3).ok()?;
            let sent = cell.sample(MEASURE)?.mean;
            if formula {
                let d = packets(rounds_scenario_3(SECOND_RTO, RTT1, rtt2), SSTHRESH);
                holds &= sent >= 1.0 && (sent / d - 1.0).abs() <= NEAR;
                words.push(format!(
                    "{pmr}, {rtt2_ms:.0} ms: {sent:.0}, by the equations {d:.0}"
                ));
            } else {
                let before = format!("{pmr}, {rtt2_ms:.0} ms: {sent:.0}");
                words.push(before);
            }
        }
    }
    (!words.is_empty()).then(|| Finding {
        text: words.join("; "),
        holds,
        detail: Some(
            "PMR 1 fails over at its second timeout; all that it sends to the alternate path \
             is counted"
                .to_owned(),
        ),
    })
}

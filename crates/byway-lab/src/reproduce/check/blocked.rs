//! What PMR 0 sends to the alternate path while PMR 1 waits: Caro, Amer and
//! Stewart, "Rethinking end-to-end failover with transport layer multihoming"
//! (2006), section III.7, equations (1) to (10).
//!
//! After the first timeout on the primary PMR 0 sends to the alternate path
//! until a heartbeat of the primary is answered, r of the alternate path's round
//! trips later. In these its window grows from one packet, first by half a
//! window a round trip (an acknowledgement for every second packet), then by one
//! packet. PMR 1 sends one packet there, the retransmission, and waits.

use super::Finding;
use crate::reproduce::cells::{Cells, Value};

/// DATA chunks on the alternate path.
pub(super) const MEASURE: &str = "data2";
/// RTO of the second consecutive timeout, seconds: twice RTO.Min.
const SECOND_RTO: f64 = 2.0;
/// Round trip of the primary, seconds.
const RTT1: f64 = 0.09;
/// Packets of ssthresh: 16 KiB in those of 1468 bytes.
const SSTHRESH: f64 = 16_384.0 / 1468.0;
/// How far the simulation may be from the formula, which knows nothing of
/// parts of packets and of round trips.
const NEAR: f64 = 0.15;

/// Packets that are sent in `r` round trips with a window that begins at one
/// packet, without loss: equation (9).
fn packets(r: f64, ssthresh: f64) -> f64 {
    // (3): slow start ends when the window reaches ssthresh, or with the time.
    let slow = r.min(1.0 + ssthresh.ln() / 1.5_f64.ln());
    // (4): the sum of 1.5^i over these round trips.
    let in_slow_start = 2.0 * (1.5_f64.powf(slow) - 1.0);
    // (5) to (8): ssthresh and one more packet each round trip.
    let rest = r - slow;
    in_slow_start + rest * ssthresh + rest * (rest + 1.0) / 2.0
}

/// (1): the alternate path's round trips until the primary answers; one at least,
/// as one packet is sent in any case.
fn round_trips(second_rto: f64, rtt1: f64, rtt2: f64) -> f64 {
    ((second_rto + rtt1) / rtt2).max(1.0)
}

pub(super) fn look(cells: &Cells) -> Option<Finding> {
    let mut words = Vec::new();
    let mut holds = true;
    for (pmr, formula) in [("PMR 0", true), ("PMR 1", false)] {
        for cell in &cells.0 {
            let at = |axis: &str| cell.place.get(axis);
            if at("policy") != Some(&Value::Text(pmr.to_owned())) {
                continue;
            }
            let rtt2 = at("rtt2").and_then(Value::number)? / 1e3;
            let sent = cell.sample(MEASURE)?.mean;
            if formula {
                let d = packets(round_trips(SECOND_RTO, RTT1, rtt2), SSTHRESH);
                holds &= sent >= 1.0 && (sent / d - 1.0).abs() <= NEAR;
                words.push(format!(
                    "{pmr}, {:.0} ms: {sent:.0}, by the equations {d:.0}",
                    rtt2 * 1e3
                ));
            } else {
                let before = format!("{pmr}, {:.0} ms: {sent:.0}", rtt2 * 1e3);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_equations_by_hand() {
        // One round trip: the retransmission alone.
        assert!((packets(1.0, 44.0) - 1.0).abs() < 1e-9);
        // 1 + 1.5 + 2.25
        assert!((packets(3.0, 44.0) - 4.75).abs() < 1e-9);
        // One round trip of slow start with ssthresh 1, then 2 + 3.
        assert!((packets(3.0, 1.0) - 6.0).abs() < 1e-9);
        assert_eq!(round_trips(2.0, 0.09, 4.0), 1.0);
        // More round trips never mean less.
        assert!(packets(23.0, 11.0) > packets(22.0, 11.0));
    }
}

//! What PMR 0 gains over PMR 1 while a timeout lasts (caro-2006 section III.7,
//! equations 2 to 10; claim A9).
//!
//! With PMR 0 data flows on an alternate (scenario 3 of figure 8) or again on
//! the primary (scenario 4) while PMR 1 waits for a second timeout. The paper
//! counts the packets that flow meanwhile, d, from the round trips, r, that fit
//! into the wait: a window of one packet grows by half a round trip, as every
//! second packet is acknowledged, up to ssthresh, then by one packet.
//!
//! Three misprints, evident from the text around them:
//! - the r of scenario 3 and of (10) is printed as a minimum with 1, "r must be
//!   at least 1" makes it the maximum;
//! - (3) is printed as a maximum, "r_ss <= r" makes it the minimum;
//! - (10) adds the alternate's RTO to the primary's. PMR 0 begins when the
//!   alternate's RTO is over and PMR 1 when the primary's is, so what fits
//!   between is the difference. [`rounds_scenario_4`] takes the difference.
//!
//! The simulated count (scenario 3, no loss) is within some percent of (9) on either
//! side. An odd packet at the end of a round trip is acknowledged as well, so a window
//! of n grows by n/2 rounded up (1, 2, 3, 5, 8), where the model has 1.5^i, and a round
//! trip that has begun sends its whole window, which is more; the retransmission and the
//! heartbeats that come first take time, which is less.

use std::time::Duration;

/// Growth of the window in a round trip of slow start: 1 + 1/b, b = 2 packets
/// an acknowledgement.
const GROWTH: f64 = 1.5;

fn ratio(a: Duration, b: Duration) -> f64 {
    a.as_secs_f64() / b.as_secs_f64()
}

/// r of scenario 3: round trips on the alternate until the second heartbeat on
/// the primary is answered. `second_rto`: the primary's RTO for its second
/// timeout in a row; at least 1.
#[must_use]
pub fn rounds_scenario_3(
    second_rto: Duration,
    rtt_primary: Duration,
    rtt_alternate: Duration,
) -> f64 {
    ratio(second_rto + rtt_primary, rtt_alternate).max(1.0)
}

/// Equation (10), r of scenario 4: round trips on the primary from the timeout
/// on the alternate to the second one on the primary; at least 1.
#[must_use]
pub fn rounds_scenario_4(
    second_rto: Duration,
    rto_alternate: Duration,
    rtt_primary: Duration,
) -> f64 {
    ratio(second_rto.saturating_sub(rto_alternate), rtt_primary).max(1.0)
}

/// Equation (3), solved from (2): round trips of these in slow start, with
/// ssthresh in packets.
#[must_use]
pub fn slow_start_rounds(rounds: f64, ssthresh: f64) -> f64 {
    rounds.min(1.0 + ssthresh.max(1.0).ln() / GROWTH.ln())
}

/// Equation (4): packets sent in some round trips of slow start, from a
/// window of one packet.
#[must_use]
pub fn slow_start_packets(rounds: f64) -> f64 {
    (GROWTH.powf(rounds) - 1.0) / (GROWTH - 1.0)
}

/// Equations (6) and (7): the window in the i-th round trip of congestion
/// avoidance, in packets, counted from 1.
#[must_use]
pub fn avoidance_window(ssthresh: f64, i: f64) -> f64 {
    ssthresh + i
}

/// Equation (8): packets sent in some round trips of congestion avoidance,
/// the sum of the windows of (7).
#[must_use]
pub fn avoidance_packets(ssthresh: f64, rounds: f64) -> f64 {
    rounds * ssthresh + (rounds * rounds + rounds) / 2.0
}

/// Equation (9), with (5): packets, d, in some round trips, with ssthresh in
/// packets and no loss. PMR 0 gets d - 1 packets ahead.
#[must_use]
pub fn packets(rounds: f64, ssthresh: f64) -> f64 {
    let slow = slow_start_rounds(rounds, ssthresh);
    slow_start_packets(slow) + avoidance_packets(ssthresh, rounds - slow)
}

#[cfg(test)]
mod tests;

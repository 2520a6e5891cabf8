//! BLEST, a blocking estimation based scheduler (Ferlin, Alay, Mehani and Boreli, "BLEST:
//! Blocking estimation-based MPTCP scheduler for heterogeneous networks", IFIP Networking
//! 2016, section III).
//!
//! While a packet on a slower path is under way, the fastest path sends for rtts = RTT_S /
//! RTT_F round trips and grows by one packet in each. A slower path gets a packet only if
//! the send window has room for all of this besides what is in flight on the slower path.
//!
//! The paper scales its estimate with λ, which it adapts when the window blocks. Here λ is
//! 1, where it begins.

use super::outlook::{Load, Outlook};

/// Whether `slow` takes a packet while the fastest path `fast` has no room.
pub(super) fn takes(fast: &Outlook, slow: &Outlook, load: Load) -> bool {
    let (Some(rtt_f), Some(rtt_s)) = (fast.srtt, slow.srtt) else {
        return true;
    };
    let rounds = rtt_s.as_secs_f64() / rtt_f.as_secs_f64().max(1e-6);
    let growth = f64::from(fast.pmdcs) * (rounds - 1.0) / 2.0;
    let sent = (f64::from(fast.cwnd) + growth) * rounds;
    sent + f64::from(slow.flight + slow.pmdcs) <= load.window as f64
}

#[cfg(test)]
mod tests {
    use super::super::outlook::testing::path;
    use super::*;

    #[test]
    fn the_window_must_hold_what_the_fastest_path_sends_meanwhile() {
        // Round trip of the slow path, its flight in packets of 1000 bytes, the window,
        // and whether it takes a packet. The fast path: 10 ms, cwnd 10 packets.
        for (rtt_s, flight, window, takes_it) in [
            // 10 rounds of 10 packets, growing by 4.5 packets on average: 145 packets.
            (100, 9, 155_000, true),
            (100, 9, 154_999, false),
            (100, 0, 146_000, true),
            // 30 rounds: 735 packets.
            (300, 0, 736_000, true),
            (300, 0, 735_000, false),
        ] {
            let load = Load {
                waiting: u64::MAX,
                more_follows: true,
                window,
            };
            let (fast, slow) = (path(0, 10, 10, 10), path(1, rtt_s, 10, flight));
            let found = takes(&fast, &slow, load);
            assert_eq!(found, takes_it, "{rtt_s} ms, {flight}, {window}");
        }
    }
}

//! Earliest Completion First (Lim, Nahum, Towsley and Gibbens, "ECF: An MPTCP path
//! scheduler to manage heterogeneous paths", CoNEXT 2017, section 3.2, algorithm 1).
//!
//! When the window of the fastest path is full, a packet on a slower path arrives after a
//! round trip of that path. Waiting for the fastest path instead, all that waits arrives
//! after some round trips of the fastest. ECF waits if this is earlier, and if the slower
//! path would need at least two round trips of the fastest for the same data.
//!
//! Here k is what waits in the send queue and not what the application will still write,
//! as in the paper. With bulk data, k is large, and ECF seldom waits: it is made for the
//! end of a burst and does not bound what blocks the receiver's window.

use super::outlook::{Load, Outlook};

/// The paper's β: how much earlier waiting must be to go on waiting.
const BETA: f64 = 0.25;

/// Whether `slow` takes a packet while the fastest path `fast` has no room. `waits` says
/// whether the last answer was to wait.
pub(super) fn takes(fast: &Outlook, slow: &Outlook, load: Load, waits: &mut bool) -> bool {
    let (Some(rtt_f), Some(rtt_s)) = (fast.srtt, slow.srtt) else {
        return true;
    };
    let (rtt_f, rtt_s) = (rtt_f.as_secs_f64(), rtt_s.as_secs_f64());
    let windows = |o: &Outlook| load.waiting as f64 / f64::from(o.cwnd.max(o.pmdcs));
    let delta = fast.rttvar.max(slow.rttvar).as_secs_f64();
    let slack = if *waits { 1.0 + BETA } else { 1.0 };
    let by_waiting = (1.0 + windows(fast)) * rtt_f;
    if by_waiting >= slack * (rtt_s + delta) {
        *waits = false;
        return true;
    }
    if windows(slow) * rtt_s >= 2.0 * rtt_f + delta {
        *waits = true;
        return false;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::super::outlook::testing::path;
    use super::*;

    #[test]
    fn waits_while_the_fastest_path_completes_sooner() {
        // Bytes that wait, round trip of the slow path, whether ECF waited before, and
        // whether the slow path takes data. The fast path: 10 ms, cwnd 10,000 bytes; the
        // slow one has the same cwnd.
        for (waiting, rtt_s, before, takes_it) in [
            // 10 windows: 110 ms by waiting, against 100 and 300 ms.
            (100_000, 100, false, true),
            (100_000, 300, false, false),
            // The hysteresis: 110 ms is below 1.25 times 100 ms.
            (100_000, 100, true, false),
            (100_000, 80, true, true),
            // Bulk data: 1000 windows.
            (10_000_000, 300, false, true),
            // Hardly anything waits, and the slow path needs less than two round trips of
            // the fast one for it.
            (500, 300, false, true),
        ] {
            let load = Load {
                waiting,
                more_follows: true,
                window: u64::MAX,
            };
            let mut waits = before;
            let (fast, slow) = (path(0, 10, 10, 10), path(1, rtt_s, 10, 0));
            let found = takes(&fast, &slow, load, &mut waits);
            assert_eq!(found, takes_it, "{waiting} bytes, {rtt_s} ms");
        }
    }
}

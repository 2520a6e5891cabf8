//! The kernel refuses to send on the path in use: its route was deleted (ENETUNREACH), a filter
//! forbids it (EPERM), its card is down (ENETDOWN). A sends a message each 2 ms, and a round
//! trip takes 20 ms.

use crate::common::{A, Fate, Pair, Z, address, plain};
use byway_core::config::Config;
use byway_core::{PathState, SendFailure};

/// The longest time without a message at Z, in milliseconds, when the kernel refuses all that A
/// sends on path 0 from 500 ms on, and the core is told or not.
fn stall(p: &mut Pair, told: bool) -> u64 {
    p.run(1000);
    let (mut longest, mut silent, mut arrived, mut seen) = (0, 0, 0, p.sent.len());
    for millis in 0..4000 {
        if millis == 500 {
            p.hand(|q| match (q.from, q.path) {
                (A, 0) => Fate::Lose,
                _ => Fate::Pass,
            });
        }
        if millis % 2 == 0 && millis < 2000 {
            p.send_many(A, 1000, 1);
        }
        while millis >= 500 && told && seen < p.sent.len() {
            let sent = &p.sent[seen];
            let refused = ((sent.from, sent.path) == (A, 0)).then(|| sent.bytes.clone());
            seen += 1;
            if let Some(bytes) = refused {
                p.with(A, |now, e, _| {
                    e.send_failed(now, address(0, Z), &bytes, SendFailure::Unreachable);
                });
            }
        }
        seen = p.sent.len();
        p.run(1);
        let count = p.take_got(Z).len();
        silent = if count > 0 { 0 } else { silent + 1 };
        if millis < 2000 {
            longest = longest.max(silent);
        }
        arrived += count;
    }
    assert_eq!(arrived, 1000, "all messages arrive");
    longest
}

/// N11. What was under way still arrives, and what was refused leaves on the other path at once.
#[test]
fn what_the_kernel_refuses_stalls_delivery_for_a_round_trip_at_most() {
    for paths in [2, 3] {
        let mut p = Pair::up(paths, &Config::byway());
        let longest = stall(&mut p, true);
        println!("{paths} paths: {longest} ms");
        assert!(longest <= 20, "{paths} paths: {longest} ms");
        assert_eq!(p.path_state(A, 0), PathState::PotentiallyFailed);
    }
}

/// The same refusals, of which nobody tells: the standard waits for its timeout.
#[test]
fn without_the_kernels_word_it_takes_a_timeout() {
    let longest = stall(&mut Pair::up(2, &plain()), false);
    println!("{longest} ms");
    assert!(longest >= 900, "{longest} ms");
}

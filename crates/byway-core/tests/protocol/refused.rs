//! The kernel refuses to send on the path in use: its route was deleted (ENETUNREACH), a filter
//! forbids it (EPERM), its card is down (ENETDOWN). A sends a message each 2 ms, and a round
//! trip takes 20 ms.

use crate::common::{A, Fate, Pair, Z, address, plain};
use byway_core::config::Config;
use byway_core::{PathState, Routes, SendFailure};
use core::net::{IpAddr, SocketAddr};

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

/// The card of path 0 is down, and that of path 1 perhaps not.
struct OneCard {
    works: bool,
}

impl Routes for OneCard {
    fn source(&mut self, local: &[SocketAddr], remote: IpAddr) -> Option<usize> {
        let n = usize::from(remote == address(1, Z).ip());
        (n < local.len()).then_some(n)
    }

    fn leads(&mut self, local: SocketAddr, remote: IpAddr) -> bool {
        self.works && local == address(1, A) && remote == address(1, Z).ip()
    }
}

/// N11. The card took what was in flight with it and the window is full: nothing leaves that the
/// kernel could refuse. What it says of its routes counts.
#[test]
fn a_card_that_goes_down_with_a_full_window_is_left_at_once() {
    let mut c = Config::byway();
    c.failover.probe_timeout = None;
    let mut p = Pair::up(2, &c);
    p.send_many(A, 1000, 500);
    p.run(25);
    let before = p.take_got(Z).len();
    p.lose(|q| q.path == 0);
    p.run(15);
    let (sent, arrived) = (p.sent.len(), before + p.take_got(Z).len());
    assert!(arrived < 500, "{arrived}");
    p.ends[A].set_routes(Box::new(OneCard { works: true }));
    p.with(A, |now, e, _| e.ask_routes_again(now, 0, 10));
    assert_eq!(p.path_state(A, 0), PathState::PotentiallyFailed);
    assert!(
        p.sent[sent..]
            .iter()
            .any(|q| q.path == 1 && q.text.contains("DATA"))
    );
    p.run(500);
    assert_eq!(arrived + p.take_got(Z).len(), 500);
    assert_eq!(p.path(A, 0).timeouts, 0);
}

/// No card has a way: the host changes its network, and nothing is said of this path more than of the other.
#[test]
fn a_host_without_any_way_doubts_no_path() {
    let mut p = Pair::up(2, &Config::byway());
    p.send_many(A, 1000, 5);
    p.run(10);
    p.ends[A].set_routes(Box::new(OneCard { works: false }));
    p.with(A, |now, e, _| e.ask_routes_again(now, 0, 10));
    assert_eq!(p.path_state(A, 0), PathState::Active);
    assert_eq!(p.path_state(A, 1), PathState::Active);
}

//! Which of the paths that may carry new data gets the next packet, and when a slow path
//! gets none (a packet scheduler; the CMT paper has none and fills every window).
//!
//! A chunk on a slow path holds back all that faster paths deliver after it: the reader
//! waits for it, and the peer's window fills. Each rule has its own file: [`ecf`],
//! [`blest`] and [`earliest`]. LowestRtt, the default of Linux's MPTCP, takes the path with the
//! lowest smoothed round trip first and never holds data back.

use super::outlook::{Load, Order, Outlook};
use super::{blest, earliest, ecf};
use serde::{Deserialize, Serialize};

/// Which path a packet of new data takes with concurrent multipath transfer.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Default)]
pub enum Scheduler {
    /// Every path whose window has room, in the order `concurrent.order` (CMT paper).
    #[default]
    Fill,
    /// Every path whose window has room, the lowest smoothed round trip first.
    LowestRtt,
    /// Earliest Completion First (Lim and others, CoNEXT 2017).
    Ecf,
    /// BLEST: no data that would block the send window (Ferlin and others, 2016).
    Blest,
    /// The earliest delivery first, and nothing that the window cannot hold until then.
    /// Retransmissions take the path of the earliest delivery, too, in place of
    /// `concurrent.rtx`.
    Earliest,
}

impl Scheduler {
    /// The paths that may carry a packet now if their windows have room, best first. The
    /// first one always may. `candidates` are in the order of a round, and `waits` is the
    /// memory of [`ecf`].
    pub fn order(self, candidates: &mut [Outlook], load: Load, waits: &mut bool) -> Order {
        match self {
            Scheduler::Fill => candidates.iter().map(|o| o.path).collect(),
            Scheduler::LowestRtt => {
                by_round_trip(candidates);
                candidates.iter().map(|o| o.path).collect()
            }
            Scheduler::Ecf => {
                by_round_trip(candidates);
                fastest_and(candidates, |f, s| ecf::takes(f, s, load, waits))
            }
            Scheduler::Blest => {
                by_round_trip(candidates);
                fastest_and(candidates, |f, s| blest::takes(f, s, load))
            }
            Scheduler::Earliest => earliest::order(candidates, load),
        }
    }
}

/// Sorts by the smoothed round trip; paths without one come first, because data measures
/// them.
fn by_round_trip(candidates: &mut [Outlook]) {
    candidates.sort_by_key(|o| o.srtt.unwrap_or_default());
}

/// The first path, and each other one that `takes` accepts beside it.
fn fastest_and(candidates: &[Outlook], mut takes: impl FnMut(&Outlook, &Outlook) -> bool) -> Order {
    let Some((fastest, rest)) = candidates.split_first() else {
        return Order::new();
    };
    let slower = rest.iter().filter(|s| takes(fastest, s)).map(|s| s.path);
    core::iter::once(fastest.path).chain(slower).collect()
}

#[cfg(test)]
mod tests {
    use super::super::outlook::testing::{numbers, path};
    use super::*;

    const LOAD: Load = Load {
        waiting: 1_000_000,
        more_follows: true,
        window: 1_000_000,
    };

    #[test]
    fn fill_keeps_the_round_and_lowest_rtt_sorts_it() {
        let unmeasured = Outlook {
            srtt: None,
            ..path(2, 0, 4, 0)
        };
        let all = [path(1, 300, 10, 0), path(0, 10, 10, 10), unmeasured];
        for (scheduler, expected) in [
            (Scheduler::Fill, [1, 0, 2]),
            (Scheduler::LowestRtt, [2, 0, 1]),
        ] {
            let order = scheduler.order(&mut all.clone(), LOAD, &mut false);
            assert_eq!(numbers(&order), expected, "{scheduler:?}");
        }
    }

    #[test]
    fn the_first_path_always_may_and_no_path_gives_none() {
        use Scheduler::{Blest, Earliest, Ecf, Fill, LowestRtt};
        let none = Load { window: 0, ..LOAD };
        for scheduler in [Fill, LowestRtt, Ecf, Blest, Earliest] {
            let order = scheduler.order(&mut [path(3, 10, 1, 1)], none, &mut false);
            assert_eq!(numbers(&order), [3], "{scheduler:?}");
            let order = scheduler.order(&mut [], none, &mut false);
            assert!(order.is_empty(), "{scheduler:?}");
        }
    }
}

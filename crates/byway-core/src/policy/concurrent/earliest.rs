//! The earliest delivery first (byway's own, after BLEST, Ferlin and others 2016, section
//! III, and ECF, Lim and others 2017, section 3.2).
//!
//! A packet is delivered when what is in flight before it has left at the rate that the
//! path was measured to deliver, and not before the path's least round trip. The path of
//! the earliest delivery comes first. A later one gets a packet only if the window holds
//! all that the earlier paths deliver until then, so that they are never blocked, and not
//! if the earlier paths deliver all that waits before it. What stands in its own queue
//! beyond three round trips makes its packets later and not more, so it gets none then: the
//! last ones of a transfer would be waited for. Such a path is filled in runs,
//! because each change of path makes a gap block in the SACKs of the next round trip. In a
//! recovery such a path may send less than its window has room for, and waits for a run of it.
//!
//! Unlike BLEST and ECF, it measures rates and does not derive them from windows: a queue
//! that the sender fills itself makes the round trip of a slow path long, and windows say
//! nothing about a path that is held back. What the window must hold does not depend on
//! how much of it is in use: all that is in use is delivered before the packet.

use super::outlook::{Load, Order, Outlook};
use crate::path::PathId;
use crate::time::Duration;

/// A later path has at most this many runs of packets in flight. A SACK of 1500 bytes has
/// room for some 360 gap blocks. What it leaves out is acknowledged late, and the earlier
/// paths wait for it.
const RUNS: u32 = 256;

/// What a later path has in queues at most. A path in slow start has up to four times in flight what
/// its rate says, which was measured a round trip before.
const ROUND_TRIPS: u32 = 3;
/// It has this much at least.
const QUEUE: Duration = Duration::from_millis(50);

/// The least bytes of a run on a later path with this number of bytes in flight.
pub(crate) fn run(flight: u32) -> u32 {
    flight / RUNS
}

impl Outlook {
    /// When a packet that leaves now would be acknowledged, in seconds from now. A path
    /// that was never measured answers at once, because only data measures it.
    fn delivery(&self) -> f64 {
        self.leaves().max(self.round_trip().as_secs_f64()) + self.late.as_secs_f64()
    }

    /// When all that is in flight and a packet more has left at the rate of the path, in seconds.
    fn leaves(&self) -> f64 {
        let before = f64::from(self.flight.saturating_add(self.pmdcs));
        match self.rate {
            Some(rate) if rate > 0.0 => before / rate,
            _ => 0.0,
        }
    }

    /// The least that was measured.
    fn round_trip(&self) -> Duration {
        let measured = [self.least, self.srtt];
        measured.into_iter().flatten().min().unwrap_or_default()
    }

    /// Whether so much stands in its queue that more would raise its delay and not its rate. An idle path has no
    /// queue, however low its last rate was; data measures it again.
    fn is_full(&self) -> bool {
        let round_trip = self.round_trip();
        self.flight > 0
            && self.leaves() > (round_trip + (ROUND_TRIPS * round_trip).max(QUEUE)).as_secs_f64()
    }

    /// Whether a run of packets may begin or goes on there.
    fn may_run(&self) -> bool {
        self.continues || self.flight == 0 || self.room >= run(self.flight)
    }

    /// What it delivers, in bytes in a second.
    fn delivers(&self) -> f64 {
        let by_window = |srtt: Duration| f64::from(self.cwnd) / srtt.as_secs_f64().max(1e-6);
        self.rate.or(self.srtt.map(by_window)).unwrap_or(0.0)
    }
}

fn sort(candidates: &mut [Outlook]) {
    candidates.sort_by(|a, b| a.delivery().total_cmp(&b.delivery()));
}

/// The paths that may carry a packet now, the earliest delivery first.
pub(super) fn order(candidates: &mut [Outlook], load: Load) -> Order {
    sort(candidates);
    let mut order = Order::new();
    // When the first path delivers a packet, and the rates of all that were chosen.
    let (mut first, mut rates) = (0.0, 0.0);
    for o in candidates {
        let at = o.delivery();
        if order.is_empty() {
            first = at;
        } else {
            let own = f64::from(o.flight.saturating_add(o.pmdcs));
            let blocks = at * rates + own > load.window as f64;
            let done_before = !load.more_follows && first + load.waiting as f64 / rates <= at;
            if blocks || done_before || o.is_full() || !o.may_run() {
                continue;
            }
        }
        rates += o.delivers();
        order.push(o.path);
    }
    order
}

/// The path of the earliest delivery, for a retransmission.
pub(crate) fn first(candidates: &mut [Outlook]) -> Option<PathId> {
    sort(candidates);
    candidates.first().map(|o| o.path)
}

#[cfg(test)]
mod tests {
    use super::super::outlook::testing::{MS, numbers, path};
    use super::*;

    /// A path that delivers a window of `packets` in each round trip of `ms`, and has room for
    /// more.
    fn open(number: u8, ms: u32, packets: u32, flight: u32) -> Outlook {
        Outlook {
            cwnd: u32::MAX,
            room: u32::MAX,
            ..path(number, ms, packets, flight)
        }
    }

    fn bulk(window: u64) -> Load {
        Load {
            waiting: 1_000_000,
            more_follows: true,
            window,
        }
    }

    #[test]
    fn a_slow_path_gets_what_the_window_can_hold() {
        // The fast path delivers 1 MB/s. Round trip and cwnd of the slow path in packets
        // of 1000 bytes, its flight, the window, and the paths in order.
        type Row<'a> = (u32, u32, u32, u64, &'a [u8]);
        let rows: [Row<'_>; 7] = [
            // 100 ms of 1 MB/s and one packet.
            (100, 100, 0, 101_000, &[0, 1]),
            (100, 100, 0, 100_999, &[0]),
            // 49 packets more are in flight there, and its round trip covers them.
            (100, 100, 49, 150_000, &[0, 1]),
            (100, 100, 49, 149_999, &[0]),
            // A rate of 100 kB/s, and 19 packets before: 200 ms of its own queue.
            (100, 10, 19, 220_000, &[0, 1]),
            (100, 10, 19, 219_999, &[0]),
            // Faster than the fast one, whose queue is full.
            (5, 10, 0, 1_000_000, &[1, 0]),
        ];
        for (rtt, cwnd, flight, window, expected) in rows {
            let mut both = [open(0, 10, 10, 10), open(1, rtt, cwnd, flight)];
            let order = order(&mut both, bulk(window));
            assert_eq!(numbers(&order), expected, "{rtt} ms, {flight}, {window}");
        }
    }

    #[test]
    fn a_later_path_has_three_round_trips_in_queues_at_most() {
        // Round trip, packets in a round trip, in flight, and the paths. The window holds all.
        for (ms, packets, flight, expected) in [
            (100, 100, 399, &[0, 1][..]),
            (100, 100, 400, &[0]),
            // 50 ms of queue behind a round trip of 11 ms: 61 ms of a packet each millisecond.
            (11, 11, 60, &[0, 1]),
            (11, 11, 61, &[0]),
        ] {
            let mut both = [open(0, 10, 10, 10), open(1, ms, packets, flight)];
            assert_eq!(
                numbers(&order(&mut both, bulk(u64::MAX))),
                expected,
                "{ms} ms, {flight}"
            );
        }
        // It was slow, and is idle: a packet takes 100 ms at 10 kB/s.
        for (flight, expected) in [(0, &[0, 1][..]), (1, &[0])] {
            let slow = Outlook {
                rate: Some(1e4),
                ..open(1, 10, 1, flight)
            };
            let mut both = [open(0, 1, 1, 1), slow];
            let order = order(&mut both, bulk(u64::MAX));
            assert_eq!(numbers(&order), expected, "{flight} in flight");
        }
        // It is no later path when the other one is silent.
        let mut one = [open(1, 11, 11, 61)];
        assert_eq!(numbers(&order(&mut one, bulk(u64::MAX))), [1]);
    }

    #[test]
    fn the_end_of_a_message_waits_for_the_fast_path() {
        // The fast path delivers a packet in 11 ms and 1 MB/s, the slow one in 100 ms.
        for (waiting, more_follows, expected) in [
            (80_000, false, &[0][..]),
            (90_000, false, &[0, 1]),
            (80_000, true, &[0, 1]),
        ] {
            let load = Load {
                waiting,
                more_follows,
                window: 1_000_000,
            };
            let mut both = [open(1, 100, 100, 0), open(0, 10, 10, 10)];
            assert_eq!(numbers(&order(&mut both, load)), expected, "{waiting}");
        }
    }

    #[test]
    fn a_path_that_is_silent_or_unmeasured_or_held_back() {
        let silent = Outlook {
            late: 500 * MS,
            ..open(0, 10, 10, 10)
        };
        let unmeasured = Outlook {
            srtt: None,
            least: None,
            rate: None,
            ..open(2, 1, 4, 0)
        };
        let slow = open(1, 100, 10, 10);
        for (mut paths, window, expected) in [
            // The silent path is later than the slow one, and the window of 60 packets
            // holds 510 ms of 100 kB/s.
            (vec![silent, slow], 62_200, &[1, 0][..]),
            (vec![silent, slow], 62_000, &[1]),
            (vec![silent], 0, &[0]),
            // Data measures a path.
            (vec![slow, unmeasured], 12_000, &[2, 1]),
            // A path that does not fit leaves its part of the window to the next one.
            (
                vec![
                    open(0, 10, 10, 10),
                    open(1, 90, 1000, 900),
                    open(2, 100, 10, 0),
                ],
                110_000,
                &[0, 2],
            ),
        ] {
            let order = order(&mut paths, bulk(window));
            assert_eq!(numbers(&order), expected, "{window}");
        }
    }

    #[test]
    fn a_later_path_is_filled_in_runs() {
        // 512 packets are in flight on the later path, so a run has two packets. The room
        // there in packets, whether the last packet went there, and the paths.
        for (room, continues, expected) in [
            (1, false, &[0][..]),
            (1, true, &[0, 1]),
            (2, false, &[0, 1]),
        ] {
            // In a recovery the window may have more room than may leave.
            let later = Outlook {
                room: 1000 * room,
                continues,
                ..open(1, 100, 512, 512)
            };
            let mut both = [open(0, 10, 10, 10), later];
            let order = order(&mut both, bulk(10_000_000));
            assert_eq!(numbers(&order), expected, "{room}");
        }
        // The earliest path needs no runs, and an idle one may always begin.
        let full = path(0, 100, 512, 512);
        assert_eq!(numbers(&order(&mut [full], bulk(0))), [0]);
        assert_eq!([run(0), run(255), run(2560)], [0, 0, 10]);
    }

    #[test]
    fn retransmissions_take_the_earliest_delivery() {
        let mut both = [open(1, 100, 100, 0), open(0, 10, 10, 10)];
        assert_eq!(first(&mut both), Some(PathId(0)));
        assert_eq!(first(&mut []), None);
    }
}

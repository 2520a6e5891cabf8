//! The trial of another path when the one in use keeps losing packets (byway's own).
//!
//! A path that loses 5 to 10 % of its packets answers, so no failure detector leaves it,
//! and its window stays small, although an idle alternate might be clean. Loss alone does
//! not say which path is better: a fast path with little loss beats a slow clean one. So
//! the other path is tried. While data waits, the bytes that the path in use delivers are
//! measured. If its losses persist, the data takes the other path for a few round trips,
//! and the path that delivers more keeps it. A trial that fails is repeated only after a
//! time that doubles, so paths of unlike rates cost little. Off by default.
//!
//! Few chunks say little: of 100 chunks of a path that loses 1 %, three are lost every now and
//! then. So losses persist only when they are far likelier with five thirds of the share than
//! with a third of it (Page's cumulative sum of Wald's likelihood ratios), over as many chunks
//! as that takes.
//!
//! The measure is the delivery itself, with the loss, round trip, queue and competing
//! traffic that it meets. Formulas (Mathis, Padhye) know the rate of a path only while the
//! window is its limit; `policy/choice.rs` uses them.

use crate::time::{Duration, Instant};
use crate::units;
use serde::{Deserialize, Serialize};

/// The settings of trials.
#[derive(Copy, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Trial {
    /// Another path is tried from this share of retransmitted chunks on (0.03). A path that
    /// loses a third of it is left by chance once in some millions of chunks.
    pub loss: f64,
    /// Loss events (fast recoveries, and retransmissions that were lost in one), at least a round
    /// trip apart, before losses count as persistent (3).
    pub events: u32,
    /// Losses are counted over at most this many chunks (256).
    pub memory: u32,
    /// How many round trips a trial lasts, of the path with the longer ones (10). Its
    /// second half is measured.
    pub rounds: u32,
    /// The other path keeps the data if it delivers this many times as much (1.25).
    pub factor: f64,
    /// The wait for the next trial (10 s). It doubles with each trial that fails, up to
    /// 64 times.
    #[serde(with = "units::duration")]
    pub hold: Duration,
}

impl Default for Trial {
    fn default() -> Trial {
        Trial {
            loss: 0.03,
            events: 3,
            memory: 256,
            rounds: 10,
            factor: 1.25,
            hold: Duration::from_secs(10),
        }
    }
}

/// How much likelier the losses must be with five thirds of `loss` than with a third of it, as a
/// natural logarithm.
const EVIDENCE: f64 = 15.0;
/// What of it goes over to the next count at most: a queue that overflows once loses many chunks.
const CARRIED: f64 = EVIDENCE / 2.0;
/// The most that `hold` is multiplied by.
const MOST_HOLDS: u32 = 64;
/// Chunks without which a rate says nothing.
const LEAST_CHUNKS: u32 = 32;

/// What a path delivered since a time.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Meter {
    since: Instant,
    bytes: u64,
    chunks: u32,
    /// Chunks that were retransmitted.
    repeated: u64,
    events: u32,
    last_event: Option<Instant>,
    /// For five thirds of [`Trial::loss`] and against a third of it; at least 0.
    evidence: f64,
    /// What each chunk that was lost, and each that was kept, says for it.
    weights: (f64, f64),
}

/// What a SACK says of the path in use.
#[derive(Copy, Clone, Debug, Default)]
pub(crate) struct Report {
    pub(crate) bytes: u32,
    pub(crate) chunks: u32,
    /// It began a loss event.
    pub(crate) lost: bool,
    /// Chunks that left again since the last report.
    pub(crate) repeated: u64,
    pub(crate) srtt: Duration,
}

impl Meter {
    pub(crate) fn new(rule: &Trial, now: Instant) -> Meter {
        Meter::with(rule.weights(), now)
    }

    fn with(weights: (f64, f64), now: Instant) -> Meter {
        Meter {
            weights,
            since: now,
            bytes: 0,
            chunks: 0,
            repeated: 0,
            events: 0,
            last_event: None,
            evidence: 0.0,
        }
    }

    /// Another count, of the same path: what spoke for losses still does.
    pub(crate) fn again(&self, now: Instant) -> Meter {
        Meter {
            evidence: self.evidence.min(CARRIED),
            ..self.afresh(now)
        }
    }

    /// Another path is measured.
    pub(crate) fn afresh(&self, now: Instant) -> Meter {
        Meter::with(self.weights, now)
    }

    /// A SACK arrived.
    pub(crate) fn note(&mut self, r: Report, now: Instant) {
        self.bytes += u64::from(r.bytes);
        self.chunks += r.chunks;
        self.repeated += r.repeated;
        let apart = self.last_event.is_none_or(|at| now.since(at) >= r.srtt);
        if r.lost && apart {
            self.events += 1;
            self.last_event = Some(now);
        }
        let (lost, kept) = self.weights;
        let weight = r.repeated as f64 * lost + f64::from(r.chunks) * kept;
        self.evidence = (self.evidence + weight).max(0.0);
    }

    /// Bytes in a second.
    pub(crate) fn rate(&self, now: Instant) -> f64 {
        self.bytes as f64 / now.since(self.since).as_secs_f64().max(1e-6)
    }
}

impl Trial {
    /// Whether the losses of a path persist.
    pub(crate) fn is_lossy(&self, m: &Meter) -> bool {
        m.events >= self.events
            && m.chunks >= LEAST_CHUNKS
            && m.repeated as f64 >= self.loss * f64::from(m.chunks)
            && m.evidence >= EVIDENCE
    }

    /// What a chunk that was lost, and one that was kept, says for five thirds of `loss` and against
    /// a third.
    fn weights(&self) -> (f64, f64) {
        let (less, more) = (self.loss / 3.0, (self.loss * 5.0 / 3.0).min(0.5));
        (
            libm::log(more / less),
            libm::log((1.0 - more) / (1.0 - less)),
        )
    }

    /// Whether a meter has counted enough, and another one begins.
    pub(crate) fn is_over(&self, m: &Meter) -> bool {
        m.chunks >= self.memory
    }

    /// Whether the data stays on the other path, which delivered `there` where the path
    /// before delivered `here`, bytes in a second.
    pub(crate) fn stays(&self, here: f64, there: f64) -> bool {
        there >= here * self.factor
    }

    /// The wait after this many trials in a row that failed.
    pub(crate) fn wait(&self, failed: u32) -> Duration {
        let times = 1u32.checked_shl(failed).unwrap_or(MOST_HOLDS);
        self.hold * times.min(MOST_HOLDS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A meter after SACKs of two chunks every 50 ms, each with these repeated chunks.
    fn meter(repeated: impl IntoIterator<Item = u64>) -> Meter {
        let mut m = Meter::new(&Trial::default(), Instant::ZERO);
        for (i, repeated) in repeated.into_iter().enumerate() {
            let report = Report {
                bytes: 2000,
                chunks: 2,
                lost: repeated > 0,
                repeated,
                srtt: Duration::from_millis(100),
            };
            m.note(report, Instant::from_millis(50 * (i as u64 + 1)));
        }
        m
    }

    #[test]
    fn losses_persist_if_they_come_again_and_again() {
        let rule = Trial::default();
        let every = |n: usize| (0..50).map(move |i| u64::from(i % n == 0));
        assert!(rule.is_lossy(&meter(every(4))), "13 of 100");
        assert!(!rule.is_lossy(&meter(every(10))), "5 of 100 may be chance");
        let many = (0..200).map(|i| u64::from(i % 10 == 0));
        assert!(rule.is_lossy(&meter(many)), "20 of 400 are not");
        assert!(!rule.is_lossy(&meter(every(25))), "two events of 100");
        assert!(!rule.is_lossy(&meter([1; 10])), "too few chunks");
        // One overflow of a queue: 30 chunks lost within two round trips.
        let overflow = (0..50).map(|i| if i < 4 { 8 } else { 0 });
        assert!(!rule.is_lossy(&meter(overflow)));
        // Many chunks for few losses.
        assert!(!rule.is_lossy(&meter((0..200).map(|i| u64::from(i % 50 == 0)))));
    }

    /// What spoke for losses does so in the next count, too.
    #[test]
    fn losses_persist_over_several_counts() {
        let rule = Trial::default();
        let first = meter((0..128).map(|i| u64::from(i % 10 == 0)));
        assert!(rule.is_over(&first) && !rule.is_lossy(&first));
        let followed = |mut next: Meter| {
            for i in 0..24 {
                let report = Report {
                    bytes: 2000,
                    chunks: 2,
                    lost: i % 4 == 0,
                    repeated: u64::from(i % 4 == 0),
                    srtt: Duration::from_millis(100),
                };
                next.note(report, Instant::from_millis(7000 + 200 * i));
            }
            rule.is_lossy(&next)
        };
        let now = Instant::from_millis(7000);
        assert!(followed(first.again(now)));
        assert!(!followed(first.afresh(now)), "6 of 48 alone may be chance");
    }

    #[test]
    fn the_rate_is_what_was_delivered() {
        let m = meter([0; 20]);
        assert!((m.rate(Instant::from_millis(1000)) - 40_000.0).abs() < 1e-6);
    }

    #[test]
    fn the_other_path_must_be_clearly_better() {
        let rule = Trial::default();
        for (here, there, stays) in [
            (100.0, 90.0, false),
            (100.0, 120.0, false),
            (100.0, 125.0, true),
        ] {
            assert_eq!(rule.stays(here, there), stays);
        }
    }

    #[test]
    fn the_wait_doubles() {
        let rule = Trial::default();
        let seconds = |failed| rule.wait(failed).as_secs();
        assert_eq!(
            [0, 1, 2, 6, 7, 40].map(seconds),
            [10, 20, 40, 640, 640, 640]
        );
    }
}

//! Coupled increase (RFC 6356, "LIA"; OLIA of Khalili and others, CoNEXT 2012),
//! for `congestion.coupled`.
//!
//! Paths may share one bottleneck. If each window grows as a separate flow, two paths
//! take two thirds of it from one other flow. So all paths together grow as one flow on
//! the best of them, and paths with fewer losses grow more. Slow start and the response
//! to losses stay as they are. RFC 9260 section 7.2.2 does not couple paths, and this is
//! the default.
//!
//! Both rules are written as the growth for one window of acknowledged bytes, because
//! RFC 9260 section 7.2.2 counts in this way (partial_bytes_acked). With both rules a
//! single path grows by one PMDCS.

use crate::path::Window;
use crate::time::Duration;
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

/// How paths that carry data at the same time share the growth of their windows.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Default)]
pub enum Coupling {
    /// Each path grows as a separate flow (RFC 9260 section 7.2.2).
    #[default]
    Off,
    /// Linked increases (RFC 6356): all paths together grow as one flow on the best
    /// path, each in proportion to its window.
    Lia,
    /// Opportunistic linked increases (Khalili and others, CoNEXT 2012): each path
    /// grows by the square of its share of the rate, and more if its window is smaller
    /// than its losses allow.
    Olia,
}

/// Bytes that arrived between losses (OLIA's l).
#[derive(Copy, Clone, Debug, Default)]
pub(crate) struct LossInterval {
    current: u64,
    last: u64,
}

impl LossInterval {
    pub(super) fn on_acked(&mut self, bytes: u32) {
        self.current += u64::from(bytes);
    }

    pub(super) fn on_loss(&mut self) {
        self.last = self.current;
        self.current = 0;
    }

    pub(super) fn longest(self) -> f64 {
        self.current.max(self.last) as f64
    }
}

/// One path that carries data.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Flow {
    /// The used part of the path's window, in bytes.
    window: f64,
    /// Smoothed round trip, in seconds.
    srtt: f64,
    /// Bytes between losses.
    interval: f64,
}

impl Flow {
    /// `None` if nothing was in flight or no round trip is known: such a path is not
    /// coupled. `between_losses` is the most bytes that arrived between two losses.
    pub(crate) fn new(
        w: &Window,
        flight: u32,
        srtt: Option<Duration>,
        between_losses: f64,
    ) -> Option<Flow> {
        let srtt = srtt.filter(|t| !t.is_zero())?.as_secs_f64();
        let window = f64::from(flight.min(w.cwnd));
        (flight > 0).then_some(Flow {
            window,
            srtt,
            interval: between_losses,
        })
    }

    fn rate(&self) -> f64 {
        self.window / self.srtt
    }
}

impl Coupling {
    /// How much one window of acknowledged bytes adds to each path, in PMDCS; 1 for a
    /// path that is not coupled. With OLIA it may be negative.
    pub(crate) fn steps<const N: usize>(self, flows: &[Option<Flow>; N]) -> [f64; N] {
        let used = flows.iter().flatten().count();
        if self == Coupling::Off || used < 2 {
            return [1.0; N];
        }
        let total: f64 = flows.iter().flatten().map(Flow::rate).sum();
        let moved = match self {
            Coupling::Olia => moved(flows),
            Coupling::Off | Coupling::Lia => [0.0; N],
        };
        let best = flows.iter().flatten().map(|f| f.rate() / f.srtt);
        let best = best.fold(0.0, f64::max);
        core::array::from_fn(|i| {
            let Some(f) = &flows[i] else { return 1.0 };
            let step = match self {
                // Formulas (1) and (2), for a window of acknowledgements.
                Coupling::Lia => f.window * best / (total * total),
                Coupling::Olia => {
                    let share = f.rate() / total;
                    share * share + moved[i]
                }
                Coupling::Off => 1.0,
            };
            step.min(1.0)
        })
    }
}

/// OLIA's alpha: growth that moves from paths with the largest window to paths with the
/// fewest losses and a smaller window.
fn moved<const N: usize>(flows: &[Option<Flow>; N]) -> [f64; N] {
    // The rate is proportional to the square root of this.
    let quality = |f: &Flow| f.interval / (f.srtt * f.srtt);
    let most = |value: &dyn Fn(&Flow) -> f64| {
        let highest = flows.iter().flatten().map(value).fold(0.0, f64::max);
        let mut set: SmallVec<[usize; 8]> = SmallVec::new();
        let at = |(i, f): (usize, &Option<Flow>)| Some((i, value(f.as_ref()?)));
        let all = flows.iter().enumerate().filter_map(at);
        set.extend(all.filter(|(_, v)| *v >= highest).map(|(i, _)| i));
        set
    };
    let largest = most(&|f| f.window);
    let mut better = most(&quality);
    better.retain(|i| !largest.contains(i));
    let mut moved = [0.0; N];
    if better.is_empty() {
        return moved;
    }
    let used = flows.iter().flatten().count() as f64;
    for &i in &better {
        moved[i] = 1.0 / (used * better.len() as f64);
    }
    for &i in &largest {
        moved[i] = -1.0 / (used * largest.len() as f64);
    }
    moved
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flows(of: &[(u32, u32, u32)]) -> [Option<Flow>; 4] {
        // window in bytes, round trip in ms, bytes between losses
        core::array::from_fn(|i| {
            let (window, ms, interval) = *of.get(i)?;
            Some(Flow {
                window: window.into(),
                srtt: f64::from(ms) / 1000.0,
                interval: interval.into(),
            })
        })
    }

    fn close(is: &[f64], expected: &[f64]) {
        assert!(
            is.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-9),
            "{is:?} instead of {expected:?}"
        );
    }

    #[test]
    fn linked_increases() {
        // windows and round trips, and the growth of each for one acknowledged window
        for (of, expected) in [
            // One path: RFC 9260.
            (&[(10_000, 50, 0)][..], &[1.0][..]),
            // Two equal paths grow by one PMDCS per round trip together. In this time
            // both have a window acknowledged, so alpha is 1/2.
            (&[(10_000, 50, 0), (10_000, 50, 0)], &[0.25, 0.25]),
            // Four equal paths: a sixteenth each.
            (&[(8000, 20, 0); 4], &[1.0 / 16.0; 4]),
            // Unequal windows: in proportion to them.
            (
                &[(30_000, 50, 0), (10_000, 50, 0)],
                &[9.0 / 16.0, 3.0 / 16.0],
            ),
            // A long path beside a short one: rates 100 and 10 kB/s.
            (
                &[(10_000, 100, 0), (10_000, 1000, 0)],
                &[1.0 / 1.21, 1.0 / 1.21],
            ),
            // Never more than a single path (the minimum in formula 1): rates 10 and 20
            // kB/s.
            (
                &[(10_000, 1000, 0), (200, 10, 0)],
                &[10_000.0 * 2e6 / 9e8, 200.0 * 2e6 / 9e8],
            ),
        ] {
            let expected: Vec<f64> = expected.iter().map(|s: &f64| s.min(1.0)).collect();
            close(&Coupling::Lia.steps(&flows(of)), &expected);
        }
    }

    #[test]
    fn opportunistic_increases() {
        for (of, expected) in [
            // The best path already has the largest window, so nothing moves.
            (
                &[(30_000, 50, 9), (10_000, 50, 4)][..],
                &[9.0 / 16.0, 1.0 / 16.0][..],
            ),
            // The smaller window loses less: half a PMDCS moves to it.
            (
                &[(30_000, 50, 4), (10_000, 50, 9)],
                &[9.0 / 16.0 - 0.5, 1.0 / 16.0 + 0.5],
            ),
            // Equal windows are all the largest.
            (&[(10_000, 50, 4), (10_000, 50, 9)], &[0.25, 0.25]),
            (&[(10_000, 50, 4)], &[1.0]),
        ] {
            close(&Coupling::Olia.steps(&flows(of)), expected);
        }
    }

    #[test]
    fn uncoupled_paths_and_those_that_carry_nothing_are_alone() {
        let two = flows(&[(10_000, 50, 0), (10_000, 50, 0)]);
        close(&Coupling::Off.steps(&two), &[1.0; 4]);
        close(&Coupling::Lia.steps(&two)[2..], &[1.0; 2]);
    }
}

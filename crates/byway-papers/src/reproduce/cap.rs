//! What as many runs as there may be can decide.
//!
//! `--until-decided` takes up to four times the seeds, and its looks share the error of the tests. Where
//! the interval of so many runs is wider than the band, whatever the runs are, a check stays undecided or
//! is refuted: it cannot hold. Each estimate here is on the side of the check, so that what is said of it
//! is sure as far as the scatter of the runs that were done is.

use super::cells::{Cells, Filter};
use super::estimate::Estimate;
use super::rule::Level;
use super::sample::{FEW_EVENTS, Kind, Sample, poisson};
use super::show::{Unit, number};
use byway_lab::stats::wilson;
use std::collections::BTreeSet;

/// Looks at the growing runs, as `experiments/RULE.md` says.
const LOOKS: u32 = 3;
/// The cap, in the seeds of the effort.
const TIMES: u32 = 4;

/// How many more runs there may be.
#[derive(Copy, Clone, Debug)]
pub(super) struct Cap {
    /// The seeds of a cell.
    seeds: u32,
    /// How many times the runs that there are.
    times: f64,
    level: Level,
}

impl Cap {
    /// Of cells that have so many seeds with the effort.
    pub(super) fn of(cells: &Cells, measure: &str, seeds: u32) -> Option<Cap> {
        let seeds = TIMES * seeds;
        let every = Filter::new();
        let samples = cells.samples(&every, measure);
        let now: BTreeSet<u64> = samples
            .flat_map(|(_, s)| s.runs.into_iter().map(|r| r.seed))
            .collect();
        (!now.is_empty()).then(|| Cap {
            seeds,
            times: (f64::from(seeds) / now.len() as f64).max(1.0),
            level: Level::of_looks(LOOKS),
        })
    }

    /// The same where this many figures share the error.
    pub(super) fn shared(self, by: usize) -> Cap {
        let level = self.level.shared(by);
        Cap { level, ..self }
    }

    /// Why no mean of so many runs can be shown to lie in a band; none if one can.
    pub(super) fn of_band(&self, sample: &Sample, band: [f64; 2], unit: Unit) -> Option<String> {
        let [from, to] = band;
        let n = sample.n as f64 * self.times;
        let confidence = self.level.inside();
        let hits = || (from.max(0.0) * n).floor() as u32..=(to.max(0.0) * n).ceil() as u32;
        let fits = |(low, high): (f64, f64)| low >= from && high <= to;
        let middle = (from + to) / 2.0;
        let half = match sample.kind {
            Kind::Share => {
                let to = n.round() as u32;
                let of = |hits: u32| wilson(hits.min(to), to, confidence);
                if hits().any(|hits| fits(of(hits))) {
                    return None;
                }
                let (low, high) = of((middle * n).round() as u32);
                (high - low) / 2.0
            }
            Kind::Count if sample.mean * sample.n as f64 <= FEW_EVENTS => {
                let of = |hits: u32| poisson(f64::from(hits), n, confidence);
                if hits().any(|hits| fits(of(hits))) {
                    return None;
                }
                let (low, high) = of((middle * n).round() as u32);
                (high - low) / 2.0
            }
            Kind::Count | Kind::Quantity => {
                let half = self.half(sample.estimate()?)?;
                if 2.0 * half <= to - from {
                    return None;
                }
                half
            }
        };
        Some(self.words(&unit.value((to - from) / 2.0), &unit.value(half)))
    }

    /// The same of a relative change and its band in percent.
    pub(super) fn of_change(&self, relative: Option<Estimate>, band: [f64; 2]) -> Option<String> {
        let half = 100.0 * self.half(relative?)?;
        let room = (band[1] - band[0]) / 2.0;
        let points = |x: f64| format!("{} points", number(x));
        (half > room).then(|| self.words(&points(room), &points(half)))
    }

    /// Half the interval that would have to lie inside of a band.
    fn half(&self, estimate: Estimate) -> Option<f64> {
        (estimate.error > 0.0).then(|| estimate.half(self.level.inside()) / self.times.sqrt())
    }

    fn words(&self, room: &str, half: &str) -> String {
        format!(
            "{} seeds, the cap, cannot show it: the band is \u{b1}{room}, their interval \u{b1}{half}",
            self.seeds
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::sample::Run;

    fn cap(times: f64) -> Cap {
        Cap {
            seeds: (330.0 * times) as u32,
            times,
            level: Level::of_looks(LOOKS),
        }
    }

    fn share(hits: u64, n: u64) -> Sample {
        let runs = (1..=n).map(|seed| Run::new(seed, f64::from(u8::from(seed <= hits))));
        Sample::of_runs(runs.collect(), Kind::Share)
    }

    /// caro-2006 A4: 84 % of 1320 runs have an interval of +- 2.1 points, and 1.6 count.
    #[test]
    fn a_share_whose_interval_is_wider_than_its_band_is_beyond_the_cap() {
        let of = |sample: &Sample, band, times| cap(times).of_band(sample, band, Unit::Percent);
        let words = of(&share(277, 330), [0.824, 0.856], 4.0).unwrap();
        assert_eq!(
            words,
            "1320 seeds, the cap, cannot show it: the band is \u{b1}1.60 %, their interval \u{b1}2.15 %"
        );
        assert_eq!(of(&share(277, 330), [0.81, 0.87], 4.0), None);
        // None of 330 leaves 1.4 % possible, none of 1320 0.3 %.
        assert!(of(&share(0, 330), [0.0, 0.005], 1.0).is_some());
        assert_eq!(of(&share(0, 330), [0.0, 0.005], 4.0), None);
        assert_eq!(of(&share(330, 330), [0.99, 1.0], 4.0), None);
    }

    #[test]
    fn means_and_changes_are_judged_by_their_scatter() {
        let values = (1..=100).map(|seed| (seed, if seed % 2 == 0 { 9.0 } else { 11.0 }));
        let sample = Sample::of(values.collect(), Kind::Quantity);
        let of = |band| cap(4.0).of_band(&sample, band, Unit::Seconds);
        assert_eq!(of([9.8, 10.2]), None);
        assert!(of([9.95, 10.05]).is_some());
        // 0.083 of 480 transfers: 40 events, and 38 to 42 count.
        let rare = (1..=120).map(|seed| (seed, f64::from(u8::from(seed <= 10))));
        let rare = Sample::of(rare.collect(), Kind::Count);
        assert!(
            cap(4.0)
                .of_band(&rare, [0.079, 0.087], Unit::Count)
                .is_some()
        );
        assert_eq!(cap(4.0).of_band(&rare, [0.0, 0.2], Unit::Count), None);
        let other = sample.times(1.1);
        let change = other.relative(&sample);
        assert_eq!(cap(4.0).of_change(change, [-50.0, 50.0]), None);
        let apart = Sample::of(vec![(1, 5.0), (2, 9.0), (3, 2.0)], Kind::Quantity);
        let change = apart.relative(&sample);
        assert!(cap(4.0).of_change(change, [-10.0, 10.0]).is_some());
    }
}

//! Which means agree.

use super::cell::Cell;
use super::run::Setting;
use byway_lab::stats::{Difference, Sample};
use std::collections::BTreeMap;

/// Fewest runs of ns-2 for a comparison of a cell on its own.
pub(super) const ENOUGH: u32 = 5;

/// Means that differ by at most this share agree.
pub const NEAR: f64 = 0.05;
/// Of the intervals of differences.
const CONFIDENCE: f64 = 0.95;

/// A cell with byway's runs of it.
#[derive(Clone, Debug)]
pub struct Measured {
    /// The cell.
    pub cell: Cell,
    /// byway's transfer times, seconds.
    pub transfer: Sample,
    /// byway's detection times, seconds.
    pub detection: Sample,
}

/// Which time is compared.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Figure {
    /// From the first DATA to the last SACK.
    Transfer,
    /// From the failure of a path to its being inactive.
    Detection,
}

impl Figure {
    /// Its name in tables.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Figure::Transfer => "transfer",
            Figure::Detection => "detection",
        }
    }
}

impl Measured {
    /// ns-2's and byway's sample of a figure; none where ns-2 has none.
    #[must_use]
    pub fn figure(&self, figure: Figure) -> Option<(Sample, Sample)> {
        let pair = match figure {
            Figure::Transfer => (self.cell.transfer, self.transfer),
            Figure::Detection => (self.cell.detection, self.detection),
        };
        (pair.0.n > 0).then_some(pair)
    }
}

/// How a figure of a cell came out.
#[derive(Copy, Clone, Debug, PartialEq)]
pub enum Verdict {
    /// The means agree.
    Agrees,
    /// They do not.
    Differs,
    /// ns-2 ran it too seldom: only its experiment as a whole is compared.
    Pooled,
}

/// The sign of the first mean less the second, if the difference is significant;
/// 0 if it is not.
fn sign(one: &Sample, other: &Sample) -> i8 {
    match Difference::welch(other, one, CONFIDENCE) {
        Some(d) if d.mean > d.half_width => 1,
        Some(d) if d.mean < -d.half_width => -1,
        _ => 0,
    }
}

/// Compares ns-2's sample with byway's: within the 95 % interval of the
/// difference, or within 5 % of ns-2's mean.
#[must_use]
pub fn judge(ns2: &Sample, ours: &Sample) -> Verdict {
    if ns2.n < ENOUGH {
        return Verdict::Pooled;
    }
    let difference = (ours.mean - ns2.mean).abs();
    let chance =
        Difference::welch(ns2, ours, CONFIDENCE).is_some_and(|d| difference <= d.half_width);
    if ours.n > 0 && (chance || difference <= NEAR * ns2.mean) {
        Verdict::Agrees
    } else {
        Verdict::Differs
    }
}

/// The cells of an experiment that ns-2 ran too seldom, together.
#[derive(Clone, Debug)]
pub struct Pool {
    /// Experiment, build of ns-2 and figure.
    pub name: (String, String, Figure),
    /// How many cells.
    pub cells: usize,
    /// Mean over them of byway's mean by ns-2's.
    pub ratio: f64,
}

impl Pool {
    /// Whether the mean ratio is within 5 % of 1.
    #[must_use]
    pub fn agrees(&self) -> bool {
        (self.ratio - 1.0).abs() <= NEAR
    }
}

/// All pools.
#[must_use]
pub fn pools(all: &[Measured]) -> Vec<Pool> {
    let mut ratios: BTreeMap<(String, String, Figure), Vec<f64>> = BTreeMap::new();
    for m in all {
        for figure in [Figure::Transfer, Figure::Detection] {
            let Some((ns2, ours)) = m.figure(figure) else {
                continue;
            };
            if judge(&ns2, &ours) != Verdict::Pooled {
                continue;
            }
            let name = (m.cell.experiment.clone(), m.cell.variant.clone(), figure);
            // A cell without a run of byway's counts as far off.
            ratios.entry(name).or_default().push(ours.mean / ns2.mean);
        }
    }
    ratios
        .into_iter()
        .map(|(name, ratios)| Pool {
            name,
            cells: ratios.len(),
            ratio: ratios.iter().sum::<f64>() / ratios.len() as f64,
        })
        .collect()
}

/// What pairs of policies on the same network show.
#[derive(Clone, Debug, Default)]
pub struct Pairs {
    /// Pairs that differ significantly in ns-2.
    pub significant: usize,
    /// Of these, how many differ the other way in byway, significant or not.
    pub opposite: usize,
    /// And those that do so significantly, as places in the list.
    pub reversed: Vec<(usize, usize, Figure)>,
}

/// Compares the policies that share all but the policy.
#[must_use]
pub fn pairs(all: &[Measured]) -> Pairs {
    let mut groups: BTreeMap<(String, String, Setting), Vec<usize>> = BTreeMap::new();
    for (i, m) in all.iter().enumerate() {
        let name = (
            m.cell.experiment.clone(),
            m.cell.variant.clone(),
            m.cell.setting.without_policy(),
        );
        groups.entry(name).or_default().push(i);
    }
    let mut result = Pairs::default();
    for group in groups.values() {
        for (k, a) in group.iter().enumerate() {
            for b in &group[k + 1..] {
                for figure in [Figure::Transfer, Figure::Detection] {
                    result.add(all, *a, *b, figure);
                }
            }
        }
    }
    result
}

impl Pairs {
    fn add(&mut self, all: &[Measured], a: usize, b: usize, figure: Figure) {
        let pair = |i: usize| all.get(i).and_then(|m| m.figure(figure));
        let (Some((ns2_a, our_a)), Some((ns2_b, our_b))) = (pair(a), pair(b)) else {
            return;
        };
        if ns2_a.n < ENOUGH || ns2_b.n < ENOUGH {
            return;
        }
        let theirs = sign(&ns2_a, &ns2_b);
        if theirs == 0 {
            return;
        }
        self.significant += 1;
        if (our_a.mean - our_b.mean) * f64::from(theirs) < 0.0 {
            self.opposite += 1;
        }
        if sign(&our_a, &our_b) == -theirs {
            self.reversed.push((a, b, figure));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Verdict::{Agrees, Differs, Pooled};
    use super::*;

    fn sample((n, mean, sd): (u32, f64, f64)) -> Sample {
        Sample { n, mean, sd }
    }

    #[test]
    fn only_significant_differences_have_a_sign() {
        let of = |mean| sample((6, mean, 1.0));
        assert_eq!(sign(&of(1.0), &of(0.0)), 0);
        assert_eq!(sign(&of(2.0), &of(0.0)), 1);
        assert_eq!(sign(&of(0.0), &of(2.0)), -1);
    }

    #[test]
    fn means_agree_by_chance_or_by_nearness() {
        // ns-2, byway, verdict
        let rows = [
            ((16, 20.0, 0.1), (30, 20.9, 0.1), Agrees),
            ((16, 20.0, 0.1), (30, 21.1, 0.1), Differs),
            ((16, 20.0, 3.0), (30, 21.5, 3.0), Agrees),
            ((16, 20.0, 3.0), (30, 24.0, 3.0), Differs),
            ((16, 20.0, 0.0), (30, 20.5, 0.0), Agrees),
            // Without runs nothing agrees.
            ((16, 20.0, 3.0), (0, 0.0, 0.0), Differs),
            ((4, 20.0, 3.0), (30, 20.0, 3.0), Pooled),
        ];
        for (k, (ns2, ours, expected)) in rows.into_iter().enumerate() {
            assert_eq!(judge(&sample(ns2), &sample(ours)), expected, "row {k}");
        }
    }
}

//! Two samples, compared: over clusters that meet the same chance where both have them.

use super::Sample;
use crate::reproduce::estimate::Estimate;
use std::collections::BTreeMap;

impl Sample {
    /// The difference `self - other` of the means: over clusters that meet the
    /// same chance where both have them.
    #[must_use]
    pub fn difference(&self, other: &Sample) -> Option<Estimate> {
        self.combined(other, self.mean - other.mean, 1.0, -1.0)
    }

    /// The relative change `self / other - 1` of the means.
    #[must_use]
    pub fn relative(&self, other: &Sample) -> Option<Estimate> {
        let base = other.mean;
        if base == 0.0 {
            return None;
        }
        let ratio = self.mean / base;
        self.combined(other, ratio - 1.0, 1.0 / base, -ratio / base)
    }

    /// Whether nothing at any of these places is chance.
    #[must_use]
    pub fn without_chance(places: &[(Sample, Sample)]) -> bool {
        places.iter().all(|(a, b)| a.is_certain() && b.is_certain())
    }

    /// The mean over several places of the relative change from the second to the first.
    #[must_use]
    pub fn mean_relative(places: &[(Sample, Sample)]) -> Option<Estimate> {
        let count = places.len() as f64;
        let certain = Sample::without_chance(places);
        let mut pulls = BTreeMap::new();
        let mut sum = 0.0;
        for (mine, theirs) in places {
            if theirs.mean == 0.0 || mine.runs.is_empty() || theirs.runs.is_empty() {
                return None;
            }
            let ratio = mine.mean / theirs.mean;
            sum += ratio - 1.0;
            for (sample, weight) in [(mine, 1.0 / theirs.mean), (theirs, -ratio / theirs.mean)] {
                for (cluster, pull) in sample.pulls() {
                    *pulls.entry(cluster).or_insert(0.0) += weight * pull / count;
                }
            }
        }
        let mean = sum / count;
        if certain {
            // Nothing is chance at a place, and places are no random sample.
            return Some(Estimate::certain(mean));
        }
        Estimate::of_pulls(mean, pulls.values().copied())
    }

    /// A value that moves by `mine` with this mean and by `theirs` with the other.
    fn combined(&self, other: &Sample, value: f64, mine: f64, theirs: f64) -> Option<Estimate> {
        if self.is_certain() && other.is_certain() {
            return Some(Estimate::certain(value));
        }
        if self.runs.is_empty() || other.runs.is_empty() {
            return self
                .estimate()?
                .plus(other.estimate()?, mine, theirs, value);
        }
        // A single run that chance may have made is no mean.
        if [self, other].iter().any(|s| s.n < 2 && !s.is_certain()) {
            return None;
        }
        let mut pulls = self.pulls();
        pulls.values_mut().for_each(|p| *p *= mine);
        for (cluster, pull) in other.pulls() {
            *pulls.entry(cluster).or_insert(0.0) += theirs * pull;
        }
        Estimate::of_pulls(value, pulls.values().copied())
    }

    /// In how many of the pairs of runs with one seed the values differ, and how
    /// many pairs there are.
    #[must_use]
    pub fn came_into_play(&self, other: &Sample) -> (usize, usize) {
        let theirs: BTreeMap<u64, f64> = other.runs.iter().map(|r| (r.seed, r.value)).collect();
        let pairs = self
            .runs
            .iter()
            .filter_map(|r| Some((r.value, theirs.get(&r.seed)?)));
        pairs.fold((0, 0), |(differ, all), (mine, their)| {
            (differ + usize::from(mine != *their), all + 1)
        })
    }
}

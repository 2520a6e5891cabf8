//! What is recommended of the settings that were checked.

use super::compare::{Shown, compare};
use super::evidence::Sample;
use super::lane::Lane;
use super::recommend::{beyond, total};
use super::wishes::Wishes;

/// The winner of the search, unless the target's own defaults or another baseline has the
/// better claim on the seeds of the check. `found` is what the search has left, the best
/// first; `own` are the target's own defaults.
pub(super) fn choose<'a>(
    found: &[&'a Lane],
    checked: &'a [Lane],
    own: Option<&'a Lane>,
    wishes: &Wishes,
) -> Option<&'a Lane> {
    let mut best = *found.first()?;
    if let Some(own) = own {
        let is_better = shown(&best.samples, &own.samples, wishes) == Shown::Better;
        let is_within = beyond(&best.samples, wishes) < beyond(&own.samples, wishes);
        if !is_better && !is_within {
            best = own;
        }
    }
    let baselines = checked.iter().filter(|l| !l.candidate.default.is_empty());
    let better = baselines.filter(|l| {
        shown(&l.samples, &best.samples, wishes) == Shown::Better
            && beyond(&l.samples, wishes) <= beyond(&best.samples, wishes)
    });
    let best_of =
        |a: &&Lane, b: &&Lane| total(&a.samples, wishes).total_cmp(&total(&b.samples, wishes));
    Some(better.min_by(best_of).unwrap_or(best))
}

fn shown(a: &[Sample], b: &[Sample], wishes: &Wishes) -> Shown {
    compare(a, b, |s| s.score(wishes)).shown
}

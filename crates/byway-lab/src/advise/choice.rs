//! What is recommended of the settings that were checked.

use super::compare::{Shown, compare};
use super::evidence::Sample;
use super::lane::Lane;
use super::rates;
use super::weigh::{beyond, total};
use super::wishes::Wishes;

/// The winner of the search, unless the target's own defaults or another baseline has the
/// better claim on the seeds of the check. `found` is what the search has left, the best
/// first; `own` are the target's own defaults. What is shown to send more slowly than these
/// ([`rates::is_slower`]) is recommended only if nothing else keeps the limits of the wishes.
pub(super) fn choose<'a>(
    found: &[&'a Lane],
    checked: &'a [Lane],
    own: Option<&'a Lane>,
    wishes: &Wishes,
) -> Option<&'a Lane> {
    let first = *found.first()?;
    let own_samples = own.map_or(&[][..], |l| &l.samples);
    let is_slower = |l: &Lane| rates::is_slower(&l.samples, own_samples);
    let is_as_good = |l: &Lane| beyond(&l.samples, wishes) <= beyond(&first.samples, wishes);
    let mut fast = found.iter().filter(|l| !is_slower(l));
    let mut best = match is_slower(first) {
        true => fast.find(|l| is_as_good(l)).copied().unwrap_or(first),
        false => first,
    };
    if let Some(own) = own {
        let is_better = shown(&best.samples, &own.samples, wishes) == Shown::Better;
        let is_within = beyond(&best.samples, wishes) < beyond(&own.samples, wishes);
        if (!is_better || is_slower(best)) && !is_within {
            best = own;
        }
    }
    let baselines = checked.iter().filter(|l| !l.candidate.default.is_empty());
    let better = baselines.filter(|l| {
        shown(&l.samples, &best.samples, wishes) == Shown::Better
            && beyond(&l.samples, wishes) <= beyond(&best.samples, wishes)
            && (is_slower(best) || !is_slower(l))
    });
    let best_of =
        |a: &&Lane, b: &&Lane| total(&a.samples, wishes).total_cmp(&total(&b.samples, wishes));
    Some(better.min_by(best_of).unwrap_or(best))
}

fn shown(a: &[Sample], b: &[Sample], wishes: &Wishes) -> Shown {
    compare(a, b, |s| s.score(wishes)).shown
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::advise::{Candidate, Request, Target, baselines, measure};

    /// One path with a long round trip and no loss, bulk: RFC 9260 sends as fast as the preset
    /// byway until something is lost.
    #[test]
    fn bulk_is_not_advised_settings_that_send_slower_than_the_defaults() {
        let mut request = Request::default();
        request.add_path("rtt=600ms,rate=5M").unwrap();
        request.add_path("rtt=60ms,rate=20M,loss=0.5%").unwrap();
        let all = baselines(Target::Byway);
        let (own, slow) = (&all[0], &all[2]);
        let mut winner: Candidate = slow.clone();
        winner.default = "";
        let samples = measure(&request, &[own, &winner], 1, 4).unwrap();
        let lanes: Vec<Lane> = [own, &winner]
            .into_iter()
            .zip(samples)
            .map(|(candidate, mut samples)| {
                // The search prefers RFC 9260 here: only its rate speaks against it.
                for sample in samples.iter_mut().filter(|_| candidate == &winner) {
                    (sample.stall_s, sample.moves, sample.nearby_per_hour) = (0.1, 0.0, 0.0);
                }
                Lane {
                    candidate: candidate.clone(),
                    samples,
                }
            })
            .collect();
        assert!(rates::is_slower(&lanes[1].samples, &lanes[0].samples));
        assert!(!rates::is_slower(&lanes[0].samples, &lanes[1].samples));
        let mut wishes = Wishes::default();
        let chosen = |wishes: &Wishes| {
            let chosen = choose(&[&lanes[1]], &lanes, Some(&lanes[0]), wishes).unwrap();
            chosen.candidate.clone()
        };
        assert_eq!(&chosen(&wishes), own);
        // Nothing else keeps the limit.
        wishes.max_stall_s = Some(0.2);
        assert_eq!(chosen(&wishes), winner);
    }
}

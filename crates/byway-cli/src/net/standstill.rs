//! How long an association does not get on, and how much of it counts against it.

use std::time::{Duration, Instant};

/// `--give-up` where nothing is set.
const GIVE_UP: Duration = Duration::from_secs(120);

/// `--give-up`.
#[derive(Copy, Clone, Debug)]
pub(super) struct Limit {
    /// A longer standstill ends the association.
    pub(super) time: Duration,
    /// Whether it was set. Then an outage of all paths counts, too; else the association itself decides how long
    /// one may last.
    pub(super) is_set: bool,
}

impl Limit {
    /// What was set, if anything was.
    pub(super) fn of(set: Option<Duration>) -> Limit {
        Limit {
            time: set.unwrap_or(GIVE_UP),
            is_set: set.is_some(),
        }
    }
}

/// A standstill and the outages of all paths in it.
#[derive(Copy, Clone, Debug)]
pub(super) struct Standstill {
    since: Instant,
    /// Since when no path answers.
    outage: Option<Instant>,
    /// The outages that are over.
    over: Duration,
    /// How much of all outages together may be excused: as long as the association could bear one, counted from the
    /// first. So who answers now and then, and does nothing, has no more than who is silent.
    excuse: Duration,
}

impl Standstill {
    pub(super) fn new(now: Instant) -> Standstill {
        Standstill {
            since: now,
            outage: None,
            over: Duration::ZERO,
            excuse: Duration::ZERO,
        }
    }

    pub(super) fn since(&self) -> Instant {
        self.since
    }

    /// It got on, then.
    pub(super) fn moved(&mut self, at: Instant) {
        if at != self.since {
            self.since = at;
            self.over = Duration::ZERO;
            self.outage = self.outage.map(|began| began.max(at));
        }
    }

    /// Whether no path answers; then how long the association bears that.
    pub(super) fn outage(&mut self, now: Instant, longest: Option<Duration>) {
        match (self.outage, longest) {
            (None, Some(longest)) => {
                if self.over.is_zero() {
                    self.excuse = longest;
                }
                self.outage = Some(now);
            }
            (Some(_), None) => {
                self.over = self.outages(now);
                self.outage = None;
            }
            _ => {}
        }
    }

    fn outages(&self, now: Instant) -> Duration {
        let under_way = |began| now.saturating_duration_since(began);
        self.over + self.outage.map_or(Duration::ZERO, under_way)
    }

    /// What of the outages does not count.
    pub(super) fn excused(&self, now: Instant) -> Duration {
        self.outages(now).min(self.excuse)
    }

    /// How long it may go on like this, if a standstill of `limit` ends it and outages are excused or not.
    pub(super) fn left(&self, now: Instant, limit: Duration, excuses: bool) -> Option<Duration> {
        let all = now.saturating_duration_since(self.since);
        if !excuses {
            return limit.checked_sub(all);
        }
        let rest = match self.outage {
            Some(_) => self.excuse.saturating_sub(self.outages(now)),
            None => Duration::ZERO,
        };
        let left = limit.checked_sub(all.saturating_sub(self.excused(now)))?;
        Some(left + rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONGEST: Duration = s(726);
    const LIMIT: Duration = s(120);

    const fn s(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    /// Looks each second until the end, at most 10,000: the path answers at these seconds or not.
    fn ends(limit: Limit, answers: impl Fn(u64) -> bool) -> Option<u64> {
        let begin = Instant::now();
        let mut still = Standstill::new(begin);
        (1..10_000).find(|second| {
            let now = begin + s(*second);
            still.outage(now, (!answers(*second)).then_some(LONGEST));
            still.left(now, limit.time, !limit.is_set).is_none()
        })
    }

    #[test]
    fn an_outage_is_left_to_the_association_unless_give_up_is_set() {
        let (unset, set) = (Limit::of(None), Limit::of(Some(LIMIT)));
        // Who is heard and does nothing.
        assert_eq!(ends(unset, |_| true), Some(121));
        assert_eq!(ends(set, |_| true), Some(121));
        // An outage of three minutes, then nothing more comes.
        let outage = |second| !(20..200).contains(&second);
        assert_eq!(ends(unset, outage), Some(301));
        assert_eq!(ends(set, outage), Some(121));
        // Who is gone.
        assert_eq!(ends(unset, |second| second < 20), Some(20 + 726 + 101));
        assert_eq!(ends(set, |second| second < 20), Some(121));
    }

    /// "A heartbeat alone cannot defeat" the rule: with one answer in a minute, or in ten, the sum of all outages counts.
    #[test]
    fn answers_now_and_then_excuse_no_more_than_silence() {
        for every in [2, 20, 60, 600] {
            let end = ends(Limit::of(None), |second| second % every == 0);
            assert!(end.is_some_and(|end| end <= 726 + 122), "{every}: {end:?}");
        }
    }

    #[test]
    fn a_step_begins_a_standstill_of_its_own() {
        let begin = Instant::now();
        let mut still = Standstill::new(begin);
        still.outage(begin + s(10), Some(LONGEST));
        still.outage(begin + s(700), None);
        assert_eq!(still.left(begin + s(700), LIMIT, true), Some(s(110)));
        still.moved(begin + s(701));
        assert_eq!(still.left(begin + s(701), LIMIT, true), Some(s(120)));
        // What is left in an outage is what is said in it.
        still.outage(begin + s(711), Some(LONGEST));
        assert_eq!(still.left(begin + s(711), LIMIT, true), Some(s(110 + 726)));
        assert_eq!(still.left(begin + s(811), LIMIT, true), Some(s(10 + 726)));
        assert_eq!(still.left(begin + s(811), LIMIT, false), Some(s(10)));
    }
}

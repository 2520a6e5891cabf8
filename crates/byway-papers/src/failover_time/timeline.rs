//! Timers that run out one after another, and what the sender concludes.

use byway_core::Config;
use byway_core::config::{HbJitter, PathMaxRetransTest};
use byway_core::policy::{AfterRto, DataMove, Detection, RetransmitTarget};
use serde::{Serialize, Serializer};
use std::time::Duration;

/// What is waited for in a [`Step`].
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Waiting {
    /// T3-rtx, the retransmission timer of data.
    T3,
    /// The answer to a HEARTBEAT.
    Heartbeat,
    /// Both at once; each counts an error and doubles the RTO.
    T3AndHeartbeat,
    /// Either of them, whichever was set earlier.
    Either,
    /// The SACK that allows new data on the path again.
    Sack,
    /// The time that the next HEARTBEAT is due.
    Period,
    /// An acknowledgement that is overdue by the path's round trips.
    Overdue,
    /// Dmax of the probing detector.
    Dmax,
    /// The way of the data to the receiver.
    Way,
}

impl Waiting {
    /// In a word or two, for sums.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Waiting::T3 => "T3",
            Waiting::Heartbeat => "heartbeat",
            Waiting::T3AndHeartbeat => "T3 and heartbeat",
            Waiting::Either => "T3 or heartbeat",
            Waiting::Sack => "SACK",
            Waiting::Period => "period",
            Waiting::Overdue => "overdue",
            Waiting::Dmax => "Dmax",
            Waiting::Way => "way",
        }
    }
}

/// Some equal waits in a row.
#[derive(Copy, Clone, Debug, PartialEq, Serialize)]
pub struct Step {
    /// How many.
    pub times: u32,
    /// How long each one is, in seconds in JSON.
    #[serde(rename = "each_s", serialize_with = "as_seconds")]
    pub each: Duration,
    /// What is waited for.
    pub waiting: Waiting,
}

fn as_seconds<S: Serializer>(d: &Duration, s: S) -> Result<S::Ok, S::Error> {
    s.serialize_f64(d.as_secs_f64())
}

/// A time as the sum of its waits.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Sum(pub(super) Vec<Step>);

impl Sum {
    pub(super) fn of(each: Duration, waiting: Waiting) -> Sum {
        Sum::default().and(1, each, waiting)
    }

    /// This sum and `times` more waits; waits of zero are left out.
    pub(super) fn and(mut self, times: u32, each: Duration, waiting: Waiting) -> Sum {
        self.push(times, each, waiting);
        self
    }

    fn push(&mut self, times: u32, each: Duration, waiting: Waiting) {
        if each.is_zero() || times == 0 {
            return;
        }
        match self.0.last_mut() {
            Some(last) if last.each == each && last.waiting == waiting => {
                last.times = last.times.saturating_add(times);
            }
            _ => self.0.push(Step {
                times,
                each,
                waiting,
            }),
        }
    }

    /// The waits, in their order.
    #[must_use]
    pub fn steps(&self) -> &[Step] {
        &self.0
    }

    /// All waits together.
    #[must_use]
    pub fn total(&self) -> Duration {
        let long = |s: &Step| s.each.checked_mul(s.times).unwrap_or(Duration::MAX);
        self.0
            .iter()
            .fold(Duration::ZERO, |t, s| t.saturating_add(long(s)))
    }
}

/// How lucky one is: where the RTO begins and how heartbeats are spread.
#[derive(Copy, Clone, Debug, PartialEq)]
pub(super) struct Luck {
    /// The RTO when the path dies.
    pub(super) rto: Duration,
    /// The part that chance varies by half either way: 0.5, 1 or 1.5.
    pub(super) spread: f64,
    /// The share of a heartbeat period that is still to come.
    pub(super) phase: f64,
    /// What a SACK takes that new data waits for after a timeout.
    pub(super) sack: Duration,
    /// When the probe timeout finds an acknowledgement overdue.
    pub(super) overdue: Option<Duration>,
}

/// What happens to a path that carries data.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Course {
    /// Until it is potentially failed.
    pub(super) suspect: Option<Sum>,
    /// Until it is inactive.
    pub(super) inactive: Option<Sum>,
    /// Until new data takes another path: the sooner of the two.
    pub(super) moved: Sum,
}

/// Whether the potentially failed state comes before the inactive one.
pub(super) fn suspicion(cfg: &Config) -> Option<u32> {
    let pf = cfg.failover.potentially_failed.as_ref()?;
    (pf.max_retrans < cfg.failure.path_max_retrans).then_some(pf.max_retrans)
}

/// Errors from which on a lost heartbeat makes a path inactive.
fn heartbeat_limit(cfg: &Config) -> u32 {
    let pmr = cfg.failure.path_max_retrans;
    match cfg.failure.heartbeat_test {
        PathMaxRetransTest::Exceeds => pmr,
        PathMaxRetransTest::Reaches => pmr.saturating_sub(1),
    }
}

/// Doubles an RTO `errors` times (RFC 9260 section 6.3.3, E2).
fn backed_off(rto: Duration, max: Duration, errors: u32) -> Duration {
    (0..errors.min(2)).fold(rto, |rto, _| rto.saturating_mul(2).min(max))
}

/// How many equal waits may be taken at once, `left` errors before a limit:
/// one while the RTO still grows.
fn at_once(rto: Duration, max: Duration, left: u32, errors: u32) -> u32 {
    if rto < max {
        1
    } else {
        (left.saturating_sub(1) / errors).max(1)
    }
}

/// The course of a path that carries data until it dies, with a live one
/// beside it.
pub(super) fn course(cfg: &Config, luck: Luck) -> Course {
    if let Some(overdue) = luck.overdue.filter(|d| *d < luck.rto) {
        return overdue_course(cfg, luck, overdue);
    }
    let mut course = Course::default();
    let errors = count_errors(cfg, luck, &mut course);
    let probing = match cfg.failure.detection {
        Detection::Probing(p) => Some(Sum::of(luck.rto, Waiting::T3).and(1, p.dmax, Waiting::Dmax)),
        Detection::ErrorCount => None,
    };
    let sooner = |a: Option<Sum>, b: Option<Sum>| match (a, b) {
        (Some(a), Some(b)) if b.total() < a.total() => Some(b),
        (a, b) => a.or(b),
    };
    course.inactive = sooner(errors, probing);
    // One of the two always comes: without suspicion data keeps timing out.
    course.moved = sooner(course.suspect.clone(), course.inactive.clone()).unwrap_or_default();
    course
}

/// The course of a path that the probe timeout suspects before T3-rtx expires:
/// data moves at once, or when the heartbeat is overdue, too, and only heartbeats count
/// errors.
fn overdue_course(cfg: &Config, luck: Luck, overdue: Duration) -> Course {
    let rule = cfg.failover.probe_timeout.as_ref();
    let waits = rule.is_some_and(|r| r.moves == DataMove::HeartbeatOverdue);
    let times = if waits { 2 } else { 1 };
    let moved = Sum::default().and(times, overdue, Waiting::Overdue);
    let inactive = cfg.hb.enabled.then(|| {
        let mut sum = moved.clone();
        add_heartbeats(cfg, &mut sum, luck.rto, 0);
        sum
    });
    Course {
        suspect: Some(moved.clone()),
        inactive,
        moved,
    }
}

/// Appends the heartbeats that a suspect path with `errors` leaves unanswered
/// until it is inactive.
fn add_heartbeats(cfg: &Config, sum: &mut Sum, mut rto: Duration, mut errors: u32) {
    let limit = heartbeat_limit(cfg);
    while errors <= limit {
        let n = at_once(rto, cfg.rto.max, (limit - errors).saturating_add(1), 1);
        sum.push(n, rto, Waiting::Heartbeat);
        errors = errors.saturating_add(n);
        if errors == u32::MAX {
            break;
        }
        rto = backed_off(rto, cfg.rto.max, 1);
    }
}

/// The error counter of RFC 9260 section 8.2 alone; notes the suspicion.
fn count_errors(cfg: &Config, luck: Luck, course: &mut Course) -> Option<Sum> {
    let (pmr, max) = (cfg.failure.path_max_retrans, cfg.rto.max);
    let probing = matches!(cfg.failure.detection, Detection::Probing(_));
    let after_rto = cfg.retransmission.after_rto == AfterRto::Heartbeat && !probing;
    let suspicion = suspicion(cfg);
    let (mut sum, mut rto, mut errors, mut sacks) = (Sum::default(), luck.rto, 0_u32, 0_u32);
    while course.suspect.is_none() {
        let beside = after_rto && errors > 0;
        let (per, waiting) = if beside {
            (2, Waiting::T3AndHeartbeat)
        } else {
            (1, Waiting::T3)
        };
        let left = suspicion.unwrap_or(pmr).saturating_sub(errors);
        let n = at_once(rto, max, left.saturating_add(1), per);
        sacks = sacks.saturating_add(if errors == 0 { n - 1 } else { n });
        sum.push(n, rto, waiting);
        errors = errors.saturating_add(n.saturating_mul(per));
        // The heartbeat's error comes first and has another test.
        let by_heartbeat = beside && errors - 1 > heartbeat_limit(cfg);
        let with_sacks = || sum.clone().and(sacks, luck.sack, Waiting::Sack);
        if errors > pmr || by_heartbeat || errors == u32::MAX {
            return Some(with_sacks());
        }
        if suspicion.is_some_and(|n| errors > n) {
            course.suspect = Some(with_sacks());
        }
        rto = backed_off(rto, max, per);
    }
    // Lost heartbeats of a path that the probing detector probes are not counted.
    if !cfg.hb.enabled || probing {
        return None;
    }
    sum.push(sacks, luck.sack, Waiting::Sack);
    add_heartbeats(cfg, &mut sum, rto, errors);
    Some(sum)
}

/// The longest pause in delivery until data flows elsewhere; `way` is one way
/// of the other path.
///
/// Where every retransmission repeats the path, nothing arrives before data
/// leaves it. Where timeouts move data, each timeout delivers what it moved, and
/// the next pause lasts as long as the next timeout.
pub(super) fn pause(cfg: &Config, course: &Course, way: Duration) -> Sum {
    let overdue = course.moved.0.first();
    if let Some(overdue) = overdue.filter(|s| s.waiting == Waiting::Overdue) {
        // The heartbeat may take as long again; then all that was lost moves.
        return Sum::default()
            .and(2, overdue.each, Waiting::Overdue)
            .and(1, way, Waiting::Way);
    }
    if cfg.retransmission.target == RetransmitTarget::AllRtxSame {
        return course.moved.clone().and(1, way, Waiting::Way);
    }
    let steps = &course.moved.0;
    let first = steps.first().map_or(Duration::ZERO, |s| s.each);
    let mut longest = Sum::of(first, Waiting::T3).and(1, way, Waiting::Way);
    let mut consider = |candidate: Sum| {
        if candidate.total() > longest.total() {
            longest = candidate;
        }
    };
    for step in steps {
        if matches!(step.waiting, Waiting::T3 | Waiting::T3AndHeartbeat) {
            consider(Sum::of(step.each, step.waiting));
        }
    }
    // The probing detector cuts the last timeout short.
    let probing = steps.iter().find(|s| s.waiting == Waiting::Dmax);
    let mut left = probing.map_or(Duration::ZERO, |s| s.each);
    let mut rto = backed_off(first, cfg.rto.max, 1);
    while left > rto && rto < cfg.rto.max {
        consider(Sum::of(rto, Waiting::T3));
        left -= rto;
        rto = backed_off(rto, cfg.rto.max, 1);
    }
    if !left.is_zero() {
        let last = left.min(rto);
        consider(Sum::of(last, Waiting::Dmax).and(1, way, Waiting::Way));
    }
    longest
}

/// The time from one heartbeat of an idle path to the next (RFC 9260 section
/// 8.3), or the share of it that is left.
fn period(cfg: &Config, rto: Duration, spread: f64, share: f64) -> Duration {
    let (fixed, varied) = match cfg.hb.jitter {
        HbJitter::HalfRto => (cfg.hb.interval, rto),
        HbJitter::HalfInterval => (rto, cfg.hb.interval),
        HbJitter::Off => (cfg.hb.interval.saturating_add(rto), Duration::ZERO),
    };
    let seconds = share * (fixed.as_secs_f64() + spread * varied.as_secs_f64());
    Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)
}

/// The longest time between two heartbeats of a path whose RTO is RTO.Max.
pub(super) fn longest_period(cfg: &Config) -> Duration {
    period(cfg, cfg.rto.max, 1.5, 1.0)
}

/// The course of a path without data, until it is suspect and inactive.
pub(super) fn idle_course(cfg: &Config, luck: Luck) -> (Option<Sum>, Option<Sum>) {
    if !cfg.hb.enabled {
        return (None, None);
    }
    let (max, limit) = (cfg.rto.max, heartbeat_limit(cfg));
    let suspicion = suspicion(cfg).filter(|n| *n < limit);
    let (mut periods, mut answers) = (Sum::default(), Sum::default());
    let (mut rto, mut errors, mut suspect) = (luck.rto, 0_u32, None);
    let both = |periods: &Sum, answers: &Sum| {
        let mut sum = periods.clone();
        sum.0.extend(answers.0.iter().copied());
        sum
    };
    loop {
        let mut next = limit;
        if suspect.is_none() {
            next = suspicion.unwrap_or(limit);
        }
        let n = match errors {
            0 => 1,
            _ => at_once(rto, max, next.saturating_sub(errors).saturating_add(1), 1),
        };
        // A suspect path is probed again at once (RFC 7829 section 3.2, rule 4).
        if suspect.is_none() {
            let share = if errors == 0 { luck.phase } else { 1.0 };
            let wait = period(cfg, rto, luck.spread, share);
            periods.push(n, wait, Waiting::Period);
        }
        answers.push(n, rto, Waiting::Heartbeat);
        errors = errors.saturating_add(n);
        if errors > limit || errors == u32::MAX {
            return (suspect, Some(both(&periods, &answers)));
        }
        if suspect.is_none() && suspicion.is_some_and(|n| errors > n) {
            suspect = Some(both(&periods, &answers));
        }
        rto = backed_off(rto, max, 1);
    }
}

/// The soonest that a peer with two dead paths can be given up.
///
/// Each path has two timers that count errors, T3 and a heartbeat's, and every
/// error doubles its RTO. While one timer runs the other can run out once, so
/// error number m waits at least RTO x 2^(m-2) after error m-2.
pub(super) fn soonest_loss(cfg: &Config, rto: Duration) -> Sum {
    let errors = cfg.failure.association_max_retrans.saturating_add(1);
    let mine = errors.div_ceil(2);
    let mut m = if mine % 2 == 1 { 1 } else { 2 };
    let mut sum = Sum::of(rto, Waiting::Either);
    let mut wait = if m == 1 {
        backed_off(rto, cfg.rto.max, 1)
    } else {
        backed_off(rto, cfg.rto.max, 2)
    };
    while m < mine {
        if wait == cfg.rto.max {
            sum.push((mine - m) / 2, wait, Waiting::Either);
            break;
        }
        sum.push(1, wait, Waiting::Either);
        wait = backed_off(wait, cfg.rto.max, 2);
        m += 2;
    }
    sum
}

/// The RTO after `errors` errors.
pub(super) fn rto_after(cfg: &Config, rto: Duration, errors: u32) -> Duration {
    (0..errors.min(128)).fold(rto, |rto, _| backed_off(rto, cfg.rto.max, 1))
}

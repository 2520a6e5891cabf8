//! From runs to a recommendation.
//!
//! The search chooses; the check, whose seeds the search has not seen, only reports, with
//! one exception, [`choice`]: what is not shown to be better than the target's own defaults
//! gives way to them, and what is shown to be worse than a baseline gives way to that.

use super::answer::{Advice, Outlook, Role, SCHEMA, TargetAdvice};
use super::candidates::{Candidate, Target};
use super::choice;
use super::compare::{Shown, compare};
use super::describe::FASTEST;
use super::evidence::{Sample, Score, figures};
use super::lane::{Lane, Outcome};
use super::lines;
use super::request::Request;
use super::verdict;
use super::wishes::Wishes;
use crate::units::format_duration;

/// What breaks a limit of the wishes weighs this much, times how far it is beyond.
const BEYOND: f64 = 100.0;
/// Points of the Pareto front that the search keeps besides the best.
const FRONT: usize = 4;

/// Needless moves an hour of one seed.
pub(super) fn per_hour(sample: &Sample) -> f64 {
    if sample.hours > 0.0 {
        sample.moves / sample.hours
    } else {
        0.0
    }
}

/// The mean score of some samples, and what breaks the limits.
pub(super) fn total(samples: &[Sample], wishes: &Wishes) -> Score {
    let n = samples.len().max(1) as f64;
    let mean = samples.iter().map(|s| s.score(wishes)).sum::<f64>() / n;
    mean + beyond(samples, wishes)
}

/// How far the limits of the wishes are broken, weighed.
pub(super) fn beyond(samples: &[Sample], wishes: &Wishes) -> f64 {
    let found = figures(samples);
    let over = |value: f64, limit: Option<f64>| match limit {
        Some(limit) if value > limit => BEYOND * (value / limit.max(1e-6) - 1.0).min(100.0) + 1.0,
        _ => 0.0,
    };
    over(found.stall_95th_s.value, wishes.max_stall_s)
        + over(found.moves.per_hour.value, wishes.max_moves_per_hour)
        + over(found.elsewhere.value, wishes.max_cost)
}

/// Keeps the best so many and a few more points of the Pareto front, the best first; among
/// those that are not shown to be worse than the best, the one with the fewest settings.
pub(super) fn keep(lanes: &mut Vec<Lane>, wishes: &Wishes, count: usize) {
    let mut ranked: Vec<(Score, Lane)> = lanes
        .drain(..)
        .map(|lane| (total(&lane.samples, wishes), lane))
        .collect();
    ranked.sort_by(|(a, _), (b, _)| a.total_cmp(b));
    let points: Vec<(f64, f64)> = ranked.iter().map(|(_, l)| point(&l.samples)).collect();
    let on_front: Vec<bool> = (0..points.len()).map(|i| on_front(&points, i)).collect();
    let mut more = FRONT;
    for (i, (_, lane)) in ranked.into_iter().enumerate() {
        if i < count {
            lanes.push(lane);
        } else if on_front[i] && more > 0 {
            more -= 1;
            lanes.push(lane);
        }
    }
    let Some(best) = lanes.first() else { return };
    let limit = beyond(&best.samples, wishes);
    let as_good = |lane: &Lane| {
        beyond(&lane.samples, wishes) <= limit
            && compare(&lane.samples, &best.samples, |s| s.score(wishes)).shown != Shown::Worse
    };
    let simplest = (0..lanes.len().min(count))
        .filter(|i| as_good(&lanes[*i]))
        .min_by_key(|i| (lanes[*i].candidate.settings.len(), *i));
    if let Some(i) = simplest {
        lanes[..=i].rotate_right(1);
    }
}

/// Mean stall, and needless moves an hour.
fn point(samples: &[Sample]) -> (f64, f64) {
    let n = samples.len().max(1) as f64;
    (
        samples.iter().map(|s| s.stall_s).sum::<f64>() / n,
        samples.iter().map(per_hour).sum::<f64>() / n,
    )
}

/// Whether no other point is at least as good in both and better in one; of equal ones the
/// first.
fn on_front(points: &[(f64, f64)], i: usize) -> bool {
    let (stall, moves) = points[i];
    !points.iter().enumerate().any(|(j, (s, m))| {
        let no_worse = *s <= stall && *m <= moves;
        no_worse && (*s < stall || *m < moves || j < i)
    })
}

/// The answer to a request.
pub(super) fn advice(request: &Request, outcome: &Outcome) -> Advice {
    // Fewer than asked for after an interruption.
    let targets = request.targets.iter().take(outcome.found.len()).enumerate();
    let targets: Vec<TargetAdvice> = targets
        .map(|(i, target)| of_target(request, *target, outcome, i))
        .collect();
    Advice {
        schema: SCHEMA,
        paths: request
            .paths
            .iter()
            .zip(&request.jitter)
            .map(|(p, jitter)| super::table::path_words(p, *jitter))
            .collect(),
        traffic: request.load.words(),
        wishes: request.wishes.clone(),
        seed: request.seed,
        effort: outcome.effort,
        simulated: outcome.simulated,
        interrupted: outcome.interrupted,
        notes: notes(request, &targets),
        targets,
    }
}

fn of_target(request: &Request, target: Target, outcome: &Outcome, i: usize) -> TargetAdvice {
    let wishes = &request.wishes;
    let checked = &outcome.checked[i];
    let lane = |candidate: &Candidate| checked.iter().find(|l| l.candidate == *candidate);
    let own = checked
        .iter()
        .find(|l| !l.candidate.default.is_empty() && is_own(&l.candidate));
    let found: Vec<&Lane> = outcome.found[i]
        .iter()
        .filter_map(|l| lane(&l.candidate))
        .collect();
    let best = choice::choose(&found, checked, own, wishes);
    let points: Vec<(f64, f64)> = checked.iter().map(|l| point(&l.samples)).collect();
    let place = |lane: &Lane| checked.iter().position(|l| l.candidate == lane.candidate);
    let outlook = |lane: &Lane, role: Role, name: String| Outlook {
        name,
        role,
        candidate: lane.candidate.clone(),
        on_front: place(lane).is_some_and(|i| on_front(&points, i)),
        figures: figures(&lane.samples),
        samples: lane.samples.clone(),
    };
    let mut rows: Vec<Outlook> = Vec::new();
    rows.extend(best.map(|l| outlook(l, Role::Recommended, "recommended".to_owned())));
    let is = |lane: &&&Lane| best.is_some_and(|b| b.candidate == lane.candidate);
    let second = found
        .iter()
        .find(|l| !is(l) && l.candidate.default.is_empty());
    rows.extend(second.map(|l| outlook(l, Role::RunnerUp, "runner-up".to_owned())));
    for lane in checked.iter().filter(|l| !l.candidate.default.is_empty()) {
        rows.push(outlook(
            lane,
            Role::Default,
            lane.candidate.default.to_owned(),
        ));
    }
    let mut number = 0;
    for lane in &found {
        let is_new = !rows.iter().any(|r| r.candidate == lane.candidate);
        if is_new && place(lane).is_some_and(|i| on_front(&points, i)) {
            number += 1;
            rows.push(outlook(lane, Role::Front, format!("front {number}")));
        }
    }
    let verdicts = verdict::verdicts(&rows, wishes);
    let advised = rows.first().map(|r| r.candidate.clone());
    TargetAdvice {
        target,
        tried: outcome.tried[i],
        lines: advised.map(|c| lines::lines(&c)).unwrap_or_default(),
        limits: rows.first().map(|r| limits(r, wishes)).unwrap_or_default(),
        rows,
        verdicts,
    }
}

/// Whether a default is the target's own, and not one of a standard.
fn is_own(candidate: &Candidate) -> bool {
    let first = super::candidates::baselines(candidate.target)
        .into_iter()
        .next();
    first.is_some_and(|own| own == *candidate)
}

/// Whether the limits hold: the whole interval decides.
fn limits(row: &Outlook, wishes: &Wishes) -> Vec<String> {
    let figures = &row.figures;
    let mut words = Vec::new();
    let mut judge = |what: String, low: f64, high: f64, limit: f64| {
        let held = if high <= limit {
            "holds"
        } else if low > limit {
            "does not hold with any settings that were tried"
        } else {
            "is neither shown to hold nor to be broken: more runs (--within) narrow the interval"
        };
        words.push(format!("{what} {held}"));
    };
    if let Some(limit) = wishes.max_stall_s {
        let found = figures.stall_95th_s;
        judge(
            format!("a stall of at most {:.0} ms in 95 % of deaths", limit * 1e3),
            found.low,
            found.high,
            limit,
        );
    }
    if let Some(limit) = wishes.max_moves_per_hour {
        let found = figures.moves.per_hour;
        judge(
            format!("at most {limit:.3} needless moves an hour"),
            found.low,
            found.high,
            limit,
        );
    }
    if let Some(limit) = wishes.max_cost {
        let found = figures.elsewhere;
        judge(
            format!("at most {:.1} % on other paths", limit * 100.0),
            found.low,
            found.high,
            limit,
        );
    }
    words
}

fn notes(request: &Request, targets: &[TargetAdvice]) -> Vec<String> {
    let mut notes = request.remarks.clone();
    if request.paths.len() == 1 {
        notes.push(
            "There is one path: no redundancy. No setting helps when it dies for good, so it is \
             taken to come back after 10 s. A second path over another network helps more than \
             any setting."
                .to_owned(),
        );
    }
    if request.paths.iter().any(|p| p.forward.rate > FASTEST) {
        notes.push(format!(
            "Paths faster than {FASTEST} are simulated with that rate, which keeps runs short."
        ));
    }
    for (path, jitter) in request.paths.iter().zip(&request.jitter) {
        if !jitter.is_zero() {
            notes.push(format!(
                "{}: its round trip changes twice a second, between its least and {} more.",
                path.name,
                format_duration(*jitter)
            ));
        }
    }
    for advice in targets.iter().filter(|t| t.target != Target::Byway) {
        let cannot = super::candidates::cannot_be(advice.target);
        notes.extend(cannot.map(|why| format!("{} {why}.", advice.target.name())));
        notes.push(format!(
            "{} is simulated by byway's sender of RFC 9260 with the defaults and the knobs of {} \
             alone; it is not that program.",
            advice.target.name(),
            advice.target.name()
        ));
    }
    notes
}

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
use super::rates;
use super::request::Request;
use super::verdict;
use super::weigh::{beyond, per_hour, total};
use super::wishes::Wishes;
use crate::units::format_duration;

/// Points of the Pareto front that the search keeps besides the best.
const FRONT: usize = 4;

/// The samples of the target's own defaults, if they are there.
pub(super) fn own(lanes: &[Lane]) -> Vec<Sample> {
    let own = lanes.iter().find(|l| is_own(&l.candidate));
    own.map(|l| l.samples.clone()).unwrap_or_default()
}

/// Keeps the best so many and a few more points of the Pareto front, the best first; among
/// those that are not shown to be worse than the best, the one with the fewest settings.
/// What is shown to send more slowly than the target's `own` defaults comes after all that
/// is not, unless that breaks the limits of the wishes. Where rates are measured, the own
/// defaults are kept, too: all others are held against them.
pub(super) fn keep(lanes: &mut Vec<Lane>, wishes: &Wishes, count: usize, own: &[Sample]) {
    let is_slower = |lane: &Lane| rates::is_slower(&lane.samples, own);
    let is_any_slower = lanes.iter().any(is_slower);
    let mut ranked: Vec<((bool, bool, Score), Lane)> = lanes
        .drain(..)
        .map(|lane| {
            let breaks = is_any_slower && beyond(&lane.samples, wishes) > 0.0;
            let rank = (breaks, is_slower(&lane), total(&lane.samples, wishes));
            (rank, lane)
        })
        .collect();
    ranked.sort_by(|(a, _), (b, _)| (a.0, a.1).cmp(&(b.0, b.1)).then(a.2.total_cmp(&b.2)));
    let points: Vec<(f64, f64)> = ranked.iter().map(|(_, l)| point(&l.samples)).collect();
    let on_front: Vec<bool> = (0..points.len()).map(|i| on_front(&points, i)).collect();
    let mut more = FRONT;
    for (i, (_, lane)) in ranked.into_iter().enumerate() {
        if i < count || (own.iter().any(|s| s.rate_bytes_s.is_some()) && is_own(&lane.candidate)) {
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
            && is_slower(lane) <= is_slower(best)
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
    let is_slower = |l: &Lane| own.is_some_and(|o| rates::is_slower(&l.samples, &o.samples));
    let is = |lane: &&&Lane| best.is_some_and(|b| b.candidate == lane.candidate);
    let second = found
        .iter()
        .find(|l| !is(l) && l.candidate.default.is_empty() && !is_slower(l));
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
    let verdicts = verdict::verdicts(&rows, own.map_or(&[], |l| &l.samples), wishes);
    let advised = rows.first().map(|r| r.candidate.clone());
    let mut limits = rows.first().map(|r| limits(r, wishes)).unwrap_or_default();
    limits.extend(
        best.filter(|b| is_slower(b))
            .map(|_| rates::recommended_although()),
    );
    TargetAdvice {
        target,
        tried: outcome.tried[i],
        lines: advised.map(|c| lines::lines(&c)).unwrap_or_default(),
        limits,
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

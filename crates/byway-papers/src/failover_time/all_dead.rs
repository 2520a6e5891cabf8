//! When every path is dead: the loss of the association and the dormant state.

use super::frame::{Frame, answer, milestone, pmr};
use super::model::{Answer, Case, Goal, Mechanism, Milestone};
use super::simulated::Death;
use super::timeline::{Sum, Waiting, longest_period, rto_after, soonest_loss};
use super::words::{count, seconds};
use byway_core::config::Dormant;
use std::time::Duration;

/// A typical case that was simulated, because there is no plain sum.
fn simulated(seconds_s: Option<f64>) -> Answer {
    Answer {
        case: Case::Typical,
        seconds_s,
        steps: Sum::default(),
        sum: seconds_s.map_or("none".to_owned(), |s| {
            format!("about {} (simulated)", words_of(s))
        }),
    }
}

fn words_of(seconds_s: f64) -> String {
    seconds(Duration::try_from_secs_f64(seconds_s.round()).unwrap_or(Duration::MAX))
}

/// AMR (RFC 9260 section 8.1).
pub(super) fn association(frame: &Frame<'_>, death: Death) -> Mechanism {
    let cfg = frame.config;
    let amr = cfg.failure.association_max_retrans;
    let errors = amr.saturating_add(1);
    let best = soonest_loss(cfg, cfg.rto.min);
    let worst = Sum::default().and(errors, cfg.rto.max, Waiting::T3);
    let mut cases = vec![answer(Case::Best, Some(best))];
    cases.extend(death.lost_s.map(|s| simulated(Some(s))));
    cases.push(answer(Case::Worst, Some(worst)));
    let why = format!(
        "Errors of all paths add up; the {}. Best: T3 and heartbeats of two paths count \
         side by side, and no run can be faster. Worst: T3 alone, each at RTO.Max.",
        if errors == 1 {
            "first ends the association".to_owned()
        } else {
            format!("association ends with error {errors}")
        }
    );
    let about = match death.lost_s {
        Some(_) => {
            "When all paths die, errors count for the association as well; when they exceed \
             AMR, it is lost. Typical: two paths die at once, a small message every 100 ms."
        }
        None => {
            "When all paths die, errors count for the association as well; when they exceed \
             AMR, it is lost."
        }
    };
    Mechanism {
        id: "association",
        title: format!("The peer is gone (Association.Max.Retrans {amr})"),
        on: true,
        about: about.to_owned(),
        milestones: vec![milestone(Goal::Lost, cases, why)],
    }
}

/// caro-2006 section III.6; RFC 7829 section 4.
pub(super) fn dormant(frame: &Frame<'_>, death: Death) -> Mechanism {
    let cfg = frame.config;
    let (rule, where_to) = match cfg.failover.dormant {
        Dormant::LeastErrors => ("LeastErrors", "the path with the fewest errors"),
        Dormant::Hop => ("Hop", "the next path after each timeout"),
        Dormant::Primary => ("Primary", "the primary"),
        Dormant::Last => ("Last", "the path that was active last"),
    };
    let mut milestones = Vec::new();
    let entered = death.inactive_s;
    milestones.extend(entered.map(|s| {
        let why = "All paths are inactive: the dormant state begins.";
        milestone(Goal::Inactive, vec![simulated(Some(s))], why)
    }));
    milestones.push(return_of_a_path(frame));
    let short = match (death.inactive_s, death.lost_s) {
        (None, Some(_)) => {
            " With these settings and two paths that die at once, the association is lost before."
        }
        _ => "",
    };
    Mechanism {
        id: "dormant",
        title: format!("All paths inactive (dormant state, {rule})"),
        on: true,
        about: format!(
            "While every path is inactive, data is tried on {where_to}, until a path \
             answers or the association is lost.{short}"
        ),
        milestones,
    }
}

/// How long data waits once one of the dead paths works again.
fn return_of_a_path(frame: &Frame<'_>) -> Milestone {
    let cfg = frame.config;
    let reached = rto_after(cfg, frame.rto, pmr(cfg).saturating_add(1));
    let way = |sum: Sum| sum.and(1, frame.way(), Waiting::Way);
    let by_heartbeat = Sum::of(cfg.rto.max, Waiting::Heartbeat)
        .and(1, longest_period(cfg), Waiting::Period)
        .and(1, frame.rtt, Waiting::Heartbeat);
    let worst = match cfg.failover.dormant {
        Dormant::Hop => Some(way(Sum::default().and(2, cfg.rto.max, Waiting::T3))),
        _ if cfg.hb.enabled => Some(way(by_heartbeat)),
        _ => None,
    };
    let why = format!(
        "Counted from the return of a path. Best: T3-rtx expires just then. Typical: half \
         of the RTO, which {} have raised to {}. Worst: {}.",
        count(pmr(cfg).saturating_add(1), "error", "errors"),
        seconds(reached),
        match (cfg.failover.dormant, cfg.hb.enabled) {
            (Dormant::Hop, _) => "two timeouts, the first on the other path",
            (_, true) => {
                "data stays on the other path, a heartbeat has just been lost, and the next \
                 one is far"
            }
            (_, false) => "data stays on the other path, and heartbeats are off",
        }
    );
    let cases = vec![
        answer(Case::Best, Some(way(Sum::default()))),
        answer(Case::Typical, Some(way(Sum::of(reached / 2, Waiting::T3)))),
        answer(Case::Worst, worst),
    ];
    milestone(Goal::Stall, cases, why)
}

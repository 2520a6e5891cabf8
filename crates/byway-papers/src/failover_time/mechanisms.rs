//! Each mechanism of a configuration: what it does and how long it takes.

use super::all_dead::{association, dormant};
use super::frame::{Frame, answer, milestone, pmr};
use super::model::{Answer, Case, Goal, Mechanism, Milestone};
use super::simulated::both_die;
use super::timeline::{Luck, Sum, Waiting, course, idle_course, pause, suspicion};
use super::words::{count, seconds};
use byway_core::Config;
use byway_core::config::PathMaxRetransTest;
use byway_core::policy::{AfterRto, Detection, RetransmitTarget};
use byway_dialect_ns2::Settings;

/// All mechanisms together, for a path that carries data.
pub(super) fn together(frame: &Frame<'_>) -> Vec<Milestone> {
    let cfg = frame.config;
    let of = |luck: Luck| course(cfg, luck);
    vec![
        milestone(Goal::Suspect, frame.cases(|l| of(l).suspect), ""),
        milestone(Goal::Inactive, frame.cases(|l| of(l).inactive), ""),
        milestone(Goal::Moved, frame.cases(|l| Some(of(l).moved)), ""),
        stall(frame, cfg),
    ]
}

/// The stall under `cfg`, which may have fewer mechanisms than the frame's.
fn stall(frame: &Frame<'_>, cfg: &Config) -> Milestone {
    let cases = frame.cases(|l| Some(pause(cfg, &course(cfg, l), frame.way())));
    milestone(Goal::Stall, cases, stall_words(cfg))
}

fn stall_words(cfg: &Config) -> &'static str {
    if cfg.failover.probe_timeout.is_some() {
        return "";
    }
    let timeouts = match suspicion(cfg) {
        Some(n) => n.saturating_add(1),
        None => pmr(cfg).saturating_add(1),
    };
    if timeouts == 1 {
        "Nothing arrives until the timeout; then all that was lost is sent on the \
         other path, and new data too."
    } else if cfg.retransmission.target == RetransmitTarget::AllRtxSame {
        "Lost data is repeated on the path that lost it (AllRtxSame), so nothing \
         arrives until the data moves."
    } else {
        "Each timeout sends the lost data on the other path, but new data tries the \
         dead one again and waits for the next, longer timeout: little is delivered \
         until the data moves. This is the longest pause."
    }
}

/// The settings without the probe timeout, which would come before all else.
fn without_probe_timeout(cfg: &Settings) -> Settings {
    let mut cfg = cfg.clone();
    cfg.failover.probe_timeout = None;
    cfg
}

/// The frame's settings replaced.
fn under<'a>(frame: &Frame<'_>, config: &'a Settings) -> Frame<'a> {
    Frame {
        config,
        rtt: frame.rtt,
        rto: frame.rto,
    }
}

/// All mechanisms, each by itself.
pub(super) fn all(frame: &Frame<'_>) -> Vec<Mechanism> {
    let death = both_die(frame);
    let plain = without_probe_timeout(frame.config);
    let plain = under(frame, &plain);
    vec![
        error_count(&plain),
        potentially_failed(&plain),
        probe_timeout(frame),
        probing(&plain),
        idle_heartbeats(frame),
        association(frame, death),
        dormant(frame, death),
    ]
}

/// PMR (RFC 9260 section 8.2; caro-2006 section II).
fn error_count(frame: &Frame<'_>) -> Mechanism {
    let cfg = frame.config;
    let mut alone = cfg.clone();
    alone.failover.potentially_failed = None;
    alone.failure.detection = Detection::ErrorCount;
    let mut stall = stall(frame, &alone);
    if suspicion(cfg).is_some() || probes(cfg) {
        stall.why = format!("If this alone moved the data: {}", lower(&stall.why));
    }
    let inactive = milestone(
        Goal::Inactive,
        inactive_by_errors(frame),
        error_count_words(frame),
    );
    Mechanism {
        id: "error_count",
        title: format!("Error counting (Path.Max.Retrans {})", pmr(cfg)),
        on: true,
        about: "Each timeout on a path adds an error; any acknowledgement from it sets \
                the count to 0. The path is inactive when the count exceeds PMR."
            .to_owned(),
        milestones: vec![inactive, stall],
    }
}

fn probes(cfg: &Config) -> bool {
    cfg.failure.detection != Detection::ErrorCount
}

/// When the count of errors makes the path inactive, in each case; none if the
/// probing detector does so.
fn inactive_by_errors(frame: &Frame<'_>) -> Vec<Answer> {
    let cfg = frame.config;
    let mut counting = cfg.clone();
    if suspicion(cfg).is_none() {
        counting.failure.detection = Detection::ErrorCount;
    }
    frame.cases(|l| {
        let by_probing = |s: &Sum| s.steps().iter().any(|s| s.waiting == Waiting::Dmax);
        let inactive = course(&counting, l).inactive;
        inactive.filter(|s| !by_probing(s))
    })
}

/// How the errors come to exceed PMR.
fn error_count_words(frame: &Frame<'_>) -> String {
    let cfg = frame.config;
    let errors = pmr(cfg).saturating_add(1);
    let mut why = format!(
        "T3 begins at the RTO and doubles with each timeout, up to RTO.Max ({}). \
         {} {} PMR {}.",
        seconds(cfg.rto.max),
        count(errors, "error", "errors"),
        if errors == 1 { "exceeds" } else { "exceed" },
        pmr(cfg)
    );
    if suspicion(cfg).is_some() && probes(cfg) {
        why = "A suspect path carries no data, and while the probing detector probes a path \
               its lost heartbeats do not count."
            .to_owned();
    } else if suspicion(cfg).is_some() && !cfg.hb.enabled {
        why = "A suspect path carries no data, and heartbeats are off, so there is \
               nothing to count."
            .to_owned();
    } else if suspicion(cfg).is_some() {
        why.push_str(
            " A suspect path carries no data; unanswered heartbeats keep counting, with the same doubling.",
        );
    } else if cfg.retransmission.after_rto == AfterRto::Heartbeat {
        why.push_str(" The heartbeat after each timeout counts errors, too.");
    }
    if cfg.failure.heartbeat_test == PathMaxRetransTest::Reaches && suspicion(cfg).is_some() {
        why.push_str(" For heartbeats it is enough to reach PMR.");
    }
    if !frame.luck(Case::Typical).sack.is_zero() {
        why.push_str(
            " New data tries the dead path again only when a SACK has come over the other: \
             typically a round trip and a delayed SACK for each timeout but the first.",
        );
    }
    why
}

/// The sentence with a small first letter.
fn lower(sentence: &str) -> String {
    let mut chars = sentence.chars();
    chars
        .next()
        .map_or(String::new(), |c| c.to_lowercase().chain(chars).collect())
}

fn off(id: &'static str, title: &str, about: &str) -> Mechanism {
    Mechanism {
        id,
        title: title.to_owned(),
        on: false,
        about: about.to_owned(),
        milestones: Vec::new(),
    }
}

/// RFC 7829.
fn potentially_failed(frame: &Frame<'_>) -> Mechanism {
    let cfg = frame.config;
    let (id, title) = ("potentially_failed", "Potentially failed (RFC 7829)");
    let Some(limit) = suspicion(cfg) else {
        let about = match cfg.failover.potentially_failed {
            None => "Off: data leaves a path only when it is inactive.",
            Some(_) => {
                "Without effect: its PFMR equals PMR, so a path is inactive before it is suspect."
            }
        };
        return off(id, title, about);
    };
    let errors = limit.saturating_add(1);
    let mut alone = cfg.clone();
    alone.failure.detection = Detection::ErrorCount;
    let why = format!(
        "{} more than PFMR ({limit}) allows: PFMR + 1 = {errors}.",
        if errors == 1 {
            "One error is"
        } else {
            "These errors are"
        }
    );
    Mechanism {
        id,
        title: format!("{title}, PFMR {limit}"),
        on: true,
        about: "After a few errors a path is suspect: data goes elsewhere at once, and \
                heartbeats find out whether the path is dead. A false alarm ends with \
                the answer to a heartbeat."
            .to_owned(),
        milestones: vec![
            milestone(
                Goal::Suspect,
                frame.cases(|l| course(&alone, l).suspect),
                why,
            ),
            milestone(
                Goal::Inactive,
                frame.cases(|l| course(cfg, l).inactive),
                "Left to error counting or the probing detector; the data has moved before.",
            ),
            stall(frame, &alone),
        ],
    }
}

/// byway's own: an acknowledgement overdue by the path's round trips.
fn probe_timeout(frame: &Frame<'_>) -> Mechanism {
    let cfg = frame.config;
    let (id, title) = ("probe_timeout", "Probe timeout (byway's own)");
    let Some(rule) = &cfg.failover.probe_timeout else {
        return off(id, title, "Off (failover.probe_timeout).");
    };
    let about = format!(
        "A path is suspect when an acknowledgement is overdue by the path's own round \
         trips, without waiting for RTO.Min: a heartbeat asks it, and data moves. What \
         nothing follows asks for its SACK at once; that of another single packet may take \
         {} longer, as the peer may hold it back.",
        seconds(rule.ack_delay)
    );
    let why = "Best: the round trip is steady. Typical: it was measured once, so its variance \
               counts as half of it. Worst: the round trip was never measured, and T3 decides, \
               as it does wherever it is sooner.";
    Mechanism {
        id,
        title: title.to_owned(),
        on: true,
        about,
        milestones: vec![
            milestone(Goal::Suspect, frame.cases(|l| course(cfg, l).suspect), why),
            milestone(
                Goal::Inactive,
                frame.cases(|l| course(cfg, l).inactive),
                "Unanswered heartbeats count, their wait doubling from the RTO.",
            ),
            milestone(
                Goal::Stall,
                frame.cases(|l| Some(pause(cfg, &course(cfg, l), frame.way()))),
                "The oldest lost packet leaves at once on the other path, the rest when the \
                 heartbeat is overdue, too, as long again.",
            ),
        ],
    }
}

/// cortes-2008.
fn probing(frame: &Frame<'_>) -> Mechanism {
    let cfg = frame.config;
    let (id, title) = ("probing", "Probing detector (Dmax/n, cortes-2008)");
    let Detection::Probing(p) = cfg.failure.detection else {
        return off(id, title, "Off (failure.detection is ErrorCount).");
    };
    let mut alone = cfg.clone();
    alone.failover.potentially_failed = None;
    let dmax = |l: Luck| Sum::of(l.rto, Waiting::T3).and(1, p.dmax, Waiting::Dmax);
    let about = format!(
        "From the first timeout on, a heartbeat leaves every Dmax/n = {} / {} = {}. Any \
         answer ends the probing; without one within Dmax the path is inactive.",
        seconds(p.dmax),
        p.n,
        seconds(p.interval())
    );
    let why = format!(
        "One timeout, then Dmax. The paper counts from the first timeout: {}.",
        seconds(p.dmax)
    );
    let mut stall = stall(frame, &alone);
    if suspicion(cfg).is_some() {
        stall.why = "Without the potentially failed state; with it, see there.".to_owned();
    }
    Mechanism {
        id,
        title: title.to_owned(),
        on: true,
        about,
        milestones: vec![
            milestone(Goal::Inactive, frame.cases(|l| Some(dmax(l))), why),
            stall,
        ],
    }
}

/// Heartbeats where no data goes (RFC 9260 section 8.3).
fn idle_heartbeats(frame: &Frame<'_>) -> Mechanism {
    let cfg = frame.config;
    let (id, title) = ("idle_heartbeats", "Heartbeats on an idle path");
    if !cfg.hb.enabled {
        let about = "Off: the death of a path without data goes unnoticed.";
        return off(id, title, about);
    }
    let about = format!(
        "A path without data is tried by a heartbeat about every {} (HB.interval) plus \
         its RTO. Best case: one leaves just as the path dies. The RTO of a path that \
         has not answered any heartbeat yet is RTO.Initial ({}).",
        seconds(cfg.hb.interval),
        seconds(cfg.rto.initial)
    );
    let why = if suspicion(cfg).is_some() {
        "The wait for the next heartbeat, then one RTO for each unanswered one, doubling; \
         a suspect path is tried again at once."
    } else {
        "Each heartbeat waits for its turn (the periods), then one RTO for its answer, \
         doubling."
    };
    let none = [Case::Best, Case::Typical, Case::Worst].map(|c| answer(c, Some(Sum::default())));
    Mechanism {
        id,
        title: title.to_owned(),
        on: true,
        about,
        milestones: vec![
            milestone(Goal::Suspect, frame.cases(|l| idle_course(cfg, l).0), ""),
            milestone(Goal::Inactive, frame.cases(|l| idle_course(cfg, l).1), why),
            milestone(Goal::Stall, none.to_vec(), "No data waits there."),
        ],
    }
}

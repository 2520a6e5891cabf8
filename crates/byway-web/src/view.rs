//! What the page shows in numbers and words.

use crate::lane::{Lane, PathTrace};
use crate::packets::nanos;
use byway_lab::result::{Outcome, PathCondition};
use byway_lab::scenario::{Change, LossSpec, Policy, Scenario, Traffic};
use byway_lab::units::format_duration;
use serde::Serialize;
use std::time::Duration;

/// What the page shows in numbers and words.
#[derive(Serialize)]
pub(crate) struct View {
    name: String,
    description: String,
    /// A text: it may have more digits than a number of JavaScript.
    seed: String,
    now: f64,
    limit: f64,
    over: bool,
    total_bytes: u64,
    paths: Vec<PathView>,
    events: Vec<EventView>,
    lanes: Vec<LaneView>,
    #[serde(flatten)]
    choice: Choice,
}

/// What the visitor can choose.
#[derive(Serialize)]
pub(crate) struct Choice {
    /// Names of all policies.
    pub(crate) policies: Vec<String>,
    /// How many policies the scene had when it was opened.
    pub(crate) own: usize,
    /// Whether there is a change to take back.
    pub(crate) undo: bool,
}

/// A path, as the scenario has it at the moment.
#[derive(Serialize)]
struct PathView {
    name: String,
    up: bool,
    rate: String,
    rate_bit_s: u64,
    delay: String,
    delay_s: f64,
    loss: String,
    /// Percent; none if it is no plain share.
    loss_percent: Option<f64>,
}

#[derive(Serialize)]
struct EventView {
    at: f64,
    path: usize,
    words: String,
    /// 0: fails; 1: carries again; 2: changes.
    kind: u8,
}

#[derive(Serialize)]
struct LaneView {
    policy: String,
    note: String,
    association: &'static str,
    outcome: Option<Outcome>,
    /// When its run ended, seconds.
    end: Option<f64>,
    transfer: Option<f64>,
    read_bytes: u64,
    /// How long the reader has waited, seconds; none before the first data and after the last.
    waiting: Option<f64>,
    /// The longest stall so far: from when and how long, seconds.
    longest: Option<[f64; 2]>,
    failovers: u64,
    /// Those that the command counts as spurious; none before the run is over.
    spurious_failovers: Option<u64>,
    retransmissions: u64,
    data_path: usize,
    /// New data goes to all active paths.
    concurrent: bool,
    paths: Vec<LanePath>,
}

#[derive(Serialize)]
struct LanePath {
    state: PathCondition,
    cwnd: u32,
    flight: u32,
    rto: f64,
    errors: u32,
    timeouts: u64,
    /// How often it became inactive.
    given_up: u64,
    states: Vec<(f64, PathCondition)>,
    fired: Vec<f64>,
}

impl View {
    pub(crate) fn new(
        scenario: &Scenario,
        lanes: &[Lane],
        now: Duration,
        moment: Duration,
        choice: Choice,
    ) -> View {
        let total_bytes = total(&scenario.traffic);
        let views = lanes.iter().zip(&scenario.policies);
        View {
            name: scenario.name.clone(),
            description: scenario.description.clone(),
            seed: scenario.seed.to_string(),
            now: now.as_secs_f64(),
            limit: scenario.limit.as_secs_f64(),
            over: lanes.iter().all(|l| l.result.is_some()),
            total_bytes,
            paths: paths(scenario, moment),
            events: scenario.events.iter().map(event).collect(),
            lanes: views
                .map(|(lane, policy)| LaneView::new(lane, policy, nanos(now), total_bytes))
                .collect(),
            choice,
        }
    }
}

fn total(traffic: &Traffic) -> u64 {
    match traffic {
        Traffic::Bulk { size, .. } => size.0,
        Traffic::Periodic { message, count, .. } => message.0.saturating_mul(*count),
    }
}

fn event(e: &byway_lab::scenario::EventSpec) -> EventView {
    EventView {
        at: e.at.as_secs_f64(),
        path: e.path,
        words: e.change.words(),
        kind: match e.change {
            Change::Down => 0,
            Change::Up => 1,
            Change::Set { .. } => 2,
        },
    }
}

fn paths(scenario: &Scenario, moment: Duration) -> Vec<PathView> {
    let mut views: Vec<PathView> = scenario
        .paths
        .iter()
        .map(|p| PathView {
            name: p.name.clone(),
            up: true,
            rate: p.forward.rate.to_string(),
            rate_bit_s: p.forward.rate.0,
            delay: format_duration(p.forward.delay),
            delay_s: p.forward.delay.as_secs_f64(),
            loss: loss_words(&p.forward.loss),
            loss_percent: percent(&p.forward.loss),
        })
        .collect();
    for event in scenario.events.iter().take_while(|e| e.at <= moment) {
        let view = &mut views[event.path];
        match &event.change {
            Change::Down => view.up = false,
            Change::Up => view.up = true,
            Change::Set { rate, delay, loss } if event.direction.forward() => {
                if let Some(rate) = rate {
                    (view.rate, view.rate_bit_s) = (rate.to_string(), rate.0);
                }
                if let Some(delay) = delay {
                    (view.delay, view.delay_s) = (format_duration(*delay), delay.as_secs_f64());
                }
                if let Some(loss) = loss {
                    (view.loss, view.loss_percent) = (loss_words(loss), percent(loss));
                }
            }
            Change::Set { .. } => {}
        }
    }
    views
}

fn percent(loss: &LossSpec) -> Option<f64> {
    match loss {
        LossSpec::Nothing => Some(0.0),
        LossSpec::Random(share) => Some(share.0 * 100.0),
        _ => None,
    }
}

fn loss_words(loss: &LossSpec) -> String {
    match loss {
        LossSpec::Nothing => "0 %".to_owned(),
        LossSpec::Random(share) => share.to_string(),
        LossSpec::Burst { .. } => "in bursts".to_owned(),
        LossSpec::List { .. } => "listed packets".to_owned(),
        LossSpec::LargerThan(size) => format!("packets over {size}"),
    }
}

impl LaneView {
    fn new(lane: &Lane, policy: &Policy, now: u64, total: u64) -> LaneView {
        let trace = &lane.trace;
        let seconds = |ns: u64| ns as f64 / 1e9;
        // When it is over, nobody waits any longer.
        let end = lane.result.as_ref().map(|r| r.end_s);
        let now = end.map_or(now, |e| now.min((e * 1e9) as u64));
        let unread = trace.read_bytes < total;
        let since = trace.last_read.or(trace.first_data).filter(|_| unread);
        let waiting = since.map(|from| now.saturating_sub(from));
        let longest = match (trace.longest, since.zip(waiting)) {
            (Some(past), Some(present)) if present.1 > past.1 => Some(present),
            (past, present) => past.or(present),
        };
        LaneView {
            policy: policy.name.clone(),
            note: policy.note.clone(),
            association: trace.association,
            outcome: lane.result.as_ref().map(|r| r.outcome.clone()),
            end,
            transfer: lane.result.as_ref().and_then(|r| r.transfer_s),
            read_bytes: trace.read_bytes,
            waiting: waiting.map(seconds),
            longest: longest.map(|(from, length)| [seconds(from), seconds(length)]),
            failovers: trace.failovers,
            spurious_failovers: lane.result.as_ref().map(|r| r.spurious_failovers),
            retransmissions: trace.retransmissions,
            data_path: trace.data_path,
            concurrent: policy.config.core.concurrent.is_some(),
            paths: trace.paths.iter().map(LanePath::new).collect(),
        }
    }
}

impl LanePath {
    fn new(path: &PathTrace) -> LanePath {
        let states = path.states.iter();
        LanePath {
            state: path.state,
            cwnd: path.cwnd,
            flight: path.flight,
            rto: path.rto_s,
            errors: path.errors,
            timeouts: path.timeouts,
            given_up: path.given_up,
            states: states.map(|(at, s)| (*at as f64 / 1e9, *s)).collect(),
            fired: path.fired.iter().map(|at| *at as f64 / 1e9).collect(),
        }
    }
}

//! The death of both paths, simulated: their errors interlock, so no sum of
//! timers says when the association is given up.

use super::frame::Frame;
use byway_lab::result::Outcome;
use byway_lab::run::{RunOptions, run};
use byway_lab::scenario::Scenario;
use std::time::Duration;

/// When the paths die in the run.
const DEATH_S: f64 = 5.0;
/// The longest that is simulated.
const LIMIT_S: f64 = 1800.0;
/// More errors than these are not simulated.
const MOST_ERRORS: u32 = 1000;

/// What became of an association whose two paths die at once.
#[derive(Copy, Clone, Debug, Default, PartialEq)]
pub(super) struct Death {
    /// Seconds until both paths are inactive.
    pub(super) inactive_s: Option<f64>,
    /// Seconds until the association is lost.
    pub(super) lost_s: Option<f64>,
}

const NETWORK: &str = "limit = \"1 h\"\n\
    [[path]]\nrate = \"10 Mbit/s\"\ndelay = \"45 ms\"\n\
    [[path]]\nrate = \"10 Mbit/s\"\ndelay = \"45 ms\"\n\
    [[event]]\nat = \"5 s\"\npath = 1\ndo = \"down\"\n\
    [[event]]\nat = \"5 s\"\npath = 2\ndo = \"down\"\n\
    [traffic]\nkind = \"periodic\"\nmessage = \"40 B\"\nevery = \"100 ms\"\ncount = 36000\n";

/// Two paths of the frame's round trip, a message of 40 bytes each 100 ms.
/// Nothing when that would take too long to simulate.
pub(super) fn both_die(frame: &Frame<'_>) -> Death {
    let slow = Duration::from_millis(10);
    let limits = &frame.config.failure;
    let too_long = limits.association_max_retrans.max(limits.path_max_retrans) > MOST_ERRORS
        || frame.config.rto.max < slow
        || frame.rtt > Duration::from_secs(1);
    let Some(mut scenario) = Scenario::parse("both paths die", NETWORK)
        .ok()
        .filter(|_| !too_long)
    else {
        return Death::default();
    };
    scenario.limit = Duration::from_secs_f64(LIMIT_S);
    for path in &mut scenario.paths {
        path.forward.delay = frame.way();
        path.reverse.delay = frame.way();
    }
    for policy in &mut scenario.policies {
        policy.config = frame.config.clone();
        // The RTO of the typical case, also where it was given.
        policy.config.rto.min = frame.rto;
        policy.config.rto.initial = frame.rto.max(policy.config.rto.initial);
    }
    let Ok(comparison) = run(&scenario, RunOptions::default()) else {
        return Death::default();
    };
    let Some(result) = comparison.results.first() else {
        return Death::default();
    };
    let both: Option<Vec<f64>> = result
        .detections
        .iter()
        .map(|d| d.inactive_after_s)
        .collect();
    let lost = matches!(result.outcome, Outcome::Lost { .. }) && result.end_s > DEATH_S;
    Death {
        inactive_s: both.map(|times| times.into_iter().fold(0.0, f64::max)),
        lost_s: lost.then_some(result.end_s - DEATH_S),
    }
}

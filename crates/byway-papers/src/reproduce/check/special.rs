//! Checks that no table of runs can show: each a piece of code with a name.

use super::blocked;
use super::finding::Finding;
use crate::failover_time::{Case, Goal, Question, failover_time};
use crate::reproduce::cells::Cells;
use byway_core::Config;
use byway_core::policy::RetransmitTarget;
use serde::Deserialize;
use std::time::Duration;

/// A check by name.
#[derive(Clone, Debug, Deserialize)]
pub struct Special {
    /// Which.
    name: Name,
}

/// The special checks.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Name {
    /// What PMR 0 sends while PMR 1 waits (caro-2006 section III.7).
    PacketsWhileBlocked,
    /// Failure detection times computed from the timers (caro-2006 section II).
    DetectionTimes,
}

impl Special {
    /// The measure that it takes from its study, if it has one.
    #[must_use]
    pub fn measure(&self) -> Option<&str> {
        match self.name {
            Name::PacketsWhileBlocked => Some(blocked::MEASURE),
            Name::DetectionTimes => None,
        }
    }

    /// Looks.
    #[must_use]
    pub fn evaluate(&self, cells: Option<&Cells>) -> Option<Finding> {
        Some(match self.name {
            Name::PacketsWhileBlocked => blocked::evaluate(cells?)?,
            Name::DetectionTimes => detection_times(),
        })
    }
}

/// Best and worst detection time for PMR 5, best for PMR 3 and 6.
fn detection_times() -> Finding {
    let mut words = Vec::new();
    let mut holds = true;
    for (pmr, case, expected) in [
        (5, Case::Best, 63.0),
        (5, Case::Worst, 360.0),
        (3, Case::Best, 15.0),
        (6, Case::Best, 123.0),
    ] {
        let found = detection(pmr, case);
        holds &= found == Some(expected);
        let time = found.map_or("never".to_owned(), |t| format!("{t} s"));
        words.push(format!("PMR {pmr}, {} case: {time}", case.name()));
    }
    Finding {
        text: words.join("; "),
        holds,
        detail: Some("computed by byway failover-time, no chance in it".to_owned()),
    }
}

fn detection(pmr: u32, case: Case) -> Option<f64> {
    let mut config = Config::rfc2960();
    config.failure.path_max_retrans = pmr;
    // As the paper computes them: each timeout follows the one before at once.
    config.retransmission.target = RetransmitTarget::AllRtxSame;
    let found = failover_time(&Question {
        name: String::new(),
        config: config.into(),
        rtt: Duration::from_millis(90),
        rto: None,
    })
    .ok()?;
    let goal = found.together.iter().find(|m| m.goal == Goal::Inactive)?;
    goal.cases.iter().find(|a| a.case == case)?.seconds_s
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_paper_s_sums() {
        let found = detection_times();
        assert!(found.holds, "{found:?}");
    }
}

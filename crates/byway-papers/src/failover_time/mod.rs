//! How long failure detection and the stall last, reckoned from the settings
//! (`byway failover-time`).
//!
//! Nothing is sent: the timers of RFC 9260 (sections 6.3 and 8), RFC 7829 and
//! the probing detector of cortes-2008 are added up, as caro-2006 section II
//! does for 63 s and 360 s. Two numbers have no plain sum, because the errors of
//! two dead paths interlock; these come from a small simulated run.

mod advice;
mod all_dead;
mod mechanisms;
mod simulated;
mod timeline;
mod words;

pub use timeline::{Step, Sum, Waiting};
pub use words::render;

use byway_core::Config;
use byway_core::policy::RetransmitTarget;
use byway_dialect_ns2::Settings;
use serde::Serialize;
use std::time::Duration;
use timeline::Luck;

/// The form of the JSON; changes when a field is renamed, removed or changes
/// its meaning.
pub const SCHEMA: &str = "byway.failover-time/1";

/// The longest round trip that is reckoned with.
const LONGEST: Duration = Duration::from_secs(3600);

/// What is asked.
#[derive(Clone, Debug, PartialEq)]
pub struct Question {
    /// What the settings are called, for the heading.
    pub name: String,
    /// The settings.
    pub config: Settings,
    /// Round-trip time of each path.
    pub rtt: Duration,
    /// The RTO when the path dies; without it, what `rtt` gives.
    pub rto: Option<Duration>,
}

/// A question that has no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QuestionError {
    /// The settings cannot work.
    #[error(transparent)]
    Config(#[from] byway_core::ConfigError),
    /// No path is that slow, or that fast.
    #[error("--rtt {0}: a round trip takes more than nothing and at most 1 h, such as \"90 ms\"")]
    Rtt(String),
    /// An RTO that the settings rule out.
    #[error("--rto {rto}: lies outside of rto.min ({min}) to rto.max ({max})")]
    Rto {
        /// What was asked for.
        rto: String,
        /// RTO.Min.
        min: String,
        /// RTO.Max.
        max: String,
    },
}

/// Which of the three.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Case {
    /// The RTO begins at RTO.Min, chance is kind.
    Best,
    /// The RTO is what the round trip gives.
    Typical,
    /// The RTO begins at RTO.Max, chance is unkind.
    Worst,
}

impl Case {
    /// Its name in lower case.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Case::Best => "best",
            Case::Typical => "typical",
            Case::Worst => "worst",
        }
    }
}

/// What is waited for.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Goal {
    /// The sender doubts the path (potentially failed).
    Suspect,
    /// The sender has given the path up.
    Inactive,
    /// New data takes the other path.
    Moved,
    /// The longest pause in delivery until data flows on the other path.
    Stall,
    /// The association is lost.
    Lost,
}

impl Goal {
    /// A word for tables.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Goal::Suspect => "suspect",
            Goal::Inactive => "inactive",
            Goal::Moved => "data moved",
            Goal::Stall => "stall",
            Goal::Lost => "lost",
        }
    }
}

/// One number.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Answer {
    /// Which case.
    pub case: Case,
    /// Seconds; none when it never comes.
    pub seconds_s: Option<f64>,
    /// The waits that add up to it; empty when there is no plain sum.
    pub steps: Sum,
    /// The same in words: "1 + 2 + 4 (T3) = 7 s".
    pub sum: String,
}

/// When something is reached.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Milestone {
    /// What.
    pub goal: Goal,
    /// The cases, best first.
    pub cases: Vec<Answer>,
    /// Why, in a sentence or two.
    pub why: String,
}

/// A mechanism of the configuration.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Mechanism {
    /// A short name that stays the same.
    pub id: &'static str,
    /// What it is called.
    pub title: String,
    /// Whether the settings use it.
    pub on: bool,
    /// How it works, in plain words.
    pub about: String,
    /// What it reaches when.
    pub milestones: Vec<Milestone>,
}

/// The answer to a [`Question`].
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FailoverTime {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// What the settings are called.
    pub name: String,
    /// Round trip, seconds.
    pub rtt_s: f64,
    /// The RTO of the best, the typical and the worst case, seconds.
    pub rto_s: [f64; 3],
    /// Where the typical RTO comes from.
    pub rto_why: String,
    /// RTO.Initial, seconds: the RTO of a path without any sample yet.
    pub rto_initial_s: f64,
    /// All mechanisms together, for a path that carries data.
    pub together: Vec<Milestone>,
    /// Each mechanism by itself.
    pub mechanisms: Vec<Mechanism>,
    /// What follows from the numbers.
    pub advice: Vec<String>,
}

/// A question that was found right, with what all parts need.
pub(crate) struct Frame<'a> {
    config: &'a Settings,
    rtt: Duration,
    /// The RTO of the typical case.
    rto: Duration,
}

impl Frame<'_> {
    /// One way of the other path.
    fn way(&self) -> Duration {
        self.rtt / 2
    }

    fn luck(&self, case: Case) -> Luck {
        let cfg = self.config;
        let same = cfg.retransmission.target == RetransmitTarget::AllRtxSame;
        let waits = !same && !cfg.retransmission.new_data_at_rto;
        // Steady round trips, or a single sample, whose variance is half of it.
        let overdue = |variance: Duration| {
            let rule = cfg.failover.probe_timeout.as_ref()?;
            Some(rule.acknowledgement(self.rtt, variance, true))
        };
        match case {
            Case::Best => Luck {
                rto: cfg.rto.min,
                spread: 0.5,
                phase: 0.0,
                sack: Duration::ZERO,
                overdue: overdue(Duration::ZERO),
            },
            Case::Typical => Luck {
                rto: self.rto,
                spread: 1.0,
                phase: 0.5,
                sack: if waits {
                    self.rtt.saturating_add(cfg.sack.delay)
                } else {
                    Duration::ZERO
                },
                overdue: overdue(self.rtt / 2),
            },
            Case::Worst => Luck {
                rto: cfg.rto.max,
                spread: 1.5,
                phase: 1.0,
                sack: Duration::ZERO,
                overdue: None,
            },
        }
    }

    /// The three cases of `f`.
    fn cases(&self, f: impl Fn(Luck) -> Option<Sum>) -> Vec<Answer> {
        [Case::Best, Case::Typical, Case::Worst]
            .into_iter()
            .map(|case| answer(case, f(self.luck(case))))
            .collect()
    }
}

fn answer(case: Case, steps: Option<Sum>) -> Answer {
    Answer {
        case,
        seconds_s: steps.as_ref().map(|s| s.total().as_secs_f64()),
        sum: steps.as_ref().map_or("never".to_owned(), words::sum),
        steps: steps.unwrap_or_default(),
    }
}

/// The RTO that a steady round trip gives: that of the first sample (RFC 9260
/// section 6.3.1, C2). Later samples lower it towards the round trip.
fn rto_of(cfg: &Config, rtt: Duration) -> Duration {
    rtt.saturating_mul(3).clamp(cfg.rto.min, cfg.rto.max)
}

/// Reckons all times.
///
/// # Errors
/// Settings, a round trip or an RTO that cannot be.
pub fn failover_time(question: &Question) -> Result<FailoverTime, QuestionError> {
    question.config.check()?;
    // It is the primary that dies, the first of the paths.
    let mut cfg = question.config.clone();
    cfg.failure.detection = cfg.failure.detection_of(0);
    cfg.failure.path_detection.clear();
    let cfg = &cfg;
    let written = byway_lab::units::format_duration;
    if question.rtt.is_zero() || question.rtt > LONGEST {
        return Err(QuestionError::Rtt(written(question.rtt)));
    }
    let rto = question.rto.unwrap_or(rto_of(cfg, question.rtt));
    if rto < cfg.rto.min || rto > cfg.rto.max {
        return Err(QuestionError::Rto {
            rto: written(rto),
            min: written(cfg.rto.min),
            max: written(cfg.rto.max),
        });
    }
    let frame = Frame {
        config: cfg,
        rtt: question.rtt,
        rto,
    };
    let rto_why = match question.rto {
        Some(_) => "as given".to_owned(),
        None => format!(
            "after one sample the RTO is 3 round trips, {}, kept within RTO.Min and RTO.Max",
            words::seconds(question.rtt.saturating_mul(3))
        ),
    };
    Ok(FailoverTime {
        schema: SCHEMA,
        name: question.name.clone(),
        rtt_s: question.rtt.as_secs_f64(),
        rto_s: [cfg.rto.min, rto, cfg.rto.max].map(|d| d.as_secs_f64()),
        rto_why,
        rto_initial_s: cfg.rto.initial.as_secs_f64(),
        together: mechanisms::together(&frame),
        mechanisms: mechanisms::all(&frame),
        advice: advice::advice(&frame),
    })
}

#[cfg(test)]
mod tests;

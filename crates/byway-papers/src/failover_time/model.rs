//! What is asked, and what the answer consists of.

use super::timeline::Sum;
use byway_dialect_ns2::Settings;
use serde::Serialize;
use std::time::Duration;

/// The form of the JSON; changes when a field is renamed, removed or changes
/// its meaning.
pub const SCHEMA: &str = "byway.failover-time/1";

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
        /// The requested value.
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
    /// The RTO begins at RTO.Min, with the best timing.
    Best,
    /// The RTO is what the round trip gives.
    Typical,
    /// The RTO begins at RTO.Max, with the worst timing.
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
    /// The path is potentially failed.
    Suspect,
    /// The path is inactive.
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

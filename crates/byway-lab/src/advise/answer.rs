//! The answer, as it is written to JSON.

use super::candidates::{Candidate, Target};
use super::evidence::Sample;
use super::race::Effort;
use super::wishes::Wishes;
use serde::Serialize;

/// The form of the machine-readable answer.
pub const SCHEMA: &str = "byway.advice/1";

/// What came out.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Advice {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// The paths in words.
    pub paths: Vec<String>,
    /// The traffic in words.
    pub traffic: String,
    /// What hurts.
    pub wishes: Wishes,
    /// Seed of all chance.
    pub seed: u64,
    /// How much was run. The same request, seed and effort give the same answer.
    pub effort: Effort,
    /// Runs in the simulator, search included.
    pub simulated: usize,
    /// Whether it was interrupted: it then rests on what was done before.
    pub interrupted: bool,
    /// What to know of the answer: what was simplified, what could not be shown.
    pub notes: Vec<String>,
    /// For each target.
    pub targets: Vec<TargetAdvice>,
}

/// The answer for one target.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TargetAdvice {
    /// For whom.
    pub target: Target,
    /// Settings that were tried.
    pub tried: usize,
    /// The recommended settings first, then the runner-up if there is one, the defaults, and
    /// the rest of the Pareto front.
    pub rows: Vec<Outlook>,
    /// The recommended settings against each of the defaults.
    pub verdicts: Vec<Verdict>,
    /// The settings as lines that the target takes.
    pub lines: Vec<String>,
    /// Whether the limits of the wishes hold, in words.
    pub limits: Vec<String>,
}

/// What a row of the table is.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// What is advised.
    Recommended,
    /// The next best.
    RunnerUp,
    /// A default that it is held against.
    Default,
    /// Another point of the Pareto front.
    Front,
}

/// Settings and what is to be expected of them.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Outlook {
    /// Its name in the table and in the files.
    pub name: String,
    /// What it is.
    pub role: Role,
    /// The settings.
    pub candidate: Candidate,
    /// Whether no other row has both a shorter mean stall and fewer needless moves.
    pub on_front: bool,
    /// What was measured.
    pub figures: Figures,
    /// The runs, by seed.
    pub samples: Vec<Sample>,
}

/// A figure and the interval that holds it with a confidence of 95 %.
#[derive(Copy, Clone, Debug, PartialEq, Serialize)]
pub struct Interval {
    /// The figure.
    pub value: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// What was measured of some settings.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Figures {
    /// Seeds: so many runs of each situation stand behind each figure.
    pub runs: usize,
    /// Runs in which the association was lost.
    pub lost: u32,
    /// Mean of the longest time without delivery when the first path dies, seconds
    /// (Student's t by seed).
    pub stall_mean_s: Interval,
    /// Its median (bootstrap by seed).
    pub stall_median_s: Interval,
    /// Its 95th percentile (bootstrap by seed).
    pub stall_95th_s: Interval,
    /// Median of the time until the sender thought the path potentially failed or inactive;
    /// none if it never did.
    pub notice_median_s: Option<Interval>,
    /// Needless moves.
    pub moves: Moves,
    /// Share of the payload on other paths than the first while nothing fails.
    pub elsewhere: Interval,
    /// From the repair of the first path until traffic is back, seconds.
    pub away_s: Interval,
}

/// Needless moves while nothing fails.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Moves {
    /// How many.
    pub count: u64,
    /// In so many simulated hours.
    pub hours: f64,
    /// An hour (Poisson, wider by the scatter between seeds; for none the rule of three).
    pub per_hour: Interval,
}

/// The recommended settings against a default, seed by seed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Verdict {
    /// The default.
    pub against: String,
    /// In a sentence.
    pub words: String,
    /// Score: the recommended less the default.
    pub score: super::recommend::Comparison,
    /// Stall, seconds.
    pub stall_s: super::recommend::Comparison,
    /// Needless moves an hour.
    pub moves_per_hour: super::recommend::Comparison,
}

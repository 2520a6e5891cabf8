//! The answer, as it is written to JSON.

use super::candidates::{Candidate, Target};
use super::compare::Comparison;
use super::evidence::{Figures, Sample};
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

/// How much was run.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Effort {
    /// Seeds of each candidate on the first level of the search; twice as many more for the
    /// best third, and again for the best few.
    pub search: u32,
    /// Seeds of each finalist and default in the check.
    pub check: u32,
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

/// The recommended settings against a default, seed by seed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Verdict {
    /// The default.
    pub against: String,
    /// In a sentence.
    pub words: String,
    /// Score: the recommended less the default.
    pub score: Comparison,
    /// Stall, seconds.
    pub stall_s: Comparison,
    /// Needless moves an hour.
    pub moves_per_hour: Comparison,
    /// Needless moves an hour on paths that differ from the description by a third.
    pub nearby_per_hour: Comparison,
}

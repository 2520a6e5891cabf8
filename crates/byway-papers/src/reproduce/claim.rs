//! A paper's claims and figures, as its `claims.toml` says them.

use super::check::{Changed, Check};
use super::figure::FigureSpec;
use super::parameters::{Parameter, Profile};
use super::study::StudySpec;
use super::today::Answers;
use serde::Deserialize;

/// A folder of `experiments/`: one paper.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Paper {
    /// Its name on the command line: `caro-2006`.
    pub id: String,
    /// Its title.
    pub title: String,
    /// Authors, where and when.
    pub citation: String,
    /// What was run to test it, in a few sentences.
    pub setting: String,
    /// Whether this is no paper but the papers' questions, asked again of today's
    /// settings: a claim that fails is an answer then, too.
    #[serde(default)]
    pub questions: bool,
    /// What it claims.
    #[serde(rename = "claim")]
    pub claims: Vec<Claim>,
    /// Its figures.
    #[serde(rename = "figure", default)]
    pub figures: Vec<FigureSpec>,
    /// The sender of its time; none of questions.
    #[serde(default)]
    pub profile: Option<Profile>,
    /// What the sender and the network were set to, and where that comes from.
    #[serde(rename = "parameter", default)]
    pub parameters: Vec<Parameter>,
    /// The runs that both need.
    #[serde(rename = "study", default)]
    pub studies: Vec<StudySpec>,
}

/// Something that a paper states.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// Its name: `A3`.
    pub id: String,
    /// Where the paper says it.
    pub section: String,
    /// What it says, in other words.
    pub says: String,
    /// The figure of the paper that shows it.
    #[serde(default)]
    pub figure: Option<String>,
    /// What must hold for it to count as reproduced: all of these.
    #[serde(rename = "check")]
    pub checks: Vec<Check>,
    /// The same put to runs that its setting was not chosen by: what is fitted must hold there as well.
    #[serde(default)]
    pub validation: Vec<Check>,
    /// Whether it states an order or a trend alone, so that no printed number is tested.
    #[serde(default)]
    pub trend: bool,
    /// What was chosen with results in view, if anything was.
    #[serde(default)]
    pub fitted: Option<String>,
    /// Why it is not reproduced, when it is known not to be; said only when a
    /// check fails. Here, in `undecided` and in `remark` `{1}` is replaced by what the first check
    /// found, and so on: figures of runs are never written by hand.
    #[serde(default)]
    pub reason: Option<String>,
    /// Why it cannot be decided; said only when it is not.
    #[serde(default)]
    pub undecided: Option<String>,
    /// The papers' answer to a question, and what is said to today's.
    #[serde(default)]
    pub answers: Option<Answers>,
    /// What was changed of it as a whole since its first version: checks that are no more.
    #[serde(default, deserialize_with = "super::check::one_or_several")]
    pub changed: Vec<Changed>,
    /// What a reader should know besides.
    #[serde(default)]
    pub remark: Option<String>,
}

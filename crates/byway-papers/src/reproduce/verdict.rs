//! What the checks of a claim add up to.

use super::cells::Cells;
use super::check::{Check, Kind};
use super::checked::Checked;
use super::claim::Claim;
use super::today::{self, Answer};
use serde::Serialize;
use std::collections::BTreeMap;

/// What becomes of a claim.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// All of its checks hold.
    Reproduced,
    /// At least one does not.
    NotReproduced,
}

impl Verdict {
    /// In words.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Verdict::Reproduced => "reproduced",
            Verdict::NotReproduced => "not reproduced",
        }
    }
}

/// A claim with what was found.
#[derive(Clone, Debug, Serialize)]
pub struct ClaimResult {
    /// `A3`.
    pub id: String,
    /// The paper's name.
    pub paper: String,
    /// Where the paper says it.
    pub section: String,
    /// What it says, in other words.
    pub says: String,
    /// The verdict.
    pub verdict: Verdict,
    /// The answer of today's settings, if this is a question asked again.
    pub today: Option<Answer>,
    /// Why it is not reproduced.
    pub reason: Option<String>,
    /// What a reader should know besides.
    pub remark: Option<String>,
    /// The figure of the paper that shows it.
    pub figure: Option<String>,
    /// The checks.
    pub checks: Vec<Checked>,
}

/// Puts the checks of a claim to the cells of their studies.
pub(super) fn of(
    claim: &Claim,
    paper: &str,
    ours: &BTreeMap<&str, Cells>,
    ns2: &BTreeMap<&str, Cells>,
) -> ClaimResult {
    let checks: Vec<Checked> = claim
        .checks
        .iter()
        .map(|c| evaluate(c, ours, ns2))
        .collect();
    let verdict = if checks.iter().all(|c| c.holds) {
        Verdict::Reproduced
    } else {
        Verdict::NotReproduced
    };
    let fails = verdict == Verdict::NotReproduced && claim.answers.is_none();
    let reason = fails.then(|| {
        claim
            .reason
            .clone()
            .unwrap_or_else(|| "no reason is known: see the checks that fail".to_owned())
    });
    ClaimResult {
        id: claim.id.clone(),
        paper: paper.to_owned(),
        section: claim.section.clone(),
        says: claim.says.clone(),
        verdict,
        today: claim.answers.as_ref().map(|a| today::answer(a, &checks)),
        reason,
        remark: claim.remark.clone(),
        figure: claim.figure.clone(),
        checks,
    }
}

fn evaluate(check: &Check, ours: &BTreeMap<&str, Cells>, ns2: &BTreeMap<&str, Cells>) -> Checked {
    let found = match (&check.kind, &check.study) {
        (Kind::Special(special), study) => {
            special.evaluate(study.as_ref().and_then(|s| ours.get(s.as_str())))
        }
        (kind, Some(study)) => ours
            .get(study.as_str())
            .and_then(|cells| kind.evaluate(cells)),
        (_, None) => None,
    };
    let theirs = check
        .study
        .as_ref()
        .and_then(|study| ns2.get(study.as_str()))
        .and_then(|cells| check.kind.evaluate(cells));
    let (byway, holds, detail) = match found {
        Some(f) => (f.text, f.holds, f.detail),
        None => ("no run has this measure".to_owned(), false, None),
    };
    Checked {
        what: check.what.clone(),
        paper: check.paper.clone(),
        ns2_holds: theirs.as_ref().map(|f| f.holds),
        ns2: theirs.map(|f| f.text).or_else(|| check.ns2.clone()),
        byway,
        holds,
        counts: check.kind.counts(),
        detail,
    }
}

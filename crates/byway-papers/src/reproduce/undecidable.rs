//! Which undecided checks more seeds cannot decide, told beside them.

use super::cap::Cap;
use super::cells::Cells;
use super::check::Check;
use super::checked::Checked;
use super::claim::Claim;
use super::rule::Outcome;
use super::study::StudySpec;
use super::verdict::{ClaimResult, Verdict};
use std::collections::BTreeMap;

/// Says of each undecided check whether the cap can decide it, and of an undecided claim which of its
/// checks it cannot.
pub(super) fn tell(
    claim: &Claim,
    found: &mut ClaimResult,
    cells: &BTreeMap<&str, Cells>,
    (studies, seeds): (&[StudySpec], impl Fn(&StudySpec) -> u32),
) {
    let why = |check: &Check| {
        let cells = cells.get(check.study.as_str())?;
        let study = studies.iter().find(|s| s.id == check.study)?;
        let cap = Cap::of(cells, check.kind.measure(), seeds(study))?;
        check.kind.beyond(cells, &cap)
    };
    let checks = claim.checks.iter().zip(&mut found.checks);
    for (check, found) in checks.chain(claim.validation.iter().zip(&mut found.validation)) {
        if found.counts && found.outcome == Outcome::Undecided {
            found.beyond = why(check);
        }
    }
    if found.verdict != Verdict::Undecided || found.today.is_some() {
        return;
    }
    let open = |c: &&Checked| c.counts && c.outcome == Outcome::Undecided;
    let validation = (found.validation.iter()).filter(|_| claim.fitted.is_some());
    let open: Vec<_> = found.checks.iter().chain(validation).filter(open).collect();
    let beyond: Vec<&str> = (open.iter())
        .filter(|c| c.beyond.is_some())
        .map(|c| c.what.as_str())
        .collect();
    if beyond.is_empty() {
        return;
    }
    let words = format!(
        "More seeds of this effort cannot decide {} of {} undecided checks: {}.",
        beyond.len(),
        open.len(),
        beyond.join("; ")
    );
    found.reason = Some(match &claim.undecided {
        Some(text) => format!("{text} {words}"),
        None => words,
    });
}

//! How verdicts and outcomes look on the page.

use super::rule::Outcome;
use super::verdict::Verdict;

/// A verdict, in words of the caller.
pub(super) fn badge(verdict: Verdict, words: &str) -> String {
    let class = match verdict {
        Verdict::Reproduced | Verdict::TrendOnly => "good",
        Verdict::Fitted | Verdict::Undecided | Verdict::Unvalidated => "open",
        Verdict::NotReproduced | Verdict::Vacuous => "bad",
    };
    format!("<span class=\"badge {class}\">{words}</span>")
}

/// An outcome as a sign.
pub(super) fn sign(outcome: Outcome) -> String {
    let (class, sign) = match outcome {
        Outcome::Holds => ("good", "\u{2713}"),
        Outcome::Fails => ("bad", "\u{2717}"),
        Outcome::Undecided => ("open", "?"),
    };
    let words = outcome.words();
    format!("<span class=\"{class}\" title=\"{words}\" aria-label=\"{words}\">{sign}</span> ")
}

//! The papers' questions asked again of today's settings: what became of their
//! answers, in words that carry the figures of the run.

use super::checked::Checked;
use super::rule::Outcome;
use serde::{Deserialize, Serialize};

/// What the papers answered, and what is to be said to today's outcome: its own
/// sentence, then the figures.
///
/// `{1}` is replaced by what the first check found, `{2}` for the second, and so on,
/// so that the words always carry the figures of the run that they are about.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Answers {
    /// The papers' answer.
    pub then: String,
    /// The sentence when every check that counts holds.
    #[serde(default)]
    pub holds: String,
    /// When some do.
    #[serde(default)]
    pub part: String,
    /// When none does.
    #[serde(default)]
    pub no: String,
    /// The figures and what explains them, whatever the outcome.
    pub figures: String,
}

/// Whether the papers' answer is still right.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Still {
    /// Every check that counts holds.
    Holds,
    /// Some of them do.
    InPart,
    /// None does.
    No,
    /// The runs do not tell.
    Undecided,
}

impl Still {
    /// In words.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Still::Holds => "still holds",
            Still::InPart => "holds in part",
            Still::No => "no longer holds",
            Still::Undecided => "undecided",
        }
    }
}

/// Today's answer to a question.
#[derive(Clone, Debug, Serialize)]
pub struct Answer {
    /// The papers' answer.
    pub then: String,
    /// What became of it.
    pub still: Still,
    /// In a few sentences, with the figures of the run.
    pub words: String,
}

/// The answer that the checks give.
pub(super) fn answer(answers: &Answers, checks: &[Checked]) -> Answer {
    let counting = || checks.iter().filter(|c| c.counts);
    let any = |outcome| counting().any(|c| c.outcome == outcome);
    let (holds, fails) = (any(Outcome::Holds), any(Outcome::Fails));
    let (still, sentence) = match (holds, fails, any(Outcome::Undecided)) {
        (true, true, _) => (Still::InPart, answers.part.as_str()),
        (_, _, true) => (Still::Undecided, ""),
        (_, false, false) => (Still::Holds, answers.holds.as_str()),
        (false, true, false) => (Still::No, answers.no.as_str()),
    };
    let words = filled(&format!("{sentence} {}", answers.figures), checks);
    Answer {
        then: answers.then.clone(),
        still,
        words: words.trim().to_owned(),
    }
}

/// The words with what the checks found in place of `{1}`, `{2}` and so on.
pub(super) fn filled(words: &str, checks: &[Checked]) -> String {
    let mut out = words.to_owned();
    for (i, check) in checks.iter().enumerate() {
        out = out.replace(&format!("{{{}}}", i + 1), &check.byway);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::check::RunCount;

    fn check(byway: &str, counts: bool, outcome: Outcome) -> Checked {
        Checked {
            what: "w".to_owned(),
            paper: "p".to_owned(),
            ns2: None,
            ns2_outcome: None,
            byway: byway.to_owned(),
            outcome,
            counts,
            detail: None,
            near: None,
            beyond: None,
            runs: RunCount::default(),
            changed: Vec::new(),
            can_hold: true,
            controls: Vec::new(),
        }
    }

    #[test]
    fn the_words_fit_the_outcome_and_carry_its_figures() {
        let answers: Answers = toml::from_str(
            "then = \"x is better\"\nholds = \"Yes, by {1}.\"\nno = \"No.\"\nfigures = \"A takes {2}.\"",
        )
        .unwrap();
        let (yes, no, open) = (Outcome::Holds, Outcome::Fails, Outcome::Undecided);
        for ((first, counts, second), still, words) in [
            ((yes, false, yes), Still::Holds, "Yes, by 1 s. A takes 2 s."),
            ((no, false, yes), Still::No, "No. A takes 2 s."),
            ((no, true, yes), Still::InPart, "A takes 2 s."),
            ((yes, true, open), Still::Undecided, "A takes 2 s."),
            ((no, true, open), Still::Undecided, "A takes 2 s."),
        ] {
            let checks = [check("1 s", true, first), check("2 s", counts, second)];
            let found = answer(&answers, &checks);
            assert_eq!((found.still, found.words.as_str()), (still, words));
        }
    }
}

//! The papers' questions asked again of today's settings: what became of their
//! answers, in words that carry the figures of the run.

use super::checked::Checked;
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
}

impl Still {
    /// In words.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Still::Holds => "still holds",
            Still::InPart => "holds in part",
            Still::No => "no longer holds",
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
    let (still, sentence) = if counting().all(|c| c.holds) {
        (Still::Holds, &answers.holds)
    } else if counting().any(|c| c.holds) {
        (Still::InPart, &answers.part)
    } else {
        (Still::No, &answers.no)
    };
    let words = filled(&format!("{sentence} {}", answers.figures), checks);
    Answer {
        then: answers.then.clone(),
        still,
        words: words.trim().to_owned(),
    }
}

fn filled(words: &str, checks: &[Checked]) -> String {
    let mut out = words.to_owned();
    for (i, check) in checks.iter().enumerate() {
        out = out.replace(&format!("{{{}}}", i + 1), &check.byway);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(byway: &str, counts: bool, holds: bool) -> Checked {
        Checked {
            what: "w".to_owned(),
            paper: "p".to_owned(),
            ns2: None,
            ns2_holds: None,
            byway: byway.to_owned(),
            holds,
            counts,
            detail: None,
        }
    }

    #[test]
    fn the_words_fit_the_outcome_and_carry_its_figures() {
        let answers: Answers = toml::from_str(
            "then = \"x is better\"\nholds = \"Yes, by {1}.\"\nno = \"No.\"\nfigures = \"A takes {2}.\"",
        )
        .unwrap();
        let checks = |first, second| [check("1 s", true, first), check("2 s", second, !second)];
        for (checks, still, words) in [
            (
                checks(true, false),
                Still::Holds,
                "Yes, by 1 s. A takes 2 s.",
            ),
            (checks(false, false), Still::No, "No. A takes 2 s."),
            (
                [check("1 s", true, false), check("2 s", true, true)],
                Still::InPart,
                "A takes 2 s.",
            ),
        ] {
            let found = answer(&answers, &checks);
            assert_eq!((found.still, found.words.as_str()), (still, words));
        }
    }
}

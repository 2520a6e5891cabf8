//! The papers' questions asked again of today's settings: what became of their
//! answers, in words that carry the figures of the run.

use super::page::{anchor, escape, figure};
use super::{Checked, ClaimResult, PaperResult};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fmt::Write;

/// What the papers answered, and what is to be said to today's outcome: its own
/// sentence, then the figures.
///
/// `{1}` stands for what the first check found, `{2}` for the second, and so on,
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

/// The section of the page: a short table, then what was looked at.
pub(super) fn section(out: &mut String, asked: &PaperResult) -> Result<(), String> {
    // Writing to a string cannot fail, here and below.
    let _ = writeln!(
        out,
        "<section id=\"{}\">\n<h2>{}</h2>\n<p class=\"quiet\">{}</p>\n<p>{}</p>",
        asked.id,
        escape(&asked.title),
        escape(&asked.citation),
        escape(&asked.setting)
    );
    let answered = || {
        asked
            .claims
            .iter()
            .filter_map(|c| Some((c, c.today.as_ref()?)))
    };
    if answered().next().is_some() {
        let count = |still| answered().filter(|(_, a)| a.still == still).count();
        let _ = writeln!(
            out,
            "<p class=\"summary\">Of the papers' conclusions <b>{}</b> still hold, <b>{}</b> hold in \
             part, <b>{}</b> no longer hold.</p>",
            count(Still::Holds),
            count(Still::InPart),
            count(Still::No)
        );
        out.push_str(
            "<table class=\"checks today\"><thead><tr><th>question</th><th>the papers' answer</th>\
             <th>today's answer, with its figures</th><th>figure</th></tr></thead>\n<tbody>\n",
        );
        answered().for_each(|(claim, answer)| row(out, claim, answer, &asked.id));
        out.push_str("</tbody></table>\n");
    }
    let mut drawn = BTreeSet::new();
    for (claim, answer) in answered() {
        details(out, claim, answer);
        let of = figure_name(&asked.id, claim);
        if let Some(found) = asked.figures.iter().find(|f| Some(&f.name) == of.as_ref())
            && drawn.insert(&found.name)
        {
            figure(out, found)?;
        }
    }
    for rest in asked.figures.iter().filter(|f| !drawn.contains(&f.name)) {
        figure(out, rest)?;
    }
    out.push_str("</section>\n");
    Ok(())
}

fn figure_name(id: &str, claim: &ClaimResult) -> Option<String> {
    Some(format!("{id} figure {}", claim.figure.as_ref()?))
}

fn row(out: &mut String, claim: &ClaimResult, answer: &Answer, id: &str) {
    let link = figure_name(id, claim).map_or("\u{2013}".to_owned(), |name| {
        let short = claim.figure.as_deref().unwrap_or_default();
        format!("<a href=\"#{}\">{}</a>", anchor(&name), escape(short))
    });
    let _ = writeln!(
        out,
        "<tr><td data-head=\"question\"><a href=\"#{0}\">{0}</a> {1}</td>\
         <td data-head=\"then\">{2} <span class=\"quiet\">({3})</span></td>\
         <td data-head=\"today\">{4} {5}</td><td data-head=\"figure\">{link}</td></tr>",
        claim.id,
        escape(&claim.says),
        escape(&answer.then),
        escape(&claim.section),
        badge(answer.still),
        escape(&answer.words)
    );
}

fn badge(still: Still) -> String {
    let class = match still {
        Still::Holds => "good",
        Still::InPart => "quiet",
        Still::No => "bad",
    };
    format!("<span class=\"badge {class}\">{}</span>", still.words())
}

/// What was looked at for a question.
fn details(out: &mut String, claim: &ClaimResult, answer: &Answer) {
    let _ = writeln!(
        out,
        "<article id=\"{0}\">\n<h3>{0} {1}</h3>\n<p>{2}</p>\n<table class=\"checks\"><thead><tr>\
         <th>what is looked at</th><th>the papers' answer would mean</th><th>measured</th></tr>\
         </thead>\n<tbody>",
        claim.id,
        badge(answer.still),
        escape(&claim.says)
    );
    for check in &claim.checks {
        let (class, sign, words) = match (check.counts, check.holds) {
            (false, _) => ("quiet", "\u{b7}", "a figure, no check"),
            (true, true) => ("good", "\u{2713}", "as then"),
            (true, false) => ("bad", "\u{2717}", "not as then"),
        };
        let detail = check
            .detail
            .as_deref()
            .map_or(String::new(), |d| format!("<small>{}</small>", escape(d)));
        let _ = writeln!(
            out,
            "<tr><td data-head=\"what\">{}</td><td data-head=\"then\">{}</td>\
             <td data-head=\"measured\"><span class=\"{class}\" title=\"{words}\" \
             aria-label=\"{words}\">{sign}</span> {}{detail}</td></tr>",
            escape(&check.what),
            escape(&check.paper),
            escape(&check.byway)
        );
    }
    out.push_str("</tbody></table>\n");
    if let Some(remark) = &claim.remark {
        let _ = writeln!(out, "<p class=\"quiet\">{}</p>", escape(remark));
    }
    out.push_str("</article>\n");
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

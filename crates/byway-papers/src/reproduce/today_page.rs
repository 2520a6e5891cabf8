//! The page's section of the papers' questions, asked again.

use super::html::{anchor, escape, figure};
use super::report::PaperResult;
use super::rule::Outcome;
use super::today::{Answer, Still};
use super::verdict::ClaimResult;
use std::collections::BTreeSet;
use std::fmt::Write;

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
             part, <b>{}</b> no longer hold, <b>{}</b> are undecided.</p>",
            count(Still::Holds),
            count(Still::InPart),
            count(Still::No),
            count(Still::Undecided)
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
        Still::Undecided => "open",
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
        let (class, sign, words) = match (check.counts, check.outcome) {
            (false, _) => ("quiet", "\u{b7}", "a figure, no check"),
            (true, Outcome::Holds) => ("good", "\u{2713}", "as then"),
            (true, Outcome::Fails) => ("bad", "\u{2717}", "not as then"),
            (true, Outcome::Undecided) => ("open", "?", "undecided"),
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

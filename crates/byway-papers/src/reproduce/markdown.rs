//! Verdicts as Markdown, to be kept with the date and the commit.

use super::checked::Checked;
use super::report::{PaperResult, Report};
use super::today::Still;
use super::verdict::ClaimResult;
use std::fmt::Write;

/// A table of all claims, then for each paper every check with its numbers, and
/// the papers' questions with today's answers.
#[must_use]
pub fn render(report: &Report) -> String {
    let mut out = String::new();
    let papers = || report.papers.iter().filter(|p| !p.questions);
    let (good, all) = report.score();
    // Writing to a string cannot fail, here and below.
    if all > 0 {
        let _ = writeln!(out, "**{good} of {all} claims reproduced.**");
    }
    let _ = writeln!(
        out,
        "{} runs ({}), {} effort. Shared is a run that several cells asked for, or that is the same \
         under a setting that it never came to ask for. Intervals are 95 % confidence intervals over \
         seeds.\n",
        report.runs,
        report.runs_words(),
        report.effort
    );
    if all > 0 {
        out.push_str("| claim | verdict | what the paper says |\n|---|---|---|\n");
        for claim in papers().flat_map(|p| &p.claims) {
            let _ = writeln!(
                out,
                "| {} | {} | {} |",
                claim.id,
                claim.verdict.words(),
                cell(&claim.says)
            );
        }
        out.push('\n');
    }
    for paper in papers().filter(|p| !p.claims.is_empty()) {
        let _ = writeln!(
            out,
            "## {}: {}\n\n{}\n",
            paper.id, paper.title, paper.setting
        );
        for claim in &paper.claims {
            checks(&mut out, claim, claim.verdict.words());
            for text in claim.reason.iter().chain(&claim.remark) {
                let _ = write!(out, "\n{text}\n");
            }
            out.push('\n');
        }
    }
    for asked in report.papers.iter().filter(|p| p.questions) {
        questions(&mut out, asked);
    }
    out
}

fn questions(out: &mut String, asked: &PaperResult) {
    let answered = || {
        let claims = asked.claims.iter();
        claims.filter_map(|c| Some((c, c.today.as_ref()?)))
    };
    let count = |still| answered().filter(|(_, a)| a.still == still).count();
    let _ = writeln!(
        out,
        "## {}\n\n{}\n\nOf the papers' conclusions {} still hold, {} hold in part, {} no longer \
         hold.\n\n| question | the papers' answer | today |\n|---|---|---|",
        asked.title,
        asked.setting,
        count(Still::Holds),
        count(Still::InPart),
        count(Still::No)
    );
    for (claim, answer) in answered() {
        let _ = writeln!(
            out,
            "| {}: {} ({}) | {} | **{}** {} |",
            claim.id,
            cell(&claim.says),
            cell(&claim.section),
            cell(&answer.then),
            answer.still.words(),
            cell(&answer.words)
        );
    }
    out.push('\n');
    for (claim, answer) in answered() {
        checks(out, claim, answer.still.words());
        out.push('\n');
    }
}

fn checks(out: &mut String, claim: &ClaimResult, verdict: &str) {
    let _ = writeln!(
        out,
        "### {}: {verdict}\n\n{} ({})\n\n| what | paper | ns-2 | byway | |\n|---|---|---|---|---|",
        claim.id, claim.says, claim.section
    );
    claim.checks.iter().for_each(|c| row(out, c));
}

/// The text of a cell must not end it.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

fn row(out: &mut String, check: &Checked) {
    let byway = match &check.detail {
        Some(detail) if !check.holds => format!("{} ({detail})", check.byway),
        _ => check.byway.clone(),
    };
    let ns2 = match (&check.ns2, check.ns2_holds) {
        (Some(ns2), Some(false)) => format!("{ns2}: does not hold"),
        (ns2, _) => ns2.clone().unwrap_or_default(),
    };
    let verdict = match (check.counts, check.holds) {
        (false, _) => "shown only",
        (true, true) => "holds",
        (true, false) => "**does not hold**",
    };
    let _ = writeln!(
        out,
        "| {} | {} | {} | {} | {verdict} |",
        cell(&check.what),
        cell(&check.paper),
        cell(&ns2),
        cell(&byway)
    );
}

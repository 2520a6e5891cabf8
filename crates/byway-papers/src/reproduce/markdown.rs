//! Verdicts as Markdown, to be kept with the date and the commit.

use super::ablation::Ablation;
use super::checked::Checked;
use super::report::{PaperResult, Report};
use super::rule::Outcome;
use super::today::Still;
use super::verdict::ClaimResult;
use std::fmt::Write;

/// A table of all claims, then for each paper every check with its numbers, and
/// the papers' questions with today's answers.
#[must_use]
pub fn render(report: &Report) -> String {
    let mut out = String::new();
    let papers = || report.papers.iter().filter(|p| !p.questions);
    let headline = report.headline();
    // Writing to a string cannot fail, here and below.
    if !headline.is_empty() {
        let _ = writeln!(out, "**{}.**", headline.replacen("of", "Of", 1));
    }
    let _ = writeln!(
        out,
        "{} runs ({}), {} effort. Shared is a run that several cells asked for, or that is the same \
         under a setting that it never came to ask for. A figure stands on distinct runs; intervals are \
         95 % confidence intervals over clusters of runs with one seed. Verdicts are those of \
         [RULE.md](RULE.md).\n",
        report.runs,
        report.runs_words(),
        report.effort
    );
    if !headline.is_empty() {
        let plain = plain(report);
        let heads: String = plain.iter().map(|a| format!(" {} |", a.name())).collect();
        let line = "---|".repeat(plain.len());
        let _ = writeln!(
            out,
            "| claim | verdict |{heads} what the paper says |\n|---|---|{line}---|"
        );
        for claim in papers().flat_map(|p| &p.claims) {
            let _ = writeln!(
                out,
                "| {} | {} |{} {} |",
                claim.id,
                claim.verdict_words(),
                ablations(claim),
                cell(&claim.says)
            );
        }
        out.push('\n');
    }
    for paper in papers().filter(|p| !p.claims.is_empty()) {
        let _ = writeln!(
            out,
            "## {}: {}\n\n{}\n\nDigest of the rule and the claims file: `{}`.\n",
            paper.id, paper.title, paper.setting, paper.digest
        );
        for claim in &paper.claims {
            checks(&mut out, claim, &claim.verdict_words());
            if let Some(fitted) = &claim.fitted {
                let _ = write!(out, "\nFitted: {fitted}\n");
            }
            for text in claim.reason.iter().chain(&claim.remark) {
                let _ = write!(out, "\n{text}\n");
            }
            changes(&mut out, claim);
            out.push('\n');
        }
    }
    for asked in report.papers.iter().filter(|p| p.questions) {
        questions(&mut out, asked);
    }
    raw(&mut out, report);
    out
}

/// The files of the raw runs, which are kept elsewhere.
fn raw(out: &mut String, report: &Report) {
    if report.raw.is_empty() {
        return;
    }
    out.push_str("## Raw runs\n\n| file | runs | SHA-256 |\n|---|---|---|\n");
    for file in &report.raw {
        let _ = writeln!(
            out,
            "| {} | {} | `{}` |",
            cell(&file.file),
            file.runs,
            file.sha256
        );
    }
    out.push('\n');
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
         hold, {} are undecided.\n\n| question | the papers' answer | today |\n|---|---|---|",
        asked.title,
        asked.setting,
        count(Still::Holds),
        count(Still::InPart),
        count(Still::No),
        count(Still::Undecided)
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
        "### {}: {verdict}\n\n{} ({})\n\n| what | paper | ns-2 | byway | runs | |\n|---|---|---|---|---|---|",
        claim.id, claim.says, claim.section
    );
    claim.checks.iter().for_each(|c| row(out, c));
}

/// The text of a cell must not end it.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

/// The settings without ns-2's rules to which the claims were put.
fn plain(report: &Report) -> Vec<Ablation> {
    let first = report.claims().next();
    first.map_or_else(Vec::new, |c| c.presets().map(|a| a.settings).collect())
}

/// The verdicts by them.
fn ablations(claim: &ClaimResult) -> String {
    let verdicts = claim.presets();
    verdicts
        .map(|a| format!(" {} |", a.verdict.words()))
        .collect()
}

/// What was changed of its checks after results had been seen.
fn changes(out: &mut String, claim: &ClaimResult) {
    for check in &claim.checks {
        if let Some(change) = &check.changed {
            let _ = write!(
                out,
                "\nChanged on {} ({}): {} Before: {}.\n",
                change.on, check.what, change.why, change.was
            );
        }
    }
}

fn row(out: &mut String, check: &Checked) {
    let byway = match &check.detail {
        Some(detail) if !check.holds() => format!("{} ({detail})", check.byway),
        _ => check.byway.clone(),
    };
    let ns2 = match (&check.ns2, check.ns2_outcome) {
        (Some(ns2), Some(outcome)) if outcome != Outcome::Holds => {
            format!("{ns2}: {}", outcome.words())
        }
        (ns2, _) => ns2.clone().unwrap_or_default(),
    };
    let verdict = match (check.counts, check.outcome) {
        (false, _) => "shown only".to_owned(),
        (true, Outcome::Holds) if !check.controls.is_empty() && check.is_vacuous() => {
            format!("**vacuous**: {}", check.vacuous_words())
        }
        (true, Outcome::Holds) => "holds".to_owned(),
        (true, outcome) => format!("**{}**", outcome.words()),
    };
    let _ = writeln!(
        out,
        "| {} | {} | {} | {} | {} | {verdict} |",
        cell(&check.what),
        cell(&check.paper),
        cell(&ns2),
        cell(&byway),
        check.runs.words()
    );
}

/// The controls: each check where it must not hold.
#[must_use]
pub fn controls(report: &Report) -> String {
    let mut out = String::from("| claim | check | control | there |\n|---|---|---|---|\n");
    for claim in report.claims() {
        for check in claim.checks.iter().filter(|c| c.counts) {
            if check.controls.is_empty() {
                let _ = writeln!(
                    out,
                    "| {} | {} | none | **vacuous** |",
                    claim.id,
                    cell(&check.what)
                );
            }
            for control in &check.controls {
                let there = match control.outcome {
                    Outcome::Holds => "**holds: vacuous**",
                    other => other.words(),
                };
                let _ = writeln!(
                    out,
                    "| {} | {} | {} | {there} |",
                    claim.id,
                    cell(&check.what),
                    control.name
                );
            }
        }
    }
    out
}

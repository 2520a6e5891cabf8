//! Verdicts for a terminal.

use super::checked::Checked;
use super::report::{PaperResult, Report};
use super::today::Still;
use super::verdict::{ClaimResult, Verdict};
use byway_lab::terminal::Terminal;
use std::fmt::Write;

/// Narrowest that lines are made.
const MIN_WIDTH: usize = 60;
/// Columns before a claim's words.
const INDENT: usize = 15;
/// Columns before a question.
const TODAY_INDENT: usize = 9;

/// A table of claims, and for each that is not reproduced the checks that fail.
#[must_use]
pub fn render(report: &Report, terminal: Terminal) -> String {
    let width = terminal.width.max(MIN_WIDTH);
    let mut out = String::new();
    for paper in &report.papers {
        if paper.claims.is_empty() || paper.questions {
            continue;
        }
        let head = format!("{}  {}", paper.id, paper.title);
        let head: String = head.chars().take(width).collect();
        out.push_str(&terminal.paint("1", &head));
        out.push('\n');
        for claim in &paper.claims {
            row(&mut out, claim, width, terminal);
        }
        out.push('\n');
    }
    let headline = report.headline();
    if !headline.is_empty() {
        wrap(&mut out, &headline, 0, width);
        // Writing to a string cannot fail.
        let _ = writeln!(out, "by {} runs ({} effort)", report.runs, report.effort);
        if report.runs > report.simulated {
            let _ = writeln!(out, "of these {}", report.runs_words());
        }
    }
    for asked in report.papers.iter().filter(|p| p.questions) {
        questions(&mut out, asked, width, terminal);
    }
    out
}

/// The points of all figures, as tables.
#[must_use]
pub fn points(report: &Report) -> String {
    let figures = report.papers.iter().flat_map(|p| &p.figures);
    let tables = figures.map(|f| format!("{}: {}\n{}\n", f.name, f.title, f.csv()));
    tables.collect()
}

/// How many controls the checks were put to, and the checks that do not fail theirs.
#[must_use]
pub fn controls(report: &Report) -> String {
    let mut out = format!("controls: {}\n", report.controls_words());
    for (claim, check) in report.counted_checks().filter(|(_, c)| c.is_vacuous()) {
        // Writing to a string cannot fail.
        let _ = writeln!(
            out,
            "  {} {}: {}",
            claim.id,
            check.what,
            check.vacuous_words()
        );
    }
    let open = report.open_controls();
    if !open.is_empty() {
        let _ = writeln!(
            out,
            "  in {} cases these runs are too few to tell:",
            open.len()
        );
    }
    for case in open {
        let _ = writeln!(out, "    {case}");
    }
    out
}

/// The papers' questions with today's answers.
fn questions(out: &mut String, asked: &PaperResult, width: usize, terminal: Terminal) {
    out.push('\n');
    out.push_str(&terminal.paint("1", &asked.title));
    out.push('\n');
    for claim in &asked.claims {
        let Some(today) = &claim.today else { continue };
        let colour = match today.still {
            Still::Holds => "32",
            Still::InPart => "33",
            Still::No => "31",
            Still::Undecided => "2",
        };
        // Writing to a string cannot fail.
        let _ = write!(out, "  {:<7}", claim.id);
        wrap(
            out,
            &format!("{} Then: {}", claim.says, today.then),
            TODAY_INDENT,
            width,
        );
        out.push_str(&" ".repeat(TODAY_INDENT));
        out.push_str(&terminal.paint(colour, today.still.words()));
        out.push('\n');
        out.push_str(&" ".repeat(TODAY_INDENT));
        wrap(out, &today.words, TODAY_INDENT, width);
    }
}

fn row(out: &mut String, claim: &ClaimResult, width: usize, terminal: Terminal) {
    let (mark, colour) = match claim.verdict {
        Verdict::Reproduced => ("yes", "32"),
        Verdict::TrendOnly => ("trend", "32"),
        Verdict::Fitted => ("fitted", "33"),
        Verdict::Undecided => ("?", "33"),
        Verdict::NotReproduced => ("NO", "31"),
        Verdict::Vacuous => ("vacuous", "31"),
        Verdict::Unvalidated => ("fit?", "33"),
    };
    let mark = terminal.paint(colour, &format!("{mark:<7}"));
    // Writing to a string cannot fail, here and below.
    let _ = write!(out, "  {:<4}{mark}  ", claim.id);
    wrap(out, &claim.says, INDENT, width);
    if claim.verdict.holds() {
        return;
    }
    let mut more = |text: &str| {
        out.push_str(&" ".repeat(INDENT));
        wrap(out, text, INDENT, width);
    };
    let vacuous = claim.verdict == Verdict::Vacuous;
    let told = |c: &&Checked| !c.holds() || (vacuous && c.is_vacuous());
    let validation = (claim.validation.iter()).filter(|_| claim.fitted.is_some());
    for check in claim.checks.iter().chain(validation).filter(told) {
        let ns2 = check.ns2.as_ref().map(|t| format!("; ns-2 {t}"));
        let what = match check.holds() {
            true => check.vacuous_words(),
            false => check.outcome.words().to_owned(),
        };
        more(&format!(
            "- {}: {what}: paper {}; byway {}{}",
            check.what,
            check.paper,
            check.byway,
            ns2.unwrap_or_default()
        ));
        if let Some(detail) = &check.detail {
            more(&format!("  ({detail})"));
        }
    }
    if let Some(reason) = &claim.reason {
        more(&format!("why: {reason}"));
    }
}

/// Writes words in lines of `width`; the first one begins at column `indent`,
/// the others with `indent` blanks.
fn wrap(out: &mut String, text: &str, indent: usize, width: usize) {
    let mut column = indent;
    for (i, word) in text.split_whitespace().enumerate() {
        let length = word.chars().count();
        if i > 0 && column + 1 + length > width {
            out.push('\n');
            out.push_str(&" ".repeat(indent));
            column = indent;
        } else if i > 0 {
            out.push(' ');
            column += 1;
        }
        out.push_str(word);
        column += length;
    }
    out.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_wrapped_at_the_width() {
        let mut out = String::from("ab  ");
        wrap(&mut out, "one two three four", 4, 12);
        assert_eq!(out, "ab  one two\n    three\n    four\n");
    }
}

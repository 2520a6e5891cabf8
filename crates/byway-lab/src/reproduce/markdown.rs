//! Verdicts as Markdown, to be kept with the date and the commit.

use super::{Checked, Report};
use std::fmt::Write;

/// A table of claims for each paper, then every check with its numbers.
#[must_use]
pub fn render(report: &Report) -> String {
    let (good, all) = report.score();
    // Writing to a string cannot fail, here and below.
    let mut out = String::new();
    let _ = writeln!(
        out,
        "{good} of {all} claims reproduced; {} runs, {} effort.\n",
        report.runs, report.effort
    );
    for paper in report.papers.iter().filter(|p| !p.claims.is_empty()) {
        let _ = writeln!(out, "## {}: {}\n", paper.id, paper.title);
        for claim in &paper.claims {
            let _ = writeln!(
                out,
                "### {}: {}\n\n{} ({})\n\n| what | paper | ns-2 | byway | |\n|---|---|---|---|---|",
                claim.id,
                claim.verdict.words(),
                claim.says,
                claim.section
            );
            claim.checks.iter().for_each(|c| row(&mut out, c));
            for text in claim.reason.iter().chain(&claim.remark) {
                let _ = write!(out, "\n{text}\n");
            }
            out.push('\n');
        }
    }
    out
}

fn row(out: &mut String, check: &Checked) {
    let cell = |text: &str| text.replace('|', "\\|");
    let byway = match &check.detail {
        Some(detail) if !check.holds => format!("{} ({detail})", check.byway),
        _ => check.byway.clone(),
    };
    let _ = writeln!(
        out,
        "| {} | {} | {} | {} | {} |",
        cell(&check.what),
        cell(&check.paper),
        cell(check.ns2.as_deref().unwrap_or("")),
        cell(&byway),
        if check.holds {
            "holds"
        } else {
            "**does not hold**"
        }
    );
}

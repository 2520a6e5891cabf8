//! The report page: one file that needs nothing else.

use super::checked::Checked;
use super::html::{anchor, escape, figure};
use super::report::{PaperResult, Report};
use super::today_page;
use super::verdict::{ClaimResult, Verdict};
use std::collections::BTreeSet;
use std::fmt::Write;

const CSS: &str = include_str!("../../assets/reproduce.css");

/// The page.
///
/// # Errors
/// A figure that cannot be drawn.
pub fn html(report: &Report, version: &str) -> Result<String, String> {
    let (good, all) = report.score();
    let mut out = String::with_capacity(1 << 20);
    out.push_str("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    out.push_str("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
    out.push_str("<title>byway: the five papers, run again</title>\n<style>");
    out.push_str(CSS);
    out.push_str("</style>\n</head>\n<body>\n<header>\n<h1>The five papers, run again</h1>\n");
    // Writing to a string cannot fail, here and below.
    if all > 0 {
        let _ = writeln!(
            out,
            "<p class=\"summary\"><b>{good} of {all}</b> claims reproduced</p>"
        );
    }
    let _ = writeln!(
        out,
        "<p class=\"quiet\">byway {}, {} effort, {} runs ({}; shared is a run that several \
         cells asked for, or that is the same under a setting that it never came to ask for). A claim is reproduced if each of its checks holds. \
         Intervals are 95 % confidence intervals over runs with different seeds; all policies meet the same losses.</p>\n</header>\n<main>",
        escape(version),
        report.effort,
        report.runs,
        report.runs_words()
    );
    if all > 0 {
        out.push_str(&summary(report));
    }
    for paper in report.papers.iter().filter(|p| !p.questions) {
        section(&mut out, paper)?;
    }
    for asked in report.papers.iter().filter(|p| p.questions) {
        today_page::section(&mut out, asked)?;
    }
    out.push_str("</main>\n</body>\n</html>\n");
    Ok(out)
}

/// The table of claims.
fn summary(report: &Report) -> String {
    let mut out = String::from(
        "<h2>Claims</h2>\n<table class=\"claims\"><thead><tr><th>claim</th><th>what the paper \
         says</th><th>verdict</th></tr></thead>\n<tbody>\n",
    );
    let papers = report.papers.iter().filter(|p| !p.questions);
    for paper in papers.filter(|p| !p.claims.is_empty()) {
        let _ = writeln!(
            out,
            "<tr class=\"paper\"><th colspan=\"3\"><a href=\"#{}\">{}</a> {}</th></tr>",
            paper.id,
            paper.id,
            escape(&paper.title)
        );
        for claim in &paper.claims {
            let _ = writeln!(
                out,
                "<tr><td><a href=\"#{0}\">{0}</a></td><td>{1}</td><td>{2}</td></tr>",
                claim.id,
                escape(&claim.says),
                badge(claim.verdict)
            );
        }
    }
    out.push_str("</tbody></table>\n");
    out
}

fn badge(verdict: Verdict) -> String {
    let class = match verdict {
        Verdict::Reproduced => "good",
        Verdict::NotReproduced => "bad",
    };
    format!("<span class=\"badge {class}\">{}</span>", verdict.words())
}

/// A paper: its claims, each with its figure, then the other figures.
fn section(out: &mut String, paper: &PaperResult) -> Result<(), String> {
    let _ = writeln!(
        out,
        "<section id=\"{}\">\n<h2>{}</h2>\n<p class=\"quiet\">{}</p>\n<p>{}</p>",
        paper.id,
        escape(&paper.title),
        escape(&paper.citation),
        escape(&paper.setting)
    );
    let mut drawn = BTreeSet::new();
    for claim in &paper.claims {
        self::claim(out, claim);
        let Some(id) = &claim.figure else { continue };
        let name = format!("{} figure {id}", paper.id);
        let Some(figure) = paper.figures.iter().find(|f| f.name == name) else {
            continue;
        };
        if drawn.insert(name) {
            self::figure(out, figure)?;
        } else {
            let _ = writeln!(
                out,
                "<p class=\"quiet\">Drawn above: <a href=\"#{}\">{}</a>.</p>",
                anchor(&figure.name),
                escape(&figure.name)
            );
        }
    }
    for figure in paper.figures.iter().filter(|f| !drawn.contains(&f.name)) {
        self::figure(out, figure)?;
    }
    out.push_str("</section>\n");
    Ok(())
}

fn claim(out: &mut String, claim: &ClaimResult) {
    let _ = writeln!(
        out,
        "<article id=\"{0}\">\n<h3>{0} {1}</h3>\n<p>{2} <span class=\"quiet\">({3})</span></p>",
        claim.id,
        badge(claim.verdict),
        escape(&claim.says),
        escape(&claim.section)
    );
    out.push_str(
        "<table class=\"checks\"><thead><tr><th>what is looked at</th><th>paper</th><th>ns-2</th>\
         <th>byway</th></tr></thead>\n<tbody>\n",
    );
    for check in &claim.checks {
        self::check(out, check);
    }
    out.push_str("</tbody></table>\n");
    if let Some(reason) = &claim.reason {
        let _ = writeln!(out, "<p><b>Why not:</b> {}</p>", escape(reason));
    }
    if let Some(remark) = &claim.remark {
        let _ = writeln!(out, "<p class=\"quiet\">{}</p>", escape(remark));
    }
    out.push_str("</article>\n");
}

fn check(out: &mut String, check: &Checked) {
    let sign = |holds: bool| {
        let (class, sign, words) = if holds {
            ("good", "\u{2713}", "holds")
        } else {
            ("bad", "\u{2717}", "does not hold")
        };
        format!("<span class=\"{class}\" title=\"{words}\" aria-label=\"{words}\">{sign}</span> ")
    };
    let ns2 = check.ns2.as_deref().map_or("\u{2013}".to_owned(), escape);
    let detail = check
        .detail
        .as_ref()
        .map_or(String::new(), |d| format!("<small>{}</small>", escape(d)));
    let _ = writeln!(
        out,
        "<tr><td data-head=\"what\">{}</td><td data-head=\"paper\">{}</td>\
         <td data-head=\"ns-2\">{}{ns2}</td><td data-head=\"byway\">{}{}{detail}</td></tr>",
        escape(&check.what),
        escape(&check.paper),
        check.ns2_holds.map_or(String::new(), sign),
        sign(check.holds),
        escape(&check.byway)
    );
}

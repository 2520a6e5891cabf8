//! The report page: one file that needs nothing else.

use super::ablation::{Ablation, Vary};
use super::against::Agreement;
use super::claim_page;
use super::html::{anchor, escape, figure};
use super::marks::{badge, sign};
use super::report::{PaperResult, Report};
use super::rule::Outcome;
use super::today_page;
use super::verdict::{ClaimResult, Verdict};
use std::collections::BTreeSet;
use std::fmt::Write;

const CSS: &str = include_str!("../../assets/reproduce.css");
/// A click on a point shows the command that runs it again.
const SCRIPT: &str = include_str!("../../assets/reproduce.js");

/// The page. `agreement`: how the verdicts agree with those of another report.
///
/// # Errors
/// A figure that cannot be drawn.
pub fn html(
    report: &Report,
    version: &str,
    agreement: Option<&Agreement>,
) -> Result<String, String> {
    let headline = report.headline();
    let mut out = String::with_capacity(1 << 20);
    out.push_str("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    out.push_str("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
    out.push_str("<title>byway: the five papers, run again</title>\n<style>");
    out.push_str(CSS);
    out.push_str("</style>\n</head>\n<body>\n<header>\n<h1>The five papers, run again</h1>\n");
    // Writing to a string cannot fail, here and below.
    if !headline.is_empty() {
        let _ = writeln!(
            out,
            "<p class=\"summary\">{}</p>",
            escape(&headline.replacen("of", "Of", 1))
        );
    }
    let _ = writeln!(
        out,
        "<p class=\"quiet\">byway {}, {} effort, {}, {} runs ({}; shared is a run that several \
         cells asked for, or that is the same under a setting that it never came to ask for). \
         A figure stands on distinct runs; intervals are 95 % confidence intervals over clusters \
         of runs with one seed; all policies meet the same losses.</p>",
        escape(version),
        report.effort,
        report.looks_words(),
        report.runs,
        report.runs_words()
    );
    if let Some(origin) = &report.origin {
        let _ = writeln!(out, "<p class=\"quiet\">{}</p>", code(&origin.words()));
    }
    if !headline.is_empty() {
        let _ = writeln!(out, "<p class=\"quiet\">{}</p>", code(&report.digests()));
    }
    if let Some(agreement) = agreement {
        let _ = writeln!(
            out,
            "<p><b>Against another report:</b> {}; of {} claims that neither leaves undecided {}.</p>",
            escape(&agreement.headline()),
            agreement.decided.0,
            agreement.decided.1
        );
    }
    if !headline.is_empty() {
        key(&mut out, report);
    }
    out.push_str("</header>\n<main>\n");
    if !headline.is_empty() {
        out.push_str(&summary(report));
        out.push_str(&matrix(report));
    }
    for paper in report.papers.iter().filter(|p| !p.questions) {
        section(&mut out, paper)?;
    }
    for asked in report.papers.iter().filter(|p| p.questions) {
        today_page::section(&mut out, asked)?;
    }
    let _ = writeln!(
        out,
        "</main>\n<script>\n{SCRIPT}</script>\n</body>\n</html>"
    );
    Ok(out)
}

/// A sentence in which commands and digests stand between grave accents.
fn code(words: &str) -> String {
    let parts: Vec<String> = words.split('`').map(escape).collect();
    let within = |(i, part): (usize, &String)| match i % 2 {
        0 => part.clone(),
        _ => format!("<code>{part}</code>"),
    };
    parts.iter().enumerate().map(within).collect()
}

/// What verdicts and signs mean.
fn key(out: &mut String, report: &Report) {
    out.push_str("<dl class=\"key\">\n");
    let fault = |v: &Verdict| matches!(v, Verdict::Vacuous | Verdict::Unvalidated);
    let said = |v: &Verdict| !fault(v) || report.count(*v) > 0;
    for verdict in Verdict::ALL.into_iter().filter(said) {
        let _ = writeln!(
            out,
            "<dt>{}</dt><dd>{}</dd>",
            badge(verdict, verdict.words()),
            verdict.meaning()
        );
    }
    let _ = writeln!(
        out,
        "<dt>{}{}{}</dt><dd>A check holds, does not hold, is undecided.</dd>\n\
         <dt>controls</dt><dd>{}.</dd>\n</dl>\n<p class=\"quiet\">The rule of verdicts is \
         experiments/RULE.md in byway's repository.</p>",
        sign(Outcome::Holds),
        sign(Outcome::Fails),
        sign(Outcome::Undecided),
        report.controls_words()
    );
}

/// The table of claims.
fn summary(report: &Report) -> String {
    let mut out = String::from(
        "<h2>Claims</h2>\n<table class=\"claims\"><thead><tr><th>claim</th><th>what the paper \
         says</th>",
    );
    let first = report.claims().next();
    for ablation in first.iter().flat_map(|c| c.presets()) {
        let _ = write!(out, "<th>{}</th>", ablation.settings.name());
    }
    out.push_str("<th>verdict</th></tr></thead>\n<tbody>\n");
    let columns = 3 + first.map_or(0, |c| c.presets().count());
    let papers = report.papers.iter().filter(|p| !p.questions);
    for paper in papers.filter(|p| !p.claims.is_empty()) {
        let _ = writeln!(
            out,
            "<tr class=\"paper\"><th colspan=\"{columns}\"><a href=\"#{}\">{}</a> {}</th></tr>",
            paper.id,
            paper.id,
            escape(&paper.title)
        );
        for claim in &paper.claims {
            let near = claim.near.as_ref().map_or_else(String::new, |n| {
                format!("<small>How near: {}.</small>", escape(&n.words))
            });
            let _ = writeln!(
                out,
                "<tr><td><a href=\"#{0}\">{0}</a></td><td>{1}{near}</td>{3}<td>{2}</td></tr>",
                claim.id,
                escape(&claim.says),
                badge(claim.verdict, &claim.verdict_words()),
                ablations(claim)
            );
        }
    }
    out.push_str("</tbody></table>\n");
    out
}

/// The verdicts by missing reports and exit point, if they were asked for.
fn matrix(report: &Report) -> String {
    let of = |claim: &ClaimResult, vary: Vary| {
        let found = claim.varied().find(|a| a.settings == Ablation::But(vary));
        found.map(|a| a.verdict)
    };
    let first = report.claims().next();
    if first.is_none_or(|c| of(c, Vary::MATRIX[0]).is_none()) {
        return String::new();
    }
    let heads = Vary::MATRIX.map(|v| format!("<th>{}</th>", Ablation::But(v).name()));
    let mut out = format!(
        "<h2 id=\"matrix\">Missing reports and exit point</h2>\n<p>A chunk is fast retransmitted at the \
         third or the fourth missing report; fast recovery has an exit point or none. All else is as run, \
         put to what --quick runs with up to four times its seeds.</p>\n<table class=\"claims matrix\"><thead><tr><th>claim</th><th>as run</th>{}</tr>\
         </thead>\n<tbody>\n",
        heads.concat()
    );
    for claim in report.claims() {
        let cells = Vary::MATRIX.map(|vary| match of(claim, vary) {
            Some(verdict) => format!("<td>{}</td>", badge(verdict, verdict.words())),
            None => "<td></td>".to_owned(),
        });
        let _ = writeln!(
            out,
            "<tr><td><a href=\"#{0}\">{0}</a></td><td>{1}</td>{2}</tr>",
            claim.id,
            badge(claim.verdict, claim.verdict.words()),
            cells.concat()
        );
    }
    out.push_str("</tbody></table>\n");
    out
}

/// The verdicts by settings without ns-2's rules.
fn ablations(claim: &ClaimResult) -> String {
    let cells = claim.presets();
    cells
        .map(|a| format!("<td>{}</td>", badge(a.verdict, a.verdict.words())))
        .collect()
}

/// A paper: its claims, each with its figure, then the other figures.
fn section(out: &mut String, paper: &PaperResult) -> Result<(), String> {
    let _ = writeln!(
        out,
        "<section id=\"{}\">\n<h2>{}</h2>\n<p class=\"quiet\">{}</p>\n<p>{}</p>\n\
         <p class=\"quiet\">Digest of the rule and the claims file: <code>{}</code>; of the scenarios, with their \
         networks: <code>{}</code></p>",
        paper.id,
        escape(&paper.title),
        escape(&paper.citation),
        escape(&paper.setting),
        paper.digest,
        paper.scenarios
    );
    if let Some(profile) = &paper.profile {
        let _ = writeln!(
            out,
            "<p><b>Sender, {}:</b> {}. <span class=\"quiet\">{} Digest of its settings: <code>{}</code></span></p>",
            escape(&profile.date),
            escape(&profile.release),
            escape(&profile.why),
            escape(&profile.digest)
        );
    }
    claim_page::parameters(out, paper);
    let mut drawn = BTreeSet::new();
    for claim in &paper.claims {
        claim_page::claim(out, claim, paper);
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

//! A claim on the page: its checks, and what was set for them.

use super::checked::Checked;
use super::html::escape;
use super::marks::{badge, sign};
use super::parameters::{Parameter, Source};
use super::report::PaperResult;
use super::verdict::ClaimResult;
use std::fmt::Write;

/// What was set, with what is not the paper's first.
pub(super) fn parameters(out: &mut String, paper: &PaperResult) {
    if paper.parameters.is_empty() {
        return;
    }
    let printed = |p: &&Parameter| p.source == Source::Printed;
    let (theirs, others): (Vec<_>, Vec<_>) = paper.parameters.iter().partition(printed);
    let _ = writeln!(
        out,
        "<details class=\"set\"><summary>What was set: {} parameters that the paper does not print, {} that it \
         prints</summary>\n<table><thead><tr><th>parameter</th><th>value</th><th>source</th><th>where</th></tr></thead>\n<tbody>",
        others.len(),
        theirs.len()
    );
    for p in others.into_iter().chain(theirs) {
        let _ = writeln!(
            out,
            "<tr><td data-head=\"parameter\">{}</td><td data-head=\"value\">{}</td>\
             <td data-head=\"source\">{}</td><td data-head=\"where\">{}</td></tr>",
            escape(&p.name),
            escape(&p.value),
            escape(&p.origin()),
            escape(&p.reason())
        );
    }
    out.push_str("</tbody></table></details>\n");
}

/// A claim: the paper's sentence, what was run, its checks.
pub(super) fn claim(out: &mut String, claim: &ClaimResult, paper: &PaperResult) {
    let _ = writeln!(
        out,
        "<article id=\"{0}\">\n<h3>{0} {1}</h3>\n<p>{2} <span class=\"quiet\">({3})</span></p>",
        claim.id,
        badge(claim.verdict, &claim.verdict_words()),
        escape(&claim.says),
        escape(&claim.section)
    );
    if let Some(near) = &claim.near {
        let _ = writeln!(out, "<p><b>How near:</b> {}.</p>", escape(&near.words));
    }
    ran(out, claim, &paper.parameters);
    let heads = claim.presets().map(|a| a.settings.name());
    let heads: String = heads.map(|name| format!("<th>{name}</th>")).collect();
    let class = match heads.is_empty() {
        true => "checks",
        false => "checks presets",
    };
    let _ = writeln!(
        out,
        "<table class=\"{class}\"><thead><tr><th>what is looked at</th><th>paper</th><th>ns-2</th>\
         <th>byway</th>{heads}<th>distinct runs</th></tr></thead>\n<tbody>"
    );
    for (i, check) in claim.checks.iter().enumerate() {
        self::check(out, check, &by_presets(claim, i), true);
    }
    out.push_str("</tbody></table>\n");
    if !claim.validation.is_empty() {
        out.push_str(
            "<p><b>On runs that the setting was not chosen by</b>, where it must hold as well:</p>\n<table class=\"checks\">\
             <thead><tr><th>what is looked at</th><th>paper</th><th>ns-2</th><th>byway</th><th>distinct runs\
             </th></tr></thead>\n<tbody>",
        );
        for check in &claim.validation {
            self::check(out, check, "", false);
        }
        out.push_str("</tbody></table>\n");
    }
    varied(out, claim);
    controls(out, claim);
    if let Some(fitted) = &claim.fitted {
        let _ = writeln!(out, "<p><b>Fitted:</b> {}</p>", escape(fitted));
    }
    if let Some(reason) = &claim.reason {
        let head = claim.verdict.why_not();
        let _ = writeln!(out, "<p><b>{head}:</b> {}</p>", escape(reason));
    }
    for change in &claim.changed {
        let _ = writeln!(
            out,
            "<p class=\"quiet\">Changed on {}: {} Before: {}</p>",
            escape(&change.on),
            escape(&change.why),
            escape(&change.was)
        );
    }
    if let Some(remark) = &claim.remark {
        let _ = writeln!(out, "<p class=\"quiet\">{}</p>", escape(remark));
    }
    out.push_str("</article>\n");
}

/// What was run for a claim, and what of it the paper does not print.
fn ran(out: &mut String, claim: &ClaimResult, parameters: &[Parameter]) {
    if claim.ran.is_empty() {
        return;
    }
    let runs: usize = claim.ran.iter().map(|r| r.runs.distinct).sum();
    let others = claim.not_printed(parameters);
    let _ = writeln!(
        out,
        "<details class=\"ran\"><summary>What was run: {runs} distinct runs, {} parameters that the paper \
         does not print</summary>\n<ul>",
        others.len()
    );
    for r in &claim.ran {
        let _ = writeln!(
            out,
            "<li>{} <span class=\"quiet\">Study {} ({}.toml), {} cells, {} distinct runs.</span></li>",
            escape(&r.what),
            escape(&r.study),
            escape(&r.scenario),
            r.cells,
            r.runs.words()
        );
    }
    out.push_str("</ul>\n<ul>\n");
    for p in others {
        let _ = writeln!(
            out,
            "<li>{}: {} <span class=\"quiet\">({})</span></li>",
            escape(&p.name),
            escape(&p.value),
            escape(&p.origin())
        );
    }
    out.push_str("</ul></details>\n");
}

/// The verdict with one parameter changed.
fn varied(out: &mut String, claim: &ClaimResult) {
    if claim.varied().next().is_none() {
        return;
    }
    out.push_str("<details><summary>With one parameter changed</summary>\n<ul>\n");
    for a in claim.varied() {
        let other: Vec<String> = (claim.checks.iter().zip(&a.outcomes).zip(&a.byway))
            .filter(|((check, outcome), _)| check.counts && check.outcome != **outcome)
            .map(|((check, outcome), byway)| {
                format!("{}: {} ({byway})", check.what, outcome.words())
            })
            .collect();
        let _ = writeln!(
            out,
            "<li>{}: {} {}</li>",
            escape(a.settings.name()),
            badge(a.verdict, a.verdict.words()),
            escape(&other.join("; "))
        );
    }
    out.push_str("</ul></details>\n");
}

/// What the checks say where they must not hold.
fn controls(out: &mut String, claim: &ClaimResult) {
    let checks = || claim.checks.iter().filter(|c| c.counts);
    if checks().all(|c| c.controls.is_empty()) {
        return;
    }
    out.push_str("<details><summary>Where these checks must not hold</summary>\n<ul>\n");
    for check in checks() {
        let said = check.controls.iter();
        let said: Vec<String> = said.map(|c| format!("{}: {}", c.name, c.words())).collect();
        let _ = writeln!(
            out,
            "<li>{}: {}</li>",
            escape(&check.what),
            escape(&said.join(", "))
        );
    }
    out.push_str("</ul></details>\n");
}

/// What a check shows by settings without ns-2's rules.
fn by_presets(claim: &ClaimResult, check: usize) -> String {
    let cells = claim.presets().map(|a| {
        let byway = a.byway.get(check).map_or("", String::as_str);
        let sign = a.outcomes.get(check).copied().map(sign);
        let sign = sign.filter(|_| claim.checks[check].counts);
        format!(
            "<td data-head=\"{}\">{}{}</td>",
            a.settings.name(),
            sign.unwrap_or_default(),
            escape(byway)
        )
    });
    cells.collect()
}

/// A row; `judged`: whether the check decides anything.
fn check(out: &mut String, check: &Checked, presets: &str, judged: bool) {
    let ns2 = check.ns2.as_deref().map_or("\u{2013}".to_owned(), escape);
    let mut notes: Vec<String> = check.detail.iter().cloned().collect();
    if let (Some(near), true) = (&check.near, check.counts) {
        notes.push(format!("How near: {}.", near.words));
    }
    notes.extend(
        check
            .beyond
            .iter()
            .map(|why| format!("No more seeds of this effort decide it: {why}.")),
    );
    notes.extend(check.changed.iter().map(|change| {
        format!(
            "changed on {}: {} Before: {}",
            change.on, change.why, change.was
        )
    }));
    if judged && check.holds() && check.is_vacuous() {
        notes.push(format!("vacuous: {}", check.vacuous_words()));
    }
    let notes: String = notes
        .iter()
        .map(|n| format!("<small>{}</small>", escape(n)))
        .collect();
    let byway = match check.counts {
        true => sign(check.outcome),
        false => String::new(),
    };
    let _ = writeln!(
        out,
        "<tr><td data-head=\"what\">{}</td><td data-head=\"paper\">{}</td>\
         <td data-head=\"ns-2\">{}{ns2}</td><td data-head=\"byway\">{byway}{}{notes}</td>{presets}\
         <td data-head=\"distinct runs\">{}</td></tr>",
        escape(&check.what),
        escape(&check.paper),
        check.ns2_outcome.map_or(String::new(), sign),
        escape(&check.byway),
        check.runs.words()
    );
}

//! Verdicts as Markdown: what is kept as the result of a run.

use super::ablation::Ablation;
use super::against::Agreement;
use super::check::{Changed, There};
use super::checked::Checked;
use super::parameters::Source;
use super::report::{PaperResult, Report};
use super::rule::Outcome;
use super::today::Still;
use super::verdict::ClaimResult;
use std::fmt::Write;

/// By what it was made and the verdicts in numbers, a table of all claims; for each paper its sender,
/// its parameters and every check with its numbers; the papers' questions with today's answers; the
/// controls, and the files of raw runs. `agreement`: how the verdicts agree with another report's.
#[must_use]
pub fn render(report: &Report, agreement: Option<&Agreement>) -> String {
    let mut out = String::from("# The five papers, run again\n\n");
    let papers = || report.papers.iter().filter(|p| !p.questions);
    let headline = report.headline();
    // Writing to a string cannot fail, here and below.
    if !headline.is_empty() {
        let _ = writeln!(out, "**{}.**\n", headline.replacen("of", "Of", 1));
    }
    if let Some(origin) = &report.origin {
        let _ = writeln!(out, "{}", origin.words());
    }
    if !headline.is_empty() {
        let _ = writeln!(out, "{}", report.digests());
    }
    let _ = writeln!(
        out,
        "{} runs ({}), {} effort, seeds from {} on, {}. Shared is a run that several cells asked for, or \
         that is the same under a setting that it never came to ask for. A figure stands on distinct runs; \
         intervals are 95 % confidence intervals over clusters of runs with one seed. Verdicts are those \
         of [RULE.md](RULE.md).\n",
        report.runs,
        report.runs_words(),
        report.effort,
        report.first_seed,
        report.looks_words()
    );
    if !headline.is_empty() {
        summary(&mut out, report);
    }
    if let Some(agreement) = agreement {
        let _ = writeln!(out, "## Against another report\n\n{}", agreement.markdown());
    }
    for paper in papers().filter(|p| !p.claims.is_empty()) {
        self::paper(&mut out, paper);
    }
    for asked in report.papers.iter().filter(|p| p.questions) {
        questions(&mut out, asked);
    }
    if !headline.is_empty() {
        let _ = writeln!(
            out,
            "## Controls\n\n{}.\n\n{}",
            report.controls_words(),
            controls(report)
        );
    }
    raw(&mut out, report);
    out
}

/// The claims with their verdicts.
fn summary(out: &mut String, report: &Report) {
    let plain = plain(report);
    let heads: String = plain.iter().map(|a| format!(" {} |", a.name())).collect();
    let line = "---|".repeat(plain.len());
    let _ = writeln!(
        out,
        "| claim | verdict |{heads} what the paper says | how near the verdict is to another one |\n\
         |---|---|{line}---|---|"
    );
    for claim in report.claims() {
        let _ = writeln!(
            out,
            "| {} | {} |{} {} | {} |",
            claim.id,
            claim.verdict_words(),
            ablations(claim),
            cell(&claim.says),
            claim
                .near
                .as_ref()
                .map_or(String::new(), |n| cell(&n.words))
        );
    }
    if !plain.is_empty() {
        out.push_str(
            "\nThe columns of presets: the same claims without any of ns-2's rules, \
             put to what `--quick` runs with up to four times its seeds.\n",
        );
    }
    out.push('\n');
}

/// A paper: its sender, its parameters, its claims.
fn paper(out: &mut String, paper: &PaperResult) {
    let _ = writeln!(
        out,
        "## {}: {}\n\n{}\n\nDigest of the rule and the claims file: `{}`; of the scenarios, with their networks: `{}`.\n",
        paper.id, paper.title, paper.setting, paper.digest, paper.scenarios
    );
    if let Some(profile) = &paper.profile {
        let _ = writeln!(
            out,
            "Sender, {}: {}. {} Digest of all its settings: `{}`.\n",
            profile.date, profile.release, profile.why, profile.digest
        );
    }
    if !paper.parameters.is_empty() {
        out.push_str("| parameter | value | source | where |\n|---|---|---|---|\n");
        for p in &paper.parameters {
            let (name, value) = (cell(&p.name), cell(&p.value));
            let _ = writeln!(
                out,
                "| {name} | {value} | {} | {} |",
                cell(&p.origin()),
                cell(&p.reason())
            );
        }
        out.push('\n');
    }
    for claim in &paper.claims {
        checks(out, claim, &claim.verdict_words());
        if let Some(near) = &claim.near {
            let _ = write!(out, "\nHow near: {}.\n", near.words);
        }
        ran(out, claim, paper);
        if let Some(fitted) = &claim.fitted {
            let _ = write!(out, "\nFitted: {fitted}\n");
        }
        if let Some(reason) = &claim.reason {
            let _ = write!(out, "\n{}: {reason}\n", claim.verdict.why_not());
        }
        if let Some(remark) = &claim.remark {
            let _ = write!(out, "\n{remark}\n");
        }
        if !claim.validation.is_empty() {
            out.push_str(
                "\nOn runs that the setting was not chosen by, where it must hold as well:\n\n",
            );
            head(out);
            claim.validation.iter().for_each(|c| row(out, c));
        }
        presets(out, claim);
        changes(out, claim);
        out.push('\n');
    }
    figures(out, paper);
}

/// The figures, with the files that `--figures` writes of them.
fn figures(out: &mut String, paper: &PaperResult) {
    if paper.figures.is_empty() {
        return;
    }
    let _ = writeln!(
        out,
        "### Figures of {}\n\n| figure | what it shows | its numbers |\n|---|---|---|",
        paper.id
    );
    for figure in &paper.figures {
        let _ = writeln!(
            out,
            "| {} | {} | `{}` |",
            cell(&figure.name),
            cell(&figure.title),
            figure.file_name()
        );
    }
    out.push('\n');
}

/// What was run for a claim, and the names of what was set that the paper does not print: their values
/// stand in the paper's table.
fn ran(out: &mut String, claim: &ClaimResult, paper: &PaperResult) {
    if claim.ran.is_empty() {
        return;
    }
    out.push_str("\nWhat was run:\n\n");
    for r in &claim.ran {
        let _ = writeln!(
            out,
            "- {} Study `{}` (`{}.toml`), {} cells, {} distinct runs.",
            r.what,
            r.study,
            r.scenario,
            r.cells,
            r.runs.words()
        );
    }
    let others = claim.not_printed(&paper.parameters);
    let names: Vec<String> = (others.iter())
        .map(|p| match p.source {
            Source::Fitted => format!("{} (fitted)", p.name),
            _ => p.name.clone(),
        })
        .collect();
    if !names.is_empty() {
        let _ = writeln!(out, "\nNot printed by the paper: {}.", names.join("; "));
    }
}

/// What the checks show by settings without ns-2's rules.
fn presets(out: &mut String, claim: &ClaimResult) {
    let plain: Vec<_> = claim.presets().collect();
    if plain.is_empty() {
        return;
    }
    let heads: String = plain
        .iter()
        .map(|a| format!(" {} |", a.settings.name()))
        .collect();
    let line = "---|".repeat(plain.len());
    let _ = writeln!(out, "\n| without ns-2's rules |{heads}\n|---|{line}");
    for (i, check) in claim.checks.iter().enumerate() {
        let cells: String = plain
            .iter()
            .map(|a| {
                let found = a.byway.get(i).map_or("", String::as_str);
                match (check.counts, a.outcomes.get(i)) {
                    (true, Some(outcome)) => format!(" {}: {} |", cell(found), outcome.words()),
                    _ => format!(" {} |", cell(found)),
                }
            })
            .collect();
        let _ = writeln!(out, "| {} |{cells}", cell(&check.what));
    }
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
        "### {}: {verdict}\n\n{} ({})\n",
        claim.id, claim.says, claim.section
    );
    head(out);
    claim.checks.iter().for_each(|c| row(out, c));
}

fn head(out: &mut String) {
    out.push_str(
        "| what | paper | ns-2 | byway | distinct runs | how near | |\n|---|---|---|---|---|---|---|\n",
    );
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

/// What was changed of its checks since their first version; the same change of several checks is told
/// once.
fn changes(out: &mut String, claim: &ClaimResult) {
    let whole = claim
        .changed
        .iter()
        .map(|change| (change, vec!["the claim"]));
    let mut told: Vec<(&Changed, Vec<&str>)> = whole.collect();
    for check in &claim.checks {
        for change in &check.changed {
            match told.iter_mut().find(|t| t.0 == change) {
                Some((_, checks)) => checks.push(&check.what),
                None => told.push((change, vec![&check.what])),
            }
        }
    }
    for (change, checks) in told {
        let of = match checks.as_slice() {
            [one] => (*one).to_owned(),
            several => format!("{} checks", several.len()),
        };
        let _ = write!(
            out,
            "\nChanged on {} ({of}): {} Before: {}.\n",
            change.on, change.why, change.was
        );
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
    let near = match (&check.near, check.counts) {
        (Some(near), true) => cell(&near.words),
        _ => String::new(),
    };
    let verdict = match (check.counts, check.outcome) {
        (false, _) => "shown only".to_owned(),
        (true, Outcome::Holds) if !check.controls.is_empty() && check.is_vacuous() => {
            format!("**vacuous**: {}", check.vacuous_words())
        }
        (true, Outcome::Holds) => "holds".to_owned(),
        (true, outcome) => match &check.beyond {
            Some(why) => format!("**{}**: {}", outcome.words(), cell(why)),
            None => format!("**{}**", outcome.words()),
        },
    };
    let _ = writeln!(
        out,
        "| {} | {} | {} | {} | {} | {near} | {verdict} |",
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
    let mut out = String::from(
        "Arms swapped, arms equal, and runs without the mechanism: the check must not hold, and undecided \
         does not count. Arms of one kind, which chance alone tells apart: it must not be shown to hold in \
         more than a fifth of the deals. Beside that stands by how many deals of as many runs of the arms \
         as they are it holds: whether so few runs could tell.\n\n\
         | claim | check | as run | control | there | |\n|---|---|---|---|---|---|\n",
    );
    for (claim, check) in report.counted_checks() {
        let mut row = |control: &str, there: &str, so: &str| {
            let _ = writeln!(
                out,
                "| {} | {} | {} | {control} | {there} | {so} |",
                claim.id,
                cell(&check.what),
                check.outcome.words()
            );
        };
        if check.controls.is_empty() {
            let so = match (check.is_vacuous(), check.can_hold) {
                (true, _) => "**vacuous**",
                (false, false) => "it can only be refuted",
                (false, true) => "it does not hold as run",
            };
            row("none", "", so);
        }
        for control in &check.controls {
            let so = match control.there() {
                there if there.is_right() => "as it must",
                There::Open if !check.holds() => "shows nothing; nor does the check",
                There::NoRuns if check.runs.all == 0 => "nor of the check",
                _ => "**vacuous**",
            };
            row(control.name, &control.words(), so);
        }
    }
    out
}

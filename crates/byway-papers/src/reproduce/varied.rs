//! What hangs on the parameters: the tables of `--matrix` and `--sensitivity`.

use super::ablation::Vary;
use super::report::{PaperResult, Report};
use super::verdict::{Ablated, ClaimResult};
use super::{Ablation, Verdict};
use std::fmt::Write;

/// The verdicts by missing reports and exit point, as Markdown. `origin`: what ran it, in a sentence.
#[must_use]
pub fn matrix(report: &Report, origin: &str) -> String {
    let mut out = head(
        "Missing reports and exit point",
        "byway reproduce --matrix",
        report,
        origin,
    );
    out.push_str(
        "A chunk is fast retransmitted at the third or the fourth missing report; fast recovery has an exit \
         point or none. Everything else is as in the first column, which has the paper's own sender. ns-2's CMT \
         class has exit points of its own, so that M1 to M5 do not depend on that half. Bold: another verdict than \
         in the first column, in which the claims are looked at with all runs; the others have what `--quick` runs, \
         with up to four times its seeds.\n\n| claim | as run |",
    );
    for vary in Vary::MATRIX {
        let _ = write!(out, " {} |", Ablation::But(vary).name());
    }
    out.push_str("\n|---|---|---|---|---|---|\n");
    for claim in report.claims() {
        let _ = write!(out, "| {} | {} |", claim.id, claim.verdict_words());
        for vary in Vary::MATRIX {
            let _ = write!(out, " {} |", cell(claim, by(claim, vary)));
        }
        out.push('\n');
    }
    let _ = writeln!(out, "\n{}\n", totals(report));
    out.push_str("## Checks that change\n\n");
    for claim in report.claims() {
        for vary in Vary::MATRIX {
            changed(&mut out, claim, vary);
        }
    }
    out
}

/// How many claims of each column have each verdict.
fn totals(report: &Report) -> String {
    let count = |of: &dyn Fn(&ClaimResult) -> Option<Verdict>| {
        let verdicts: Vec<Verdict> = report.claims().filter_map(of).collect();
        let named = |verdict: &Verdict| {
            let count = verdicts.iter().filter(|v| *v == verdict).count();
            (count > 0).then(|| format!("{count} {}", verdict.words()))
        };
        let counts: Vec<String> = Verdict::ALL.iter().filter_map(named).collect();
        counts.join(", ")
    };
    let mut words = vec![format!("as run {}", count(&|c| Some(c.verdict)))];
    for vary in Vary::MATRIX {
        let name = Ablation::But(vary).name();
        words.push(format!(
            "\"{name}\" {}",
            count(&|c| Some(by(c, vary)?.verdict))
        ));
    }
    format!(
        "Of {} claims: {}.",
        report.claims().count(),
        words.join("; ")
    )
}

/// A table of each paper's parameters, and how far the verdicts move with them.
#[must_use]
pub fn sensitivity(report: &Report, origin: &str) -> String {
    let mut out = head(
        "Parameters",
        "byway reproduce --sensitivity",
        report,
        origin,
    );
    out.push_str(
        "Where each value comes from, and how far the verdicts move where one of them is halved and doubled: \
         the claims with another verdict, and how many checks say something else; \
         for the direction of loss where data alone, and SACKs alone, are lost. A dash: it is not varied here. \
         Times that a claim counts from the start of a run move with the failure, so that they fail.\n",
    );
    let papers = report.papers.iter().filter(|p| !p.questions);
    for paper in papers.filter(|p| !p.claims.is_empty()) {
        parameters(&mut out, paper);
    }
    out
}

fn head(title: &str, command: &str, report: &Report, origin: &str) -> String {
    format!(
        "# {title}\n\nWritten by `{command}`, {} effort, {} runs ({}). {origin}\n{}\n\n",
        report.effort,
        report.runs,
        report.runs_words(),
        report.digests()
    )
}

fn parameters(out: &mut String, paper: &PaperResult) {
    let _ = writeln!(
        out,
        "\n## {}\n\n| parameter | value | source | where | halved | doubled |\n|---|---|---|---|---|---|",
        paper.id
    );
    for p in &paper.parameters {
        let of = |v: &&Vary| p.varied.as_deref() == Some(v.parameter());
        let moves: Vec<String> = Vary::SENSITIVITY
            .iter()
            .filter(of)
            .map(|v| moved(paper, *v))
            .collect();
        let cell = |i: usize| moves.get(i).map_or("\u{2013}", String::as_str);
        let _ = writeln!(
            out,
            "| {} | {} | {} | {} | {} | {} |",
            p.name,
            p.value,
            p.origin().replace('|', "\\|"),
            p.reason().replace('|', "\\|"),
            cell(0),
            cell(1)
        );
    }
}

/// The claims whose verdict is another one, and how many of all checks say something else.
fn moved(paper: &PaperResult, vary: Vary) -> String {
    let moves = paper.claims.iter().filter_map(|claim| {
        let other = by(claim, vary)?.verdict;
        (other != claim.verdict).then(|| {
            let (from, to) = (claim.verdict.words(), other.words());
            format!("{}: {from} \u{2192} {to}", claim.id)
        })
    });
    let moves: Vec<String> = moves.collect();
    let (mut other, mut all) = (0, 0);
    for claim in &paper.claims {
        let outcomes = by(claim, vary).map_or(&[][..], |a| a.outcomes.as_slice());
        for (check, outcome) in claim.checks.iter().zip(outcomes).filter(|(c, _)| c.counts) {
            all += 1;
            other += usize::from(check.outcome != *outcome);
        }
    }
    let moves = match moves.is_empty() {
        true => "none moves".to_owned(),
        false => moves.join("; "),
    };
    format!("{moves} ({other} of {all} checks say something else)")
}

fn by(claim: &ClaimResult, vary: Vary) -> Option<&Ablated> {
    let found = |a: &&Ablated| a.settings == Ablation::But(vary);
    claim.ablations.iter().find(found)
}

fn cell(claim: &ClaimResult, by: Option<&Ablated>) -> String {
    match by {
        None => "\u{2013}".to_owned(),
        Some(a) if a.verdict == claim.verdict => a.verdict.words().to_owned(),
        Some(a) => format!("**{}**", a.verdict.words()),
    }
}

/// The checks of a claim with another outcome, with what they show.
fn changed(out: &mut String, claim: &ClaimResult, vary: Vary) {
    let Some(found) = by(claim, vary) else { return };
    let pairs = found.outcomes.iter().zip(&found.byway);
    for (check, (outcome, byway)) in claim.checks.iter().zip(pairs) {
        if check.outcome != *outcome {
            let _ = writeln!(
                out,
                "- {}, {}: {}: {} ({}); as run {} ({})",
                claim.id,
                Ablation::But(vary).name(),
                check.what,
                outcome.words(),
                byway,
                check.outcome.words(),
                check.byway
            );
        }
    }
}

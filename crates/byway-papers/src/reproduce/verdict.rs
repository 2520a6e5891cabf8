//! What the checks of a claim add up to.

use super::ablation::Ablation;
use super::cells::Cells;
use super::check::{Changed, Check, RunCount};
use super::checked::Checked;
use super::claim::Claim;
use super::near::Near;
use super::parameters::{Parameter, Source};
use super::rule::{Level, Outcome};
use super::today::{self, Answer, Still};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What becomes of a claim.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// All of its checks hold, and the paper's numbers are among them.
    Reproduced,
    /// All of its checks hold; they are orders, as the paper shows no numbers that could be
    /// tested.
    TrendOnly,
    /// All of its checks hold by a setting that was chosen with results in view, and on runs that
    /// it was not chosen by as well.
    Fitted,
    /// None fails, and not all hold.
    Undecided,
    /// At least one fails.
    NotReproduced,
    /// All hold, but one of them is not shown to fail where it must not hold, or none counts: not
    /// counted.
    Vacuous,
    /// All hold by a setting that was chosen with results in view, and nothing else was found on
    /// which it could be tested: not counted.
    Unvalidated,
}

impl Verdict {
    /// All, in the order of the headline.
    pub const ALL: [Verdict; 7] = [
        Verdict::Reproduced,
        Verdict::TrendOnly,
        Verdict::Fitted,
        Verdict::Undecided,
        Verdict::NotReproduced,
        Verdict::Vacuous,
        Verdict::Unvalidated,
    ];

    /// In words.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Verdict::Reproduced => "reproduced",
            Verdict::TrendOnly => "trend only",
            Verdict::Fitted => "fitted",
            Verdict::Undecided => "undecided",
            Verdict::NotReproduced => "not reproduced",
            Verdict::Vacuous => "vacuous",
            Verdict::Unvalidated => "fitted, not validated",
        }
    }

    /// What it means, for a reader who has not seen the rule.
    #[must_use]
    pub fn meaning(self) -> &'static str {
        match self {
            Verdict::Reproduced => "All checks hold, and printed numbers are among them.",
            Verdict::TrendOnly => {
                "All checks hold. They are orders and trends; no printed number is tested."
            }
            Verdict::Fitted => {
                "All checks hold, by a setting that was chosen with results in view, and on runs that it \
                 was not chosen by as well."
            }
            Verdict::Undecided => {
                "No check fails, but the runs are too few to tell. --full and --until-decided \
                 take more."
            }
            Verdict::NotReproduced => "A check does not hold.",
            Verdict::Vacuous => {
                "All checks hold, but one of them is not shown to fail where it must not hold. Not \
                 counted."
            }
            Verdict::Unvalidated => {
                "All checks hold, by a setting that was chosen with results in view, and there is \
                 nothing else to test it on. Not counted."
            }
        }
    }

    /// What stands before the reason for it, where it does not hold.
    #[must_use]
    pub fn why_not(self) -> &'static str {
        match self {
            Verdict::Undecided => "Why undecided",
            Verdict::Vacuous | Verdict::Unvalidated => "Why not counted",
            _ => "Why not",
        }
    }

    /// Whether it counts as holding.
    #[must_use]
    pub fn holds(self) -> bool {
        matches!(
            self,
            Verdict::Reproduced | Verdict::TrendOnly | Verdict::Fitted
        )
    }
}

/// A claim with what was found.
#[derive(Clone, Debug, Serialize)]
pub struct ClaimResult {
    /// `A3`.
    pub id: String,
    /// The paper's name.
    pub paper: String,
    /// Where the paper says it.
    pub section: String,
    /// What it says, in other words.
    pub says: String,
    /// The verdict.
    pub verdict: Verdict,
    /// How near it is to another one.
    pub near: Option<Near>,
    /// What was chosen with results in view, if anything was.
    pub fitted: Option<String>,
    /// The answer of today's settings, if this is a question asked again.
    pub today: Option<Answer>,
    /// Why it is not reproduced, or undecided.
    pub reason: Option<String>,
    /// What was changed of it as a whole since its first version.
    pub changed: Vec<Changed>,
    /// What a reader should know besides.
    pub remark: Option<String>,
    /// The figure of the paper that shows it.
    pub figure: Option<String>,
    /// What was run for it.
    pub ran: Vec<Ran>,
    /// The checks.
    pub checks: Vec<Checked>,
    /// The same checks put to runs that its setting was not chosen by: what is fitted must hold
    /// there as well.
    pub validation: Vec<Checked>,
    /// The same by other settings, if that was asked for.
    pub ablations: Vec<Ablated>,
}

impl ClaimResult {
    /// Whether more runs may decide it.
    #[must_use]
    pub fn is_open(&self) -> bool {
        match &self.today {
            Some(answer) => answer.still == Still::Undecided,
            None => self.verdict == Verdict::Undecided,
        }
    }

    /// Of these parameters those of what was run for it that the paper does not print.
    pub fn not_printed<'a>(&self, parameters: &'a [Parameter]) -> Vec<&'a Parameter> {
        let is_its = |p: &&Parameter| {
            let of = |r: &Ran| p.scenarios.is_empty() || p.scenarios.contains(&r.scenario);
            p.source != Source::Printed && self.ran.iter().any(of)
        };
        parameters.iter().filter(is_its).collect()
    }

    /// What it is with one parameter changed.
    pub fn varied(&self) -> impl Iterator<Item = &Ablated> {
        self.ablations.iter().filter(|a| !a.settings.is_preset())
    }

    /// What it is by the presets without ns-2's rules.
    pub fn presets(&self) -> impl Iterator<Item = &Ablated> {
        self.ablations.iter().filter(|a| a.settings.is_preset())
    }

    /// The verdict, and the word "fitted" where a setting was chosen with results in view.
    #[must_use]
    pub fn verdict_words(&self) -> String {
        let words = self.verdict.words();
        let said = matches!(self.verdict, Verdict::Fitted | Verdict::Unvalidated);
        match self.fitted.is_some() && !said {
            true => format!("{words} (fitted)"),
            false => words.to_owned(),
        }
    }
}

/// The runs of a study behind a claim.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Ran {
    /// The study.
    pub study: String,
    /// Its scenario, a file of the paper's folder without its ending.
    pub scenario: String,
    /// What is run and how often, in words.
    pub what: String,
    /// Places of its cells.
    pub cells: usize,
    /// Runs in all of them: distinct ones, and all.
    pub runs: RunCount,
}

/// A claim by settings without ns-2's rules.
#[derive(Clone, Debug, Serialize)]
pub struct Ablated {
    /// Which settings.
    pub settings: Ablation,
    /// The verdict by them.
    pub verdict: Verdict,
    /// What each check shows.
    pub byway: Vec<String>,
    /// Whether it holds.
    pub outcomes: Vec<Outcome>,
}

/// Cells by study.
pub(super) type ByStudy<'a> = BTreeMap<&'a str, Cells>;

/// Puts the checks of a claim to the cells of their studies.
pub(super) fn of(
    claim: &Claim,
    paper: &str,
    ours: &ByStudy<'_>,
    ns2: &ByStudy<'_>,
    level: Level,
) -> ClaimResult {
    let asked = claim.answers.is_some();
    let checks: Vec<Checked> = claim
        .checks
        .iter()
        .map(|c| evaluate(c, ours, ns2, level, !asked))
        .collect();
    let validation = validation(claim, ours, ns2, level);
    let verdict = verdict(claim, &checks, &validation, Checked::is_vacuous);
    let reason = (!verdict.holds() && !asked).then(|| match verdict {
        Verdict::Vacuous if checks.iter().all(|c| !c.counts) => {
            "none of its checks counts".to_owned()
        }
        Verdict::Vacuous => {
            "a check that is not shown to fail where it must not hold shows nothing".to_owned()
        }
        Verdict::Unvalidated => "there is nothing else to test it on".to_owned(),
        Verdict::Undecided => claim
            .undecided
            .clone()
            .unwrap_or_else(|| "these runs do not tell".to_owned()),
        _ => claim
            .reason
            .clone()
            .unwrap_or_else(|| "no reason is known: see the checks that fail".to_owned()),
    });
    let filled = |text: String| today::filled(&text, &checks);
    let reason = reason.map(filled);
    let remark = claim.remark.clone().map(filled);
    ClaimResult {
        id: claim.id.clone(),
        paper: paper.to_owned(),
        section: claim.section.clone(),
        says: claim.says.clone(),
        verdict,
        near: near(verdict, &counted(claim, &checks, &validation)),
        fitted: claim.fitted.clone(),
        today: claim.answers.as_ref().map(|a| today::answer(a, &checks)),
        reason,
        changed: claim.changed.clone(),
        remark,
        figure: claim.figure.clone(),
        ran: Vec::new(),
        validation,
        checks,
        ablations: Vec::new(),
    }
}

/// The same claim by other settings.
pub(super) fn ablated(
    claim: &Claim,
    settings: Ablation,
    cells: &ByStudy<'_>,
    level: Level,
) -> Ablated {
    let none = ByStudy::new();
    let evaluated = claim.checks.iter();
    let checks: Vec<Checked> = evaluated
        .map(|c| evaluate(c, cells, &none, level, claim.answers.is_none()))
        .collect();
    Ablated {
        settings,
        // No verdict is counted by these few runs: their controls need not be decided.
        verdict: verdict(
            claim,
            &checks,
            &validation(claim, cells, &none, level),
            Checked::cannot_fail,
        ),
        outcomes: checks.iter().map(|c| c.outcome).collect(),
        byway: checks.into_iter().map(|c| c.byway).collect(),
    }
}

/// The checks of a claim put to runs that its setting was not chosen by.
fn validation(claim: &Claim, ours: &ByStudy<'_>, ns2: &ByStudy<'_>, level: Level) -> Vec<Checked> {
    let checks = claim.validation.iter();
    checks
        .map(|c| evaluate(c, ours, ns2, level, false))
        .collect()
}

/// What decides a claim: its checks, and of a fitted one those of its validation.
fn counted<'a>(
    claim: &Claim,
    checks: &'a [Checked],
    validation: &'a [Checked],
) -> Vec<&'a Checked> {
    let validation = validation.iter().filter(|_| claim.fitted.is_some());
    checks.iter().chain(validation).collect()
}

fn verdict(
    claim: &Claim,
    checks: &[Checked],
    validation: &[Checked],
    is_vacuous: fn(&Checked) -> bool,
) -> Verdict {
    let all = counted(claim, checks, validation);
    // Figures that are only shown add up to nothing.
    let shows_nothing = || checks.iter().any(is_vacuous) || checks.iter().all(|c| !c.counts);
    match Outcome::all(all.into_iter().map(|c| c.outcome)) {
        Outcome::Fails => Verdict::NotReproduced,
        Outcome::Undecided => Verdict::Undecided,
        Outcome::Holds if claim.answers.is_none() && shows_nothing() => Verdict::Vacuous,
        Outcome::Holds if claim.fitted.is_some() && validation.is_empty() => Verdict::Unvalidated,
        Outcome::Holds if claim.fitted.is_some() => Verdict::Fitted,
        Outcome::Holds if claim.trend => Verdict::TrendOnly,
        Outcome::Holds => Verdict::Reproduced,
    }
}

/// How near a verdict is to another one: what holds, by the check that is nearest to saying something
/// else; what is not reproduced, by the failing check that is furthest from holding, as all of them
/// would have to.
fn near(verdict: Verdict, checks: &[&Checked]) -> Option<Near> {
    let of = |outcome: Outcome| -> Vec<&Checked> {
        let counted = checks.iter().copied().filter(|c| c.counts);
        counted.filter(|c| c.outcome == outcome).collect()
    };
    let by = |checks: &[&Checked], furthest: bool| -> Option<Near> {
        let near = checks
            .iter()
            .filter_map(|c| Some((&c.what, c.near.as_ref()?)));
        let order = |a: &(&String, &Near), b: &(&String, &Near)| a.1.margin.total_cmp(&b.1.margin);
        let (what, near) = match furthest {
            true => near.max_by(order)?,
            false => near.min_by(order)?,
        };
        Some(Near {
            words: format!("{what}: {}", near.words),
            margin: near.margin,
        })
    };
    let counted = checks.iter().filter(|c| c.counts).count();
    let (outcome, said, which) = match verdict {
        Verdict::NotReproduced => (Outcome::Fails, ["fails", "fail"], "furthest"),
        Verdict::Undecided => (
            Outcome::Undecided,
            ["is undecided", "are undecided"],
            "nearest",
        ),
        _ => (Outcome::Holds, ["holds", "hold"], "nearest"),
    };
    let such = of(outcome);
    let words = match such.len() {
        0 => return None,
        1 if counted == 1 => format!("its check {}", said[0]),
        1 => format!("1 of {counted} checks {}", said[0]),
        n if n == counted => format!("all {n} checks {}", said[1]),
        n => format!("{n} of {counted} checks {}", said[1]),
    };
    Some(match by(&such, outcome == Outcome::Fails) {
        Some(near) => near.after(&format!("{words}; {which}, ")),
        // Nothing tells how near they are.
        None => Near {
            words,
            margin: f64::NAN,
        },
    })
}

fn evaluate(
    check: &Check,
    ours: &ByStudy<'_>,
    ns2: &ByStudy<'_>,
    level: Level,
    with_controls: bool,
) -> Checked {
    let study = check.study.as_str();
    let mine = ours.get(study);
    let found = mine.and_then(|c| check.kind.evaluate(c, level));
    let theirs = ns2.get(study).and_then(|c| check.kind.evaluate(c, level));
    let controls = match (mine, check.kind.counts() && with_controls) {
        (Some(cells), true) => check.kind.controls(cells, level),
        _ => Vec::new(),
    };
    let near = found.as_ref().and_then(|f| f.near.clone());
    let (byway, outcome, detail, runs) = match found {
        Some(f) => (f.text, f.outcome, f.detail, f.runs),
        None => (
            "no run has this measure".to_owned(),
            Outcome::Undecided,
            None,
            RunCount::default(),
        ),
    };
    Checked {
        what: check.what.clone(),
        paper: check.paper.clone(),
        ns2_outcome: theirs.as_ref().map(|f| f.outcome),
        ns2: theirs.map(|f| f.text).or_else(|| check.ns2.clone()),
        byway,
        outcome,
        counts: check.kind.counts(),
        detail,
        near,
        beyond: None,
        runs,
        changed: check.changed.clone(),
        can_hold: check.kind.can_hold(),
        controls,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::checked::tests::checked;

    /// How near a verdict is, of checks with these outcomes and margins.
    fn words(verdict: Verdict, checks: &[(Outcome, Option<f64>)]) -> Option<String> {
        let check = |(outcome, margin): &(Outcome, Option<f64>)| Checked {
            what: "this".to_owned(),
            outcome: *outcome,
            near: margin.map(|margin| Near {
                words: format!("{margin} away"),
                margin,
            }),
            ..checked(&[], 3)
        };
        let checks: Vec<Checked> = checks.iter().map(check).collect();
        let all: Vec<&Checked> = checks.iter().collect();
        near(verdict, &all).map(|n| n.words)
    }

    #[test]
    fn how_near_a_verdict_is_tells_how_many_checks_decide_it_and_which_one() {
        use Outcome::{Fails, Holds, Undecided};
        for (verdict, checks, said) in [
            (
                Verdict::Reproduced,
                &[(Holds, Some(2.0)), (Holds, Some(1.0))][..],
                "all 2 checks hold; nearest, this: 1 away",
            ),
            (
                Verdict::Reproduced,
                &[(Holds, Some(2.0))],
                "its check holds; nearest, this: 2 away",
            ),
            (
                Verdict::NotReproduced,
                &[(Holds, Some(9.0)), (Fails, Some(1.0)), (Fails, Some(3.0))],
                "2 of 3 checks fail; furthest, this: 3 away",
            ),
            // That of a comparison may have no distance.
            (
                Verdict::Undecided,
                &[(Holds, Some(9.0)), (Undecided, None)],
                "1 of 2 checks is undecided",
            ),
        ] {
            assert_eq!(words(verdict, checks).as_deref(), Some(said));
        }
        assert_eq!(words(Verdict::Undecided, &[(Holds, Some(1.0))]), None);
    }
}

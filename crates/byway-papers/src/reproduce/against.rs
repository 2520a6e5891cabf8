//! Two reports compared: whether other runs (another machine, other seeds) come to the same verdicts.

use super::report::{Report, SCHEMA};
use super::verdict::Verdict;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt::Write;

/// How the verdicts of a report agree with those of another one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Agreement {
    /// Claims with the same verdict in both.
    pub agree: usize,
    /// Claims that both have.
    pub of: usize,
    /// Of these, those that neither leaves undecided, and how many of them have the same verdict: what
    /// no run decides agrees easily.
    pub decided: (usize, usize),
    /// The others: claim, verdict there, verdict here.
    pub differ: Vec<(String, Verdict, Verdict)>,
    /// Claims that only one of them has.
    pub alone: Vec<String>,
    /// What makes the two unlike: effort, seeds, claims files.
    pub unlike: Vec<String>,
}

/// Another report, as it was written as JSON.
#[derive(Clone, Debug, Deserialize)]
pub struct Other {
    effort: String,
    looks: u32,
    first_seed: u64,
    papers: Vec<OtherPaper>,
}

#[derive(Clone, Debug, Deserialize)]
struct OtherPaper {
    id: String,
    digest: String,
    questions: bool,
    claims: Vec<OtherClaim>,
}

#[derive(Clone, Debug, Deserialize)]
struct OtherClaim {
    id: String,
    verdict: Verdict,
}

impl Other {
    /// Reads it.
    ///
    /// # Errors
    /// When it is no report of this form.
    pub fn read(json: &str) -> Result<Other, String> {
        let none =
            |why: String| format!("is no report that `byway reproduce` wrote as JSON: {why}");
        let whole: serde_json::Value =
            serde_json::from_str(json).map_err(|e| none(e.to_string()))?;
        match whole.get("schema").and_then(|s| s.as_str()) {
            Some(SCHEMA) => serde_json::from_value(whole).map_err(|e| none(e.to_string())),
            Some(form) => Err(format!(
                "has the form {form}; this program compares {SCHEMA}"
            )),
            None => Err(none("it names no schema".to_owned())),
        }
    }

    /// How the verdicts of a report agree with its own.
    #[must_use]
    pub fn agreement(&self, report: &Report) -> Agreement {
        let mut theirs: BTreeMap<String, Verdict> = BTreeMap::new();
        for paper in self.papers.iter().filter(|p| !p.questions) {
            let claims = paper.claims.iter();
            theirs.extend(claims.map(|c| (name(&paper.id, &c.id), c.verdict)));
        }
        let mut found = Agreement {
            agree: 0,
            of: 0,
            decided: (0, 0),
            differ: Vec::new(),
            alone: Vec::new(),
            unlike: unlike(report, self),
        };
        for claim in report.claims() {
            let name = name(&claim.paper, &claim.id);
            match theirs.remove(&name) {
                None => found.alone.push(format!("{name} here")),
                Some(verdict) => {
                    found.of += 1;
                    if ![verdict, claim.verdict].contains(&Verdict::Undecided) {
                        found.decided.0 += 1;
                        found.decided.1 += usize::from(verdict == claim.verdict);
                    }
                    if verdict == claim.verdict {
                        found.agree += 1;
                    } else {
                        found.differ.push((name, verdict, claim.verdict));
                    }
                }
            }
        }
        found.alone.extend(theirs.into_keys().map(|n| n + " there"));
        found
    }
}

fn name(paper: &str, claim: &str) -> String {
    format!("{paper}/{claim}")
}

/// In what the two were asked for differently.
fn unlike(report: &Report, other: &Other) -> Vec<String> {
    let mut all = Vec::new();
    if other.effort != report.effort {
        all.push(format!(
            "effort {} there, {} here",
            other.effort, report.effort
        ));
    }
    if other.looks != report.looks {
        all.push(format!(
            "{} looks there, {} here",
            other.looks, report.looks
        ));
    }
    if other.first_seed == report.first_seed {
        all.push(format!("the same seeds, from {} on", report.first_seed));
    }
    for paper in report.papers.iter().filter(|p| !p.questions) {
        let there = other.papers.iter().find(|p| p.id == paper.id);
        if there.is_some_and(|there| there.digest != paper.digest) {
            all.push(format!("{} has another rule or other claims", paper.id));
        }
    }
    all
}

impl Agreement {
    /// In a sentence.
    #[must_use]
    pub fn headline(&self) -> String {
        format!("{} of {} verdicts agree", self.agree, self.of)
    }

    /// All of it, as Markdown.
    #[must_use]
    pub fn markdown(&self) -> String {
        let (decided, same) = self.decided;
        let mut out = format!(
            "**{}.** Of {decided} claims that neither leaves undecided {same} have the same verdict.\n\n",
            self.headline()
        );
        // Writing to a string cannot fail.
        for (claim, there, here) in &self.differ {
            let _ = writeln!(
                out,
                "- {claim}: {} there, {} here",
                there.words(),
                here.words()
            );
        }
        for alone in &self.alone {
            let _ = writeln!(out, "- {alone} alone");
        }
        for unlike in &self.unlike {
            let _ = writeln!(out, "- not alike in all: {unlike}");
        }
        out
    }
}

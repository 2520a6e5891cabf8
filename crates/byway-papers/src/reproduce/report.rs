//! What is asked of a reproduction, and what comes out.

use super::ablation::Ablation;
use super::cells::Place;
use super::check::There;
use super::checked::Checked;
use super::figure::Figure;
use super::parameters::{Parameter, Profile};
use super::raw::RawFile;
use super::study::Effort;
use super::verdict::{ClaimResult, Verdict};
use byway_lab::engine::Resumed;
use byway_lab::trouble::Trouble;
use serde::Serialize;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

/// The form of the JSON; changes when a field is renamed, removed or changes
/// its meaning.
pub const SCHEMA: &str = "byway.reproduce/3";

/// What is asked.
#[derive(Clone, Debug)]
pub struct Request {
    /// Papers (`caro-2006`), claims (`A3` or `caro-2006/A3`) and figures
    /// (`caro-2006/5`); all if there are none.
    pub what: Vec<String>,
    /// How much is run.
    pub effort: Effort,
    /// Only the cells at these values of these axes; all if there are none.
    pub at: Place,
    /// A folder of papers to take in place of those that are built in.
    pub experiments: Option<PathBuf>,
    /// A file that keeps the results of runs; what it holds is not run again. It
    /// belongs to one release, and to builds that simulate alike.
    pub runs: Option<PathBuf>,
    /// A folder for the raw runs, a Parquet file for each study.
    pub raw: Option<PathBuf>,
    /// Other settings to which the claims are put as well.
    pub ablations: Vec<Ablation>,
    /// How often the runs are looked at: claims that are undecided get twice the seeds, until
    /// this many looks (1). Looks share the error of the tests.
    pub looks: u32,
    /// The first seed (1). Other seeds are other chance: what a second machine runs.
    pub first_seed: u64,
    /// Identifies this program. If another one began the file of kept runs, some
    /// of them are repeated and must give the same figures.
    pub program: String,
}

/// Callbacks for the progress of a reproduction.
pub struct Watch<'a> {
    /// How many runs of how many are there, from several threads.
    pub progress: &'a (dyn Fn(usize, usize) + Sync),
    /// Once, before the first run, what the file of kept runs held; not if it
    /// is new.
    pub resumed: &'a dyn Fn(Resumed),
    /// Ends it once it is true, with what is done in the file of kept runs.
    pub cancel: Option<&'a AtomicBool>,
}

/// By what a report was made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Origin {
    /// The day on which it began, as 2026-11-25.
    pub date: String,
    /// The command.
    pub command: String,
    /// The program and its release.
    pub program: String,
    /// The commit that was built, and how the work tree that it ran in differs from it, as far as known.
    pub commit: Option<String>,
    /// The profile and the compiler of the build.
    pub build: String,
    /// Processors and operating system.
    pub machine: String,
}

impl Origin {
    /// In a sentence.
    #[must_use]
    pub fn words(&self) -> String {
        let commit = match &self.commit {
            Some(commit) => format!(" at commit {commit}"),
            None => String::new(),
        };
        format!(
            "Run on {} by `{}`: {}{commit}, {}, on {}.",
            self.date, self.command, self.program, self.build, self.machine
        )
    }
}

/// What came out.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// By what it was made; none if nobody said.
    pub origin: Option<Origin>,
    /// The digest of the rule of verdicts.
    pub rule: String,
    /// "quick" or "full".
    pub effort: &'static str,
    /// The first seed.
    pub first_seed: u64,
    /// How many looks at the runs there may have been.
    pub looks: u32,
    /// Runs.
    pub runs: usize,
    /// Of these, how many were simulated now.
    pub simulated: usize,
    /// How many were taken from the file of kept runs.
    pub from_file: usize,
    /// Whether another build than this one began that file.
    pub other_build: bool,
    /// How many are shared: a run that another cell or study asked for as well, or
    /// the same run under another setting, which it never came to ask for.
    pub shared: usize,
    /// The papers, by year.
    pub papers: Vec<PaperResult>,
    /// The files of the raw runs; none if no folder was named for them.
    pub raw: Vec<RawFile>,
}

/// What came out of one paper.
#[derive(Clone, Debug, Serialize)]
pub struct PaperResult {
    /// `caro-2006`.
    pub id: String,
    /// Its title.
    pub title: String,
    /// Authors, where and when.
    pub citation: String,
    /// What was run.
    pub setting: String,
    /// Whether these are the papers' questions, asked again of today's settings.
    pub questions: bool,
    /// The digest of the rule of verdicts and of the paper's claims file.
    pub digest: String,
    /// The digest of its scenarios: networks, traffic and settings.
    pub scenarios: String,
    /// The sender of the paper's time.
    pub profile: Option<Profile>,
    /// What was set, and where that comes from.
    pub parameters: Vec<Parameter>,
    /// The claims that were requested.
    pub claims: Vec<ClaimResult>,
    /// The figures that go with them.
    #[serde(skip)]
    pub figures: Vec<Figure>,
}

impl Report {
    /// Where the runs come from, in words.
    #[must_use]
    pub fn runs_words(&self) -> String {
        let mut words = format!("{} simulated", self.simulated);
        let from_file = match self.other_build {
            true => {
                "from a file of kept runs that another build began, whose runs were repeated once for \
                 each scenario and policy, with the same figures"
            }
            false => "from the file of kept runs",
        };
        for (count, what) in [
            (self.from_file, from_file),
            (self.shared, "shared among cells"),
        ] {
            if count > 0 {
                words.push_str(&format!(", {count} {what}"));
            }
        }
        words
    }

    /// How often the runs were looked at, and the cap of the seeds, in words.
    #[must_use]
    pub fn looks_words(&self) -> String {
        let Some(more) = self.looks.checked_sub(1).filter(|more| *more > 0) else {
            return "looked at once, without more seeds for what is undecided".to_owned();
        };
        format!(
            "undecided claims looked at up to {} times, with up to {} times the seeds, which is the cap \
             ({} undecided at it); the looks share the 5 %",
            self.looks,
            1_u64 << more.min(63),
            self.count(Verdict::Undecided)
        )
    }

    /// The digests of the rule, and of rule and claims of each paper, in words.
    #[must_use]
    pub fn digests(&self) -> String {
        let papers = self.papers.iter().filter(|p| !p.questions);
        let each: Vec<String> = papers.map(|p| format!("{} `{}`", p.id, p.digest)).collect();
        format!(
            "Digest of the rule: `{}`; of rule and claims: {}.",
            self.rule,
            each.join(", ")
        )
    }

    /// The claims of the papers, without the questions asked again.
    pub fn claims(&self) -> impl Iterator<Item = &ClaimResult> {
        let papers = self.papers.iter().filter(|p| !p.questions);
        papers.flat_map(|p| &p.claims)
    }

    /// How many claims have this verdict.
    #[must_use]
    pub fn count(&self, verdict: Verdict) -> usize {
        self.claims().filter(|c| c.verdict == verdict).count()
    }

    /// The checks that count, each with its claim.
    pub fn counted_checks(&self) -> impl Iterator<Item = (&ClaimResult, &Checked)> {
        let all = self
            .claims()
            .flat_map(|claim| claim.checks.iter().map(move |check| (claim, check)));
        all.filter(|(_, check)| check.counts)
    }

    /// How many checks were put to how many controls, how they came out, and how many checks show
    /// nothing.
    #[must_use]
    pub fn controls_words(&self) -> String {
        let checks = || self.counted_checks().map(|(_, check)| check);
        let there = |what: There| {
            let controls = checks().flat_map(|c| &c.controls);
            controls.filter(|c| c.there() == what).count()
        };
        let hold = || checks().filter(|c| c.holds());
        let sound = || hold().filter(|c| !c.is_vacuous());
        let chance = || sound().filter(|c| c.has_chance_alone());
        let refuted = checks().filter(|c| !c.can_hold).count();
        format!(
            "{} checks put to {} cases in which they must not hold; in {} of the cases they do not hold, in \
             {} of arms that chance alone tells apart they are not shown to (more cannot be), in {} the runs \
             do not tell, in {} they hold, and of {} there are no runs. Of {} checks that hold as run {} come out of each case as they \
             must, of these {} with a case that can only say \"not shown\" ({} of them hold by as few runs, \
             dealt alike, in more than a fifth of the deals). {} are vacuous{}",
            checks().count(),
            checks().map(|c| c.controls.len()).sum::<usize>(),
            there(There::Fails),
            there(There::NotShown),
            there(There::Open),
            there(There::Holds),
            there(There::NoRuns),
            hold().count(),
            sound().count(),
            chance().count(),
            chance().filter(|c| c.tells_by_few()).count(),
            checks().filter(|c| c.is_vacuous()).count(),
            match refuted {
                0 => String::new(),
                n =>
                    format!("; {n} have no such case, as they never hold: they can only be refuted"),
            }
        )
    }

    /// The controls of which the runs do not tell whether the check holds there.
    #[must_use]
    pub fn open_controls(&self) -> Vec<String> {
        let named = |(claim, check): (&ClaimResult, &Checked)| -> Vec<String> {
            let open = check.open_controls();
            open.map(|c| format!("{}, {}: {}", claim.id, check.what, c.name))
                .collect()
        };
        self.counted_checks().flat_map(named).collect()
    }

    /// What makes a claim not count: the checks that cannot fail, those for which a claim is vacuous, and
    /// the claims of which no check counts. A check that is not shown to fail costs nothing where its claim
    /// does not hold anyway.
    #[must_use]
    pub fn vacuous(&self) -> Vec<String> {
        let costs = |claim: &ClaimResult| claim.verdict == Verdict::Vacuous;
        let vacuous = (self.counted_checks())
            .filter(|(claim, c)| c.cannot_fail() || (costs(claim) && c.is_vacuous()));
        let checks = vacuous.map(|(claim, check)| {
            format!("{}, {}: {}", claim.id, check.what, check.vacuous_words())
        });
        let nothing = |c: &&ClaimResult| !c.checks.iter().any(|check| check.counts);
        let claims = self.claims().filter(nothing);
        checks
            .chain(claims.map(|c| format!("{}: none of its checks counts", c.id)))
            .collect()
    }

    /// The headline: how many claims have each verdict, those that hold first. Empty if there are no
    /// claims.
    #[must_use]
    pub fn headline(&self) -> String {
        let all = self.claims().count();
        if all == 0 {
            return String::new();
        }
        // The last two are faults, and are said only if there is one.
        let fault = |v: &Verdict| matches!(v, Verdict::Vacuous | Verdict::Unvalidated);
        let said = |v: &Verdict| !fault(v) || self.count(*v) > 0;
        let counts = |holds: bool| -> String {
            let verdicts = Verdict::ALL.into_iter().filter(said);
            let counts = verdicts.filter(|v| v.holds() == holds);
            let words: Vec<String> = counts
                .map(|v| format!("{} {}", self.count(v), v.words()))
                .collect();
            words.join(", ")
        };
        format!("of {all} claims {}; {}", counts(true), counts(false))
    }
}

/// Why there is no report.
#[derive(Debug, thiserror::Error)]
pub enum ReproduceError {
    /// What was requested does not exist.
    #[error("{0}")]
    Unknown(String),
    /// A file of `experiments/` cannot be read, or a run cannot be done.
    #[error("{0}")]
    Failed(String),
    /// The file of kept runs cannot be used, or raw runs cannot be written.
    #[error(transparent)]
    File(#[from] Trouble),
}

impl From<String> for ReproduceError {
    fn from(why: String) -> ReproduceError {
        ReproduceError::Failed(why)
    }
}

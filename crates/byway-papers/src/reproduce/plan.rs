//! Which runs the studies of all papers need, and how few of them suffice.
//!
//! Two cells may ask for the same run: two studies of a paper whose places are
//! the same, or two values of a threshold that the run never reaches. With PMR 1
//! and no failover, say, PMR 2 to 5 would give the same packets, as nothing but
//! a failover asks for PMR. Such runs are done once. What they give does not
//! depend on it, which a test shows.

use super::ReproduceError;
use super::axis::scenario_at;
use super::cells::{Place, Value};
use super::identity::digest;
use super::kept::{Figures, Kept};
use super::measure::measure;
use super::study::{self, Job, Row, StudySpec};
use byway_lab::scenario::Scenario;
use rayon::prelude::*;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A study with its scenario and what is wanted of its runs.
pub(super) struct Wanted<'a> {
    /// The paper, for messages.
    pub(super) paper: &'a str,
    pub(super) study: &'a StudySpec,
    pub(super) scenario: Scenario,
    pub(super) measures: BTreeSet<String>,
}

/// A job and the place of its study among those that are wanted.
struct Taker {
    of: usize,
    job: Job,
}

/// One run, and the jobs that it answers.
struct Step {
    at: f64,
    takers: Vec<Taker>,
}

/// Runs that differ in a threshold alone, the lowest first; or a single one.
#[derive(Default)]
struct Chain {
    steps: Vec<Step>,
}

/// What a job gives: its study, its number in that, and its row.
type Answer = (usize, usize, Option<Row>);

/// What the runs gave.
pub(super) struct Done {
    /// Rows by study, in the order of its jobs.
    pub(super) rows: Vec<Vec<Row>>,
    /// Runs that were asked for.
    pub(super) asked: usize,
    /// Of these, how many were simulated.
    pub(super) simulated: usize,
    /// How many were taken from what is kept. The others are one of the two for
    /// another job.
    pub(super) from_file: usize,
}

/// Where the figures of a run come from.
enum Source {
    Simulated,
    File,
}

/// Does all runs of `studies` on all processors, but for those that are kept.
/// `progress` is told how many of how many are there, from several threads.
///
/// # Errors
/// The first run that cannot be done or kept, or that was kept with other
/// figures.
pub(super) fn run(
    studies: &[Wanted<'_>],
    jobs: Vec<(usize, Job)>,
    kept: &Kept,
    progress: &(dyn Fn(usize, usize) + Sync),
) -> Result<Done, ReproduceError> {
    let asked = jobs.len();
    let chains = chains(studies, jobs);
    let names = Names::default();
    if kept.is_of_another_program() {
        try_out(&chains, studies, kept, &names)?;
    }
    let ready = AtomicUsize::new(0);
    let (simulated, from_file) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let answers: Vec<Vec<Answer>> = chains
        .par_iter()
        // Where most are kept, what is left to simulate stands together, and would be one
        // processor's alone.
        .with_max_len(16)
        .map(|chain| {
            let mut answers = Vec::new();
            let mut last: Option<Figures> = None;
            for step in &chain.steps {
                let same = last.take().filter(|run| step.is_same_as(run, studies));
                let figures = match same {
                    Some(figures) => figures,
                    None => {
                        let measures = chain.measures(studies);
                        let (figures, source) = step.figures(studies, &measures, (kept, &names))?;
                        match source {
                            Source::Simulated => &simulated,
                            Source::File => &from_file,
                        }
                        .fetch_add(1, Ordering::Relaxed);
                        figures
                    }
                };
                for Taker { of, job } in &step.takers {
                    let wanted = &studies[*of];
                    let row = wanted.study.row(&figures, job, &wanted.measures);
                    answers.push((*of, job.place_in_study(), row));
                }
                let before = ready.fetch_add(step.takers.len(), Ordering::Relaxed);
                progress(before + step.takers.len(), asked);
                last = Some(figures);
            }
            Ok(answers)
        })
        .collect::<Result<_, String>>()?;
    kept.sync()?;
    let mut by_study: Vec<Vec<(usize, Row)>> = studies.iter().map(|_| Vec::new()).collect();
    for (of, at, row) in answers.into_iter().flatten() {
        by_study[of].extend(row.map(|row| (at, row)));
    }
    let rows = by_study
        .into_iter()
        .map(|mut rows| {
            rows.sort_by_key(|(at, _)| *at);
            rows.into_iter().map(|(_, row)| row).collect()
        })
        .collect();
    Ok(Done {
        rows,
        asked,
        simulated: simulated.into_inner(),
        from_file: from_file.into_inner(),
    })
}

/// Repeats a run of what is kept for each policy of each scenario, as another
/// build began it.
fn try_out(
    chains: &[Chain],
    studies: &[Wanted<'_>],
    kept: &Kept,
    names: &Names,
) -> Result<(), ReproduceError> {
    let mut tried = BTreeSet::new();
    let mut runs = Vec::new();
    for step in chains.iter().flat_map(|chain| &chain.steps) {
        let (job, wanted) = step.first(studies)?;
        let what = (
            wanted.paper,
            &wanted.study.scenario,
            job.whole().get("policy").map(Value::to_string),
        );
        if tried.contains(&what) {
            continue;
        }
        let key = names.of(step, studies)?;
        if let Some(known) = kept.known(&key) {
            tried.insert(what);
            runs.push((step, key, known));
        }
    }
    runs.par_iter().try_for_each(|(step, key, known)| {
        let names = known.keys().map(String::as_str).collect();
        let again = step.simulated(studies, &names)?;
        let differs = known
            .iter()
            .find(|(name, then)| again.get(*name) != Some(*then));
        let Some((name, then)) = differs else {
            return Ok(());
        };
        let words = |value: Option<f64>| value.map_or("none".to_owned(), |v| v.to_string());
        let now = again.get(name).copied().flatten();
        Err(kept
            .gives_others(key, name, &words(*then), &words(now))
            .into())
    })
}

/// What identifies runs in a file: names for people, and all that is simulated as
/// a digest, with every setting and default. Runs of one place differ in their seeds alone and
/// share it: made anew for each it would take longer than reading what was kept.
#[derive(Default)]
struct Names {
    digests: Mutex<HashMap<String, String>>,
}

impl Names {
    fn of(&self, step: &Step, studies: &[Wanted<'_>]) -> Result<String, String> {
        let (job, wanted) = step.first(studies)?;
        let axes: Vec<String> = job
            .whole()
            .iter()
            .map(|(axis, value)| format!("{axis} {value}"))
            .collect();
        let place = format!(
            "{}/{} at {}",
            wanted.paper,
            wanted.study.scenario,
            axes.join(", ")
        );
        let known = self.lock().get(&place).cloned();
        let digest = match known {
            Some(digest) => digest,
            None => {
                let scenario = scenario_at(&wanted.scenario, job.whole())
                    .map_err(|e| format!("{}, {}: {e}", wanted.paper, wanted.study.id))?;
                let digest = digest(&scenario.to_toml_without_seed());
                self.lock().insert(place.clone(), digest.clone());
                digest
            }
        };
        Ok(format!("{place}, seed {} [{digest}]", job.seed()))
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, String>> {
        self.digests.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Gathers equal runs, and those that differ in a threshold.
fn chains(studies: &[Wanted<'_>], jobs: Vec<(usize, Job)>) -> Vec<Chain> {
    let mut order: Vec<Chain> = Vec::new();
    let mut known: BTreeMap<String, usize> = BTreeMap::new();
    for (of, job) in jobs {
        let Wanted { paper, study, .. } = &studies[of];
        let axis = study.threshold.as_ref().map(|t| t.axis.as_str());
        let at = axis
            .and_then(|axis| job.whole().get(axis))
            .and_then(Value::number);
        let rest: Place = job
            .whole()
            .iter()
            .filter(|(name, _)| at.is_none() || Some(name.as_str()) != axis)
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        let key = format!(
            "{paper} {} {:?} {rest:?} {}",
            study.scenario,
            at.and(axis),
            job.seed()
        );
        let chain = *known.entry(key).or_insert_with(|| {
            order.push(Chain::default());
            order.len() - 1
        });
        order[chain].add(at.unwrap_or(0.0), Taker { of, job });
    }
    order
}

impl Chain {
    /// All that is asked of its runs.
    fn measures<'a>(&self, studies: &'a [Wanted<'a>]) -> BTreeSet<&'a str> {
        let of = self
            .steps
            .iter()
            .flat_map(|step| &step.takers)
            .map(|t| t.of);
        of.flat_map(|of| {
            let Wanted {
                study, measures, ..
            } = &studies[of];
            study
                .own_measures()
                .chain(measures.iter().map(String::as_str))
        })
        .collect()
    }

    fn add(&mut self, at: f64, taker: Taker) {
        let place = self.steps.partition_point(|step| step.at < at);
        match self.steps.get_mut(place) {
            Some(step) if step.at <= at => step.takers.push(taker),
            _ => self.steps.insert(
                place,
                Step {
                    at,
                    takers: vec![taker],
                },
            ),
        }
    }
}

impl Step {
    /// The first of its jobs, which it is run for.
    fn first<'a>(&self, studies: &'a [Wanted<'a>]) -> Result<(&Job, &'a Wanted<'a>), String> {
        let taker = self.takers.first().ok_or("a run that nobody asked for")?;
        Ok((&taker.job, &studies[taker.of]))
    }

    /// Whether a run with a lower threshold did without it, so that this one
    /// would be the same.
    fn is_same_as(&self, lower: &Figures, studies: &[Wanted<'_>]) -> bool {
        self.first(studies)
            .ok()
            .and_then(|(_, wanted)| wanted.study.threshold.as_ref())
            .and_then(|t| *lower.get(&t.reached)?)
            .is_some_and(|times| times <= 0.0)
    }

    /// The run's measures, from what is kept or by doing it.
    fn figures(
        &self,
        studies: &[Wanted<'_>],
        measures: &BTreeSet<&str>,
        (kept, names): (&Kept, &Names),
    ) -> Result<(Figures, Source), String> {
        if !kept.keeps() {
            return Ok((self.simulated(studies, measures)?, Source::Simulated));
        }
        let key = names.of(self, studies)?;
        if let Some(figures) = kept.get(&key, measures) {
            return Ok((figures, Source::File));
        }
        let figures = self.simulated(studies, measures)?;
        kept.add(&key, &figures)?;
        Ok((figures, Source::Simulated))
    }

    /// The run's measures by doing it.
    fn simulated(
        &self,
        studies: &[Wanted<'_>],
        measures: &BTreeSet<&str>,
    ) -> Result<Figures, String> {
        let (job, wanted) = self.first(studies)?;
        let run = study::run_one(&wanted.scenario, job.whole(), job.seed(), true)
            .map_err(|e| format!("{}, {}: {e}", wanted.paper, wanted.study.id))?;
        let figure = |name: &&str| ((*name).to_owned(), measure(&run, name));
        Ok(measures.iter().map(figure).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::study::Effort;
    use byway_lab::trouble::Trouble;

    const SCENARIO: &str = "limit = \"2000 s\"\n[protocol]\npreset = \"ns2\"\n\
        [traffic]\nkind = \"bulk\"\nsize = \"200 kB\"\nmessage = \"1452 B\"\n\
        [[path]]\nrate = \"10 Mbit/s\"\ndelay = \"45 ms\"\n\
        [[path]]\nrate = \"10 Mbit/s\"\ndelay = \"45 ms\"\n";

    fn study(threshold: &str) -> StudySpec {
        toml::from_str(&format!(
            "id = \"s\"\nwhat = \"w\"\nscenario = \"x\"\nseeds = {{ quick = 4, full = 4 }}\n\
             {threshold}[axes]\nloss1 = [1, 9]\nloss2 = [5]\npmr = [2, 0, 1]\n"
        ))
        .unwrap_or_else(|e| panic!("{e}"))
    }

    fn done(threshold: &str, twice: bool) -> Done {
        with(threshold, twice, &Kept::nothing()).unwrap_or_else(|e| panic!("{e}"))
    }

    fn with(threshold: &str, twice: bool, kept: &Kept) -> Result<Done, ReproduceError> {
        let scenario = Scenario::parse("x", SCENARIO).unwrap_or_else(|e| panic!("{e}"));
        let study = study(threshold);
        let measures: BTreeSet<String> = ["transfer_s", "failovers", "timeouts"]
            .map(str::to_owned)
            .into();
        let studies: Vec<Wanted<'_>> = (0..=usize::from(twice))
            .map(|_| Wanted {
                paper: "p",
                study: &study,
                scenario: scenario.clone(),
                measures: measures.clone(),
            })
            .collect();
        let jobs = (0..studies.len())
            .flat_map(|of| study.jobs(Effort::Quick).into_iter().map(move |j| (of, j)))
            .collect();
        run(&studies, jobs, kept, &|_, _| {})
    }

    #[test]
    fn kept_runs_give_the_same_rows_and_are_tried_out_by_another_build() {
        let folder = std::env::temp_dir().join(format!("byway-plan-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).unwrap();
        let file = folder.join("runs");
        let open = |program: &str| Kept::open(&file, program).unwrap().0;
        let first = with("", false, &open("older")).unwrap();
        assert_eq!((first.simulated, first.from_file), (24, 0));
        let again = with("", true, &open("older")).unwrap();
        assert_eq!((again.simulated, again.from_file), (0, 24));
        assert_eq!(again.rows[0], first.rows[0]);
        assert_eq!(again.rows[1], first.rows[0]);
        // Another build with the same figures goes on ...
        let newer = with("", false, &open("newer")).unwrap();
        assert_eq!((newer.simulated, newer.from_file), (0, 24));
        assert_eq!(newer.rows, first.rows);
        // ... but not if a run would come out otherwise now.
        let kept = open("newer");
        for (key, figures) in kept.all() {
            let mut figures = figures.clone();
            figures.insert("transfer_s".to_owned(), Some(0.5));
            kept.add(key, &figures).unwrap();
        }
        drop(kept);
        let error = with("", false, &open("newer")).err().unwrap();
        let foreign = matches!(error, ReproduceError::File(Trouble::Foreign { .. }));
        assert!(foreign, "{error}");
        let error = error.to_string();
        for part in [
            "runs: ",
            "simulates differently",
            "p/x at ",
            "transfer_s is 0.5 there",
        ] {
            assert!(error.contains(part), "{error}");
        }
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn shared_runs_give_the_rows_of_single_ones() {
        let single = done("", false);
        assert_eq!((single.asked, single.simulated), (24, 24));
        let shared = done(
            "threshold = { axis = \"pmr\", reached = \"failures\" }\n",
            false,
        );
        assert!(shared.simulated < 20, "{}", shared.simulated);
        assert_eq!(shared.rows, single.rows);
        let twice = done("", true);
        assert_eq!((twice.asked, twice.simulated), (48, 24));
        assert_eq!(twice.rows, [single.rows.clone(), single.rows].concat());
    }
}

//! Which runs the studies of all papers need, and how few of them suffice.
//!
//! Two cells may ask for the same run: two studies of a paper whose places are
//! the same, or two values of a threshold that the run never reaches. With PMR 1
//! and no failover, say, PMR 2 to 5 would give the same packets, as nothing but
//! a failover asks for PMR. Such runs are done once. What they give does not
//! depend on it, which a test shows.

use super::cells::{Place, Value};
use super::kept::{Figures, Kept, fingerprint};
use super::measure::measure;
use super::study::{self, Job, Row, StudySpec};
use crate::scenario::Scenario;
use rayon::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering};

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
    /// Runs that were done.
    pub(super) done: usize,
}

/// Does all runs of `studies` on all processors, but for those that are kept.
/// `progress` is told how many of how many are there, from several threads.
///
/// # Errors
/// The first run that cannot be done or kept.
pub(super) fn run(
    studies: &[Wanted<'_>],
    jobs: Vec<(usize, Job)>,
    kept: &Kept,
    progress: &(dyn Fn(usize, usize) + Sync),
) -> Result<Done, String> {
    let asked = jobs.len();
    let chains = chains(studies, jobs);
    let prints: Vec<u64> = studies
        .iter()
        .map(|s| fingerprint(&format!("{:?}", s.scenario)))
        .collect();
    let ready = AtomicUsize::new(0);
    let done = AtomicUsize::new(0);
    let answers: Vec<Vec<Answer>> = chains
        .par_iter()
        .map(|chain| {
            let mut answers = Vec::new();
            let mut last: Option<Figures> = None;
            for step in &chain.steps {
                let same = last.take().filter(|run| step.is_same_as(run, studies));
                let figures = match same {
                    Some(figures) => figures,
                    None => {
                        done.fetch_add(1, Ordering::Relaxed);
                        step.figures(studies, &prints, &chain.measures(studies), kept)?
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
        done: done.into_inner(),
    })
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
    fn first<'a>(&self, studies: &'a [Wanted<'a>]) -> Option<(&Job, &'a Wanted<'a>)> {
        let taker = self.takers.first()?;
        Some((&taker.job, &studies[taker.of]))
    }

    /// Whether a run with a lower threshold did without it, so that this one
    /// would be the same.
    fn is_same_as(&self, lower: &Figures, studies: &[Wanted<'_>]) -> bool {
        self.first(studies)
            .and_then(|(_, wanted)| wanted.study.threshold.as_ref())
            .and_then(|t| *lower.get(&t.reached)?)
            .is_some_and(|times| times <= 0.0)
    }

    /// The run's measures, from what is kept or by doing it.
    fn figures(
        &self,
        studies: &[Wanted<'_>],
        prints: &[u64],
        measures: &BTreeSet<&str>,
        kept: &Kept,
    ) -> Result<Figures, String> {
        let taker = self.takers.first().ok_or("a run that nobody asked for")?;
        let (job, wanted) = (&taker.job, &studies[taker.of]);
        let key = format!(
            "{} {} {:016x} {:?} {}",
            wanted.paper,
            wanted.study.scenario,
            prints[taker.of],
            job.whole(),
            job.seed()
        );
        if let Some(figures) = kept.get(&key, measures) {
            return Ok(figures);
        }
        let run = study::run_one(&wanted.scenario, job.whole(), job.seed(), true)
            .map_err(|e| format!("{}, {}: {e}", wanted.paper, wanted.study.id))?;
        let figures: Figures = measures
            .iter()
            .map(|name| ((*name).to_owned(), measure(&run, name)))
            .collect();
        kept.add(&key, &figures)?;
        Ok(figures)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::study::Effort;

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
        run(&studies, jobs, &Kept::nothing(), &|_, _| {}).unwrap_or_else(|e| panic!("{e}"))
    }

    #[test]
    fn shared_runs_give_the_rows_of_single_ones() {
        let single = done("", false);
        assert_eq!((single.asked, single.done), (24, 24));
        let shared = done(
            "threshold = { axis = \"pmr\", reached = \"failures\" }\n",
            false,
        );
        assert!(shared.done < 20, "{}", shared.done);
        assert_eq!(shared.rows, single.rows);
        let twice = done("", true);
        assert_eq!((twice.asked, twice.done), (48, 24));
        assert_eq!(twice.rows, [single.rows.clone(), single.rows].concat());
    }
}

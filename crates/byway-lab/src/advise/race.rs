//! The search: successive halving with common random numbers, then a check with new seeds.

use super::answer::{Advice, Effort};
use super::candidates::{self, Candidate};
use super::evidence::{Columns, Sample, place};
use super::lane::{Lane, Outcome};
use super::recommend;
use super::request::Request;
use super::situations::{Situation, scenario};
use crate::engine::{self, Cell, EngineError, Options, Plan};
use crate::metrics::Metrics;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Seeds of a round of the check.
const ROUND: u32 = 8;
/// No more than this narrows nothing that matters.
const MOST_CHECKS: u32 = 2000;
/// Settings that are left after the second level, at most.
const FINALISTS: usize = 6;
/// Those whose neighbours are tried.
const LEADERS: usize = 2;
/// How often the leader is tried without one of its settings each.
const SIMPLIFICATIONS: usize = 4;
/// The seeds of the check begin so far after those of the search.
const CHECK_OFFSET: u64 = 500_000;

/// What is known when the length of the search is decided.
#[derive(Copy, Clone, Debug)]
pub struct Pilot {
    /// Runs that were done since the beginning.
    pub done: usize,
    /// Runs of a search with one seed on its first level.
    pub search: usize,
    /// Runs of the first round of the check, about.
    pub check: usize,
}

/// Decides how much is run. It may look at a clock ([`Within`](super::Within)); nothing else
/// here does.
pub trait Pace {
    /// Seeds of each candidate on the first level; an error if the time is too short for
    /// one, which says how much is needed.
    ///
    /// # Errors
    /// In a sentence.
    fn search(&self, pilot: &Pilot) -> Result<u32, String>;

    /// Whether the check goes on after so many seeds. `runs` will be done in the next round.
    fn goes_on(&self, seeds: u32, runs: usize) -> bool;

    /// Seeds of the next round of the check, after so many.
    fn round(&self, seeds: u32) -> u32 {
        let _ = seeds;
        ROUND
    }
}

/// So much, whatever the time.
#[derive(Copy, Clone, Debug)]
pub struct Fixed {
    /// See [`Effort::search`].
    pub search: u32,
    /// See [`Effort::check`]; at least 2, because one run alone has no interval.
    pub check: u32,
}

impl Pace for Fixed {
    fn search(&self, _: &Pilot) -> Result<u32, String> {
        Ok(self.search.max(1))
    }

    fn goes_on(&self, seeds: u32, _: usize) -> bool {
        seeds < self.check
    }

    fn round(&self, seeds: u32) -> u32 {
        ROUND.min(self.check.max(2).saturating_sub(seeds)).max(1)
    }
}

/// Told what is done now and the runs done.
pub type Progress<'a> = dyn Fn(&str, usize) + Sync + 'a;

/// Who is told of the progress, and who may end it.
#[derive(Default)]
pub struct Hooks<'a> {
    /// Ends all once it is true. What the check has by then is kept.
    pub cancel: Option<&'a AtomicBool>,
    /// Gets what is done now and the runs done, from several threads.
    pub progress: Option<&'a Progress<'a>>,
}

/// Why there is no advice.
#[derive(Debug, thiserror::Error)]
pub enum AdviseError {
    /// The request contradicts itself, or cannot be simulated.
    #[error("{0}")]
    Wrong(String),
    /// The time is too short.
    #[error("{0}")]
    TooShort(String),
    /// It was interrupted before anything could be said.
    #[error("interrupted in the search, before anything could be said")]
    Interrupted,
    /// The simulator refused a run.
    #[error(transparent)]
    Engine(EngineError),
}

impl From<EngineError> for AdviseError {
    fn from(error: EngineError) -> AdviseError {
        match error {
            EngineError::Interrupted => AdviseError::Interrupted,
            other => AdviseError::Engine(other),
        }
    }
}

/// Searches settings for the request's targets, checks the best, and says what came out.
///
/// # Errors
/// When the request contradicts itself, the time is too short, or it was interrupted before
/// the end of the search.
pub fn advise(
    request: &Request,
    pace: &dyn Pace,
    hooks: &Hooks<'_>,
) -> Result<Advice, AdviseError> {
    request.check().map_err(AdviseError::Wrong)?;
    let race = Race {
        request,
        hooks,
        done: AtomicUsize::new(0),
    };
    let outcome = race.run(pace)?;
    Ok(recommend::advice(request, &outcome))
}

struct Race<'a> {
    request: &'a Request,
    hooks: &'a Hooks<'a>,
    done: AtomicUsize,
}

impl Race<'_> {
    fn run(&self, pace: &dyn Pace) -> Result<Outcome, AdviseError> {
        let targets = &self.request.targets;
        let lanes: Vec<Vec<Lane>> = targets
            .iter()
            .map(|target| {
                let all = candidates::all(*target, self.request.seed, self.request.paths.len());
                all.into_iter().map(Lane::new).collect()
            })
            .collect();
        let search = self.pilot(&lanes, pace)?;
        let (mut found, mut first_level) = (Vec::new(), Vec::new());
        let mut interrupted = false;
        for lanes in &lanes {
            let (mut lanes, mut defaults) = (lanes.clone(), Vec::new());
            match self.search(&mut lanes, &mut defaults, search) {
                Ok(()) => {}
                Err(AdviseError::Interrupted) if !defaults.is_empty() => interrupted = true,
                // The targets before this one have their answer.
                Err(AdviseError::Interrupted) if !found.is_empty() => {
                    interrupted = true;
                    break;
                }
                Err(error) => return Err(error),
            }
            found.push(lanes);
            first_level.push(defaults);
            if interrupted {
                break;
            }
        }
        let mut outcome = Outcome {
            tried: lanes.iter().map(Vec::len).collect(),
            checked: Vec::new(),
            effort: Effort { search, check: 0 },
            simulated: 0,
            interrupted,
            found,
        };
        if interrupted {
            // What the search has seen of what it has left, and of the defaults.
            outcome.checked = outcome.found.clone();
            for (lanes, defaults) in outcome.checked.iter_mut().zip(first_level) {
                let is_new = |d: &Lane| !lanes.iter().any(|l| l.candidate == d.candidate);
                let new: Vec<Lane> = defaults.into_iter().filter(is_new).collect();
                lanes.extend(new);
            }
        } else {
            self.check(&mut outcome, pace)?;
        }
        outcome.simulated = self.done.load(Ordering::Relaxed);
        Ok(outcome)
    }

    /// Runs the defaults once, and asks for the length of the search.
    fn pilot(&self, lanes: &[Vec<Lane>], pace: &dyn Pace) -> Result<u32, AdviseError> {
        let mut trial: Vec<Lane> = Vec::new();
        for target in lanes {
            trial.extend(
                target
                    .iter()
                    .filter(|l| !l.candidate.default.is_empty())
                    .cloned(),
            );
        }
        self.measure("trying", &mut trial.iter_mut().collect::<Vec<_>>(), 1, 1)?;
        let situations = Situation::of(self.request.load).len();
        // All, the best third twice, neighbours of the leaders, and the few that are left.
        let of = |lanes: &Vec<Lane>| 2 * lanes.len() + lanes.len() / 2 + 8 * (FINALISTS + 4);
        pace.search(&Pilot {
            done: trial.len() * situations,
            search: lanes.iter().map(of).sum::<usize>() * situations,
            check: lanes.len() * (FINALISTS + 6) * situations * ROUND as usize,
        })
        .map_err(AdviseError::TooShort)
    }

    /// Leaves those of a target that the levels of the search have not dropped, the best
    /// first. Interrupted, it leaves all that it has samples of.
    fn search(
        &self,
        lanes: &mut Vec<Lane>,
        defaults: &mut Vec<Lane>,
        seeds: u32,
    ) -> Result<(), AdviseError> {
        let wishes = &self.request.wishes;
        self.measure("searching", &mut all(lanes), 1, seeds)?;
        let of_default = lanes.iter().filter(|l| !l.candidate.default.is_empty());
        defaults.extend(of_default.cloned());
        let keep = lanes.len().div_ceil(3);
        recommend::keep(lanes, wishes, keep, &recommend::own(lanes));
        let from = 1 + u64::from(seeds);
        self.measure("searching", &mut all(lanes), from, 2 * seeds)?;
        recommend::keep(lanes, wishes, FINALISTS, &recommend::own(lanes));
        // The leaders with one lever in another place each.
        let leaders = lanes.iter().take(LEADERS);
        let near = leaders.flat_map(|lane| candidates::neighbours(&lane.candidate));
        let mut near = self.unseen(lanes, near.collect());
        self.measure("searching", &mut all(&mut near), 1, seeds)?;
        recommend::keep(&mut near, wishes, FINALISTS, &recommend::own(lanes));
        self.measure("searching", &mut all(&mut near), from, 2 * seeds)?;
        lanes.append(&mut near);
        recommend::keep(lanes, wishes, FINALISTS, &recommend::own(lanes));
        // The leader without one of its settings each: what does nothing is not advised.
        for _ in 0..SIMPLIFICATIONS {
            let leader = lanes[0].candidate.clone();
            let simpler = leader
                .groups()
                .iter()
                .map(|keys| leader.without(keys))
                .collect();
            let mut simpler = self.unseen(lanes, simpler);
            self.measure("searching", &mut all(&mut simpler), 1, 3 * seeds)?;
            lanes.append(&mut simpler);
            recommend::keep(lanes, wishes, FINALISTS, &recommend::own(lanes));
            if lanes[0].candidate == leader {
                break;
            }
        }
        let from = 1 + 3 * u64::from(seeds);
        self.measure("searching", &mut all(lanes), from, 4 * seeds)?;
        recommend::keep(lanes, wishes, FINALISTS, &recommend::own(lanes));
        Ok(())
    }

    /// Lanes for those of these candidates that are not among the lanes and can be run.
    fn unseen(&self, lanes: &[Lane], candidates: Vec<Candidate>) -> Vec<Lane> {
        let mut new: Vec<Lane> = Vec::new();
        for candidate in candidates {
            let known = lanes
                .iter()
                .chain(&new)
                .any(|l| l.candidate.is_same(&candidate));
            if !known && candidate.policy("").is_ok() {
                new.push(Lane::new(candidate));
            }
        }
        new
    }

    /// Runs what is left and the defaults with new seeds, round after round.
    fn check(&self, outcome: &mut Outcome, pace: &dyn Pace) -> Result<(), AdviseError> {
        let mut lanes: Vec<Vec<Lane>> = Vec::new();
        for (target, found) in self.request.targets.iter().zip(&outcome.found) {
            let mut of_target: Vec<Lane> = Vec::new();
            let found = found.iter().map(|l| l.candidate.clone());
            for candidate in found.chain(candidates::baselines(*target)) {
                if !of_target.iter().any(|l| l.candidate == candidate) {
                    of_target.push(Lane::new(candidate));
                }
            }
            lanes.push(of_target);
        }
        let situations = Situation::of(self.request.load).len();
        let runs = lanes.iter().map(Vec::len).sum::<usize>() * situations;
        loop {
            let seeds = outcome.effort.check;
            let is_first = seeds == 0;
            let round = pace.round(seeds);
            if !is_first && (seeds >= MOST_CHECKS || !pace.goes_on(seeds, runs * round as usize)) {
                break;
            }
            let first = CHECK_OFFSET + u64::from(seeds);
            let mut flat: Vec<&mut Lane> = lanes.iter_mut().flatten().collect();
            match self.measure("checking", &mut flat, first, round) {
                Ok(()) => outcome.effort.check += round,
                Err(AdviseError::Interrupted) if !is_first => {
                    outcome.interrupted = true;
                    break;
                }
                Err(error) => return Err(error),
            }
        }
        outcome.checked = lanes;
        Ok(())
    }

    /// Runs these with `count` seeds from `first` on, each in all situations.
    fn measure(
        &self,
        stage: &str,
        lanes: &mut [&mut Lane],
        first: u64,
        count: u32,
    ) -> Result<(), AdviseError> {
        if lanes.is_empty() {
            return Ok(());
        }
        let before = self.done.load(Ordering::Relaxed);
        let progress = |done: usize, _: usize| {
            if let Some(progress) = self.hooks.progress {
                progress(stage, before + done);
            }
        };
        let options = Options {
            cancel: self.hooks.cancel,
            progress: Some(&progress),
            strict: true,
            ..Options::default()
        };
        let candidates: Vec<&Candidate> = lanes.iter().map(|l| &l.candidate).collect();
        let (samples, simulated) = run(self.request, &candidates, first, count, &options)?;
        self.done.fetch_add(simulated, Ordering::Relaxed);
        for (lane, samples) in lanes.iter_mut().zip(samples) {
            lane.samples.extend(samples);
        }
        Ok(())
    }
}

/// Runs candidates in all situations with `count` seeds from the place `first` on.
///
/// # Errors
/// When the request or a candidate contradicts itself, or a run was refused.
pub fn measure(
    request: &Request,
    candidates: &[&Candidate],
    first: u64,
    count: u32,
) -> Result<Vec<Vec<Sample>>, AdviseError> {
    request.check().map_err(AdviseError::Wrong)?;
    let options = Options {
        strict: true,
        ..Options::default()
    };
    run(request, candidates, first, count, &options).map(|(samples, _)| samples)
}

/// The samples of each candidate, and how many runs were simulated.
fn run(
    request: &Request,
    candidates: &[&Candidate],
    first: u64,
    count: u32,
    options: &Options<'_>,
) -> Result<(Vec<Vec<Sample>>, usize), AdviseError> {
    let places = (0..u64::from(count)).map(|i| seed(request.seed, first + i));
    let plan = plan(request, candidates, places.collect()).map_err(AdviseError::Wrong)?;
    let done = engine::run(&[&plan], options)?;
    let samples = samples(&plan, &done.rows[0], request)
        .ok_or_else(|| AdviseError::Wrong("a metric is missing".to_owned()))?;
    Ok((samples, done.simulated))
}

fn all(lanes: &mut [Lane]) -> Vec<&mut Lane> {
    lanes.iter_mut().collect()
}

/// The seed of a run at this place, for a request's seed.
fn seed(request: u64, place: u64) -> u64 {
    (request % 1_000_000_000) * 1_000_000 + place
}

/// What is run of some candidates: a cell for each in each situation.
fn plan(request: &Request, candidates: &[&Candidate], seeds: Vec<u64>) -> Result<Plan, String> {
    let mut cells = Vec::new();
    for (i, candidate) in candidates.iter().enumerate() {
        let policy = candidate.policy("candidate")?;
        for &situation in Situation::of(request.load) {
            let scenario = scenario(request, situation, vec![policy.clone()]);
            let values = vec![(i + 1).to_string(), situation.name().to_owned()];
            cells.push(Cell::new(values, scenario));
        }
    }
    let known = Metrics::standard();
    let mut plan = Plan::of("advise", &["candidate", "situation"], cells, seeds, &known);
    plan.metrics.extend(known.find("suspect_s"));
    Ok(plan)
}

/// The samples of each candidate of a plan.
fn samples(
    plan: &Plan,
    rows: &[crate::engine::Row],
    request: &Request,
) -> Option<Vec<Vec<Sample>>> {
    let columns = Columns::of(plan, request.paths.len())?;
    let all = Situation::of(request.load);
    let (situations, seeds) = (all.len(), plan.seeds.len());
    let back = place(Situation::Return);
    let of_candidate = rows.chunks(situations * seeds).enumerate();
    let samples = of_candidate.map(|(i, rows)| {
        let returning = &plan.cells[i * situations + back].scenario;
        let of_seed = (0..seeds).map(|s| {
            let row = |situation: &Situation| &rows[place(*situation) * seeds + s];
            columns.sample(&all.iter().map(row).collect::<Vec<_>>(), returning)
        });
        of_seed.collect()
    });
    samples.collect()
}

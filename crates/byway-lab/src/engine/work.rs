//! Runs chains on several threads.

use super::chain::{Chain, Chains, Columns, Taker};
use super::options::{Done, EngineError, Options};
use super::plan::Plan;
use super::row::{Record, Row, Status};
use super::rows::{Answer, Wants, rows};
use super::simulate::simulate;
use super::store::Store;
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Runs all plans. The rows do not depend on the number of threads.
///
/// # Errors
/// When it was cancelled, a run could not be kept, or by [`Options::strict`].
pub fn run(plans: &[&Plan], options: &Options<'_>) -> Result<Done, EngineError> {
    let nothing = Store::nothing();
    let store = options.store.unwrap_or(&nothing);
    let chains = Chains::of(plans);
    let job = Job {
        plans,
        chains: &chains,
        options,
        store,
        wants: Wants::of(plans),
        simulated: AtomicUsize::new(0),
        from_store: AtomicUsize::new(0),
    };
    let asked = plans.iter().map(|p| p.runs()).sum();
    let mut work = Work {
        queue: VecDeque::new(),
        states: chains.all.iter().map(State::new).collect(),
        running: 0,
        waiting: 0,
        done: 0,
        most: asked,
        failed: None,
    };
    for chain in 0..chains.all.len() {
        work.next_batch(&job, chain);
    }
    if let Some(progress) = options.progress {
        progress(work.done, work.most);
    }
    let work = on_threads(&job, work)?;
    store.sync()?;
    Ok(Done {
        rows: rows(
            plans,
            &chains,
            &job.wants,
            work.states.into_iter().map(|state| state.answers),
        ),
        asked,
        simulated: job.simulated.into_inner(),
        from_store: job.from_store.into_inner(),
    })
}

fn on_threads(job: &Job<'_>, work: Work) -> Result<Work, EngineError> {
    let shared = Shared {
        job,
        work: Mutex::new(work),
        news: Condvar::new(),
    };
    let threads = match job.options.threads {
        0 => std::thread::available_parallelism().map_or(1, usize::from),
        n => n,
    };
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| shared.worker());
        }
    });
    let work = shared.work.into_inner();
    let mut work = work.unwrap_or_else(PoisonError::into_inner);
    match work.failed.take() {
        Some(error) => {
            // What was done is on the disk; that it is not would come too late.
            let _ = job.store.sync();
            Err(error)
        }
        None => Ok(work),
    }
}

/// What there is to do, the same for all threads.
struct Job<'a> {
    plans: &'a [&'a Plan],
    chains: &'a Chains,
    options: &'a Options<'a>,
    store: &'a Store,
    wants: Wants,
    simulated: AtomicUsize,
    from_store: AtomicUsize,
}

impl Job<'_> {
    /// How many rows an answer to this seed makes.
    fn rows(&self, chain: &Chain, seed: u64) -> usize {
        let wanting = |t: &Taker| self.wants.place(self.plans, *t, seed).is_some();
        chain.takers().filter(wanting).count()
    }

    fn columns(&self, chain: &Chain) -> &Columns {
        &self.chains.columns[chain.columns]
    }

    /// The answer of a chain to a seed. Runs that are not known are done, if
    /// `simulates`; else there is no answer.
    fn answer(
        &self,
        chain: &Chain,
        seed: u64,
        simulates: bool,
    ) -> Result<Option<Answer>, EngineError> {
        let names = &self.columns(chain).names;
        let mut answer: Answer = Vec::with_capacity(chain.steps.len());
        let mut last: Option<usize> = None;
        let mut from_store = 0;
        for (place, step) in chain.steps.iter().enumerate() {
            let wanted = |t: &Taker| self.wants.place(self.plans, *t, seed).is_some();
            let Some(taker) = step.takers.iter().copied().find(wanted) else {
                answer.push(None);
                continue;
            };
            let lower = last.and_then(|last| answer[last].as_ref());
            let same = lower.filter(|lower| chain.never_reached(lower)).cloned();
            last = Some(place);
            if same.is_some() {
                answer.push(same);
                continue;
            }
            if let Some(known) = self.store.get(step.digest, seed, names) {
                from_store += 1;
                answer.push(Some(known));
                continue;
            }
            if !simulates {
                return Ok(None);
            }
            let record = self.simulate(chain, taker, seed)?;
            self.store.add(step.digest, seed, names, &record)?;
            answer.push(Some(record));
        }
        self.from_store.fetch_add(from_store, Ordering::Relaxed);
        Ok(Some(answer))
    }

    fn simulate(&self, chain: &Chain, taker: Taker, seed: u64) -> Result<Record, EngineError> {
        let plan = self.plans[taker.plan];
        let scenario = &plan.cells[taker.cell].scenario;
        let metrics = &self.columns(chain).metrics;
        let record = simulate(scenario, seed, metrics, self.options.cancel)
            .ok_or(EngineError::Interrupted)?;
        if self.options.strict && record.status == Status::Refused {
            return Err(EngineError::Refused {
                plan: plan.name.clone(),
                reason: record.reason,
            });
        }
        self.simulated.fetch_add(1, Ordering::Relaxed);
        Ok(record)
    }

    /// Whether all cells of a chain have had enough runs.
    fn enough(&self, chain: &Chain, answers: &[Option<Answer>]) -> bool {
        let columns = self.columns(chain);
        let mut cells = chain.steps.iter().enumerate().flat_map(|(place, step)| {
            let takers = step.takers.iter();
            takers.map(move |taker| (place, taker))
        });
        cells.all(|(place, taker)| {
            let Some(rule) = &self.plans[taker.plan].stop else {
                return false;
            };
            let records = answers.iter().flatten();
            let records = records.filter_map(|answer| answer[place].as_ref());
            let rows: Vec<Row> = records
                .map(|r| columns.taken(taker.plan, r.clone()).row(taker.cell, 0, 0))
                .collect();
            rule.enough(&rows)
        })
    }

    /// How many runs of a chain are requested next, when `done` are done.
    fn batch(&self, chain: &Chain, done: usize) -> usize {
        let rules = chain.takers().map(|t| self.plans[t.plan].stop.as_ref());
        let sizes = rules.map(|rule| match rule {
            None => chain.seeds.len(),
            Some(rule) if done == 0 => rule.least,
            Some(rule) => rule.step,
        });
        sizes.max().unwrap_or(1).max(1)
    }
}

/// What the threads share.
struct Shared<'a> {
    job: &'a Job<'a>,
    work: Mutex<Work>,
    news: Condvar,
}

struct Work {
    /// Runs to be done: chains, and places of their seeds.
    queue: VecDeque<(usize, Range<usize>)>,
    states: Vec<State>,
    /// Runs under way.
    running: usize,
    /// Threads that wait. If none does, none is woken: waking costs a system
    /// call.
    waiting: usize,
    done: usize,
    /// Runs at most, as far as is known.
    most: usize,
    failed: Option<EngineError>,
}

/// How far a chain has come.
struct State {
    answers: Vec<Option<Answer>>,
    /// Seeds that were requested so far.
    asked: usize,
    /// Of these, how many are still missing.
    missing: usize,
}

impl State {
    fn new(chain: &Chain) -> State {
        State {
            answers: vec![None; chain.seeds.len()],
            asked: 0,
            missing: 0,
        }
    }
}

impl Work {
    /// Asks for a chain's next runs, now that those before them are there;
    /// known ones are passed over.
    fn next_batch(&mut self, job: &Job<'_>, index: usize) {
        let chain = &job.chains.all[index];
        let state = &mut self.states[index];
        let all = chain.seeds.len();
        while state.missing == 0 && state.asked < all {
            if state.asked > 0 && job.enough(chain, &state.answers[..state.asked]) {
                let rest = &chain.seeds[state.asked..];
                self.most -= rest.iter().map(|s| job.rows(chain, *s)).sum::<usize>();
                return;
            }
            let begin = state.asked;
            state.asked = all.min(begin + job.batch(chain, begin));
            for place in begin..state.asked {
                let seed = chain.seeds[place];
                // Without simulating there is nothing that could fail.
                if let Ok(Some(answer)) = job.answer(chain, seed, false) {
                    state.answers[place] = Some(answer);
                    self.done += job.rows(chain, seed);
                    continue;
                }
                state.missing += 1;
                match self.queue.back_mut() {
                    Some((c, range)) if *c == index && range.end == place => range.end += 1,
                    _ => self.queue.push_back((index, place..place + 1)),
                }
            }
        }
    }

    fn pop(&mut self) -> Option<(usize, usize)> {
        let (chain, range) = self.queue.front_mut()?;
        let next = (*chain, range.start);
        range.start += 1;
        if range.start >= range.end {
            self.queue.pop_front();
        }
        Some(next)
    }
}

impl Shared<'_> {
    fn lock(&self) -> MutexGuard<'_, Work> {
        self.work.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn cancelled(&self) -> bool {
        let cancel = self.job.options.cancel;
        cancel.is_some_and(|c| c.load(Ordering::Relaxed))
    }

    fn fail(&self, error: EngineError) {
        self.lock().failed.get_or_insert(error);
        self.news.notify_all();
    }

    fn worker(&self) {
        let _watch = Watch(self);
        while let Some((index, place)) = self.next() {
            let chain = &self.job.chains.all[index];
            let answer = match self.job.answer(chain, chain.seeds[place], true) {
                Ok(answer) => answer,
                Err(error) => return self.fail(error),
            };
            let (done, most) = self.take(index, place, answer);
            if let Some(progress) = self.job.options.progress {
                progress(done, most);
            }
        }
    }

    /// The next run; none when all is done or nothing more shall be.
    fn next(&self) -> Option<(usize, usize)> {
        let mut work = self.lock();
        loop {
            if self.cancelled() {
                work.failed.get_or_insert(EngineError::Interrupted);
                self.news.notify_all();
            }
            if work.failed.is_some() {
                return None;
            }
            if let Some(next) = work.pop() {
                work.running += 1;
                return Some(next);
            }
            // A run under way may ask for more.
            if work.running == 0 {
                return None;
            }
            work.waiting += 1;
            work = self.news.wait(work).unwrap_or_else(PoisonError::into_inner);
            work.waiting -= 1;
        }
    }

    fn take(&self, index: usize, place: usize, answer: Option<Answer>) -> (usize, usize) {
        let chain = &self.job.chains.all[index];
        let rows = self.job.rows(chain, chain.seeds[place]);
        let mut work = self.lock();
        let state = &mut work.states[index];
        state.answers[place] = answer;
        state.missing -= 1;
        work.running -= 1;
        work.done += rows;
        work.next_batch(self.job, index);
        if work.waiting > 0 {
            self.news.notify_all();
        }
        (work.done, work.most)
    }
}

/// A thread that panics must not leave the others waiting for its run.
struct Watch<'a>(&'a Shared<'a>);

impl Drop for Watch<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.fail(EngineError::Interrupted);
        }
    }
}

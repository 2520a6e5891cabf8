//! Carries a plan out on several threads.

use super::plan::{Cell, Plan};
use super::row::Row;
use crate::drive::DriveError;
use crate::run::{RunError, RunOptions, one};
use crate::trouble::Trouble;
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Takes a row as soon as it is there.
pub type OnRow<'a> = dyn Fn(&Row) -> Result<(), SweepError> + Sync + 'a;

/// What a sweep is told besides its plan.
#[derive(Default)]
pub struct Options<'a> {
    /// Threads; 0 for as many as there are processors.
    pub threads: usize,
    /// Rows of this plan that are there already, in any order.
    pub known: Vec<Row>,
    /// Given every new row as soon as it is there, from any thread and in any
    /// order. An error of it ends the sweep.
    pub on_row: Option<&'a OnRow<'a>>,
    /// Told how many runs are done and how many there will be at most, whenever
    /// a run or a cell is done.
    pub progress: Option<&'a (dyn Fn(usize, usize) + Sync)>,
    /// Ends the sweep, runs under way included, once it is true.
    pub cancel: Option<&'a AtomicBool>,
}

/// Why a sweep did not come to its end.
#[derive(Debug, thiserror::Error)]
pub enum SweepError {
    /// It was asked to end.
    #[error("interrupted")]
    Interrupted,
    /// Its journal or its results file cannot be used.
    #[error(transparent)]
    File(#[from] Trouble),
}

/// Runs every cell of `plan` with its seeds and gives the rows, by cell and in
/// the order of the seeds. They do not depend on the number of threads.
///
/// # Errors
/// When it was cancelled, or [`Options::on_row`] failed.
pub fn run(plan: &Plan, options: &Options<'_>) -> Result<Vec<Row>, SweepError> {
    let mut cells: Vec<State> = plan.cells.iter().map(|_| State::new(plan)).collect();
    for row in &options.known {
        if let Some(slot) = cells
            .get_mut(row.cell)
            .and_then(|c| c.rows.get_mut(row.run))
        {
            *slot = Some(row.clone());
        }
    }
    let mut work = Work {
        queue: VecDeque::new(),
        cells,
        running: 0,
        waiting: 0,
        done: 0,
        most: plan.runs(),
        failed: None,
    };
    for cell in 0..plan.cells.len() {
        work.next_batch(plan, cell);
    }
    if let Some(progress) = options.progress {
        progress(work.done, work.most);
    }
    let shared = Shared {
        plan,
        options,
        work: Mutex::new(work),
        news: Condvar::new(),
    };
    let threads = match options.threads {
        0 => std::thread::available_parallelism().map_or(1, usize::from),
        n => n,
    };
    std::thread::scope(|scope| {
        for _ in 0..threads.min(plan.runs()) {
            scope.spawn(|| shared.worker());
        }
    });
    let work = shared
        .work
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner);
    match work.failed {
        Some(error) => Err(error),
        None => Ok(work
            .cells
            .into_iter()
            .flat_map(|c| c.rows.into_iter().flatten())
            .collect()),
    }
}

/// Runs one cell with one of the plan's seeds; `None` when it was cancelled.
#[must_use]
pub fn run_row(plan: &Plan, cell: usize, run: usize, cancel: Option<&AtomicBool>) -> Option<Row> {
    let Cell { scenario, .. } = &plan.cells[cell];
    let mut scenario = scenario.clone();
    scenario.seed = plan.seeds[run];
    let options = RunOptions {
        figures_only: true,
        cancel,
        ..RunOptions::default()
    };
    match one(&scenario, 0, options) {
        Ok(result) => Some(plan.row(cell, run, &result)),
        Err(RunError::Policy {
            error: DriveError::Cancelled,
            ..
        }) => None,
        Err(error) => Some(plan.refused(cell, run, error.to_string())),
    }
}

/// What the threads share.
struct Shared<'a> {
    plan: &'a Plan,
    options: &'a Options<'a>,
    work: Mutex<Work>,
    news: Condvar,
}

struct Work {
    /// Runs to be done: cells, and places of their seeds.
    queue: VecDeque<(usize, Range<usize>)>,
    cells: Vec<State>,
    /// Runs under way.
    running: usize,
    /// Threads that wait for news: where none does, nobody is told, as telling
    /// goes by way of the kernel.
    waiting: usize,
    done: usize,
    /// Runs at most, as far as is known.
    most: usize,
    failed: Option<SweepError>,
}

/// How far a cell has come.
struct State {
    rows: Vec<Option<Row>>,
    /// Runs that were asked for so far.
    asked: usize,
    /// Of these, how many are still missing.
    missing: usize,
}

impl State {
    fn new(plan: &Plan) -> State {
        State {
            rows: vec![None; plan.seeds.len()],
            asked: 0,
            missing: 0,
        }
    }
}

impl Work {
    /// Asks for a cell's next runs, now that those before them are there;
    /// known ones are passed over.
    fn next_batch(&mut self, plan: &Plan, cell: usize) {
        let state = &mut self.cells[cell];
        let all = plan.seeds.len();
        while state.missing == 0 && state.asked < all {
            let batch = match &plan.stop {
                None => all,
                Some(rule) if state.asked == 0 => rule.least,
                Some(rule) => {
                    let rows: Vec<Row> = state.rows[..state.asked]
                        .iter()
                        .flatten()
                        .cloned()
                        .collect();
                    if rule.enough(&rows) {
                        // What a longer sweep knew beyond this is not this sweep's.
                        state.rows.truncate(state.asked);
                        self.most -= all - state.asked;
                        return;
                    }
                    rule.step
                }
            };
            let begin = state.asked;
            state.asked = all.min(begin + batch.max(1));
            for run in begin..state.asked {
                if state.rows[run].is_some() {
                    self.done += 1;
                    continue;
                }
                state.missing += 1;
                match self.queue.back_mut() {
                    Some((c, range)) if *c == cell && range.end == run => range.end += 1,
                    _ => self.queue.push_back((cell, run..run + 1)),
                }
            }
        }
    }

    fn pop(&mut self) -> Option<(usize, usize)> {
        let (cell, range) = self.queue.front_mut()?;
        let next = (*cell, range.start);
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
        self.options
            .cancel
            .is_some_and(|c| c.load(Ordering::Relaxed))
    }

    fn fail(&self, error: SweepError) {
        self.lock().failed.get_or_insert(error);
        self.news.notify_all();
    }

    fn worker(&self) {
        let _watch = Watch(self);
        while let Some((cell, run)) = self.next() {
            let Some(row) = run_row(self.plan, cell, run, self.options.cancel) else {
                return self.fail(SweepError::Interrupted);
            };
            if let Some(on_row) = self.options.on_row
                && let Err(error) = on_row(&row)
            {
                return self.fail(error);
            }
            let (done, most) = self.take(row);
            if let Some(progress) = self.options.progress {
                progress(done, most);
            }
        }
    }

    /// The next run; none when all is done or nothing more shall be.
    fn next(&self) -> Option<(usize, usize)> {
        let mut work = self.lock();
        loop {
            if self.cancelled() {
                work.failed.get_or_insert(SweepError::Interrupted);
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

    fn take(&self, row: Row) -> (usize, usize) {
        let mut work = self.lock();
        let cell = row.cell;
        let run = row.run;
        let state = &mut work.cells[cell];
        state.rows[run] = Some(row);
        state.missing -= 1;
        work.running -= 1;
        work.done += 1;
        work.next_batch(self.plan, cell);
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
            self.0.fail(SweepError::Interrupted);
        }
    }
}

//! Runs plans on several threads of this process.

use super::chain::Chains;
use super::deal::Deal;
use super::job::{Counts, Job};
use super::options::{Done, EngineError, Options};
use super::plan::Plan;
use super::rows::{Wants, rows};
use super::store::Store;
use std::sync::atomic::Ordering;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Runs all plans. The rows do not depend on the number of threads.
///
/// # Errors
/// When it was cancelled, a run could not be kept, or by [`Options::strict`].
pub fn run(plans: &[&Plan], options: &Options<'_>) -> Result<Done, EngineError> {
    let nothing = Store::nothing();
    let store = options.store.unwrap_or(&nothing);
    let chains = Chains::of(plans);
    let (wants, counts) = (Wants::of(plans), Counts::default());
    let job = Job {
        plans,
        chains: &chains,
        wants: &wants,
        store,
        counts: &counts,
        cancel: options.cancel,
        strict: options.strict,
    };
    let deal = Deal::begin(&job);
    if let Some(progress) = options.progress {
        let (done, most) = deal.progress();
        progress(done, most);
    }
    let deal = on_threads(&job, options, deal)?;
    store.sync()?;
    Ok(Done {
        rows: rows(plans, &chains, &wants, deal.into_answers()),
        asked: plans.iter().map(|p| p.runs()).sum(),
        simulated: counts.simulated.into_inner(),
        from_store: counts.from_store.into_inner(),
    })
}

fn on_threads(job: &Job<'_>, options: &Options<'_>, deal: Deal) -> Result<Deal, EngineError> {
    let work = Work {
        deal,
        waiting: 0,
        failed: None,
    };
    let shared = Shared {
        job,
        options,
        work: Mutex::new(work),
        news: Condvar::new(),
    };
    let threads = match options.threads {
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
        None => Ok(work.deal),
    }
}

/// What the threads share.
struct Shared<'a> {
    job: &'a Job<'a>,
    options: &'a Options<'a>,
    work: Mutex<Work>,
    news: Condvar,
}

struct Work {
    deal: Deal,
    /// Threads that wait. If none does, none is woken: waking costs a system
    /// call.
    waiting: usize,
    failed: Option<EngineError>,
}

impl Shared<'_> {
    fn lock(&self) -> MutexGuard<'_, Work> {
        self.work.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn cancelled(&self) -> bool {
        let cancel = self.options.cancel;
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
            match self.job.answer(chain, chain.seeds[place], true) {
                Ok(Some(answer)) => {
                    let mut work = self.lock();
                    work.deal.take(self.job, index, place, answer);
                    if work.waiting > 0 {
                        self.news.notify_all();
                    }
                    let (done, most) = work.deal.progress();
                    drop(work);
                    if let Some(progress) = self.options.progress {
                        progress(done, most);
                    }
                }
                // With simulating there is an answer to all.
                Ok(None) => return self.fail(EngineError::Interrupted),
                Err(error) => return self.fail(error),
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
            if let Some(next) = work.deal.pop() {
                return Some(next);
            }
            // A run under way may ask for more.
            if !work.deal.is_running() {
                return None;
            }
            work.waiting += 1;
            work = self.news.wait(work).unwrap_or_else(PoisonError::into_inner);
            work.waiting -= 1;
        }
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

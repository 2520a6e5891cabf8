//! The threads that drive the sockets, and what a forked process may not touch.

use super::errors::WrongProcess;
use pyo3::prelude::*;
use std::io;
use std::mem;
use std::ops::DerefMut;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinHandle;

/// Most threads that drive sockets, unless the first endpoint has more workers.
const THREADS: usize = 4;
/// How long the end of the interpreter waits for ABORTs to be sent.
const PATIENCE: Duration = Duration::from_millis(600);

/// How often this process is a fork of a fork; the count of what belongs to it.
static GENERATION: AtomicU32 = AtomicU32::new(0);

/// Locked only with the interpreter's lock held, as is a fork: so a forked process never
/// finds it locked.
static RUNTIME: Mutex<Option<&'static Runtime>> = Mutex::new(None);

/// Aborts that are being sent in the background.
static ABORTS: Mutex<Vec<JoinHandle<()>>> = Mutex::new(Vec::new());

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The runtime of this process. It lives as long as the process.
pub(super) fn runtime(py: Python<'_>) -> io::Result<&'static Runtime> {
    runtime_for(py, 1)
}

/// The same. If it is not there yet, it gets a thread for each of so many workers, as far as
/// there are processors.
pub(super) fn runtime_for(_py: Python<'_>, workers: usize) -> io::Result<&'static Runtime> {
    let mut current = lock(&RUNTIME);
    if let Some(runtime) = *current {
        return Ok(runtime);
    }
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let runtime = Builder::new_multi_thread()
        .worker_threads(cores.min(THREADS.max(workers)))
        .thread_name("byway")
        .enable_io()
        .enable_time()
        .build()?;
    let runtime: &'static Runtime = Box::leak(Box::new(runtime));
    *current = Some(runtime);
    Ok(runtime)
}

/// Something that only the process may touch that made it: a fork has none of its threads,
/// and its locks may be held by them.
#[derive(Debug)]
pub(super) struct Owned<T> {
    generation: u32,
    value: Option<T>,
}

impl<T> Owned<T> {
    pub(super) fn new(value: T) -> Owned<T> {
        Owned {
            generation: GENERATION.load(Ordering::Relaxed),
            value: Some(value),
        }
    }

    fn mine(&self) -> bool {
        self.generation == GENERATION.load(Ordering::Relaxed)
    }

    pub(super) fn get(&self) -> PyResult<&T> {
        match &self.value {
            Some(value) if self.mine() => Ok(value),
            _ => Err(foreign()),
        }
    }

    pub(super) fn get_mut(&mut self) -> PyResult<&mut T> {
        match &mut self.value {
            Some(value) if self.generation == GENERATION.load(Ordering::Relaxed) => Ok(value),
            _ => Err(foreign()),
        }
    }
}

fn foreign() -> PyErr {
    WrongProcess::new_err(
        "this was made before os.fork(), which copies no threads: it works only in the \
         process that made it; bind another endpoint here, or start processes with \
         multiprocessing's method \"spawn\"",
    )
}

impl<T> Drop for Owned<T> {
    fn drop(&mut self) {
        if !self.mine() {
            mem::forget(self.value.take());
        }
    }
}

/// A mutex that is forgotten, not locked, in a forked process.
#[derive(Debug)]
pub(super) struct Guarded<T>(Mutex<Owned<T>>);

impl<T> Guarded<T> {
    pub(super) fn new(value: T) -> Guarded<T> {
        Guarded(Mutex::new(Owned::new(value)))
    }

    /// Locks it; nobody holds the lock while the interpreter's lock is released.
    pub(super) fn lock(&self) -> impl DerefMut<Target = Owned<T>> {
        lock(&self.0)
    }
}

/// Lets `work` end by itself; the end of the interpreter waits for it a moment.
pub(super) fn in_background(runtime: &Runtime, work: impl Future<Output = ()> + Send + 'static) {
    let mut aborts = lock(&ABORTS);
    aborts.retain(|a| !a.is_finished());
    aborts.push(runtime.spawn(work));
}

/// Called in a forked process: everything made so far belongs to its parent.
#[pyfunction]
pub(super) fn forked() {
    GENERATION.fetch_add(1, Ordering::Relaxed);
    *lock(&RUNTIME) = None;
    mem::forget(mem::take(&mut *lock(&ABORTS)));
}

/// Called at the end of the interpreter: waits until ABORTs are sent, at most 0.6 s.
#[pyfunction]
pub(super) fn finish(py: Python<'_>) {
    let Some(runtime) = *lock(&RUNTIME) else {
        return;
    };
    let aborts = mem::take(&mut *lock(&ABORTS));
    if aborts.is_empty() {
        return;
    }
    py.detach(|| {
        runtime.block_on(async {
            let all = async {
                for abort in aborts {
                    // An error says that it panicked, which it has told.
                    let _ = abort.await;
                }
            };
            // An error says that the time is over.
            let _ = tokio::time::timeout(PATIENCE, all).await;
        });
    });
}

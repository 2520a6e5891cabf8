//! Long work without the GIL, that Ctrl-C ends and whose progress Python may watch.

use crate::error::panicked;
use pyo3::prelude::*;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// Time between two looks for signals, and two reports of the progress.
const LOOK: Duration = Duration::from_millis(50);

/// What the work and those who wait for it share.
#[derive(Debug, Default)]
pub(crate) struct Control {
    /// Ends the work once it is true.
    pub(crate) cancel: AtomicBool,
    done: AtomicUsize,
    most: AtomicUsize,
}

impl Control {
    /// Tells how much is done.
    pub(crate) fn progress(&self, done: usize, most: usize) {
        self.most.store(most, Ordering::Relaxed);
        self.done.store(done, Ordering::Relaxed);
    }

    /// How much is done, of how much.
    pub(crate) fn so_far(&self) -> (usize, usize) {
        let read = |n: &AtomicUsize| n.load(Ordering::Relaxed);
        (read(&self.done), read(&self.most))
    }
}

/// Does `work` on other threads, at most `threads` (0 for as many as there are
/// processors), and gives what it gave, and why it was cancelled, if it was: by Ctrl-C,
/// or because `progress` raised an exception.
///
/// `progress` is called with what is done and how much there is, on this thread. The
/// threads are new each time: those of a pool would not live on in a fork.
pub(crate) fn carry_out<T: Send>(
    py: Python<'_>,
    threads: usize,
    control: &Control,
    progress: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce() -> T + Send,
) -> PyResult<(T, Option<PyErr>)> {
    let mut stopped = None;
    let (tell, told) = channel::<()>();
    let result = std::thread::scope(|scope| {
        let worker = scope.spawn(move || {
            // Its end says that the work is done, or has panicked.
            let _tell = tell;
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
            pool.map(|pool| pool.install(work))
        });
        let mut shown = None;
        let mut told = told;
        loop {
            let (back, waited) = py.detach(move || {
                let waited = told.recv_timeout(LOOK);
                (told, waited)
            });
            told = back;
            if waited == Err(RecvTimeoutError::Disconnected) {
                break;
            }
            if stopped.is_none()
                && let Err(error) = look(py, control, progress, &mut shown)
            {
                stopped = Some(error);
                control.cancel.store(true, Ordering::Relaxed);
            }
        }
        worker.join()
    });
    match result {
        Ok(Ok(value)) => {
            if stopped.is_none() {
                look(py, control, progress, &mut None)?;
            }
            Ok((value, stopped))
        }
        Ok(Err(error)) => Err(crate::error::RunError::new_err(format!(
            "cannot start threads: {error}"
        ))),
        Err(payload) => Err(panicked(&*payload)),
    }
}

/// Does `work`, which nothing can cancel, on another thread. Ctrl-C leaves it to end by
/// itself.
pub(crate) fn or_leave<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce() -> T + Send + 'static,
) -> PyResult<T> {
    let (tell, mut told) = channel::<T>();
    let worker = std::thread::spawn(move || {
        // Nobody listens any more if it was left.
        let _ = tell.send(work());
    });
    loop {
        let (back, waited) = py.detach(move || {
            let waited = told.recv_timeout(LOOK);
            (told, waited)
        });
        told = back;
        match waited {
            Ok(value) => return Ok(value),
            Err(RecvTimeoutError::Timeout) => py.check_signals()?,
            Err(RecvTimeoutError::Disconnected) => {
                let payload = worker.join().err();
                return Err(panicked(payload.as_deref().unwrap_or(&())));
            }
        }
    }
}

/// Looks for signals and reports the progress, if there is news.
fn look(
    py: Python<'_>,
    control: &Control,
    progress: Option<&Bound<'_, PyAny>>,
    shown: &mut Option<(usize, usize)>,
) -> PyResult<()> {
    py.check_signals()?;
    let now = control.so_far();
    if let Some(progress) = progress
        && now != (0, 0)
        && *shown != Some(now)
    {
        *shown = Some(now);
        progress.call1(now)?;
    }
    Ok(())
}

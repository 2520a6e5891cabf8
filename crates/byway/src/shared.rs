//! What handles and the driver share: the core behind a lock, and a clock.

use crate::state::State;
use byway_core::time::Instant;
use std::sync::{Mutex, PoisonError};

/// The state of an endpoint, its lock and its clock.
#[derive(Debug)]
pub(crate) struct Shared {
    state: Mutex<State>,
    started: std::time::Instant,
}

impl Shared {
    /// `started`: when the endpoint was created.
    pub(crate) fn new(state: State, started: std::time::Instant) -> Shared {
        Shared {
            state: Mutex::new(state),
            started,
        }
    }

    /// The core's time: the time since the endpoint was created.
    pub(crate) fn now(&self) -> Instant {
        Instant::ZERO + self.started.elapsed()
    }

    /// The core's time `at` on the system's clock; `None` if that clock cannot
    /// represent it.
    pub(crate) fn at(&self, at: Instant) -> Option<std::time::Instant> {
        self.started.checked_add(at.since(Instant::ZERO))
    }

    /// Runs `work` with the state locked, then wakes the tasks that it woke.
    ///
    /// Wakers run after the lock is released. Otherwise a task that wakes on
    /// another thread would wait for the lock at once.
    pub(crate) fn with<R>(&self, work: impl FnOnce(&mut State) -> R) -> R {
        // A panic under the lock can only be a defect of the core. The state stays
        // usable, so that tasks learn that the driver is gone.
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let result = work(&mut state);
        let mut wake = std::mem::take(&mut state.wake);
        drop(state);
        for waker in wake.drain(..) {
            waker.wake();
        }
        result
    }
}

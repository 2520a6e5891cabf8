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
    pub(crate) fn new(state: State) -> Shared {
        Shared {
            state: Mutex::new(state),
            started: std::time::Instant::now(),
        }
    }

    /// The core's time: what has passed since the endpoint was made.
    pub(crate) fn now(&self) -> Instant {
        Instant::ZERO + self.started.elapsed()
    }

    /// The moment of the system's clock at which the core's time is `at`; none
    /// if it lies beyond what the system's clock can tell.
    pub(crate) fn at(&self, at: Instant) -> Option<std::time::Instant> {
        self.started.checked_add(at.since(Instant::ZERO))
    }

    /// Does something with the state, then wakes whom it concerns.
    ///
    /// Wakers run after the lock is free, so that a task which wakes on another
    /// thread does not wait for it at once.
    pub(crate) fn with<R>(&self, work: impl FnOnce(&mut State) -> R) -> R {
        // A panic under the lock can only be a defect of the core. The state is
        // used further so that tasks can still learn that the driver has gone.
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

//! Tasks that wait for something.

use std::task::Waker;

/// Wakers of waiting tasks, each task once.
#[derive(Debug, Default)]
pub(crate) struct Wakers(Vec<Waker>);

impl Wakers {
    /// Registers a task until the next [`Wakers::move_to`].
    pub(crate) fn register(&mut self, waker: &Waker) {
        if !self.0.iter().any(|w| w.will_wake(waker)) {
            if self.0.is_empty() {
                // Mostly one task waits. A vector that grows by itself has room for four.
                self.0.reserve_exact(1);
            }
            self.0.push(waker.clone());
        }
    }

    /// Moves all tasks to the list of tasks to wake. They are not woken here,
    /// because that would be under the lock that they need next.
    pub(crate) fn move_to(&mut self, list: &mut Vec<Waker>) {
        list.append(&mut self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_that_asks_twice_is_woken_once() {
        let waker = Waker::noop();
        let (mut wakers, mut list) = (Wakers::default(), Vec::new());
        wakers.register(waker);
        wakers.register(waker);
        wakers.move_to(&mut list);
        wakers.move_to(&mut list);
        assert_eq!(list.len(), 1);
    }
}

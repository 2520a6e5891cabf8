//! When the memory of associations has fallen.

use crate::wakers::Wakers;
use std::task::{Poll, Waker};

/// A smaller fall is not worth the work of those who wait for one: a transfer that ends, say.
const LEAST: usize = 64 << 10;

/// How far the memory of associations has fallen, and who waits until it falls.
#[derive(Debug, Default)]
pub(crate) struct Falls {
    /// The most since the last fall.
    most: usize,
    /// Bytes of all falls. It wraps.
    all: u64,
    waiting: Wakers,
}

impl Falls {
    /// Associations take `memory` bytes now.
    #[inline]
    pub(super) fn note(&mut self, memory: usize, wake: &mut Vec<Waker>) {
        if memory >= self.most {
            self.most = memory;
        } else if self.most - memory >= LEAST {
            self.fall_to(memory, wake);
        }
    }

    #[cold]
    fn fall_to(&mut self, memory: usize, wake: &mut Vec<Waker>) {
        self.all = self.all.wrapping_add((self.most - memory) as u64);
        self.most = memory;
        self.waiting.move_to(wake);
    }

    /// Bytes of all falls so far.
    pub(crate) fn all(&self) -> u64 {
        self.all
    }

    /// Waits until the memory has fallen since the falls were `seen`.
    pub(crate) fn poll(&mut self, seen: u64, waker: &Waker) -> Poll<u64> {
        if self.all != seen {
            return Poll::Ready(self.all.wrapping_sub(seen));
        }
        self.waiting.register(waker);
        Poll::Pending
    }

    /// Nothing falls any more.
    pub(super) fn end(&mut self, wake: &mut Vec<Waker>) {
        self.waiting.move_to(wake);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_waits_is_woken_by_a_fall_and_not_by_a_little_less() {
        let (mut falls, mut wake) = (Falls::default(), Vec::new());
        assert!(falls.poll(0, Waker::noop()).is_pending());
        for memory in [0, 9 * LEAST, 9 * LEAST - 1, 8 * LEAST + 1, 9 * LEAST] {
            falls.note(memory, &mut wake);
        }
        assert!(wake.is_empty());
        falls.note(2 * LEAST, &mut wake);
        assert_eq!(wake.len(), 1);
        assert_eq!(falls.poll(0, Waker::noop()), Poll::Ready(7 << 16));
        assert!(falls.poll(falls.all(), Waker::noop()).is_pending());
        // What is left may rise and fall by itself.
        falls.note(3 * LEAST, &mut wake);
        falls.note(2 * LEAST + 1, &mut wake);
        assert_eq!(wake.len(), 1);
        falls.note(LEAST, &mut wake);
        assert_eq!((wake.len(), falls.all()), (2, 9 << 16));
    }
}

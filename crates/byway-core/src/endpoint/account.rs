//! The account of an endpoint's memory: the sum, its ceiling, and what follows from them.

use crate::assoc::Scarcity;

/// The sum over all associations.
#[derive(Copy, Clone, Debug)]
pub(super) struct Account {
    used: usize,
    most: usize,
    /// Associations that hold memory; ended ones do until they are released.
    associations: usize,
}

impl Account {
    pub(super) fn new(most: usize) -> Account {
        Account {
            used: 0,
            most,
            associations: 0,
        }
    }

    /// Bytes that all associations hold.
    pub(super) fn used(&self) -> usize {
        self.used
    }

    /// An association holds `now` bytes instead of `before`.
    #[inline]
    pub(super) fn change(&mut self, before: usize, now: usize) {
        self.used = self.used - before + now;
        self.associations += usize::from(before == 0);
        self.associations -= usize::from(now == 0);
    }

    /// Whether peers may set up no further association.
    pub(super) fn refuses_associations(&self) -> bool {
        self.used >= self.most / 4 * 3
    }

    /// What associations may still take, if there are so many of them.
    #[inline]
    pub(super) fn scarcity(&self) -> Scarcity {
        let scarce = self.used >= self.most / 8 * 7;
        Scarcity::of(scarce.then(|| self.most / self.associations.max(1)))
    }

    pub(super) fn is_over(&self) -> bool {
        self.used > self.most
    }
}

//! The account of an endpoint's memory: the sum, its ceiling, and what follows from them.

use crate::assoc::Scarcity;

/// The sum over all associations, or over those of one host.
#[derive(Copy, Clone, Debug)]
pub(super) struct Account {
    used: usize,
    /// Of that, what no association holds.
    beside: usize,
    most: usize,
    /// Associations that hold memory; ended ones do until they are released.
    associations: usize,
}

impl Account {
    pub(super) fn new(most: usize) -> Account {
        Account {
            used: 0,
            beside: 0,
            most,
            associations: 0,
        }
    }

    /// Bytes that are held.
    pub(super) fn used(&self) -> usize {
        self.used
    }

    /// Strangers and associations that have ended make the endpoint hold so many bytes.
    pub(super) fn hold_beside(&mut self, bytes: usize) {
        self.used = self.used - self.beside + bytes;
        self.beside = bytes;
    }

    /// An association holds `now` bytes instead of `before`.
    #[inline]
    pub(super) fn change(&mut self, before: usize, now: usize) {
        self.used = self.used - before + now;
        self.associations += usize::from(before == 0);
        self.associations -= usize::from(now == 0);
    }

    /// Whether peers may set up no further association, of hosts that have `few` or of others.
    pub(super) fn refuses_associations(&self, few: bool) -> bool {
        let sixteenths = if few { 15 } else { 12 };
        self.used >= self.most / 16 * sixteenths
    }

    /// What associations may still take, if there are so many of them.
    #[inline]
    pub(super) fn scarcity(&self) -> Scarcity {
        let enough = self.most / 8 * 7;
        let share = (self.used >= enough).then(|| enough / self.associations.max(1));
        Scarcity::of(share, self.largest_buffer())
    }

    /// The largest receive buffer to which an association may grow: a sixteenth of all
    /// memory while half of it is free.
    #[inline]
    fn largest_buffer(&self) -> u32 {
        if self.used >= self.most / 2 {
            return 0;
        }
        u32::try_from(self.most / 16).unwrap_or(u32::MAX)
    }

    pub(super) fn is_over(&self) -> bool {
        self.used > self.most
    }
}

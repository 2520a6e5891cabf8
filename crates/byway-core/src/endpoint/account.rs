//! The account of an endpoint's memory: the sum, its ceiling, and what follows from them.
//!
//! While memory is scarce, associations share it max-min fairly (Bertsekas and Gallager, "Data Networks",
//! section 6.5.2): each may hold as much as it wants up to one level, the max-min share, such that
//! all together hold what there is. Those that hold little leave it to the others, so it is at least what there is divided by
//! the associations.

use crate::assoc::Scarcity;

/// Associations are counted in classes of what they hold: below 4 KiB, below 8 KiB, and so on.
const CLASSES: usize = 16;
/// The first class holds less than this power of two.
const FIRST: u32 = 12;

/// With so many sixteenths of the memory in use there is none for newcomers, and the association that holds most goes.
const NEWCOMERS: usize = 15;

/// The sum over all associations, or over those of one host.
#[derive(Copy, Clone, Debug)]
pub(super) struct Account {
    used: usize,
    /// Of that, what no association holds.
    beside: usize,
    most: usize,
    /// Associations that hold memory, by class; ended ones do until they are released.
    associations: [u32; CLASSES],
    /// What those of a class hold.
    held: [usize; CLASSES],
}

/// The class of an association that holds so much.
#[inline]
fn class_of(memory: usize) -> usize {
    let bits = usize::BITS - memory.leading_zeros();
    (bits.saturating_sub(FIRST) as usize).min(CLASSES - 1)
}

impl Account {
    pub(super) fn new(most: usize) -> Account {
        Account {
            used: 0,
            beside: 0,
            most,
            associations: [0; CLASSES],
            held: [0; CLASSES],
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
        let (old, new) = (class_of(before), class_of(now));
        self.associations[old] -= u32::from(before != 0);
        self.held[old] -= before;
        self.associations[new] += u32::from(now != 0);
        self.held[new] += now;
    }

    /// Whether peers may set up no further association, of hosts that have `few` or of others.
    pub(super) fn refuses_associations(&self, few: bool) -> bool {
        let sixteenths = if few { NEWCOMERS } else { 12 };
        self.used >= self.part(sixteenths)
    }

    /// What associations may still take.
    #[inline]
    pub(super) fn scarcity(&self) -> Scarcity {
        let enough = self.most / 8 * 7;
        let share = (self.used >= enough).then(|| self.max_min_share(enough));
        Scarcity::of(share, self.largest_buffer())
    }

    /// The max-min share of so much memory: the highest level up to which all may hold memory. An association
    /// takes no more of it than the level, and no more than it wants. So for each class: if those up to it keep
    /// what they hold, the others may divide the rest. The best of these levels is a little too small at times, as
    /// classes are taken as a whole, and never too large.
    fn max_min_share(&self, memory: usize) -> usize {
        let mut free = memory.saturating_sub(self.beside);
        let mut others = self.associations.iter().map(|n| *n as usize).sum::<usize>();
        let mut share = free / others.max(1);
        for (associations, held) in self.associations.iter().zip(self.held) {
            others -= *associations as usize;
            free = free.saturating_sub(held);
            if others == 0 {
                break;
            }
            share = share.max(free / others);
        }
        share
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

    /// Whether the association that holds most is to go. It holds more than its share then, and what it leaves is for
    /// newcomers.
    pub(super) fn is_over(&self) -> bool {
        self.used > self.part(NEWCOMERS)
    }

    fn part(&self, sixteenths: usize) -> usize {
        self.most / 16 * sixteenths
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KIB: usize = 1024;

    fn account(held: &[(usize, usize)]) -> Account {
        let mut account = Account::new(1 << 30);
        for &(associations, each) in held {
            for _ in 0..associations {
                account.change(0, each);
            }
        }
        account
    }

    #[test]
    fn what_some_leave_is_shared_by_the_others() {
        // Associations and what each holds, and the max-min share of 1 MiB.
        for (held, expected) in [
            (&[][..], 1024 * KIB),
            (&[(1, 100 * KIB)], 1024 * KIB),
            (&[(4, 900 * KIB)], 256 * KIB),
            // Ten that hold little leave the rest to two.
            (&[(10, 2 * KIB), (2, 600 * KIB)], 502 * KIB),
            (&[(10, 2 * KIB), (1, 30 * KIB), (2, 600 * KIB)], 487 * KIB),
            // All hold less: what is left is nobody's yet, and anyone may take it.
            (&[(10, 2 * KIB), (2, 100 * KIB)], 502 * KIB),
            // 70 KiB and the share are of one class.
            (&[(4, 70 * KIB), (8, 200 * KIB)], 93 * KIB),
            // Each holds less than the share of all, and more than half of it.
            (&[(10, 70 * KIB), (1, 200 * KIB)], 324 * KIB),
            (&[(1000, 3 * KIB)], 1024 * KIB / 1000),
        ] {
            assert_eq!(
                account(held).max_min_share(1024 * KIB),
                expected,
                "{held:?}"
            );
        }
    }

    #[test]
    fn what_is_held_beside_is_not_shared() {
        let mut account = account(&[(4, 900 * KIB)]);
        account.hold_beside(24 * KIB);
        assert_eq!(account.max_min_share(1024 * KIB), 250 * KIB);
        account.hold_beside(2048 * KIB);
        assert_eq!(account.max_min_share(1024 * KIB), 0);
    }

    #[test]
    fn each_association_is_counted_once_whatever_it_held() {
        let mut account = account(&[(1, 1)]);
        for (before, now) in [
            (1, 4095),
            (4095, 4096),
            (4096, usize::MAX >> 1),
            (usize::MAX >> 1, 0),
        ] {
            account.change(before, now);
            let n = account.associations.iter().sum::<u32>();
            assert_eq!(n, u32::from(now != 0));
            assert_eq!(account.held.iter().sum::<usize>(), now);
            assert_eq!(account.used(), now);
        }
    }
}

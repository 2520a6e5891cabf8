//! Which associations hold most memory.
//!
//! A look at all of them finds more than one, so that a crowd whose members come again as soon as they are aborted costs
//! one look for many of them.

use core::cmp::Reverse;

/// So many are found by one look at all.
const FOUND: usize = 64;
/// With so many in the list, which is searched for each that grows, all are looked at again.
const MOST: usize = 4 * FOUND;

/// Those that hold most.
#[derive(Debug)]
pub(super) struct Largest {
    /// Associations that held more than all others at the last look, and those that came to hold as much since.
    indices: Vec<u32>,
    /// None but they holds more.
    others_hold: usize,
}

impl Default for Largest {
    fn default() -> Largest {
        Largest {
            indices: Vec::new(),
            others_hold: usize::MAX,
        }
    }
}

impl Largest {
    /// An association holds so much now.
    #[inline]
    pub(super) fn note(&mut self, index: u32, memory: usize) {
        if memory > self.others_hold && !self.indices.contains(&index) {
            self.add(index);
        }
    }

    #[cold]
    fn add(&mut self, index: u32) {
        match self.indices.len() {
            MOST => *self = Largest::default(),
            _ => self.indices.push(index),
        }
    }

    /// The association that holds most, by what it holds now, if the list has it. `memory` is what one holds from which
    /// memory can be had.
    pub(super) fn find(&mut self, memory: impl Fn(u32) -> Option<usize>) -> Option<u32> {
        let others_hold = self.others_hold;
        self.indices
            .retain(|index| memory(*index).is_some_and(|m| m >= others_hold));
        most(self.indices.iter().filter_map(|i| Some((memory(*i)?, *i))))
    }

    /// The one of `all` that holds most: all from which memory can be had, each with what it holds. Few are looked at
    /// again each time.
    pub(super) fn look(&mut self, all: impl Iterator<Item = (usize, u32)>) -> Option<u32> {
        *self = Largest::default();
        let mut all: Vec<(usize, u32)> = all.collect();
        if all.len() > FOUND {
            let (_, last, _) = all.select_nth_unstable_by_key(FOUND - 1, |x| Reverse(key(x)));
            self.others_hold = last.0;
            all.truncate(FOUND);
            self.indices.extend(all.iter().map(|(_, index)| index));
        }
        most(all.into_iter())
    }
}

/// The one that holds most; of equals the first.
pub(super) fn most(all: impl Iterator<Item = (usize, u32)>) -> Option<u32> {
    all.max_by_key(key).map(|(_, index)| index)
}

fn key(&(memory, index): &(usize, u32)) -> (usize, Reverse<u32>) {
    (memory, Reverse(index))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// What the list says is what a look at all says.
    fn agrees(largest: &mut Largest, held: &[usize]) {
        let memory = |i: u32| Some(held[i as usize]).filter(|m| *m > 0);
        let all = || held.iter().enumerate().filter(|(_, m)| **m > 0);
        let found = largest.find(memory);
        let found = found.or_else(|| largest.look(all().map(|(i, m)| (*m, i as u32))));
        let most = all().map(|(_, m)| *m).max();
        assert_eq!(found.map(|i| held[i as usize]), most);
    }

    proptest! {
        #[test]
        fn the_largest_is_found_whoever_grows_shrinks_and_goes(
            changes in prop::collection::vec((0_u32..400, 0_usize..100_000), 1..3000)
        ) {
            let (mut largest, mut held) = (Largest::default(), vec![0; 400]);
            for (n, (index, memory)) in changes.into_iter().enumerate() {
                held[index as usize] = memory;
                largest.note(index, memory);
                if n % 3 == 0 {
                    agrees(&mut largest, &held);
                }
            }
        }
    }

    /// A crowd of 1,000 that comes again as soon as one of it is aborted.
    #[test]
    fn who_comes_again_costs_few_looks_at_all() {
        let (mut largest, mut held, mut looks) = (Largest::default(), vec![50_000_usize; 1000], 0);
        for round in 0..10_000_usize {
            let memory = |i: u32| Some(held[i as usize]);
            let found = largest.find(memory).unwrap_or_else(|| {
                looks += 1;
                let all = held.iter().enumerate().map(|(i, m)| (*m, i as u32));
                largest.look(all).unwrap()
            });
            // It is aborted, and what comes in its place holds little at first, and then as much.
            for now in [2000, 50_000 + round % 100] {
                held[found as usize] = now;
                largest.note(found, now);
            }
        }
        assert!(looks < 10_000 / 50, "{looks}");
    }
}

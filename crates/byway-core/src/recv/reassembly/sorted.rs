//! Values in the order of their keys, in one list.
//!
//! A peer decides how many incomplete messages and messages out of order there are. A tree that holds them
//! itself takes a block of memory for half a dozen, and an allocator keeps a note of each group of blocks
//! that it ever made. So the values stand in one list, and the tree has their places there.

use super::memory::{Counted, TREE_ENTRY, WORD, more_room};
use core::ops::RangeBounds;
use slab::Slab;
use std::collections::BTreeMap;

/// Values for which an empty list keeps its memory.
const KEPT: usize = 4;

/// Values by key.
#[derive(Debug)]
pub(super) struct Sorted<K, V> {
    places: BTreeMap<K, u32>,
    values: Slab<V>,
}

impl<K, V> Default for Sorted<K, V> {
    fn default() -> Sorted<K, V> {
        Sorted {
            places: BTreeMap::new(),
            values: Slab::new(),
        }
    }
}

impl<K: Copy + Ord, V> Sorted<K, V> {
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        self.values.len()
    }

    pub(super) fn contains(&self, key: K) -> bool {
        self.places.contains_key(&key)
    }

    pub(super) fn get(&self, key: K) -> Option<&V> {
        self.values.get(*self.places.get(&key)? as usize)
    }

    pub(super) fn get_mut(&mut self, key: K) -> Option<&mut V> {
        self.values.get_mut(*self.places.get(&key)? as usize)
    }

    /// Adds a value under a key that none has.
    pub(super) fn insert(&mut self, key: K, value: V) -> &mut V {
        let len = self.values.len();
        if len == self.values.capacity() {
            self.values.reserve_exact(more_room(len));
        }
        let entry = self.values.vacant_entry();
        self.places.insert(key, entry.key() as u32);
        entry.insert(value)
    }

    pub(super) fn remove(&mut self, key: K) -> Option<V> {
        let place = self.places.remove(&key)?;
        let value = self.values.try_remove(place as usize);
        if self.values.is_empty() && self.values.capacity() > KEPT {
            *self = Sorted::default();
        }
        value
    }

    /// The value with the lowest key.
    #[inline]
    pub(super) fn first(&self) -> Option<(K, &V)> {
        self.at(self.places.first_key_value()?)
    }

    /// The same of these keys.
    pub(super) fn first_in(&self, keys: impl RangeBounds<K>) -> Option<(K, &V)> {
        self.at(self.places.range(keys).next()?)
    }

    /// The value with the highest of these keys.
    pub(super) fn last_in(&self, keys: impl RangeBounds<K>) -> Option<(K, &V)> {
        self.at(self.places.range(keys).next_back()?)
    }

    fn at(&self, (key, place): (&K, &u32)) -> Option<(K, &V)> {
        Some((*key, self.values.get(*place as usize)?))
    }

    /// All values with their keys, in the order of these.
    pub(super) fn iter(&self) -> impl Iterator<Item = (K, &V)> {
        self.places.iter().filter_map(|entry| self.at(entry))
    }

    /// All values, in no particular order.
    pub(super) fn values(&self) -> impl Iterator<Item = &V> {
        self.values.iter().map(|(_, value)| value)
    }
}

impl<K, V: Counted> Sorted<K, V> {
    /// Memory of the list and of the tree, in bytes.
    #[inline]
    pub(super) fn memory(&self) -> usize {
        // A place in the list may have a word beside its value.
        self.values.capacity() * (V::SIZE + WORD)
            + self.places.len() * TREE_ENTRY * size_of::<(K, u32)>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// As a tree that holds the values itself.
        #[test]
        fn it_is_a_sorted_map(steps in prop::collection::vec((0..40_u32, any::<bool>()), 0..200)) {
            let (mut sorted, mut map) = (Sorted::default(), BTreeMap::new());
            for (n, (key, add)) in (0..).zip(steps) {
                match (add, map.contains_key(&key)) {
                    (true, false) => {
                        *sorted.insert(key, 0) = n;
                        map.insert(key, n);
                    }
                    (true, true) => *sorted.get_mut(key).unwrap() = *map.get(&key).unwrap(),
                    (false, _) => prop_assert_eq!(sorted.remove(key), map.remove(&key)),
                }
                prop_assert_eq!(sorted.contains(key), map.contains_key(&key));
                prop_assert_eq!(sorted.get(key), map.get(&key));
                prop_assert_eq!(sorted.is_empty(), map.is_empty());
                prop_assert!(sorted.iter().eq(map.iter().map(|(k, v)| (*k, v))));
                prop_assert_eq!(sorted.values().count(), map.len());
                let of_map = |entry: Option<(&u32, &i32)>| entry.map(|(k, v)| (*k, *v));
                let of_sorted = |entry: Option<(u32, &i32)>| entry.map(|(k, v)| (k, *v));
                prop_assert_eq!(of_sorted(sorted.first()), of_map(map.iter().next()));
                prop_assert_eq!(of_sorted(sorted.first_in(key..)), of_map(map.range(key..).next()));
                prop_assert_eq!(of_sorted(sorted.last_in(..key)), of_map(map.range(..key).next_back()));
            }
        }
    }

    impl Counted for [u8; 80] {
        const SIZE: usize = 80;
    }

    #[test]
    fn an_empty_one_keeps_the_memory_of_a_few() {
        let mut sorted = Sorted::default();
        for key in 0..1000_u64 {
            sorted.insert(key, [0_u8; 80]);
        }
        assert!(sorted.memory() >= 1000 * 80);
        for key in 0..1000 {
            sorted.remove(key);
        }
        assert!(sorted.memory() <= KEPT * 88, "{}", sorted.memory());
    }
}

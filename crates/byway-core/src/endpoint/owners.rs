//! To which association an address of a peer belongs, where several have it.
//!
//! Two peers may list one address, and a translator (NAT) may give the port of one client to
//! another. The association that has proved the address owns it, of several the first; if none
//! has, the first that listed it. When that one gives it up, the next owns it.

use core::net::SocketAddr;
use std::collections::hash_map::Entry;
use std::collections::{BTreeSet, HashMap};

/// A peer's address with its UDP port, and its SCTP port.
pub(super) type Key = (SocketAddr, u16);

/// An association with an address of a peer.
#[derive(Copy, Clone, Debug)]
pub(super) struct Owner {
    /// Index in the table of associations.
    pub(super) index: u32,
    /// The address has proved that it is this peer's, not only been listed.
    pub(super) proven: bool,
}

/// An association with an address that belongs to another one; in this order they own it next.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Heir {
    key: Key,
    listed_only: bool,
    index: u32,
}

impl Heir {
    fn new(key: Key, owner: Owner) -> Heir {
        Heir {
            key,
            listed_only: !owner.proven,
            index: owner.index,
        }
    }
}

/// The owners of all addresses of peers.
#[derive(Debug, Default)]
pub(super) struct Owners {
    /// Only looked up and never iterated over, so its random order has no effect.
    owners: HashMap<Key, Owner>,
    heirs: BTreeSet<Heir>,
}

impl Owners {
    /// The association that an address belongs to.
    pub(super) fn get(&self, key: Key) -> Option<Owner> {
        self.owners.get(&key).copied()
    }

    /// An association has an address. `again`: it owned it a moment ago, and owns it again unless
    /// another one has proved it.
    pub(super) fn add(&mut self, key: Key, new: Owner, again: bool) {
        let mut entry = match self.owners.entry(key) {
            Entry::Vacant(e) => {
                e.insert(new);
                return;
            }
            Entry::Occupied(e) => e,
        };
        let old = *entry.get();
        let takes_over = new.proven && !old.proven || again && new.proven == old.proven;
        if takes_over {
            entry.insert(new);
        }
        // An association may have an address on two paths.
        if old.index != new.index {
            let heir = if takes_over { old } else { new };
            self.heirs.insert(Heir::new(key, heir));
        }
    }

    /// An association has an address no longer. Returns whether it owned it.
    pub(super) fn remove(&mut self, key: Key, index: u32) -> bool {
        for listed_only in [true, false] {
            self.heirs.remove(&Heir {
                key,
                listed_only,
                index,
            });
        }
        if self.get(key).is_none_or(|o| o.index != index) {
            return false;
        }
        match self.next(key) {
            Some(heir) => {
                self.heirs.remove(&heir);
                let owner = Owner {
                    index: heir.index,
                    proven: !heir.listed_only,
                };
                self.owners.insert(key, owner);
            }
            None => {
                self.owners.remove(&key);
            }
        }
        true
    }

    /// Who owns an address next.
    fn next(&self, key: Key) -> Option<Heir> {
        let first = Heir {
            key,
            listed_only: false,
            index: 0,
        };
        let next = self.heirs.range(first..).next().copied();
        next.filter(|heir| heir.key == key)
    }

    /// Gives back the memory of a crowd that has gone.
    pub(super) fn shrink_to_fit(&mut self) {
        self.owners.shrink_to_fit();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key() -> Key {
        (SocketAddr::from(([203, 0, 113, 1], 4001)), 5001)
    }

    /// Who owns the address after each step: `+1` listed by 1, `*1` proved by 1, `-1` given up.
    #[test]
    fn the_first_that_proved_an_address_owns_it_and_then_the_next() {
        let table: [(&[&str], &[Option<u32>]); 5] = [
            (
                &["+1", "+2", "-1", "-2"],
                &[Some(1), Some(1), Some(2), None],
            ),
            (&["+1", "*2", "-2"], &[Some(1), Some(2), Some(1)]),
            (
                &["*1", "*2", "-2", "-1"],
                &[Some(1), Some(1), Some(1), None],
            ),
            (
                &["*1", "+2", "*3", "-1", "-3"],
                &[Some(1), Some(1), Some(1), Some(3), Some(2)],
            ),
            (
                &["+1", "+1", "*1", "+2", "-1"],
                &[Some(1), Some(1), Some(1), Some(1), Some(2)],
            ),
        ];
        for (steps, expected) in table {
            let mut owners = Owners::default();
            let after = steps.iter().map(|step| {
                let index = step[1..].parse().unwrap();
                let proven = step.starts_with('*');
                match &step[..1] {
                    "-" => {
                        owners.remove(key(), index);
                    }
                    _ => owners.add(key(), Owner { index, proven }, false),
                }
                owners.get(key()).map(|o| o.index)
            });
            let after: Vec<Option<u32>> = after.collect();
            assert_eq!(after, expected, "{steps:?}");
            if owners.get(key()).is_none() {
                assert!(owners.heirs.is_empty(), "{steps:?}");
            }
        }
    }

    #[test]
    fn who_gives_an_address_up_for_a_moment_owns_it_again() {
        let mut owners = Owners::default();
        let [first, second] = [1, 2].map(|index| Owner {
            index,
            proven: true,
        });
        owners.add(key(), first, false);
        owners.add(key(), second, false);
        let owned = owners.remove(key(), 1);
        owners.add(key(), first, owned);
        assert_eq!(owners.get(key()).map(|o| o.index), Some(1));
        owners.remove(key(), 1);
        assert_eq!(owners.get(key()).map(|o| o.index), Some(2));
    }
}

//! What hosts have taken of something that has a limit: of each in the order in which it took it.

use byway::host_of;
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;

/// What all have taken, by hosts ([`host_of`]).
#[derive(Debug)]
pub(super) struct ByHost<T> {
    all: usize,
    next: u64,
    /// The oldest first. No host is without one.
    of: HashMap<IpAddr, BTreeMap<u64, T>>,
}

/// Which one of them.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) struct Number {
    host: IpAddr,
    number: u64,
}

impl<T> Default for ByHost<T> {
    fn default() -> ByHost<T> {
        ByHost {
            all: 0,
            next: 0,
            of: HashMap::new(),
        }
    }
}

impl<T> ByHost<T> {
    /// How many all hosts have.
    pub(super) fn all(&self) -> usize {
        self.all
    }

    /// How many the host of this address has.
    pub(super) fn count(&self, address: IpAddr) -> usize {
        self.of.get(&host_of(address)).map_or(0, BTreeMap::len)
    }

    /// What the host of this address has, the oldest first.
    pub(super) fn of(&self, address: IpAddr) -> impl Iterator<Item = (Number, &T)> {
        let host = host_of(address);
        let taken = self.of.get(&host).into_iter().flatten();
        taken.map(move |(&number, what)| (Number { host, number }, what))
    }

    /// The host with the most; of several, the one whose oldest is older.
    pub(super) fn busiest(&self) -> Option<IpAddr> {
        let rank = |(host, taken): (&IpAddr, &BTreeMap<u64, T>)| {
            let oldest = taken.keys().next().copied();
            (taken.len(), Reverse(oldest), *host)
        };
        self.of.iter().map(rank).max().map(|(_, _, host)| host)
    }

    /// The host of this address takes one more.
    pub(super) fn insert(&mut self, address: IpAddr, what: T) -> Number {
        let (host, number) = (host_of(address), self.next);
        self.next += 1;
        self.all += 1;
        self.of.entry(host).or_default().insert(number, what);
        Number { host, number }
    }

    /// It is given back. None if it was before.
    pub(super) fn remove(&mut self, Number { host, number }: Number) -> Option<T> {
        let taken = self.of.get_mut(&host)?;
        let what = taken.remove(&number)?;
        self.all -= 1;
        if taken.is_empty() {
            self.of.remove(&host);
        }
        Some(what)
    }
}

//! How many connections a `byway serve` has at once, and how many of them one host.
//!
//! A connection has a descriptor, a window of bytes and a task. One that is idle is as good as any, so
//! none is taken back; but strangers open as many as they like and keep them. So all together are fewer
//! than the descriptors of the process, and one host has at most a quarter of them. A connection has
//! its place from the moment that a peer opens it to its end: also one whose target refuses,
//! as long as the peer does not take that answer.

use crate::net::descriptors;
use byway::host_of;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Most connections of all associations, if the process may have enough descriptors.
const MOST: usize = 4096;
/// One host has at most this part of them.
const SHARE: usize = 4;

/// The places of a `byway serve`.
pub(super) struct Places {
    most: usize,
    /// Connections of each host that has some.
    taken: Mutex<BTreeMap<IpAddr, usize>>,
}

/// The right to have one connection, until it is dropped.
pub(super) struct Place {
    places: Arc<Places>,
    host: IpAddr,
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut taken = self.places.taken();
        if let Some(count) = taken.get_mut(&self.host) {
            *count -= 1;
            if *count == 0 {
                taken.remove(&self.host);
            }
        }
    }
}

impl Places {
    /// As many as the process may have descriptors for, behind so many local addresses.
    pub(super) fn of_process(local_addresses: usize) -> Arc<Places> {
        Places::new(descriptors::for_strangers(local_addresses).min(MOST))
    }

    fn new(most: usize) -> Arc<Places> {
        Arc::new(Places {
            most,
            taken: Mutex::default(),
        })
    }

    /// A place for a connection from this address.
    ///
    /// # Errors
    /// Why there is none, for the peer.
    pub(super) fn take(self: &Arc<Places>, from: IpAddr) -> Result<Place, String> {
        let host = host_of(from);
        let mut taken = self.taken();
        let own = taken.get(&host).copied().unwrap_or(0);
        if own >= self.most.div_ceil(SHARE) {
            return Err(format!(
                "{own} connections of this host are under way, the most of one host"
            ));
        }
        if taken.values().sum::<usize>() >= self.most {
            return Err(format!("{} connections are under way, the most", self.most));
        }
        taken.insert(host, own + 1);
        Ok(Place {
            places: self.clone(),
            host,
        })
    }

    fn taken(&self) -> MutexGuard<'_, BTreeMap<IpAddr, usize>> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_host_has_a_quarter_and_all_have_the_most() {
        let places = Places::new(8);
        let host = |n: u8| IpAddr::from([10, 0, 0, n]);
        let why = |taken: Result<Place, String>| taken.err().unwrap_or_default();
        let mut held = Vec::new();
        for n in 1..=4 {
            held.extend((0..2).map(|_| places.take(host(n)).unwrap()));
            assert!(why(places.take(host(n))).contains("of this host"));
        }
        assert!(why(places.take(host(9))).contains("8 connections are under way"));
        held.remove(0);
        assert!(places.take(host(9)).is_ok());
        drop(held);
        assert!(places.taken().is_empty());
    }
}

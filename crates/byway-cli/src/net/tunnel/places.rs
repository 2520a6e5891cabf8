//! How many connections a `byway serve` has at once, and how many of them one host.
//!
//! A connection has a descriptor, a window of bytes and a task. One that is idle is as good as any, so
//! none is taken back; but strangers open as many as they like and keep them. So all together are fewer
//! than the descriptors of the process, and one host has at most a quarter of them, or three quarters if
//! it was let in by a ticket or a key. A connection has its place from the moment that a peer opens it
//! to its end: also one whose target refuses, as long as the peer does not take that answer.

use crate::net::descriptors;
use byway::host_of;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Most connections of all associations, if the process may have enough descriptors.
const MOST: usize = 4096;

/// Who asks for places.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Peer {
    /// Anybody who reaches the addresses.
    Stranger,
    /// It was let in by a ticket or a key.
    LetIn,
}

impl Peer {
    /// Most places of one host, of all.
    fn share(self, all: usize) -> usize {
        match self {
            Peer::Stranger => all.div_ceil(4),
            Peer::LetIn => all.div_ceil(4) * 3,
        }
        .min(all)
    }
}

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
    pub(super) fn take(self: &Arc<Places>, from: IpAddr, peer: Peer) -> Result<Place, String> {
        let host = host_of(from);
        let mut taken = self.taken();
        let own = taken.get(&host).copied().unwrap_or(0);
        if own >= peer.share(self.most) {
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

    fn host(n: u8) -> IpAddr {
        IpAddr::from([10, 0, 0, n])
    }

    fn why(taken: Result<Place, String>) -> String {
        taken.err().unwrap_or_default()
    }

    #[test]
    fn one_host_has_a_quarter_and_all_have_the_most() {
        let places = Places::new(8);
        let mut held = Vec::new();
        for n in 1..=4 {
            held.extend((0..2).map(|_| places.take(host(n), Peer::Stranger).unwrap()));
            assert!(why(places.take(host(n), Peer::Stranger)).contains("of this host"));
        }
        let full = why(places.take(host(9), Peer::Stranger));
        assert!(full.contains("8 connections are under way"));
        held.remove(0);
        assert!(places.take(host(9), Peer::Stranger).is_ok());
        drop(held);
        assert!(places.taken().is_empty());
    }

    #[test]
    fn who_was_let_in_leaves_a_quarter_to_others() {
        for (all, own) in [(8, 6), (4096, 3072), (9, 9), (1, 1)] {
            let places = Places::new(all);
            let most = std::iter::from_fn(|| places.take(host(1), Peer::LetIn).ok());
            let held: Vec<Place> = most.take(all + 1).collect();
            assert_eq!(held.len(), own, "of {all}");
            assert_eq!(
                places.take(host(2), Peer::LetIn).is_ok(),
                own < all,
                "of {all}"
            );
        }
    }
}

//! What `byway recv` reads and hashes of what strangers have begun, in pieces and by turns.
//!
//! A hole of many gigabytes costs its sender a few bytes, and its hash takes minutes. So nobody has a
//! turn for longer than a piece, one host has one turn of all hosts', and the hash of an association that
//! ends goes no further.

use super::Job;
use super::file::aside;
use crate::failure::Failure;
use crate::net::hashes::Front;
use crate::net::protocol::Hash;
use crate::net::store::Found;
use byway::host_of;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::net::IpAddr;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, SemaphorePermit};

/// One piece at a time is read, so that many senders do not take all processors. Those of one host wait for
/// each other first.
pub(super) struct Turns {
    all: Semaphore,
    hosts: Mutex<BTreeMap<IpAddr, Weak<Semaphore>>>,
}

/// The right to read a piece, until it is dropped.
pub(super) struct Turn<'a> {
    _of_all: Option<SemaphorePermit<'a>>,
    // Behind it: the next of the host waits behind the other hosts.
    _of_host: Option<OwnedSemaphorePermit>,
}

impl Turns {
    pub(super) fn new() -> Turns {
        Turns {
            all: Semaphore::new(1),
            hosts: Mutex::default(),
        }
    }

    /// Waits for a turn. Those who wait have it in their order.
    pub(super) async fn take(&self, from: IpAddr) -> Turn<'_> {
        let host = self.host(host_of(from));
        // An error would say that it was closed.
        let of_host = host.acquire_owned().await.ok();
        let of_all = self.all.acquire().await.ok();
        Turn {
            _of_all: of_all,
            _of_host: of_host,
        }
    }

    fn host(&self, host: IpAddr) -> Arc<Semaphore> {
        let mut hosts = self.hosts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(there) = hosts.get(&host).and_then(Weak::upgrade) {
            return there;
        }
        hosts.retain(|_, others| others.strong_count() > 0);
        let new = Arc::new(Semaphore::new(1));
        hosts.insert(host, Arc::downgrade(&new));
        new
    }
}

impl Job<'_> {
    /// Waits for this association's turn.
    ///
    /// # Errors
    /// When the association ends first.
    pub(super) async fn turn(&self) -> Result<Turn<'_>, Failure> {
        let Some(peer) = self.peer else {
            // It has no path any more.
            return Err(self.association.closed().await.into());
        };
        tokio::select! {
            biased;
            lost = self.association.closed() => Err(lost.into()),
            turn = self.ours(self.files.turns.take(peer.ip())) => Ok(turn),
        }
    }

    /// Does a piece of work when it is this association's turn.
    ///
    /// # Errors
    /// When the association ends first.
    pub(super) async fn in_turn<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Failure> {
        let _turn = self.turn().await?;
        self.ours(aside(work)).await
    }

    /// Hashes the front of a file.
    ///
    /// # Errors
    /// When the association ends first. That it cannot be read ends nothing.
    async fn hash(&self, mut front: Front) -> Result<io::Result<Front>, Failure> {
        loop {
            let step = move || (front.step(), front);
            let (more, back) = self.in_turn(step).await?;
            front = back;
            match more {
                Ok(true) => {}
                Ok(false) => return Ok(Ok(front)),
                Err(e) => return Ok(Err(e)),
            }
        }
    }

    /// What is there of a file of `size` bytes, whose partial file this is: what is known, or what is
    /// read.
    ///
    /// # Errors
    /// When the association ends first. That it cannot be read ends nothing.
    pub(super) async fn known_or_read(
        &self,
        part: &Path,
        size: u64,
        known: Option<Found>,
    ) -> Result<io::Result<Option<Found>>, Failure> {
        let plain = fs::symlink_metadata(part).ok().filter(|m| m.is_file());
        let there = plain
            .map(|m| m.len())
            .filter(|have| (1..=size).contains(have));
        let Some(have) = there else {
            return Ok(Ok(known));
        };
        if known.as_ref().is_some_and(|known| known.is_of(have)) {
            return Ok(Ok(known));
        }
        let file = match File::open(part) {
            Ok(file) => file,
            Err(e) => return Ok(Err(e)),
        };
        let read = self.hash(Front::of(file, have)).await?;
        Ok(read.map(|front| Some(Found::of(have, front.hasher))))
    }

    /// Whether a file has this hash.
    ///
    /// # Errors
    /// When the association ends first.
    pub(super) async fn has_hash(
        &self,
        file: File,
        size: u64,
        hash: &Hash,
    ) -> Result<bool, Failure> {
        let read = self.hash(Front::of(file, size)).await?;
        Ok(read.is_ok_and(|front| Found::of(size, front.hasher).hash() == *hash))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_host_waits_once_however_many_of_it_do() {
        let turns = Turns::new();
        let host = |n: u8| IpAddr::from([10, 0, 0, n]);
        let first = turns.take(host(1)).await;
        let order = Mutex::new(Vec::new());
        let next = async |n: u8| {
            let turn = turns.take(host(n)).await;
            order.lock().unwrap().push(n);
            drop(turn);
        };
        tokio::join!(next(1), next(1), next(1), next(2), next(3), async move {
            drop(first)
        });
        let order = order.into_inner().unwrap();
        let behind = |n: u8| order.iter().position(|o| *o == n).unwrap();
        assert!(behind(2) < 2 && behind(3) < 3, "{order:?}");
        drop(turns.take(host(4)).await);
        assert_eq!(
            turns.hosts.lock().unwrap().len(),
            1,
            "hosts that wait no more are forgotten"
        );
    }
}

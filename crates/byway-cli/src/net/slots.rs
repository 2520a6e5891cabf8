//! How many files may be under way at a receiver at once.
//!
//! A file under way has a descriptor and a partial file. Strangers begin as many as they like, and
//! descriptors are few. So a file needs a slot from the START of its sender on. All slots together
//! are fewer than the descriptors of the process, and one host has at most a quarter of them. When
//! a slot is needed and none is free, one is taken back:
//!
//! - from the host that has the most, if it has at least two more than the one that needs it;
//! - else from a file that is slow: of which less than [`LEAST`] came in [`WINDOW`].
//!
//! Of these, the file goes that waited longest for its last [`LEAST`] bytes. So a sender whose host
//! has nothing under way waits for nobody, and any other one at most [`WINDOW`] for those that do
//! not get on. A host is an IPv4 address or 64 bits of an IPv6 address.

use super::descriptors;
use super::refused::Refused;
use crate::failure::{Failure, Kind};
use byway::host_of;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{Notify, watch};
use tokio::time::{Instant, timeout_at};

/// Most slots, if the process may have enough descriptors.
const MOST: usize = 1024;

/// One host has at most this part of all slots.
const SHARE: usize = 4;

/// A file of which less than [`LEAST`] bytes came in this time may have to go.
const WINDOW: Duration = Duration::from_secs(10);

/// See [`WINDOW`].
const LEAST: u64 = 64 * 1024;

/// How long a file that has to go may take for it.
const LET_GO: Duration = Duration::from_secs(5);

/// Why a file has to go.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Why {
    /// Its host has the most.
    Most,
    /// It does not get on.
    Slow,
}

/// A file under way.
#[derive(Debug)]
struct Begun {
    host: IpAddr,
    /// When the last [`LEAST`] bytes were complete, or it began.
    mark: Instant,
    /// Bytes since.
    since: u64,
    /// All bytes are here: it ends by itself.
    ends: bool,
    /// Set when it has to go.
    leaves: Arc<watch::Sender<Option<Why>>>,
}

#[derive(Debug, Default)]
struct Table {
    next: u64,
    begun: BTreeMap<u64, Begun>,
    /// Files of each host that has some.
    of: BTreeMap<IpAddr, usize>,
    /// Files that have to go and are still here.
    leaving: usize,
}

/// The slots of one receiver.
#[derive(Debug)]
pub(super) struct Slots {
    most: usize,
    table: Mutex<Table>,
    /// Tells that a slot is free.
    freed: Notify,
}

/// The right to have one file under way, until it is dropped.
pub(super) struct Slot<'a> {
    slots: &'a Slots,
    id: u64,
    leaves: Arc<watch::Sender<Option<Why>>>,
}

impl Drop for Slot<'_> {
    fn drop(&mut self) {
        self.slots.lock().end(self.id);
        self.slots.freed.notify_waiters();
    }
}

impl Slot<'_> {
    /// So many bytes of the file have come.
    pub(super) fn came(&self, bytes: usize) {
        let mut table = self.slots.lock();
        if let Some(begun) = table.begun.get_mut(&self.id) {
            begun.since += bytes as u64;
            if begun.since >= LEAST {
                (begun.since, begun.mark) = (0, Instant::now());
            }
        }
    }

    /// All bytes are here.
    pub(super) fn ends(&self) {
        if let Some(begun) = self.slots.lock().begun.get_mut(&self.id) {
            begun.ends = true;
        }
    }

    /// Waits until the file has to go; why, for its sender.
    pub(super) async fn taken_back(&self) -> Failure {
        let mut leaves = self.leaves.subscribe();
        // An error would say that the channel is gone, and `self` holds it.
        let why = leaves.wait_for(Option::is_some).await.map_or(None, |w| *w);
        let words = match why {
            Some(Why::Slow) => "another file needs the slot, and less than 64 KiB came in 10 s",
            _ => "another host needs the slot, and this one has the most files under way",
        };
        Failure::new(Kind::Failed, format!("let go: {words}"))
    }
}

impl Slots {
    /// As many as the process may have descriptors for, behind so many local addresses.
    pub(super) fn of_process(local_addresses: usize) -> Slots {
        Slots::new(descriptors::for_strangers(local_addresses).min(MOST))
    }

    fn new(most: usize) -> Slots {
        Slots {
            most,
            table: Mutex::default(),
            freed: Notify::new(),
        }
    }

    /// A slot for a file from this address.
    ///
    /// # Errors
    /// Why there is none, for the sender.
    pub(super) async fn take(&self, from: IpAddr) -> Result<Slot<'_>, Failure> {
        let (host, until) = (host_of(from), Instant::now() + LET_GO);
        loop {
            let mut freed = pin!(self.freed.notified());
            // What is freed from now on is not missed.
            freed.as_mut().enable();
            if let Some(slot) = self.take_now(host)? {
                return Ok(slot);
            }
            if timeout_at(until, freed).await.is_err() {
                return Err(self.none(&self.lock(), host));
            }
        }
    }

    /// A slot, if one is free. Else a file has to go, or is going already.
    ///
    /// # Errors
    /// When none has to.
    fn take_now(&self, host: IpAddr) -> Result<Option<Slot<'_>>, Failure> {
        let (mut table, now) = (self.lock(), Instant::now());
        if table.has_room(self.most, host) {
            return Ok(Some(self.begin(&mut table, host, now)));
        }
        if table.leaving == 0 {
            let leaver = match table.of(host) >= share(self.most) {
                true => table.slow(now, Some(host)),
                false => table.of_the_greediest(host).or(table.slow(now, None)),
            };
            let Some((id, why)) = leaver else {
                return Err(self.none(&table, host));
            };
            table.leaves(id, why);
        }
        Ok(None)
    }

    fn begin<'a>(&'a self, table: &mut Table, host: IpAddr, now: Instant) -> Slot<'a> {
        let (id, leaves) = (table.next, Arc::new(watch::Sender::new(None)));
        table.next += 1;
        let begun = Begun {
            host,
            mark: now,
            since: 0,
            ends: false,
            leaves: leaves.clone(),
        };
        table.begun.insert(id, begun);
        *table.of.entry(host).or_default() += 1;
        Slot {
            slots: self,
            id,
            leaves,
        }
    }

    fn none(&self, table: &Table, host: IpAddr) -> Failure {
        Refused::NoSlot.count();
        let own = table.of(host);
        let words = match own >= share(self.most) {
            true => format!("{own} files of this host are under way, the most of one host"),
            false => format!("{} files are under way, the most", self.most),
        };
        Failure::new(Kind::Failed, format!("no slot: {words}; try again later"))
    }

    fn lock(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Table {
    fn of(&self, host: IpAddr) -> usize {
        self.of.get(&host).copied().unwrap_or(0)
    }

    fn has_room(&self, most: usize, host: IpAddr) -> bool {
        self.begun.len() < most && self.of(host) < share(most)
    }

    /// This file has to go.
    fn leaves(&mut self, id: u64, why: Why) {
        if let Some(begun) = self.begun.get(&id) {
            begun.leaves.send_replace(Some(why));
            self.leaving += 1;
            Refused::SlotTaken.count();
        }
    }

    /// This file has ended.
    fn end(&mut self, id: u64) {
        let Some(begun) = self.begun.remove(&id) else {
            return;
        };
        self.leaving -= usize::from(begun.is_leaving());
        if let Some(count) = self.of.get_mut(&begun.host) {
            *count -= 1;
            if *count == 0 {
                self.of.remove(&begun.host);
            }
        }
    }

    /// The file without progress for the longest time of those that `may` go.
    fn oldest(&self, may: impl Fn(&Begun) -> bool) -> Option<u64> {
        let may = |b: &&Begun| !b.ends && may(b);
        let all = self.begun.iter().filter(|(_, b)| may(b));
        all.min_by_key(|(_, b)| b.mark).map(|(id, _)| *id)
    }

    /// A slow file, of this host or of any.
    fn slow(&self, now: Instant, host: Option<IpAddr>) -> Option<(u64, Why)> {
        let slow = |b: &Begun| now.duration_since(b.mark) >= WINDOW;
        let of = |b: &Begun| host.is_none_or(|h| h == b.host);
        let id = self.oldest(|b| slow(b) && of(b))?;
        Some((id, Why::Slow))
    }

    /// A file of the host that has the most, if it has two more than this one.
    fn of_the_greediest(&self, host: IpAddr) -> Option<(u64, Why)> {
        let mut counts = BTreeMap::<IpAddr, usize>::new();
        for begun in self.begun.values().filter(|b| !b.ends) {
            *counts.entry(begun.host).or_default() += 1;
        }
        let (greediest, count) = counts.into_iter().max_by_key(|(_, n)| *n)?;
        let id = self.oldest(|b| b.host == greediest)?;
        (count >= self.of(host) + 2).then_some((id, Why::Most))
    }
}

impl Begun {
    fn is_leaving(&self) -> bool {
        self.leaves.borrow().is_some()
    }
}

fn share(most: usize) -> usize {
    most.div_ceil(SHARE)
}

#[cfg(test)]
#[path = "slots_tests.rs"]
mod tests;

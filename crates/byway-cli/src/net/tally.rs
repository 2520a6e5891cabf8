//! How many TCP connections a tunnel carries, for those who look at the process.

use byway::AssocId;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Connections that are open, and all that were opened so far.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Connections {
    pub(super) open: u64,
    pub(super) opened: u64,
}

#[derive(Debug)]
struct Counts {
    open: AtomicU64,
    opened: AtomicU64,
}

impl Counts {
    const fn new() -> Counts {
        Counts {
            open: AtomicU64::new(0),
            opened: AtomicU64::new(0),
        }
    }

    fn now(&self) -> Connections {
        Connections {
            open: self.open.load(Ordering::Relaxed),
            opened: self.opened.load(Ordering::Relaxed),
        }
    }

    fn opened(&self) {
        self.open.fetch_add(1, Ordering::Relaxed);
        self.opened.fetch_add(1, Ordering::Relaxed);
    }

    fn closed(&self) {
        self.open.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Those of all associations.
#[derive(Debug)]
pub(super) struct Tallies {
    /// It goes on when an association is lost and set up again.
    all: Counts,
    each: Mutex<BTreeMap<AssocId, Arc<Counts>>>,
}

/// Those of this process.
pub(super) static PROCESS: Tallies = Tallies::new();

impl Tallies {
    const fn new() -> Tallies {
        Tallies {
            all: Counts::new(),
            each: Mutex::new(BTreeMap::new()),
        }
    }

    /// Of all associations, also of those that have ended.
    pub(super) fn all(&self) -> Connections {
        self.all.now()
    }

    /// Of an association, if it carries connections.
    pub(super) fn of(&self, id: AssocId) -> Option<Connections> {
        self.each().get(&id).map(|counts| counts.now())
    }

    /// Counts the connections of an association.
    pub(super) fn begin(&'static self, id: AssocId) -> Tally {
        let counts = Arc::new(Counts::new());
        // A new endpoint counts its associations from the beginning: what is there is of one that has ended.
        self.each().insert(id, counts.clone());
        Tally {
            tallies: self,
            id,
            counts,
        }
    }

    fn each(&self) -> MutexGuard<'_, BTreeMap<AssocId, Arc<Counts>>> {
        // Nothing panics while it is held.
        self.each.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The connections of an association, until it is dropped.
#[derive(Debug)]
pub(super) struct Tally {
    tallies: &'static Tallies,
    id: AssocId,
    counts: Arc<Counts>,
}

impl Tally {
    /// One more is open.
    pub(super) fn opened(&self) {
        self.counts.opened();
        self.tallies.all.opened();
    }

    /// One of them is over.
    pub(super) fn closed(&self) {
        self.counts.closed();
        self.tallies.all.closed();
    }
}

impl Drop for Tally {
    fn drop(&mut self) {
        let mut each = self.tallies.each();
        // Its place may be that of a later one.
        if each
            .get(&self.id)
            .is_some_and(|counts| Arc::ptr_eq(counts, &self.counts))
        {
            each.remove(&self.id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_association_is_told_until_it_ends_and_the_process_goes_on() {
        static TALLIES: Tallies = Tallies::new();
        let id = |text: &str| AssocId::parse(text).unwrap();
        let told = |open, opened| Connections { open, opened };
        let (one, other) = (TALLIES.begin(id("0.1")), TALLIES.begin(id("0.2")));
        one.opened();
        one.opened();
        one.closed();
        other.opened();
        assert_eq!(TALLIES.of(id("0.1")), Some(told(1, 2)));
        assert_eq!(TALLIES.of(id("0.2")), Some(told(1, 1)));
        assert_eq!(TALLIES.of(id("0.3")), None);
        assert_eq!(TALLIES.all(), told(2, 3));
        // Set up again by another endpoint, while connections of the lost one still end.
        let again = TALLIES.begin(id("0.1"));
        assert_eq!(TALLIES.of(id("0.1")), Some(told(0, 0)));
        one.closed();
        drop(one);
        again.opened();
        assert_eq!(TALLIES.of(id("0.1")), Some(told(1, 1)));
        drop(again);
        assert_eq!(TALLIES.of(id("0.1")), None);
        assert_eq!(TALLIES.all().opened, 4);
    }
}

//! Who of those that make a receiver read and hash does so next.

use byway::host_of;
use std::collections::BTreeMap;
use std::net::IpAddr;
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

//! Those that are asking to be let in. Each has the state of a handshake, so their number is bounded.
//!
//! When all places are taken, the oldest of the host that has the most gives way to a newcomer: who says
//! nothing keeps nobody out, and who asks with a ticket is in within a few round trips.

use crate::net::by_host::{ByHost, Number};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;

/// Most that may ask to be let in at once: a handshake under way takes some 30 KiB.
const MOST: usize = 1024;
/// Of them, those of one host.
const MOST_OF_HOST: usize = MOST / 4;

/// Those that are asking to be let in.
#[derive(Default)]
pub(super) struct Meetings(Mutex<ByHost<Arc<Notify>>>);

/// One that is asking, until it is dropped.
pub(super) struct Meeting<'a> {
    meetings: &'a Meetings,
    number: Number,
    gives_way: Arc<Notify>,
}

impl Meetings {
    /// A place for one from this address.
    pub(super) fn place(&self, from: IpAddr) -> Meeting<'_> {
        let mut table = self.table();
        if table.count(from) >= MOST_OF_HOST {
            let_oldest_go(&mut table, from);
        } else if table.all() >= MOST
            && let Some(busiest) = table.busiest()
        {
            let_oldest_go(&mut table, busiest);
        }
        let gives_way = Arc::<Notify>::default();
        let number = table.insert(from, Arc::clone(&gives_way));
        drop(table);
        Meeting {
            meetings: self,
            number,
            gives_way,
        }
    }

    fn table(&self) -> MutexGuard<'_, ByHost<Arc<Notify>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn let_oldest_go(table: &mut ByHost<Arc<Notify>>, host: IpAddr) {
    let oldest = table.of(host).next().map(|(number, _)| number);
    if let Some(gives_way) = oldest.and_then(|number| table.remove(number)) {
        gives_way.notify_one();
    }
}

impl Meeting<'_> {
    /// Waits until it must give its place to a newcomer.
    pub(super) async fn gives_way(&self) {
        self.gives_way.notified().await;
    }
}

impl Drop for Meeting<'_> {
    fn drop(&mut self) {
        self.meetings.table().remove(self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::Future;
    use std::task::{Context, Waker};

    fn host(n: usize) -> IpAddr {
        [10, 0, (n >> 8) as u8, n as u8].into()
    }

    fn left(meeting: &Meeting<'_>) -> bool {
        let wait = std::pin::pin!(meeting.gives_way());
        wait.poll(&mut Context::from_waker(Waker::noop()))
            .is_ready()
    }

    /// Four hosts that say nothing had every place.
    #[test]
    fn who_has_the_most_places_gives_way_to_who_has_none() {
        let meetings = Meetings::default();
        let silent: Vec<_> = (0..MOST).map(|n| meetings.place(host(n % 4))).collect();
        let good: Vec<_> = (10..20).map(|n| meetings.place(host(n))).collect();
        assert_eq!(meetings.table().all(), MOST);
        assert!(good.iter().all(|m| !left(m)), "newcomers keep theirs");
        let gone: Vec<usize> = (0..MOST).filter(|n| left(&silent[*n])).collect();
        assert_eq!(
            gone,
            (0..10).collect::<Vec<_>>(),
            "the oldest, of each host in turn"
        );
    }

    /// As when each of many IPv6 networks asks once.
    #[test]
    fn where_each_host_has_one_place_the_oldest_gives_way() {
        let meetings = Meetings::default();
        let silent: Vec<_> = (0..MOST).map(|n| meetings.place(host(n))).collect();
        let good = meetings.place(host(MOST));
        assert!(left(&silent[0]) && !left(&silent[1]) && !left(&good));
    }

    #[test]
    fn a_host_takes_the_places_of_its_own_only_and_its_last_ones_stay() {
        let meetings = Meetings::default();
        let other = meetings.place(host(1));
        let of_host: Vec<_> = (0..MOST_OF_HOST + 5)
            .map(|_| meetings.place(host(2)))
            .collect();
        assert!(!left(&other));
        assert!(of_host[..5].iter().all(left) && !of_host[5..].iter().any(left));
        drop(of_host);
        drop(other);
        let table = meetings.table();
        assert_eq!(
            (table.all(), table.busiest()),
            (0, None),
            "no place is left behind"
        );
    }
}

//! The TCP clients of a `byway forward`, and who of them gives way to another.
//!
//! A client has a place from the moment that a door accepts it to its end. All doors share the places, which are as many
//! as connections of an association. A client that finds none gets the place of another one, of the host that has the
//! most, if that host has at least two more than its own:
//!
//! - the oldest that has sent nothing to its target;
//! - if each has sent something, the one on which nothing has passed for longest, in either direction.
//!
//! So no host keeps another one out, and hosts that have as many as others, or one more, keep what they have. Where all
//! clients are of one host, none gives way. All loopback addresses are this machine, one host: any of its programs may
//! take any of them. The same is done when the other side has no room
//! for a connection: it may have fewer places.

use crate::give_back;
use crate::net::by_host::{ByHost, Number};
use crate::net::descriptors;
use crate::net::refused::Refused;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{oneshot, watch};
use tokio::time::{Instant, timeout};

/// How long a newcomer waits for the end of who gives way.
const LET_GO: Duration = Duration::from_secs(5);

/// After the other side had no room, its answer is waited for that long before a byte is sent: without it, a
/// connection that finds none could not be begun again.
const SCARCE: Duration = Duration::from_secs(60);

/// Most that are let go for room at the other side while it is not known yet whether that brings a place there.
const TRIALS: usize = 8;

/// Where it brought none, others have taken it, and for so long no further one is let go for that.
const IN_VAIN: Duration = Duration::from_secs(10);

/// When so many have gone, what they made the process take goes back to the system.
const CROWD: usize = 64;

/// Why a client gives way, for people.
pub(super) const GIVES_WAY: &str =
    "let go: another host needs the place, and this one has the most connections";

/// The clients of all doors.
pub(super) struct Clients {
    most: usize,
    table: Mutex<Table>,
}

#[derive(Default)]
struct Table {
    taken: ByHost<Taken>,
    /// The most since a crowd last left.
    crowd: usize,
    /// When the other side last had no room.
    scarce: Option<Instant>,
    /// Clients for which another one was let go because of that, and which have no place there yet.
    trials: usize,
    /// When one of them last got none.
    in_vain: Option<Instant>,
}

struct Taken {
    seat: Arc<Seat>,
    /// Ends with the place.
    ends: oneshot::Receiver<()>,
}

/// What is known of a client while it is carried.
pub(super) struct Seat {
    begun: Instant,
    /// Whether the other side has connected it to its target.
    opened: AtomicBool,
    /// Whether it has sent something to its target.
    said: AtomicBool,
    /// When a byte last passed, in milliseconds since it began.
    passed: AtomicU64,
    leaves: watch::Sender<bool>,
}

/// The place of a client, until it is dropped.
pub(super) struct Place {
    clients: Arc<Clients>,
    from: IpAddr,
    number: Number,
    seat: Arc<Seat>,
    /// Who has given way for it, until it has ended.
    before: Mutex<Option<Leaver>>,
    /// Whether it is one of the trials.
    tries: AtomicBool,
    _ends: oneshot::Sender<()>,
}

/// What is done where the other side has no room for a client.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Room {
    /// Another client gives way: [`Place::is_free`] waits for its end.
    Made,
    /// As many give way already as may at a time.
    Later,
    /// Nobody gives way.
    None,
}

/// A client that gives way.
struct Leaver(oneshot::Receiver<()>);

impl Seat {
    fn new() -> Seat {
        Seat {
            begun: Instant::now(),
            opened: AtomicBool::new(false),
            said: AtomicBool::new(false),
            passed: AtomicU64::new(0),
            leaves: watch::Sender::new(false),
        }
    }

    /// The other side has connected the client to its target.
    pub(super) fn opens(&self) {
        self.opened.store(true, Ordering::Relaxed);
    }

    /// Whether it has.
    pub(super) fn is_opened(&self) -> bool {
        self.opened.load(Ordering::Relaxed)
    }

    /// The client has sent something to its target.
    pub(super) fn says(&self) {
        self.said.store(true, Ordering::Relaxed);
        self.hears();
    }

    /// Something has come for the client.
    pub(super) fn hears(&self) {
        let now = u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.passed.store(now, Ordering::Relaxed);
    }

    /// The least gives way first.
    fn rank(&self) -> (bool, Instant) {
        let said = self.said.load(Ordering::Relaxed);
        let passed = match said {
            true => Duration::from_millis(self.passed.load(Ordering::Relaxed)),
            false => Duration::ZERO,
        };
        (said, self.begun + passed)
    }

    /// Waits until it must give its place to another one.
    pub(super) async fn gives_way(&self) {
        // An error would say that the sender is gone, and `self` holds it.
        let _ = self.leaves.subscribe().wait_for(|leaves| *leaves).await;
    }

    /// Whether it must.
    pub(super) fn must_leave(&self) -> bool {
        *self.leaves.borrow()
    }
}

impl Clients {
    /// So many, or as many as the process may have descriptors for behind so many local addresses.
    pub(super) fn of_process(most: usize, local_addresses: usize) -> Arc<Clients> {
        Clients::new(descriptors::for_strangers(local_addresses).min(most))
    }

    fn new(most: usize) -> Arc<Clients> {
        Arc::new(Clients {
            most,
            table: Mutex::default(),
        })
    }

    /// A place for a client at this address.
    ///
    /// # Errors
    /// Why there is none.
    pub(super) fn take(self: &Arc<Clients>, from: IpAddr) -> Result<Place, String> {
        let from = match from.to_canonical().is_loopback() {
            true => Ipv4Addr::LOCALHOST.into(),
            false => from,
        };
        let mut table = self.table();
        let before = match table.taken.all() < self.most {
            true => None,
            false => Some(table.let_one_go(from).ok_or_else(|| self.full())?),
        };
        let (seat, (_ends, ends)) = (Arc::new(Seat::new()), oneshot::channel());
        let taken = Taken {
            seat: seat.clone(),
            ends,
        };
        let number = table.taken.insert(from, taken);
        table.crowd = table.crowd.max(table.taken.all());
        Ok(Place {
            number,
            clients: self.clone(),
            from,
            seat,
            before: Mutex::new(before),
            tries: AtomicBool::new(false),
            _ends,
        })
    }

    fn full(&self) -> String {
        format!(
            "{} connections are under way, the most, and no other host has two more than this one",
            self.most
        )
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Table {
    /// Lets a client go so that one at this address has its place.
    fn let_one_go(&mut self, from: IpAddr) -> Option<Leaver> {
        let busiest = self.taken.busiest()?;
        if self.taken.count(busiest) < self.taken.count(from) + 2 {
            return None;
        }
        let clients = self.taken.of(busiest);
        let (number, _) = clients.min_by_key(|(_, client)| client.seat.rank())?;
        let Taken { seat, ends } = self.taken.remove(number)?;
        seat.leaves.send_replace(true);
        Refused::ClientLetGo.count();
        Some(Leaver(ends))
    }
}

impl Leaver {
    /// Waits until it has ended: the other side has a place for it until then.
    async fn gone(self) {
        // The place ends without a word.
        let _ = timeout(LET_GO, self.0).await;
    }
}

impl Place {
    pub(super) fn seat(&self) -> &Arc<Seat> {
        &self.seat
    }

    /// Waits until who has given way for it has ended. Whether there was one.
    pub(super) async fn is_free(&self) -> bool {
        let before = self.before().take();
        match before {
            Some(leaver) => {
                leaver.gone().await;
                true
            }
            None => false,
        }
    }

    /// The other side has no room for this client. Once for each client another one may give way.
    pub(super) fn finds_no_room(&self) -> Room {
        let mut table = self.clients.table();
        table.scarce = Some(Instant::now());
        self.ends_trial(&mut table);
        if is_recent(table.in_vain, IN_VAIN) {
            return Room::None;
        }
        if table.trials >= TRIALS {
            return Room::Later;
        }
        let Some(leaver) = table.let_one_go(self.from) else {
            return Room::None;
        };
        table.trials += 1;
        self.tries.store(true, Ordering::Relaxed);
        drop(table);
        *self.before() = Some(leaver);
        Room::Made
    }

    /// The other side has, or has not, room for this client after all.
    pub(super) fn has_tried(&self, has_room: bool) {
        let mut table = self.clients.table();
        if self.ends_trial(&mut table) {
            table.in_vain = (!has_room).then(Instant::now);
        }
    }

    fn ends_trial(&self, table: &mut Table) -> bool {
        let tried = self.tries.swap(false, Ordering::Relaxed);
        table.trials -= usize::from(tried);
        tried
    }

    /// Whether room is scarce: the other side may refuse the connection, and it could be begun again.
    pub(super) fn is_scarce(&self) -> bool {
        let table = self.clients.table();
        table.taken.all() >= self.clients.most || is_recent(table.scarce, SCARCE)
    }

    fn before(&self) -> MutexGuard<'_, Option<Leaver>> {
        self.before.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn is_recent(time: Option<Instant>, limit: Duration) -> bool {
    time.is_some_and(|time| time.elapsed() < limit)
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut table = self.clients.table();
        self.ends_trial(&mut table);
        table.taken.remove(self.number);
        let left = table.taken.all();
        if table.crowd - left >= CROWD {
            table.crowd = left;
            give_back::soon();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::iter::repeat_with;

    fn at(host: u8) -> IpAddr {
        [10, 0, 0, host].into()
    }

    fn leaving(places: &[Place]) -> Vec<usize> {
        let leaves = |n: &usize| places[*n].seat.must_leave();
        (0..places.len()).filter(leaves).collect()
    }

    #[tokio::test(start_paused = true)]
    async fn the_host_with_most_gives_up_its_oldest_that_has_sent_nothing_then_the_idlest() {
        let clients = Clients::new(8);
        let greedy: Vec<Place> = repeat_with(|| clients.take(at(1)).unwrap())
            .take(7)
            .collect();
        let good = clients.take(at(2)).unwrap();
        let second = Duration::from_secs(1);
        for n in [2, 0, 1, 3, 4] {
            tokio::time::advance(second).await;
            greedy[n].seat.says();
        }
        // What comes for it is no word of its own.
        tokio::time::advance(second).await;
        greedy[5].seat.hears();
        // The longest idle of those that have sent something is heard of once more.
        greedy[2].seat.hears();
        let mut others = Vec::new();
        for (n, expected) in [&[5][..], &[5, 6], &[0, 5, 6]].into_iter().enumerate() {
            others.push(clients.take(at(3 + n as u8)).unwrap());
            assert_eq!(leaving(&greedy), expected);
        }
        assert!(!good.seat.must_leave() && others.iter().all(|p| !p.seat.must_leave()));
        assert_eq!(clients.table().taken.all(), 8);
        drop((greedy, good, others));
        assert_eq!(clients.table().taken.all(), 0);
    }

    #[test]
    fn hosts_that_have_as_many_or_one_more_keep_them() {
        let clients = Clients::new(5);
        let mut held: Vec<Place> = [1, 1, 1, 2].map(|n| clients.take(at(n)).unwrap()).into();
        held.push(clients.take(at(2)).unwrap());
        for n in [1, 2] {
            let why = clients.take(at(n)).err().unwrap();
            assert!(why.starts_with("5 connections are under way"), "{why}");
        }
        assert!(leaving(&held).is_empty());
        held.push(clients.take(at(3)).unwrap());
        assert_eq!(leaving(&held), [0]);
        held.push(
            clients
                .take(at(3))
                .err()
                .map(|_| clients.take(at(4)).unwrap())
                .unwrap(),
        );
        assert_eq!(leaving(&held), [0, 1]);
    }

    #[test]
    fn all_loopback_addresses_are_one_host() {
        let clients = Clients::new(4);
        let here = ["127.0.0.1", "127.9.0.1", "::1", "::ffff:127.0.0.2"];
        let held = here.map(|ip| clients.take(ip.parse().unwrap()).unwrap());
        assert!(clients.take([127, 0, 0, 3].into()).is_err());
        assert!(leaving(&held).is_empty());
        // So another one gets in.
        let _other = clients.take(at(1)).unwrap();
        assert_eq!(leaving(&held), [0]);
    }

    #[test]
    fn one_host_has_all_places_while_nobody_else_comes() {
        let clients = Clients::new(100);
        let held: Vec<Place> = std::iter::from_fn(|| clients.take(at(1)).ok()).collect();
        assert_eq!(held.len(), 100);
        assert!(leaving(&held).is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn where_the_other_side_has_no_room_the_host_with_most_gives_one_up_and_its_end_is_waited_for()
     {
        let clients = Clients::new(100);
        let mut greedy: Vec<Place> = (0..9).map(|_| clients.take(at(1)).unwrap()).collect();
        let good = clients.take(at(2)).unwrap();
        assert!(!good.is_scarce());
        assert_eq!(good.finds_no_room(), Room::Made);
        assert!(good.is_scarce());
        assert_eq!(leaving(&greedy), [0]);
        let gone = greedy.remove(0);
        let leaves = async {
            gone.seat.gives_way().await;
            tokio::time::sleep(Duration::from_secs(2)).await;
            drop(gone);
        };
        let begun = Instant::now();
        tokio::join!(good.is_free(), leaves);
        assert_eq!(begun.elapsed().as_secs(), 2);
        // Its own host has no other with more.
        assert_eq!(greedy[0].finds_no_room(), Room::None);
        tokio::time::advance(SCARCE).await;
        assert!(!good.is_scarce());
    }

    /// A host that kept trying took all but two connections from another one, and had none itself.
    #[tokio::test(start_paused = true)]
    async fn where_others_take_the_room_that_is_made_few_are_let_go_for_it() {
        let clients = Clients::new(100);
        let greedy: Vec<Place> = (0..60).map(|_| clients.take(at(1)).unwrap()).collect();
        let comes = || clients.take(at(2)).unwrap();
        let in_vain = || {
            let small = comes();
            let room = small.finds_no_room();
            small.has_tried(false);
            room
        };
        assert_eq!(in_vain(), Room::Made);
        for _ in 0..20 {
            assert_eq!(in_vain(), Room::None);
        }
        assert_eq!(leaving(&greedy), [0]);
        // Later it may be otherwise.
        tokio::time::advance(IN_VAIN).await;
        let small = comes();
        assert_eq!(small.finds_no_room(), Room::Made);
        small.has_tried(true);
        let crowd: Vec<Place> = repeat_with(comes).take(TRIALS).collect();
        assert!(crowd.iter().all(|p| p.finds_no_room() == Room::Made));
        let last = comes();
        assert_eq!(last.finds_no_room(), Room::Later);
        // One goes before it is known.
        drop(crowd);
        assert_eq!(last.finds_no_room(), Room::Made);
        assert_eq!(leaving(&greedy).len(), TRIALS + 3);
    }
}

//! Peers that send much get a socket of their own, so that no flood takes their place.
//!
//! All peers send to one socket. A flood that fills its buffer makes the kernel drop what good
//! peers send, too. A socket that is bound to the same address and connected to one peer gets
//! what this peer sends into a buffer of its own, and the driver reads it first. Only a sender
//! that forges the peer's address and UDP port can still take its place.
//!
//! What the peer sent before waits in the shared socket and must not be overtaken: it would
//! count as lost. So a new socket is read only when the shared one has been read as far as it
//! was filled then.
//!
//! Linux only: elsewhere it is not said which of two such sockets gets a packet.

use crate::socket::{Received, Socket};
use byway_core::host_of;
use byway_core::time::Instant;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::task::{Context, Poll};
use std::time::Duration;

/// Buffers in a second that make a peer busy.
const MUCH: u32 = 64;
/// The same while strangers flood the socket that all share. One has to do: of a peer that waits for
/// its retransmission timeout between packets, of which most are lost there, no second one comes soon.
const MUCH_BESIDE_A_FLOOD: u32 = 1;
/// Places in which sources are counted.
const COUNTED: usize = 1024;
/// Most sockets of busy peers for one local address.
const MOST: usize = 32;
/// A socket that got nothing for this time is closed.
const IDLE: Duration = Duration::from_secs(10);
/// A peer that was heard within this time sends.
const SENDS: Duration = Duration::from_secs(1);
/// After a socket could not be opened, none is tried for this time.
const REST: Duration = Duration::from_secs(10);
/// A socket has its place at least for this time.
const SETTLED: Duration = Duration::from_secs(1);
/// Only one gives way in this time: while a new socket waits for its turn, the shared one is read
/// without a limit.
const PAUSE: Duration = Duration::from_millis(250);
/// Batches that are read of a socket which gives way, so that what has arrived is not lost.
const LAST_BATCHES: u32 = 16;

/// A second, over which bytes are counted.
const SECOND: Duration = Duration::from_secs(1);

/// A known peer that sends much to the shared socket.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) struct Candidate {
    pub(crate) peer: SocketAddr,
    /// What it sent in this second, in bytes.
    pub(crate) bytes: u64,
}

/// Counts what known peers send to the sockets that all share.
///
/// A hash says in which place a peer is counted. Of several in one place the one stays that sends
/// more than the others together: each buffer of another one takes one from its count, and at zero
/// the place is free. So however many peers there are, the memory is the same, none counts for what
/// others sent, and few buffers of each of a crowd do not hide who sends much.
#[derive(Debug, Default)]
pub(crate) struct BusyCount {
    since: Instant,
    /// Empty until the first.
    counts: Vec<Count>,
    /// Secret, so that nobody can choose an address that shares another one's place.
    hasher: RandomState,
}

#[derive(Copy, Clone, Debug)]
struct Count {
    socket: usize,
    peer: SocketAddr,
    /// In this second.
    buffers: u32,
    bytes: u64,
    /// When a buffer of the peer was counted last.
    heard: Option<Instant>,
}

impl BusyCount {
    /// A buffer of a known peer came to this socket, of so many bytes. Returns the peer if it is
    /// busy; it is said again each time that its buffers in a second have doubled, and sooner
    /// beside a `flood`.
    pub(crate) fn add(
        &mut self,
        now: Instant,
        (socket, peer): (usize, SocketAddr),
        bytes: usize,
        flood: bool,
    ) -> Option<Candidate> {
        let nothing = Count {
            socket,
            peer,
            buffers: 0,
            bytes: 0,
            heard: None,
        };
        if now.since(self.since) >= SECOND || self.counts.is_empty() {
            self.since = now;
            self.counts.resize(COUNTED, nothing);
            // Each place is free, and known is who had it last.
            for count in &mut self.counts {
                (count.buffers, count.bytes) = (0, 0);
            }
        }
        let at = self.hasher.hash_one((socket, peer)) as usize % COUNTED;
        let count = &mut self.counts[at];
        if count.buffers == 0 {
            *count = nothing;
        }
        if (count.socket, count.peer) != (socket, peer) {
            count.buffers -= 1;
            return None;
        }
        count.buffers += 1;
        count.bytes += bytes as u64;
        count.heard = Some(now);
        let much = if flood { MUCH_BESIDE_A_FLOOD } else { MUCH };
        let says = count.buffers >= much && count.buffers.is_power_of_two();
        says.then_some(Candidate {
            peer,
            bytes: count.bytes,
        })
    }

    /// Known peers that sent to this socket lately, the busiest first, no more than there are
    /// sockets for: for the moment in which a flood begins. Most of what they send to the shared
    /// socket is lost from then on, so that waiting for their next buffer could take long.
    pub(crate) fn lately(&self, now: Instant, socket: usize) -> Vec<Candidate> {
        let heard = |c: &&Count| c.heard.is_some_and(|heard| now.since(heard) < IDLE);
        let here = self.counts.iter().filter(|c| c.socket == socket);
        let mut peers: Vec<&Count> = here.filter(heard).collect();
        peers.sort_by_key(|c| core::cmp::Reverse((c.bytes, c.heard)));
        let candidates = peers.into_iter().take(MOST);
        candidates
            .map(|c| Candidate {
                peer: c.peer,
                bytes: c.bytes,
            })
            .collect()
    }
}

/// Bytes in a second: of the last whole one, or of this one if they are more.
#[derive(Copy, Clone, Debug, Default)]
struct Busyness {
    since: Instant,
    now: u64,
    before: u64,
}

impl Busyness {
    fn add(&mut self, now: Instant, bytes: usize) {
        self.pass(now);
        self.now += bytes as u64;
    }

    fn pass(&mut self, now: Instant) {
        let passed = now.since(self.since);
        if passed >= SECOND {
            self.before = if passed < 2 * SECOND { self.now } else { 0 };
            (self.since, self.now) = (now, 0);
        }
    }

    fn of(mut self, now: Instant) -> u64 {
        self.pass(now);
        self.now.max(self.before)
    }
}

/// The place of a busy peer.
#[derive(Copy, Clone, Debug)]
struct Place {
    host: IpAddr,
    opened: Instant,
    busyness: Busyness,
}

/// Which of the places gives way to a candidate, if one does. Hosts have equal shares: a host with
/// more places than the candidate's would have gives one of its own. Among hosts with as many,
/// who sends twice as much takes the place of who sends least. So no place is kept by little
/// traffic, and none is taken by many peers of one host.
fn gives_way(places: &[Place], candidate: Candidate, now: Instant) -> Option<usize> {
    let places_of = |host| places.iter().filter(|p| p.host == host).count();
    let mine = places_of(host_of(candidate.peer.ip()));
    let settled = |p: &Place| now.since(p.opened) >= SETTLED;
    let candidates = places.iter().enumerate().filter(|(_, p)| settled(p));
    // Of the host with most places, the one that sends least.
    let (at, place, held) = candidates
        .map(|(at, p)| (at, p, places_of(p.host)))
        .filter(|(.., held)| *held >= mine.max(1))
        .min_by_key(|(_, p, held)| (core::cmp::Reverse(*held), p.busyness.of(now)))?;
    let least = place.busyness.of(now);
    (held > mine + 1 || candidate.bytes > least.saturating_mul(2)).then_some(at)
}

/// A socket that only one peer sends to.
#[derive(Debug)]
struct BusyPeer {
    peer: SocketAddr,
    socket: Socket,
    heard: Instant,
    /// Buffers of the shared socket that are read before this socket is.
    behind: usize,
    place: Place,
    /// It gives way to another one, and so many batches are still read.
    leaves: Option<u32>,
}

/// The sockets of the busy peers of one local address.
#[derive(Debug, Default)]
pub(crate) struct BusyPeers {
    all: Vec<BusyPeer>,
    /// Until when no further one is opened.
    resting: Instant,
    /// When one gave way last.
    gave_way: Option<Instant>,
}

impl BusyPeers {
    /// Opens a socket for a busy peer. If all places are taken, another one may have to give way.
    pub(crate) fn add(&mut self, shared: &Socket, candidate: Candidate, now: Instant) {
        let peer = candidate.peer;
        let known = self.all.iter().any(|b| b.peer == peer);
        if known || now < self.resting || !self.make_room(candidate, now) {
            return;
        }
        match shared.connected_to(peer) {
            Ok(socket) => self.all.push(BusyPeer {
                peer,
                socket,
                heard: now,
                behind: shared.most_buffers(),
                place: Place {
                    host: host_of(peer.ip()),
                    opened: now,
                    busyness: Busyness::default(),
                },
                leaves: None,
            }),
            Err(error) => {
                let address = shared.local();
                tracing::debug!(%address, %peer, %error, "no socket of its own");
                self.resting = now + REST;
            }
        }
    }

    /// Whether there is a place for this peer, of one that leaves if need be.
    fn make_room(&mut self, candidate: Candidate, now: Instant) -> bool {
        if self.all.len() < MOST {
            return true;
        }
        let lately = self.gave_way.is_some_and(|t| now.since(t) < PAUSE);
        if lately || self.all.iter().any(|b| b.leaves.is_some()) {
            return false;
        }
        let places: Vec<Place> = self.all.iter().map(|b| b.place).collect();
        let Some(at) = gives_way(&places, candidate, now) else {
            return false;
        };
        self.gave_way = Some(now);
        self.all[at].leaves = Some(LAST_BATCHES);
        true
    }

    /// Whether a socket waits until the shared one has been read.
    pub(crate) fn waits(&self) -> bool {
        self.all.iter().any(|b| b.behind > 0)
    }

    /// Whether one of the peers sends at present.
    pub(crate) fn sends(&self, now: Instant) -> bool {
        self.all.iter().any(|b| now.since(b.heard) < SENDS)
    }

    /// So many buffers of the shared socket were read; `None` if it is empty.
    pub(crate) fn shared_was_read(&mut self, buffers: Option<usize>) {
        for busy in &mut self.all {
            busy.behind = buffers.map_or(0, |n| busy.behind.saturating_sub(n));
        }
    }

    /// Receives at most one batch from every socket, and passes each buffer to `arrive`.
    /// Returns whether there may be more.
    pub(crate) fn receive(
        &mut self,
        cx: &mut Context<'_>,
        into: &mut Received,
        now: Instant,
        mut arrive: impl FnMut(SocketAddr, &mut dyn Iterator<Item = &[u8]>),
    ) -> bool {
        let mut more = false;
        self.all.retain_mut(|busy| {
            if busy.behind > 0 {
                return true;
            }
            match busy.socket.poll_receive(cx, into) {
                Poll::Pending => return busy.leaves.is_none() && now.since(busy.heard) < IDLE,
                Poll::Ready(Ok(n)) => {
                    more = true;
                    busy.heard = now;
                    busy.place.busyness.add(now, into.len(n));
                    for (source, mut datagrams) in into.buffers(n) {
                        arrive(source, &mut datagrams);
                    }
                    if let Some(left) = &mut busy.leaves {
                        *left -= 1;
                        return *left > 0;
                    }
                }
                // Of an ICMP message, or for good: the shared socket gets the packets then.
                Poll::Ready(Err(error)) => {
                    more = true;
                    return error.kind() == io::ErrorKind::ConnectionRefused;
                }
            }
            true
        });
        more
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    #[test]
    fn who_sends_much_in_a_second_is_busy() {
        let mut count = BusyCount::default();
        let peer = SocketAddr::from(([10, 0, 0, 1], 9899));
        let mut add = |ms, flood| count.add(at(ms), (0, peer), 100, flood).map(|c| c.bytes);
        for n in 1..MUCH {
            assert_eq!(add(10, false), None, "{n}");
        }
        assert_eq!(add(10, false), Some(6400));
        for _ in 1..MUCH {
            assert_eq!(add(10, false), None, "once");
        }
        assert_eq!(add(10, false), Some(12_800), "twice as much");
        // The next second. Beside a flood the first buffer is enough.
        assert_eq!(add(1010, false), None);
        assert_eq!(add(2010, true), Some(100));
        assert_eq!(add(2010, true), Some(200));
    }

    #[test]
    fn when_a_flood_begins_the_peers_of_the_last_ten_seconds_are_known() {
        let mut count = BusyCount::default();
        let peer = |host| SocketAddr::from(([10, 0, 0, host], 9899));
        // Five of one socket, one of another; the first is silent after that.
        assert_eq!(count.lately(at(0), 0), []);
        count.add(at(0), (0, peer(9)), 100, false);
        for host in 1..5 {
            let bytes = 100 * usize::from(host);
            count.add(at(9_000), (0, peer(host)), bytes, false);
        }
        count.add(at(9_000), (1, peer(8)), 100, false);
        let lately = |count: &BusyCount, ms| {
            let all = count.lately(at(ms), 0).into_iter();
            all.map(|c| (c.peer, c.bytes)).collect::<Vec<_>>()
        };
        let busiest_first: Vec<_> = (1..5)
            .rev()
            .map(|h| (peer(h), 100 * u64::from(h)))
            .collect();
        let all = [&busiest_first[..], &[(peer(9), 0)]].concat();
        assert_eq!(lately(&count, 9_900), all);
        assert_eq!(lately(&count, 10_000), busiest_first);
        assert_eq!(count.lately(at(10_000), 1).len(), 1);
        assert_eq!(count.lately(at(19_000), 0), []);
    }

    #[test]
    fn however_many_others_send_little_only_who_sends_much_is_busy() {
        let mut count = BusyCount::default();
        let peer = SocketAddr::from(([10, 0, 0, 1], 9899));
        let mut found = None;
        // As many buffers in all as a second may have.
        for n in 0..500_u64 {
            let busy = count.add(at(n), (0, peer), 100, false);
            found = found.or(busy.map(|c| (n, c)));
            for other in 0..200_u64 {
                // Each of 10,000 says something twenty times a second.
                let place = (n * 200 + other) % 10_000;
                let host = [10, 0, 1, (place % 200) as u8];
                let from = SocketAddr::from((host, 1 + (place / 200) as u16));
                let busy = count.add(at(n), (0, from), 100, false);
                assert_eq!(busy, None, "a peer that sends ten buffers in this time");
            }
        }
        let (n, busy) = found.expect("the busy one is found");
        assert!(n < 250, "after {n} buffers");
        assert!(busy.peer == peer && busy.bytes <= 100 * (n + 1));
        assert_eq!(count.counts.len(), COUNTED);
    }

    /// Places of these hosts with these bytes a second, all of long ago.
    fn places(all: &[(u8, u64)]) -> Vec<Place> {
        let place = |&(host, before): &(u8, u64)| Place {
            host: IpAddr::from([10, 0, 0, host]),
            opened: at(0),
            busyness: Busyness {
                since: at(10_000),
                now: 0,
                before,
            },
        };
        all.iter().map(place).collect()
    }

    #[test]
    fn hosts_have_equal_shares_and_the_least_busy_gives_way() {
        let one_host = [(1, 500); MOST];
        let mut one_less = one_host;
        one_less[9].1 = 400;
        let mut with_good = one_host;
        with_good[0] = (2, 300);
        let each: Vec<_> = (1..=MOST as u8)
            .map(|host| (host, 500 + u64::from(host)))
            .collect();
        type Row<'a> = (&'a str, &'a [(u8, u64)], (u8, u64), Option<usize>);
        let rows: [Row<'_>; 8] = [
            (
                "a newcomer beside a host that has all",
                &one_less,
                (2, 1),
                Some(9),
            ),
            ("one more of that host", &one_less, (1, 700), None),
            (
                "one that sends twice as much as the least",
                &one_less,
                (1, 801),
                Some(9),
            ),
            (
                "the place of the other host is safe",
                &with_good,
                (1, 600),
                None,
            ),
            (
                "from whom of its own it takes",
                &with_good,
                (1, 1001),
                Some(1),
            ),
            ("all of different hosts: as busy", &each, (99, 1002), None),
            (
                "all of different hosts: twice as busy",
                &each,
                (99, 1003),
                Some(0),
            ),
            (
                "a second place beside hosts of one",
                &each,
                (7, 1003),
                Some(0),
            ),
        ];
        for (what, all, (host, bytes), expected) in rows {
            let candidate = Candidate {
                peer: SocketAddr::from(([10, 0, 0, host], 1)),
                bytes,
            };
            let found = gives_way(&places(all), candidate, at(10_500));
            assert_eq!(found, expected, "{what}");
        }
        // None that is new.
        let mut young = places(&one_less);
        for place in &mut young {
            place.opened = at(10_000);
        }
        let candidate = Candidate {
            peer: SocketAddr::from(([10, 0, 0, 2], 1)),
            bytes: 1 << 30,
        };
        assert_eq!(gives_way(&young, candidate, at(10_500)), None);
        // Who has fallen silent sends nothing.
        let silent = places(&each);
        let candidate = Candidate {
            bytes: 1,
            ..candidate
        };
        assert_eq!(gives_way(&silent, candidate, at(13_000)), Some(0));
    }
}

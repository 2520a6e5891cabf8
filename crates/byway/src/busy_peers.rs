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
use byway_core::time::Instant;
use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::task::{Context, Poll};
use std::time::Duration;

/// Buffers in a second that make a peer busy.
const MUCH: u32 = 64;
/// The same while strangers flood the socket that all share.
const MUCH_BESIDE_A_FLOOD: u32 = 2;
/// Sources that are counted in a second.
const COUNTED: usize = 4096;
/// Most sockets of busy peers for one local address.
const MOST: usize = 32;
/// A socket that got nothing for this time is closed.
const IDLE: Duration = Duration::from_secs(10);
/// A peer that was heard within this time sends.
const SENDS: Duration = Duration::from_secs(1);
/// After a socket could not be opened, none is tried for this time.
const REST: Duration = Duration::from_secs(10);

/// Counts what known peers send to the sockets that all share.
#[derive(Debug, Default)]
pub(crate) struct BusyCount {
    since: Instant,
    /// Only looked up, so its random order has no effect.
    counts: HashMap<(usize, SocketAddr), u32>,
}

impl BusyCount {
    /// A buffer of a known peer came to this socket. Returns whether the peer is busy; it is
    /// said once a second, and sooner beside a `flood`.
    pub(crate) fn add(
        &mut self,
        now: Instant,
        socket: usize,
        source: SocketAddr,
        flood: bool,
    ) -> bool {
        if now.since(self.since) >= Duration::from_secs(1) || self.counts.len() >= COUNTED {
            self.since = now;
            self.counts.clear();
        }
        let count = self.counts.entry((socket, source)).or_insert(0);
        *count += 1;
        *count == MUCH || flood && *count == MUCH_BESIDE_A_FLOOD
    }
}

/// A socket that only one peer sends to.
#[derive(Debug)]
struct BusyPeer {
    peer: SocketAddr,
    socket: Socket,
    heard: Instant,
    /// Buffers of the shared socket that are read before this socket is.
    behind: usize,
}

/// The sockets of the busy peers of one local address.
#[derive(Debug, Default)]
pub(crate) struct BusyPeers {
    all: Vec<BusyPeer>,
    /// Until when no further one is opened.
    resting: Instant,
}

impl BusyPeers {
    /// Opens a socket for a busy peer, unless there are enough.
    pub(crate) fn add(&mut self, shared: &Socket, peer: SocketAddr, now: Instant) {
        let known = self.all.iter().any(|b| b.peer == peer);
        if known || self.all.len() == MOST || now < self.resting {
            return;
        }
        match shared.connected_to(peer) {
            Ok(socket) => self.all.push(BusyPeer {
                peer,
                socket,
                heard: now,
                behind: shared.most_buffers(),
            }),
            Err(error) => {
                let address = shared.local();
                tracing::debug!(%address, %peer, %error, "no socket of its own");
                self.resting = now + REST;
            }
        }
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
                Poll::Pending => return now.since(busy.heard) < IDLE,
                Poll::Ready(Ok(n)) => {
                    more = true;
                    busy.heard = now;
                    for (source, mut datagrams) in into.buffers(n) {
                        arrive(source, &mut datagrams);
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

    #[test]
    fn who_sends_much_in_a_second_is_busy() {
        let mut count = BusyCount::default();
        let peer = SocketAddr::from(([10, 0, 0, 1], 9899));
        let at = |ms| Instant::ZERO + Duration::from_millis(ms);
        for n in 1..MUCH {
            assert!(!count.add(at(10), 0, peer, false), "{n}");
        }
        assert!(!count.add(at(10), 1, peer, false), "another socket");
        assert!(count.add(at(10), 0, peer, false));
        assert!(!count.add(at(10), 0, peer, false), "once");
        for port in 0..10_000 {
            let other = SocketAddr::from(([10, 0, 0, 2], port));
            assert!(!count.add(at(20), 0, other, false));
        }
        assert!(count.counts.len() <= COUNTED);
        let quiet = SocketAddr::from(([10, 0, 0, 3], 1));
        assert!(!count.add(at(30), 0, quiet, true));
        assert!(
            count.add(at(30), 0, quiet, true),
            "beside a flood two buffers are much"
        );
    }
}

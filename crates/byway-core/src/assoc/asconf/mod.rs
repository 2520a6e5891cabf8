//! Changes of addresses during an association (RFC 5061).
//!
//! - `request`: this side changes its addresses, or asks the peer to use one of them, and what the peer says to that.
//! - `queue`: the changes that wait, and those that leave together.
//! - `wildcard`: how the peer is told of addresses that a translator may change.
//! - `sending`: the ASCONF leaves, and again when T4-rto expires.
//! - `response`: the peer does.
//! - `sources`: the paths leave from addresses that this side has.
//! - `denied`: the peer finds no association by the addresses of a packet.
//! - `after_restart`: the peer restarts before it has answered.
//!
//! Both sides must have agreed on AUTH (`authentication`), and ASCONF and ASCONF-ACK without
//! it are discarded. Each side has at most one ASCONF under way. An added address of the
//! peer is a path at once, and carries nothing but heartbeats until it has answered one. An
//! added address of this side is a source once the peer has acknowledged it.

mod after_restart;
mod denied;
mod queue;
mod request;
mod response;
mod sending;
mod sources;
mod wildcard;

use super::Association;
use crate::path::PathId;
use crate::time::{Duration, Instant};
use byway_wire::Tsn;
use core::net::{IpAddr, SocketAddr};
use std::collections::VecDeque;

/// The state of the changes of addresses of an association.
#[derive(Debug)]
pub(crate) struct Asconf {
    /// The serial number of our next ASCONF.
    next: u32,
    /// The identifier of our next change.
    correlation: u32,
    /// Our ASCONF under way; in a box, because it is rare.
    request: Option<Box<Request>>,
    /// Changes that wait for it.
    waiting: VecDeque<Change>,
    /// Addresses of this side that the peer refused.
    refused: Vec<SocketAddr>,
    /// Addresses of this side that have a translator before them, as the peer showed: it did not know them.
    translated: Vec<IpAddr>,
    /// Addresses of this side that the peer was told only so that it finds the association by them.
    named: Vec<Named>,
    /// How often T4-rto expired, since one was answered, while an ASCONF left from the address that the wildcard in it
    /// stands for.
    silences: u8,
    /// When deletions that wait for the peer's HEARTBEAT are given up.
    held_until: Option<Instant>,
    /// Addresses of this side from which nothing came back: other changes go before them.
    silent: Vec<SocketAddr>,
    /// Each addition has its own ASCONF, because several in one were refused together.
    one_by_one: bool,
    /// The peer does not understand additions and deletions (sections 5.1, A9, and 5.3,
    /// F3a), or requests for a primary (F3b).
    refuses: Refuses,
    /// The serial number of the peer's last ASCONF.
    peer_last: u32,
    /// Answers to the peer's last ASCONFs: serial number and parameters.
    answers: VecDeque<(u32, Vec<u8>)>,
    /// The next address that the peer adds is probed no earlier, so that a peer cannot
    /// direct many heartbeats at others.
    verify_from: Instant,
    /// The peer asked for this primary, which is not confirmed yet.
    wanted_primary: Option<IpAddr>,
    /// HEARTBEATs that came to addresses of this side before the ASCONF-ACK that makes them sources.
    held: Vec<Held>,
}

/// A HEARTBEAT whose answer waits.
#[derive(Debug)]
struct Held {
    source: SocketAddr,
    destination: SocketAddr,
    info: Box<[u8]>,
}

/// An address that the peer knows by name.
#[derive(Copy, Clone, Debug)]
struct Named {
    ip: IpAddr,
    /// A HEARTBEAT of the peer came there.
    asked: bool,
}

/// After the answer to the peer's HEARTBEAT or COOKIE ECHO, so that it arrives first.
const AFTER_ANSWER: Duration = Duration::from_millis(50);

/// So long a deletion waits for the HEARTBEAT of the peer.
const LONGEST_HOLD: Duration = Duration::from_secs(60);

/// HEARTBEATs whose answers wait: most of them, and the longest Heartbeat Info. Beyond that the peer's
/// next one is answered.
const MOST_HELD: usize = 4;
const LONGEST_HELD: usize = 128;

#[derive(Copy, Clone, Debug, Default)]
struct Refuses {
    changes: bool,
    set_primary: bool,
}

/// A change that this side asks for.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Change {
    /// The peer learns an address by name although a translator gives its packets another one.
    Name(IpAddr),
    Add(SocketAddr),
    Delete(SocketAddr),
    SetPrimary(IpAddr),
}

/// An ASCONF under way.
#[derive(Debug)]
struct Request {
    serial: u32,
    /// The changes with their identifiers, in order.
    changes: Vec<(u32, Change)>,
    /// The address that identifies the association.
    address: IpAddr,
    /// The parameters, which never change (section 5.1, B4).
    params: Vec<u8>,
    /// From where, where and when it was sent last.
    source: SocketAddr,
    path: PathId,
    sent_at: Instant,
    /// The address that the wildcard stands for, which must be the source.
    own_source: Option<SocketAddr>,
    /// The peer does not find the association by what comes from there: it leaves from another one, so that the serial
    /// number is answered, and does nothing.
    elsewhere: bool,
    /// It has left from another one at some time.
    left_elsewhere: bool,
    /// It leaves once more before T4-rto expires.
    early: bool,
    /// How often T4-rto expired while it left from the address that the wildcard stands for.
    unanswered: u8,
}

/// After so many, an ASCONF leaves from another address of this side.
const MOST_UNANSWERED: u8 = 2;

impl Request {
    fn memory(&self) -> usize {
        let change = size_of::<(u32, Change)>();
        size_of::<Request>() + self.changes.capacity() * change + self.params.capacity()
    }

    fn changes(&self) -> impl Iterator<Item = Change> + '_ {
        self.changes.iter().map(|c| c.1)
    }

    /// From now on it leaves from another address of this side.
    fn leave_elsewhere(&mut self) {
        (self.elsewhere, self.left_elsewhere) = (true, true);
    }

    /// The address from which it must leave, if there is one.
    fn must_leave_from(&self) -> Option<SocketAddr> {
        self.own_source.filter(|_| !self.elsewhere)
    }
}

impl Asconf {
    fn memory(&self) -> usize {
        let answers: usize = self.answers.iter().map(|a| a.1.capacity()).sum();
        size_of::<Asconf>()
            + self.request.as_ref().map_or(0, |r| r.memory())
            + self.waiting.capacity() * size_of::<Change>()
            + (self.refused.capacity() + self.silent.capacity()) * size_of::<SocketAddr>()
            + self.translated.capacity() * size_of::<IpAddr>()
            + self.named.capacity() * size_of::<Named>()
            + self.answers.capacity() * size_of::<(u32, Vec<u8>)>()
            + answers
            + self.held.capacity() * (size_of::<Held>() + LONGEST_HELD)
    }

    /// A HEARTBEAT came to an address that sends nothing yet (F1): its answer leaves with the
    /// ASCONF-ACK. Both left the peer together, and the one over the new network may be the faster.
    pub(super) fn hold(&mut self, (source, destination): (SocketAddr, SocketAddr), info: &[u8]) {
        let held = |h: &Held| (h.source, h.destination) == (source, destination);
        self.held.retain(|h| !held(h));
        if self.adds(destination.ip()) && self.held.len() < MOST_HELD && info.len() <= LONGEST_HELD
        {
            self.held.push(Held {
                source,
                destination,
                info: info.into(),
            });
        }
    }
}

impl Association {
    /// Both INITs are known: changes of addresses are possible from now on if both sides
    /// `agreed`. The peer's initial TSN is the serial number of its first ASCONF (section
    /// 5.1, A2). What the user asked for in a set-up that begins again waits on.
    pub(super) fn begin_asconf(&mut self, agreed: bool, peer_tsn: Tsn) {
        self.timers.t4 = None;
        let before = self.optional.asconf.take();
        let waiting = before.map(|a| a.waiting).unwrap_or_default();
        self.optional.asconf = agreed.then(|| {
            Box::new(Asconf {
                next: self.send.ledger.tsn_of(0).0,
                correlation: 1,
                request: None,
                waiting,
                refused: Vec::new(),
                translated: Vec::new(),
                named: Vec::new(),
                silences: 0,
                held_until: None,
                silent: Vec::new(),
                one_by_one: false,
                refuses: Refuses::default(),
                peer_last: peer_tsn.0.wrapping_sub(1),
                answers: VecDeque::new(),
                verify_from: Instant::ZERO,
                wanted_primary: None,
                held: Vec::new(),
            })
        });
    }

    /// Whether an ASCONF under way, or one that waits, deletes this address of ours.
    #[cold]
    pub(super) fn is_being_deleted(&self, local: IpAddr) -> bool {
        let deletes = |c: Change| matches!(c, Change::Delete(a) if a.ip() == local);
        self.optional.asconf.as_ref().is_some_and(|a| {
            let under_way = a.request.iter().flat_map(|r| r.changes());
            under_way.chain(a.waiting.iter().copied()).any(deletes)
        })
    }

    /// Memory of the changes, in bytes.
    #[inline]
    pub(in crate::assoc) fn asconf_memory(&self) -> usize {
        self.optional.asconf.as_ref().map_or(0, |a| a.memory())
    }

    /// A HEARTBEAT came to an address of this side: the peer is about to confirm it.
    pub(super) fn note_asked(&mut self, now: Instant, own: IpAddr) {
        let Some(asconf) = &mut self.optional.asconf else {
            return;
        };
        let mut named = asconf.named.iter_mut();
        if let Some(named) = named.find(|n| n.ip == own && !n.asked) {
            named.asked = true;
            asconf.held_until = None;
            if asconf.request.is_none() {
                self.timers.t4 = Some(now + AFTER_ANSWER);
            }
        }
    }

    /// Whether ASCONF and ASCONF-ACK may be sent and handled (section 5.1.1, C4).
    fn changes_addresses(&self) -> bool {
        use super::State::{Established, ShutdownPending, ShutdownReceived, ShutdownSent};
        matches!(
            self.state,
            Established | ShutdownPending | ShutdownReceived | ShutdownSent
        )
    }
}

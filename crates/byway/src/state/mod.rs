//! The state behind the lock: the core, the packets that it wants to send, and the
//! tasks that wait. Nothing here does IO or blocks.

mod addresses;
mod commands;
mod driving;
mod entry;
mod event_queue;
mod events;
mod falls;
mod overview;
#[cfg(test)]
mod tests;

use crate::busy_peers::BusyCount;
use crate::encapsulation::Place;
use crate::outbox::Outbox;
use crate::socket::Socket;
use crate::wakers::Wakers;
use crate::watcher::Watcher;
use byway_core::AssocId;
use byway_core::observe::Observed;
use byway_core::time::Instant;
pub(crate) use driving::Source;
use entry::Entry;
use falls::Falls;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::task::Waker;

/// Counters of the sockets of an endpoint.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct DriverStats {
    /// Datagrams received.
    pub datagrams_received: u64,
    /// Buffers received; each holds one datagram, or several that the kernel
    /// coalesced.
    pub buffers_received: u64,
    /// Datagrams passed to the kernel.
    pub datagrams_sent: u64,
    /// Calls that passed them.
    pub batches_sent: u64,
    /// Datagrams that the kernel refused, for example because there is no route or
    /// a filter forbids them. SCTP sees them as lost.
    pub datagrams_refused: u64,
    /// Datagrams dropped because too many waited for their socket.
    pub datagrams_overflowed: u64,
    /// Datagrams that came to a socket of another worker than the one that has their association
    /// ([`EndpointOptions::workers`](crate::EndpointOptions::workers)), and were handed over.
    pub datagrams_handed_over: u64,
}

/// The counters of several workers, added up.
impl std::ops::AddAssign for DriverStats {
    fn add_assign(&mut self, other: DriverStats) {
        // Named one by one, so that none is forgotten.
        let DriverStats {
            datagrams_received,
            buffers_received,
            datagrams_sent,
            batches_sent,
            datagrams_refused,
            datagrams_overflowed,
            datagrams_handed_over,
        } = other;
        self.datagrams_received += datagrams_received;
        self.buffers_received += buffers_received;
        self.datagrams_sent += datagrams_sent;
        self.batches_sent += batches_sent;
        self.datagrams_refused += datagrams_refused;
        self.datagrams_overflowed += datagrams_overflowed;
        self.datagrams_handed_over += datagrams_handed_over;
    }
}

/// The core and everything that the driver and the handles share.
pub(crate) struct State {
    pub(crate) core: byway_core::Endpoint,
    pub(crate) outbox: Outbox,
    pub(crate) stats: DriverStats,
    /// Wakers to call once the lock is released.
    pub(crate) wake: Vec<Waker>,
    /// What the sockets are bound to; none where a socket was closed.
    local: Vec<Option<Place>>,
    /// Sockets that the driver takes over, with their places.
    pub(crate) coming: Vec<(usize, Socket)>,
    /// Places of sockets that the driver closes.
    pub(crate) going: Vec<usize>,
    /// The routes changed, and the driver does not know.
    pub(crate) routes_changed: bool,
    scratch: Vec<u8>,
    /// Who sees packets.
    pub(crate) sees_packets: Option<Arc<dyn Watcher>>,
    /// Who learns what happens.
    pub(super) observer: Option<Arc<dyn Watcher>>,
    /// What was observed, on its way there.
    observed: Vec<Observed>,
    /// Each in a box of its own: the nodes of the map are half empty, and one that stays would hold the
    /// memory of those beside it.
    entries: BTreeMap<AssocId, Box<Entry>>,
    /// Associations that wait to be accepted.
    incoming: VecDeque<AssocId>,
    backlog: usize,
    acceptors: Wakers,
    /// Known peers that send much.
    busy: BusyCount,
    /// When refusals were logged last.
    logged: Instant,
    /// When spare buffers were freed last.
    trimmed: Instant,
    /// How far the memory has fallen.
    pub(crate) falls: Falls,
    /// Tasks that wait for the driver to end.
    closers: Wakers,
    /// Whether associations may still be set up.
    open: bool,
    /// Whether the driver answers packets although nothing is left.
    lingering: bool,
    driver: Option<Waker>,
    /// Whether the driver has been woken since its last turn.
    called: bool,
    driver_gone: bool,
}

impl std::fmt::Debug for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("State")
            .field("local", &self.local)
            .field("entries", &self.entries.len())
            .field("open", &self.open)
            .finish_non_exhaustive()
    }
}

impl State {
    pub(crate) fn new(
        core: byway_core::Endpoint,
        local: Vec<Place>,
        outbox: Outbox,
        backlog: usize,
    ) -> State {
        State {
            core,
            outbox,
            stats: DriverStats::default(),
            wake: Vec::new(),
            local: local.into_iter().map(Some).collect(),
            coming: Vec::new(),
            going: Vec::new(),
            routes_changed: false,
            scratch: Vec::with_capacity(2048),
            sees_packets: None,
            observer: None,
            observed: Vec::new(),
            entries: BTreeMap::new(),
            incoming: VecDeque::new(),
            backlog,
            acceptors: Wakers::default(),
            busy: BusyCount::default(),
            logged: Instant::ZERO,
            trimmed: Instant::ZERO,
            falls: Falls::default(),
            closers: Wakers::default(),
            open: true,
            lingering: false,
            driver: None,
            called: false,
            driver_gone: false,
        }
    }

    /// From now on this one watches.
    pub(crate) fn watch(&mut self, watcher: Option<Arc<dyn Watcher>>) {
        self.sees_packets = watcher.clone().filter(|w| w.wants_packets());
        self.observer = watcher.filter(|w| w.wants_observations());
    }

    /// Wakes the driver for another turn.
    fn call_driver(&mut self) {
        if !self.called {
            self.called = true;
            self.wake.extend(self.driver.clone());
        }
    }
}

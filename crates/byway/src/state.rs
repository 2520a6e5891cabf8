//! What the lock protects: the core, what it wants to send, and who waits for
//! what. Nothing here does IO or waits.

use crate::batch::Outbox;
use crate::error::{Closed, ConnectError, SendError};
use crate::inbox::Inbox;
use crate::wakers::Wakers;
use byway_core::time::Instant;
use byway_core::{AssocId, CommandError, Config, Event, Message, Received};
use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::task::{Poll, Waker};

/// Events kept for an association whose reader is slow or absent.
pub(crate) const EVENTS: usize = 256;

/// Bytes that are taken from the core before they are sent, so that the lock
/// is not held for long and the sockets are not idle meanwhile.
const FILL: usize = 256 << 10;

/// What the sockets of an endpoint have done.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct DriverStats {
    /// Datagrams received.
    pub datagrams_received: u64,
    /// Buffers received; each holds one datagram, or several that the kernel
    /// coalesced.
    pub buffers_received: u64,
    /// Datagrams handed to the kernel.
    pub datagrams_sent: u64,
    /// Calls that handed them over.
    pub batches_sent: u64,
    /// Datagrams that the kernel refused for good, for instance because there
    /// is no route or a filter forbids them. SCTP sees them as lost.
    pub datagrams_refused: u64,
    /// Datagrams dropped because their socket had stayed full for too long.
    pub datagrams_overflowed: u64,
}

/// What an endpoint knows of one association beyond the core.
#[derive(Debug, Default)]
pub(crate) struct Entry {
    /// Whether a handle exists.
    pub(crate) held: bool,
    up: bool,
    peer_shutdown: bool,
    pub(crate) closed: Option<Closed>,
    pub(crate) inbox: Inbox,
    pub(crate) events: VecDeque<Event>,
    pub(crate) events_missed: u64,
    /// Tasks that wait for room in the send buffer.
    writers: Wakers,
    /// Tasks that wait for events.
    pub(crate) watchers: Wakers,
    /// Tasks that wait for the beginning, the end, or all to be acknowledged.
    waiters: Wakers,
}

impl Entry {
    fn record(&mut self, event: Event, wake: &mut Vec<Waker>) {
        if self.events.len() == EVENTS {
            self.events.pop_front();
            self.events_missed += 1;
        }
        self.events.push_back(event);
        self.watchers.move_to(wake);
    }

    fn end(&mut self, closed: Closed, wake: &mut Vec<Waker>) {
        self.closed.get_or_insert(closed);
        self.inbox.wake_all(wake);
        self.writers.move_to(wake);
        self.watchers.move_to(wake);
        self.waiters.move_to(wake);
    }

    /// Whether nothing more can arrive.
    fn over(&self) -> bool {
        self.closed.is_some() || self.peer_shutdown
    }
}

/// The core and everything that the driver and the handles share.
pub(crate) struct State {
    pub(crate) core: byway_core::Endpoint,
    pub(crate) outbox: Outbox,
    pub(crate) stats: DriverStats,
    /// Wakers to call once the lock is free.
    pub(crate) wake: Vec<Waker>,
    local: Vec<SocketAddr>,
    scratch: Vec<u8>,
    entries: BTreeMap<AssocId, Entry>,
    /// Associations that wait to be accepted.
    incoming: VecDeque<AssocId>,
    backlog: usize,
    acceptors: Wakers,
    /// Tasks that wait for the driver to end.
    closers: Wakers,
    /// Whether associations are still begun and accepted.
    open: bool,
    driver: Option<Waker>,
    /// Whether the driver has been called since it last looked.
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
        local: Vec<SocketAddr>,
        outbox: Outbox,
        backlog: usize,
    ) -> State {
        State {
            core,
            outbox,
            stats: DriverStats::default(),
            wake: Vec::new(),
            local,
            scratch: Vec::with_capacity(2048),
            entries: BTreeMap::new(),
            incoming: VecDeque::new(),
            backlog,
            acceptors: Wakers::default(),
            closers: Wakers::default(),
            open: true,
            driver: None,
            called: false,
            driver_gone: false,
        }
    }

    // Commands, called by handles.

    /// Begins an association; its handle must exist from now on.
    pub(crate) fn connect(
        &mut self,
        now: Instant,
        remote: &[SocketAddr],
        port: u16,
        config: Config,
    ) -> Result<AssocId, ConnectError> {
        if !self.open || self.driver_gone {
            return Err(ConnectError::EndpointClosed);
        }
        let id = self.core.connect(now, remote, port, config)?;
        self.entries.entry(id).or_default().held = true;
        self.call_driver();
        Ok(id)
    }

    /// Does something with an association that has not ended.
    pub(crate) fn command<R>(
        &mut self,
        now: Instant,
        id: AssocId,
        work: impl FnOnce(&mut byway_core::Endpoint) -> Result<R, CommandError>,
    ) -> Result<R, SendError> {
        let ended = |entries: &BTreeMap<AssocId, Entry>| {
            entries
                .get(&id)
                .and_then(|e| e.closed.clone())
                .map(SendError::Ended)
        };
        if let Some(error) = ended(&self.entries) {
            return Err(error);
        }
        let done = work(&mut self.core);
        if done.is_ok() {
            self.call_driver();
        }
        // An abort ends the association here and now.
        self.dispatch(now);
        done.map_err(|e| match e {
            CommandError::Gone => ended(&self.entries).unwrap_or(SendError::Refused(e)),
            other => SendError::Refused(other),
        })
    }

    /// Sends, or waits for room.
    pub(crate) fn poll_send(
        &mut self,
        now: Instant,
        id: AssocId,
        message: &Message,
        waker: &Waker,
    ) -> Poll<Result<(), SendError>> {
        match self.command(now, id, |core| core.send(now, id, message.clone())) {
            Err(SendError::Refused(CommandError::WouldBlock { .. })) => {
                if let Some(entry) = self.entries.get_mut(&id) {
                    entry.writers.register(waker);
                }
                Poll::Pending
            }
            other => Poll::Ready(other),
        }
    }

    /// The next message of a stream, or of any; none at the end.
    pub(crate) fn poll_receive(
        &mut self,
        now: Instant,
        id: AssocId,
        stream: Option<u16>,
        waker: &Waker,
    ) -> Poll<Option<Received>> {
        let Some(entry) = self.entries.get_mut(&id) else {
            return Poll::Ready(None);
        };
        let received = entry.inbox.take(stream).or_else(|| {
            while entry.inbox.has_room() {
                let received = self.core.receive(id)?;
                if stream.is_none_or(|n| n == received.stream) {
                    return Some(received);
                }
                entry.inbox.park(received, &mut self.wake);
            }
            None
        });
        // With the inbox full, what the core still holds is not known.
        let over = entry.over() && entry.inbox.has_room();
        if received.is_none() && !over {
            entry.inbox.register(stream, waker);
        }
        if received.is_some() {
            if over {
                // A reader of another stream may now be at its end.
                entry.inbox.wake_all(&mut self.wake);
            }
            self.sort(id);
            self.offer_window(now);
        }
        match received {
            None if !over => Poll::Pending,
            other => Poll::Ready(other),
        }
    }

    /// Sorts messages by stream from now on.
    pub(crate) fn open_stream(&mut self, id: AssocId, stream: u16) {
        if let Some(entry) = self.entries.get_mut(&id) {
            entry.inbox.open(stream);
        }
        self.sort(id);
    }

    /// Parks what the core holds for readers of single streams, if there are any.
    fn sort(&mut self, id: AssocId) {
        if let Some(entry) = self.entries.get_mut(&id)
            && entry.inbox.sorts()
        {
            while entry.inbox.has_room() {
                let Some(received) = self.core.receive(id) else {
                    break;
                };
                entry.inbox.park(received, &mut self.wake);
            }
        }
    }

    /// A read may have opened the window enough to tell the peer: then there is
    /// a packet, and only then is the driver called.
    fn offer_window(&mut self, now: Instant) {
        self.fill(now);
        if self.outbox.bytes() > 0 {
            self.call_driver();
        }
    }

    /// Waits for the association to come up.
    pub(crate) fn poll_up(&mut self, id: AssocId, waker: &Waker) -> Poll<Result<(), Closed>> {
        match self.entries.get_mut(&id) {
            // It may have come up and ended before its task looked.
            Some(entry) if entry.up => Poll::Ready(Ok(())),
            Some(entry) if entry.closed.is_none() => {
                entry.waiters.register(waker);
                Poll::Pending
            }
            entry => Poll::Ready(Err(entry
                .and_then(|e| e.closed.clone())
                .unwrap_or(Closed::DriverGone))),
        }
    }

    /// Waits for the end of an association.
    pub(crate) fn poll_closed(&mut self, id: AssocId, waker: &Waker) -> Poll<Closed> {
        let Some(entry) = self.entries.get_mut(&id) else {
            return Poll::Ready(Closed::DriverGone);
        };
        if let Some(closed) = &entry.closed {
            return Poll::Ready(closed.clone());
        }
        entry.waiters.register(waker);
        Poll::Pending
    }

    /// Waits until the peer has acknowledged all that was sent.
    pub(crate) fn poll_drained(&mut self, id: AssocId, waker: &Waker) -> Poll<Result<(), Closed>> {
        if self.core.buffered(id) == Some(0) {
            return Poll::Ready(Ok(()));
        }
        self.poll_closed(id, waker).map(Err)
    }

    /// The entry of an association that has a handle.
    pub(crate) fn entry(&mut self, id: AssocId) -> Option<&mut Entry> {
        self.entries.get_mut(&id)
    }

    /// The next association that a peer has set up; none when closed.
    pub(crate) fn poll_accept(&mut self, waker: &Waker) -> Poll<Option<AssocId>> {
        if let Some(id) = self.incoming.pop_front() {
            self.entries.entry(id).or_default().held = true;
            return Poll::Ready(Some(id));
        }
        if !self.open || self.driver_gone {
            return Poll::Ready(None);
        }
        self.acceptors.register(waker);
        Poll::Pending
    }

    /// The last handle of an association is gone.
    pub(crate) fn drop_association(&mut self, now: Instant, id: AssocId) {
        let Some(entry) = self.entries.get_mut(&id) else {
            return;
        };
        entry.held = false;
        if entry.closed.is_some() {
            self.remove(now, id);
        } else {
            // Refused only if it is shutting down already.
            let _ = self.core.shutdown(now, id);
            self.discard(id);
            self.call_driver();
            self.dispatch(now);
        }
    }

    /// Stops accepting; with `all`, also shuts down every association.
    pub(crate) fn close(&mut self, now: Instant, all: bool) {
        self.open = false;
        for id in std::mem::take(&mut self.incoming) {
            // Refused only if it has ended already.
            let _ = self.core.abort(now, id, b"not accepted");
        }
        if all {
            let alive = self.entries.iter().filter(|(_, e)| e.closed.is_none());
            let ids: Vec<AssocId> = alive.map(|(id, _)| *id).collect();
            for id in ids {
                // As above.
                let _ = self.core.shutdown(now, id);
            }
        }
        self.acceptors.move_to(&mut self.wake);
        self.call_driver();
        self.dispatch(now);
    }

    /// Waits for the driver to end.
    pub(crate) fn poll_driver_gone(&mut self, waker: &Waker) -> Poll<()> {
        if self.driver_gone {
            return Poll::Ready(());
        }
        self.closers.register(waker);
        Poll::Pending
    }

    /// Makes the driver look at the core again.
    fn call_driver(&mut self) {
        if !self.called {
            self.called = true;
            self.wake.extend(self.driver.clone());
        }
    }

    // Called by the driver.

    /// Remembers how to call the driver.
    pub(crate) fn set_driver(&mut self, waker: &Waker) {
        if !self.driver.as_ref().is_some_and(|w| w.will_wake(waker)) {
            self.driver = Some(waker.clone());
        }
    }

    /// Hands over the datagrams of one buffer.
    pub(crate) fn arrive<'a>(
        &mut self,
        now: Instant,
        source: SocketAddr,
        socket: usize,
        datagrams: impl Iterator<Item = &'a [u8]>,
    ) {
        let destination = self.local[socket];
        self.stats.buffers_received += 1;
        for datagram in datagrams {
            self.stats.datagrams_received += 1;
            self.core
                .handle_datagram(now, source, destination, datagram);
            // Between any two: an acknowledgement is due after every second
            // packet (RFC 9260 section 6.2), not after every buffer.
            self.fill(now);
        }
        self.dispatch(now);
    }

    /// Runs what is due and gathers packets, up to a limit. Returns when to
    /// look again at the latest.
    pub(crate) fn turn(&mut self, now: Instant) -> Option<Instant> {
        self.called = false;
        if self.core.poll_timeout().is_some_and(|due| due <= now) {
            self.core.handle_timeout(now);
        }
        self.fill(now);
        self.dispatch(now);
        self.core.poll_timeout()
    }

    /// Whether there is nothing more to drive.
    pub(crate) fn finished(&self) -> bool {
        !self.open && self.outbox.bytes() == 0 && self.entries.values().all(|e| e.closed.is_some())
    }

    /// The driver has ended; so has everything that was still alive.
    pub(crate) fn end_driver(&mut self) {
        self.open = false;
        self.driver_gone = true;
        for entry in self.entries.values_mut() {
            entry.end(Closed::DriverGone, &mut self.wake);
        }
        self.acceptors.move_to(&mut self.wake);
        self.closers.move_to(&mut self.wake);
    }

    /// Gathers packets, up to a limit.
    fn fill(&mut self, now: Instant) {
        while self.outbox.bytes() < FILL {
            self.scratch.clear();
            let Some(transmit) = self.core.poll_transmit(now, &mut self.scratch) else {
                break;
            };
            let socket = self.local.iter().position(|l| *l == transmit.source);
            match socket {
                Some(i) => self.outbox.push(i, transmit.destination, &self.scratch),
                // The core only knows the addresses that are bound.
                None => {
                    tracing::error!(source = %transmit.source, "a path starts at an unbound address")
                }
            }
        }
    }

    /// Passes the core's events on.
    fn dispatch(&mut self, now: Instant) {
        while let Some((id, event)) = self.core.poll_event() {
            self.on_event(now, id, event);
        }
    }

    fn on_event(&mut self, now: Instant, id: AssocId, event: Event) {
        let entry = self.entries.entry(id).or_default();
        let wake = &mut self.wake;
        match event {
            Event::Readable if entry.inbox.sorts() || !entry.held => {}
            Event::Readable => return entry.inbox.wake_any(wake),
            Event::Writable => return entry.writers.move_to(wake),
            Event::Drained => return entry.waiters.move_to(wake),
            Event::Up { accepted, .. } => {
                entry.up = true;
                entry.waiters.move_to(wake);
                entry.record(event, wake);
                if accepted {
                    self.on_incoming(now, id);
                }
                return;
            }
            Event::PeerShutdown => {
                entry.peer_shutdown = true;
                entry.inbox.wake_all(wake);
                return entry.record(event, wake);
            }
            Event::Lost {
                ref reason,
                undelivered_messages,
            } => {
                let closed = Closed::Lost {
                    reason: reason.clone(),
                    undelivered_messages,
                };
                entry.record(event, wake);
                entry.end(closed, wake);
                return self.forget_if_unheld(now, id);
            }
            Event::ShutdownComplete => {
                entry.record(event, wake);
                entry.end(Closed::Gracefully, wake);
                return self.forget_if_unheld(now, id);
            }
            other => return entry.record(other, wake),
        }
        // Readable, and messages are sorted, or nobody reads any more.
        if self.entries.get(&id).is_some_and(|e| e.held) || self.incoming.contains(&id) {
            self.sort(id);
        } else {
            self.discard(id);
        }
    }

    /// A peer has set up an association.
    fn on_incoming(&mut self, now: Instant, id: AssocId) {
        if self.open && self.incoming.len() < self.backlog {
            self.incoming.push_back(id);
            self.acceptors.move_to(&mut self.wake);
        } else {
            let why: &[u8] = if self.open {
                b"too many unaccepted associations"
            } else {
                b"closed"
            };
            // Refused only if it has ended already.
            let _ = self.core.abort(now, id, why);
            self.call_driver();
        }
    }

    fn forget_if_unheld(&mut self, now: Instant, id: AssocId) {
        let held = self.entries.get(&id).is_some_and(|e| e.held);
        if !held && !self.incoming.contains(&id) {
            self.remove(now, id);
        }
    }

    fn remove(&mut self, now: Instant, id: AssocId) {
        self.entries.remove(&id);
        self.core.release(now, id);
    }

    /// Throws away what arrives for an association that nobody reads, so that
    /// its shutdown is not held up by a closed window.
    fn discard(&mut self, id: AssocId) {
        while self.core.receive(id).is_some() {}
    }
}

//! What handles do: commands, sending, receiving, waiting.

use super::State;
use super::entry::Entry;
use crate::error::{Closed, ConnectError, SendError};
use byway_core::time::Instant;
use byway_core::{AssocId, CommandError, Config, Event, Message, Received, Undelivered};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::task::{Poll, Waker};

impl State {
    /// Starts an association, for which a handle exists from now on.
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

    /// Runs a command on an association that has not ended.
    pub(crate) fn command<R>(
        &mut self,
        now: Instant,
        id: AssocId,
        work: impl FnOnce(&mut byway_core::Endpoint) -> Result<R, CommandError>,
    ) -> Result<R, SendError> {
        let ended = |entries: &BTreeMap<AssocId, Box<Entry>>| {
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
        // An abort ends the association at once.
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

    /// Waits until a message of this length on this stream would be accepted.
    pub(crate) fn poll_writable(
        &mut self,
        id: AssocId,
        (stream, len): (u16, usize),
        waker: &Waker,
    ) -> Poll<Result<(), SendError>> {
        let entry = self.entries.get_mut(&id);
        if let Some(closed) = entry.as_ref().and_then(|e| e.closed.clone()) {
            return Poll::Ready(Err(SendError::Ended(closed)));
        }
        match self.core.check_send(id, stream, len) {
            Err(CommandError::WouldBlock { .. }) => {
                if let Some(entry) = entry {
                    entry.writers.register(waker);
                }
                Poll::Pending
            }
            other => Poll::Ready(other.map_err(SendError::Refused)),
        }
    }

    /// The next message of a stream, or of any stream; `None` at the end.
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
        // With a full inbox the core may hold more messages of this stream.
        let over = entry.over() && entry.inbox.has_room();
        if received.is_none() && !over {
            entry.inbox.register(stream, waker);
        }
        self.core.charge(id, entry.memory());
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

    /// A read may have opened the receive window enough for a SACK. Only if there
    /// is one, the driver is woken.
    pub(super) fn offer_window(&mut self, now: Instant) {
        self.fill(now);
        if self.outbox.bytes() > 0 {
            self.call_driver();
        }
    }

    /// Waits until the association is established.
    pub(crate) fn poll_up(&mut self, id: AssocId, waker: &Waker) -> Poll<Result<(), Closed>> {
        match self.entries.get_mut(&id) {
            // It may have been established and ended before the task ran.
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

    /// Whether the peer has shut down.
    pub(crate) fn peer_has_shut_down(&self, id: AssocId) -> bool {
        self.entries.get(&id).is_some_and(|e| e.peer_shutdown)
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

    /// Waits until the peer has acknowledged all messages.
    pub(crate) fn poll_drained(&mut self, id: AssocId, waker: &Waker) -> Poll<Result<(), Closed>> {
        let gave_back = self.entries.get(&id).is_some_and(|e| e.gave_back);
        if self.core.buffered(id) == Some(0) && !gave_back {
            return Poll::Ready(Ok(()));
        }
        self.poll_closed(id, waker).map(Err)
    }

    /// The next message that a lost association has not delivered.
    pub(crate) fn take_undelivered(&mut self, id: AssocId) -> Option<Undelivered> {
        let message = self.core.take_undelivered(id)?;
        if let Some(entry) = self.entries.get_mut(&id) {
            entry.gave_back = true;
        }
        Some(message)
    }

    /// The next event, and with it the memory that it took.
    pub(crate) fn next_event(&mut self, id: AssocId) -> Option<Event> {
        let event = self.entries.get_mut(&id)?.events.pop();
        if event.is_some() {
            self.charge(id);
        }
        event
    }

    /// Events that were dropped unread.
    pub(crate) fn events_missed(&self, id: AssocId) -> u64 {
        self.entries.get(&id).map_or(0, |e| e.events.missed())
    }

    /// The application keeps `bytes` for an association instead of `before`. What is over the
    /// ceiling then is shed at once.
    pub(crate) fn charge_application(
        &mut self,
        now: Instant,
        id: AssocId,
        before: usize,
        bytes: usize,
    ) {
        let Some(entry) = self.entries.get_mut(&id) else {
            return;
        };
        entry.application_keeps(before, bytes);
        self.charge(id);
        if bytes > before && self.core.shed_over_ceiling(now, id) {
            self.call_driver();
            self.dispatch(now);
        }
    }

    /// The entry of an association that has a handle.
    pub(crate) fn entry(&mut self, id: AssocId) -> Option<&mut Entry> {
        self.entries.get_mut(&id).map(|entry| &mut **entry)
    }

    /// The next association that a peer has set up; `None` when closed.
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

    /// The last handle of an association has been dropped.
    pub(crate) fn drop_association(&mut self, now: Instant, id: AssocId) {
        let Some(entry) = self.entries.get_mut(&id) else {
            return;
        };
        entry.held = false;
        if entry.closed.is_some() {
            self.remove(now, id);
        } else {
            // An error says that it is shutting down already. A set-up that nobody waits
            // for is given up.
            let _ = match entry.up {
                true => self.core.shutdown(now, id),
                false => self.core.abort(now, id, b"given up"),
            };
            self.discard(id);
            self.call_driver();
            self.dispatch(now);
        }
    }

    /// Stops accepting. With `all`, also shuts every association down.
    pub(crate) fn close(&mut self, now: Instant, all: bool) {
        self.open = false;
        for id in std::mem::take(&mut self.incoming) {
            // An error says that it has ended already.
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

    /// Stops accepting, and aborts every association. If there was one, the driver
    /// goes on until `end_linger`, and this says so.
    pub(crate) fn abort_all(&mut self, now: Instant, reason: &[u8]) -> bool {
        let alive = self.entries.iter().filter(|(_, e)| e.closed.is_none());
        let ids: Vec<AssocId> = alive.map(|(id, _)| *id).collect();
        self.lingering |= !ids.is_empty();
        for id in ids {
            // An error says that it has ended already.
            let _ = self.core.abort(now, id, reason);
        }
        self.close(now, false);
        self.lingering
    }

    /// The driver may end.
    pub(crate) fn end_linger(&mut self) {
        self.lingering = false;
        self.call_driver();
    }

    /// Waits for the driver to end.
    pub(crate) fn poll_driver_gone(&mut self, waker: &Waker) -> Poll<()> {
        if self.driver_gone {
            return Poll::Ready(());
        }
        self.closers.register(waker);
        Poll::Pending
    }
}

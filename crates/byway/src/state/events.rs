//! Events of the core, passed on to tasks and readers.

use super::State;
use crate::error::Closed;
use byway_core::time::Instant;
use byway_core::{AssocId, Event, LossReason, Rule};

impl State {
    /// Passes the core's events on.
    pub(super) fn dispatch(&mut self, now: Instant) {
        if let Some(observer) = &self.observer {
            self.observed.extend(self.core.drain_observations());
            if !self.observed.is_empty() {
                observer.observed(&self.observed, &self.core);
                self.observed.clear();
            }
        }
        while let Some((id, event)) = self.core.poll_event() {
            self.on_event(now, id, event);
        }
    }

    pub(super) fn on_event(&mut self, now: Instant, id: AssocId, event: Event) {
        log(id, &event);
        if let Some(observer) = &self.observer {
            observer.event(now, id, &event, &self.core);
        }
        if matches!(event, Event::Readable | Event::Writable | Event::Drained) {
            return self.take_event(now, id, event);
        }
        let latest = self.note_latest(now, id, &event);
        self.take_event(now, id, event);
        if let Some(entry) = self.entries.get_mut(&id) {
            entry.note_latest(latest);
        }
        self.charge(id);
        if self.core.shed_over_ceiling(now, id) {
            self.call_driver();
        }
    }

    /// The account of the core learns what is kept here for an association.
    pub(super) fn charge(&mut self, id: AssocId) {
        if let Some(entry) = self.entries.get(&id) {
            self.core.charge(id, entry.memory());
        }
    }

    /// The account has all that is kept for an association.
    #[cfg(fuzzing)]
    pub(crate) fn check_account(&self, id: AssocId) {
        if let (Some(entry), Some(charged)) = (self.entries.get(&id), self.core.memory_of(id)) {
            let kept = entry.memory();
            assert!(charged >= kept, "{charged} bytes are charged, {kept} kept");
        }
    }

    fn take_event(&mut self, now: Instant, id: AssocId, event: Event) {
        let entry = self.entries.entry(id).or_default();
        let wake = &mut self.wake;
        let event = match event {
            Event::Lost {
                ref reason,
                undelivered_messages: 0,
            } if entry.peer_shutdown && is_gone(reason) => Event::ShutdownComplete,
            other => other,
        };
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
                if *reason == LossReason::OutOfMemory {
                    entry.shed();
                }
                entry.record(event, wake);
                entry.end(closed, wake);
                self.leave_backlog(id);
                return self.forget_if_unheld(now, id);
            }
            Event::ShutdownComplete => {
                entry.record(event, wake);
                entry.end(Closed::Gracefully, wake);
                return self.forget_if_unheld(now, id);
            }
            Event::Restarted { .. } => {
                // The SHUTDOWN was that of the association before.
                entry.peer_shutdown = false;
                return entry.record(event, wake);
            }
            other => return entry.record(other, wake),
        }
        // Readable while messages are sorted by stream, or without a reader.
        if self.entries.get(&id).is_some_and(|e| e.held) || self.incoming.contains(&id) {
            self.sort(id);
        } else {
            self.discard(id);
        }
    }

    /// Parks the core's messages for readers of single streams, if there are any.
    pub(super) fn sort(&mut self, id: AssocId) {
        if let Some(entry) = self.entries.get_mut(&id)
            && entry.inbox.sorts()
        {
            while entry.inbox.has_room() {
                let Some(received) = self.core.receive(id) else {
                    break;
                };
                entry.inbox.park(received, &mut self.wake);
            }
            self.core.charge(id, entry.memory());
        }
    }

    /// A peer has set up an association.
    pub(super) fn on_incoming(&mut self, now: Instant, id: AssocId) {
        if self.open && self.incoming.len() < self.backlog {
            self.incoming.push_back(id);
            self.acceptors.move_to(&mut self.wake);
        } else {
            let (rule, why): (_, &[u8]) = match self.open {
                true => (Rule::Backlog, b"too many unaccepted associations"),
                false => (Rule::NotAccepting, b"closed"),
            };
            let first = self.core.first_remote(id);
            if let Some(peer) = first {
                self.core.count_refusals(rule, 1, peer);
            }
            // An error says that it has ended already.
            let _ = self.core.abort(now, id, why);
            self.call_driver();
        }
    }

    /// An association was lost before anybody accepted it: nobody will read what it holds.
    fn leave_backlog(&mut self, id: AssocId) {
        self.incoming.retain(|waiting| *waiting != id);
    }

    pub(super) fn forget_if_unheld(&mut self, now: Instant, id: AssocId) {
        let held = self.entries.get(&id).is_some_and(|e| e.held);
        if !held && !self.incoming.contains(&id) {
            self.remove(now, id);
        }
    }

    pub(super) fn remove(&mut self, now: Instant, id: AssocId) {
        if let Some(mut entry) = self.entries.remove(&id) {
            // Wakers are not dropped under the lock: the last waker may drop its
            // task, and that a handle, which takes the lock.
            entry.wake_all(&mut self.wake);
        }
        self.core.release(now, id);
        // The driver may have nothing to do.
        self.note_memory();
    }

    /// Discards the messages of an association without a reader, so that a closed
    /// window does not block its shutdown.
    pub(super) fn discard(&mut self, id: AssocId) {
        while self.core.receive(id).is_some() {}
    }
}

/// Whether the peer is not there any more. After its SHUTDOWN, and when it has acknowledged all, only
/// its SHUTDOWN COMPLETE is lost: each side has all that the other sent.
fn is_gone(reason: &LossReason) -> bool {
    matches!(
        reason,
        LossReason::PeerUnreachable | LossReason::PortUnreachable | LossReason::ProtocolUnreachable
    )
}

/// What happens to associations and their paths goes to the log; that data waits or left does not.
fn log(id: AssocId, event: &Event) {
    if !matches!(event, Event::Readable | Event::Writable | Event::Drained) {
        tracing::info!(association = %id, ?event);
    }
}

//! What an endpoint keeps of an association outside the core: its events, how it
//! ended, and the tasks that wait.

use super::event_queue::EventQueue;
use crate::error::Closed;
use crate::inbox::Inbox;
use crate::wakers::Wakers;
use byway_core::time::Instant;
use byway_core::{Event, PathTrouble};
use std::task::Waker;

/// The latest event of an association, for displays.
#[derive(Debug)]
pub(super) struct LatestEvent {
    pub(super) at: Instant,
    pub(super) event: Event,
    /// Why the path was in doubt that it is about.
    pub(super) trouble: Option<PathTrouble>,
}

/// What an endpoint keeps of an association outside the core.
#[derive(Debug, Default)]
pub(crate) struct Entry {
    /// Whether a handle exists.
    pub(crate) held: bool,
    pub(super) up: bool,
    pub(super) peer_shutdown: bool,
    pub(crate) closed: Option<Closed>,
    /// A message that was not delivered was given back: the buffer is no longer what is left.
    pub(super) gave_back: bool,
    pub(crate) inbox: Inbox,
    pub(super) events: EventQueue,
    /// For displays.
    pub(super) latest: Option<LatestEvent>,
    /// What the application says that it keeps for the association, in bytes.
    application: usize,
    /// The association was shed, and what the application keeps counts no more.
    was_shed: bool,
    /// Tasks that wait for room in the send buffer.
    pub(super) writers: Wakers,
    /// Tasks that wait for events.
    pub(crate) watchers: Wakers,
    /// Tasks that wait for the association to be established, drained or ended.
    pub(super) waiters: Wakers,
}

impl Entry {
    pub(super) fn record(&mut self, event: Event, wake: &mut Vec<Waker>) {
        self.events.push(event);
        self.watchers.move_to(wake);
    }

    /// What has ended is not shown any more.
    pub(super) fn note_latest(&mut self, latest: LatestEvent) {
        self.latest = self.closed.is_none().then_some(latest);
    }

    /// Memory that is kept for the association here, and by the application as it says, in
    /// bytes.
    pub(super) fn memory(&self) -> usize {
        let closed = self.closed.as_ref().map_or(0, Closed::text_memory);
        let latest = self.latest.as_ref();
        let latest = latest.map_or(0, |latest| latest.event.text_memory());
        let here = size_of::<Entry>() + self.inbox.memory() + self.events.memory();
        here + closed + latest + self.application
    }

    /// The application keeps `now` bytes instead of `before`.
    pub(super) fn application_keeps(&mut self, before: usize, now: usize) {
        // What was shed counts no more. Otherwise others would be shed in its place until the
        // application has dropped what it holds.
        if !self.was_shed {
            self.application = self.application - before + now;
        }
    }

    /// The association was shed: nothing that it holds is kept. If it had ended before, and not all was read, this is
    /// its end now.
    pub(super) fn shed(&mut self) {
        self.closed = None;
        self.inbox.clear();
        self.events.clear();
        self.latest = None;
        self.application = 0;
        self.was_shed = true;
        // What it has sent is not here any more.
        self.peer_shutdown = false;
    }

    pub(super) fn end(&mut self, closed: Closed, wake: &mut Vec<Waker>) {
        self.closed.get_or_insert(closed);
        self.wake_all(wake);
    }

    /// Wakes every task that waits for anything.
    pub(super) fn wake_all(&mut self, wake: &mut Vec<Waker>) {
        self.inbox.wake_all(wake);
        self.writers.move_to(wake);
        self.watchers.move_to(wake);
        self.waiters.move_to(wake);
    }

    /// Whether nothing more can arrive.
    pub(super) fn over(&self) -> bool {
        self.closed.is_some() || self.peer_shutdown
    }
}

//! What an endpoint keeps of an association outside the core: its events, how it
//! ended, and the tasks that wait.

use crate::error::Closed;
use crate::inbox::Inbox;
use crate::wakers::Wakers;
use byway_core::Event;
use std::collections::VecDeque;
use std::task::Waker;

/// Events kept for an association whose reader is slow or absent.
const EVENTS: usize = 256;

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
    pub(crate) events: VecDeque<Event>,
    pub(crate) events_missed: u64,
    /// Tasks that wait for room in the send buffer.
    pub(super) writers: Wakers,
    /// Tasks that wait for events.
    pub(crate) watchers: Wakers,
    /// Tasks that wait for the association to be established, drained or ended.
    pub(super) waiters: Wakers,
}

impl Entry {
    pub(super) fn record(&mut self, event: Event, wake: &mut Vec<Waker>) {
        if self.events.len() == EVENTS {
            self.events.pop_front();
            self.events_missed += 1;
        }
        self.events.push_back(event);
        self.watchers.move_to(wake);
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

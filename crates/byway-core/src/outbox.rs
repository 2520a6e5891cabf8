//! What an endpoint collects from its associations: events, observations, and
//! replies outside any association.

use crate::api::{AssocId, Event};
use crate::observe::{Observation, Observed};
use crate::time::Instant;
use core::net::SocketAddr;
use std::collections::VecDeque;

/// Replies outside any association that may wait to be sent. Further ones are
/// dropped: a peer that still needs an answer repeats its request.
const MAX_REPLIES: usize = 1024;

/// Events and replies for which an empty queue keeps memory.
const KEPT: usize = 256;

/// A complete packet sent outside any association: the answer to an INIT, a
/// COOKIE ECHO or a packet out of the blue, or the last packet of an association
/// that has ended.
#[derive(Debug)]
pub(crate) struct OutboundReply {
    pub(crate) source: SocketAddr,
    pub(crate) destination: SocketAddr,
    pub(crate) bytes: Vec<u8>,
}

/// Where events, observations and replies outside any association go.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    events: VecDeque<(AssocId, Event)>,
    observed: Vec<Observed>,
    observe: bool,
    observe_details: bool,
    replies: VecDeque<OutboundReply>,
    /// Replies dropped because [`MAX_REPLIES`] were waiting.
    replies_dropped: u64,
}

impl Outbox {
    /// An empty outbox. `observe`: whether observations are recorded; `details`: also
    /// those of which there are many.
    pub(crate) fn new(observe: bool, details: bool) -> Outbox {
        Outbox {
            observe,
            observe_details: details,
            ..Outbox::default()
        }
    }

    /// Begins or ends the recording of observations.
    pub(crate) fn watch(&mut self, on: bool) {
        self.observe = on;
    }

    /// Whether observations are recorded of which there are many.
    #[inline]
    pub(crate) fn wants_details(&self) -> bool {
        self.observe && self.observe_details
    }

    /// Records an observation, if anybody watches.
    #[inline]
    pub(crate) fn observe(
        &mut self,
        at: Instant,
        assoc: AssocId,
        what: impl FnOnce() -> Observation,
    ) {
        if self.observe {
            unlikely();
            // Built in place. Otherwise fields that were just written would be copied
            // as whole words, and the processor would wait for them.
            self.observed.push(Observed {
                at,
                assoc,
                what: what(),
            });
        }
    }

    /// Takes all observations.
    pub(crate) fn drain_observations(&mut self) -> std::vec::Drain<'_, Observed> {
        self.observed.drain(..)
    }

    /// Queues an event for the user.
    pub(crate) fn event(&mut self, assoc: AssocId, event: Event) {
        self.events.push_back((assoc, event));
    }

    /// Takes the oldest event.
    pub(crate) fn next_event(&mut self) -> Option<(AssocId, Event)> {
        take(&mut self.events)
    }

    /// Whether a reply waits.
    #[inline]
    pub(crate) fn has_reply(&self) -> bool {
        !self.replies.is_empty()
    }

    /// Takes the oldest reply.
    pub(crate) fn next_reply(&mut self) -> Option<OutboundReply> {
        take(&mut self.replies)
    }

    /// Replies that were dropped because too many waited.
    pub(crate) fn replies_dropped(&self) -> u64 {
        self.replies_dropped
    }

    pub(crate) fn queue_reply(&mut self, reply: OutboundReply) {
        if self.replies.len() < MAX_REPLIES {
            self.replies.push_back(reply);
        } else {
            self.replies_dropped += 1;
        }
    }
}

/// Takes the oldest entry. With the last one goes the memory of a time when there were many.
fn take<T>(queue: &mut VecDeque<T>) -> Option<T> {
    let first = queue.pop_front()?;
    if queue.is_empty() && queue.capacity() > KEPT {
        *queue = VecDeque::new();
    }
    Some(first)
}

/// Marks a branch as unlikely, so that the compiler places it off the hot path.
#[cold]
#[inline(always)]
pub(crate) fn unlikely() {}

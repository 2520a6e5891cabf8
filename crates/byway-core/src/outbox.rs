//! What an endpoint collects from its associations: events, observations, and
//! replies outside any association, and what was refused or shed.

use crate::api::{AssocId, Event};
use crate::observe::{Observation, Observed};
use crate::refusals::{Refusal, Refusals, Rule};
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
    /// Heartbeats put off or left out by a limit for unproven addresses.
    heartbeats_put_off: u64,
    /// DATA chunks dropped because memory was scarce.
    data_shed: u64,
    refusals: Refusals,
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
            self.refuse(Rule::AnswerQueue, reply.destination);
        }
    }

    /// Something of this peer was refused or shed by a rule.
    pub(crate) fn refuse(&mut self, rule: Rule, from: SocketAddr) {
        self.refusals.add(rule, from);
    }

    /// What was refused or shed since the last call.
    pub(crate) fn take_refusals(&mut self) -> Vec<Refusal> {
        self.refusals.take()
    }

    /// A heartbeat to this address had to wait, or was left out.
    #[cold]
    pub(crate) fn put_heartbeat_off(&mut self, to: SocketAddr) {
        self.heartbeats_put_off += 1;
        self.refuse(Rule::HeartbeatAllowance, to);
    }

    /// Heartbeats that had to wait, or were left out.
    pub(crate) fn heartbeats_put_off(&self) -> u64 {
        self.heartbeats_put_off
    }

    /// A DATA chunk of this peer was dropped, because memory is scarce.
    #[cold]
    pub(crate) fn shed_data(&mut self, from: SocketAddr) {
        self.data_shed += 1;
        self.refuse(Rule::DataMemory, from);
    }

    /// DATA chunks that were dropped because memory was scarce.
    pub(crate) fn data_shed(&self) -> u64 {
        self.data_shed
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

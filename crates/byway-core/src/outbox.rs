//! What an endpoint collects from its associations: events, observations, and
//! replies outside any association, and what was refused or shed.

use crate::api::{AssocId, Event};
use crate::observe::{Observation, Observed};
use crate::refusals::{Refusal, Refusals, Rule, RuleCounts};
use crate::time::Instant;
use core::net::SocketAddr;
use std::collections::VecDeque;

/// Answers to strangers that may wait to be sent. Further ones are dropped: a peer that still
/// needs an answer repeats its request.
const MAX_REPLIES: usize = 1024;

/// Events and packets for which an empty queue keeps memory.
const KEPT: usize = 256;

/// A complete packet that is written when it is due: the answer to an INIT, a COOKIE ECHO or a
/// packet out of the blue, or a packet of an association that goes beside its paths or is its
/// last one.
#[derive(Debug)]
pub(crate) struct Finished {
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
    /// Answers to strangers, at most [`MAX_REPLIES`].
    replies: VecDeque<Finished>,
    /// Memory of their bytes.
    replied: usize,
    /// Packets of associations. None is dropped: an ABORT is said once, and who gets none waits
    /// for timeouts. There are few for each association, and an endpoint that ends has one for
    /// each, far smaller than what the association took.
    of_associations: VecDeque<Finished>,
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

    /// Whether a finished packet waits.
    #[inline]
    pub(crate) fn has_finished(&self) -> bool {
        !self.of_associations.is_empty() || !self.replies.is_empty()
    }

    /// Takes the oldest finished packet, those of associations first.
    pub(crate) fn next_finished(&mut self) -> Option<Finished> {
        take(&mut self.of_associations).or_else(|| {
            let reply = take(&mut self.replies)?;
            self.replied -= reply.bytes.capacity();
            Some(reply)
        })
    }

    /// Memory that answers to strangers take, in bytes.
    pub(crate) fn memory_of_replies(&self) -> usize {
        self.replies.capacity() * size_of::<Finished>() + self.replied
    }

    /// Queues an answer to a stranger, unless too many wait.
    pub(crate) fn queue_reply(&mut self, reply: Finished) {
        if self.replies.len() < MAX_REPLIES {
            self.replied += reply.bytes.capacity();
            self.replies.push_back(reply);
        } else {
            self.refuse(Rule::AnswerQueue, reply.destination);
        }
    }

    /// Queues a packet of an association.
    pub(crate) fn queue_packet(&mut self, packet: Finished) {
        self.of_associations.push_back(packet);
    }

    /// Something of this peer was refused or shed by a rule.
    #[cold]
    pub(crate) fn refuse(&mut self, rule: Rule, from: SocketAddr) {
        self.refusals.add(rule, 1, from);
    }

    /// The same of so many things.
    pub(crate) fn refuse_many(&mut self, rule: Rule, times: u64, from: SocketAddr) {
        self.refusals.add(rule, times, from);
    }

    /// What was refused or shed since the last call.
    pub(crate) fn take_refusals(&mut self) -> Vec<Refusal> {
        self.refusals.take()
    }

    /// How often each rule has refused something.
    pub(crate) fn counts(&self) -> RuleCounts {
        self.refusals.counts()
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

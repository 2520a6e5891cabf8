//! What an endpoint collects from its associations: events, observations, and
//! replies outside any association.

use crate::api::{AssocId, Event};
use crate::observe::Observed;
use core::net::SocketAddr;
use std::collections::VecDeque;

/// Replies outside any association that may wait to be sent. Further ones are
/// dropped: a peer that still needs an answer repeats its request.
const MAX_REPLIES: usize = 1024;

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
    pub(crate) events: VecDeque<(AssocId, Event)>,
    pub(crate) observed: Vec<Observed>,
    pub(crate) observe: bool,
    pub(crate) observe_details: bool,
    pub(crate) replies: VecDeque<OutboundReply>,
    /// Replies dropped because [`MAX_REPLIES`] were waiting.
    pub(crate) replies_dropped: u64,
}

impl Outbox {
    pub(crate) fn queue_reply(&mut self, reply: OutboundReply) {
        if self.replies.len() < MAX_REPLIES {
            self.replies.push_back(reply);
        } else {
            self.replies_dropped += 1;
        }
    }
}

/// Marks a branch as unlikely, so that the compiler places it off the hot path.
#[cold]
#[inline(always)]
pub(crate) fn unlikely() {}

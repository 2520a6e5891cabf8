//! Messages that come in parts (RFC 9260 section 6.9), put together again. Where messages interleave
//! (RFC 8260), parts of several streams come in turn.

use bytes::{Bytes, BytesMut};
use byway::{Association, Charge, Received};
use std::collections::HashMap;

/// Puts parts together. What it holds is in the account of memory.
pub(super) struct Joiner {
    /// Longest message, bytes.
    longest: usize,
    parts: HashMap<u16, BytesMut>,
    bytes: usize,
    /// What else the account has.
    beside: usize,
    charge: Charge,
}

/// What an entry takes beyond its bytes.
const ENTRY: usize = 128;

impl Joiner {
    /// For ordered messages of an association that are at most so long.
    pub(super) fn new(association: &Association, longest: usize) -> Joiner {
        Joiner {
            longest,
            parts: HashMap::new(),
            bytes: 0,
            beside: 0,
            charge: association.charge(),
        }
    }

    /// The same, of somebody who keeps so many bytes more for the association.
    pub(super) fn beside(mut self, bytes: usize) -> Joiner {
        self.beside = bytes;
        self.charge.set(bytes);
        self
    }

    /// Takes a message or a part of one; none until the last part has come.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(super) fn whole(&mut self, received: &Received) -> Result<Option<Bytes>, &'static str> {
        let stream = received.stream;
        if received.first == self.parts.contains_key(&stream) {
            return Err("parts of two messages at once");
        }
        if received.first && received.last {
            return Ok(Some(received.payload.clone()));
        }
        let parts = self.parts.entry(stream).or_default();
        if parts.len() + received.payload.len() > self.longest {
            return Err("a message that is too long");
        }
        let before = parts.capacity();
        parts.extend_from_slice(&received.payload);
        let grown = parts.capacity() - before;
        let whole = if received.last {
            self.parts.remove(&stream)
        } else {
            None
        };
        self.bytes += grown;
        self.bytes -= whole.as_ref().map_or(0, BytesMut::capacity);
        let parts = self.bytes + self.parts.len() * ENTRY;
        self.charge.set(self.beside + parts);
        Ok(whole.map(BytesMut::freeze))
    }
}

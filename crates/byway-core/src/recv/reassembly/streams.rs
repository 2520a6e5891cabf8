//! The order of messages within each stream (RFC 9260 section 6.6).

use super::memory::TREE_ENTRY;
use super::out_of_order::OutOfOrder;
use super::ready::Ready;
use std::collections::BTreeMap;

/// The inbound streams: the number of the next message to deliver in each, and the
/// messages that arrived before it. A stream that has had no message takes no memory
/// beyond its number, and one in which no message waits takes two bytes.
#[derive(Debug, Default)]
pub(super) struct Streams {
    /// The next stream sequence number by stream; 0 beyond the end.
    next_ssns: Vec<u16>,
    /// The streams in which messages wait.
    waiting: BTreeMap<u16, OutOfOrder>,
    /// Memory of the messages that wait, without their payloads.
    waiting_memory: usize,
}

impl Streams {
    /// The number of the next message to deliver.
    #[inline]
    fn next_ssn(&mut self, stream: u16) -> &mut u16 {
        let i = usize::from(stream);
        if self.next_ssns.len() <= i {
            self.next_ssns.resize(i + 1, 0);
        }
        &mut self.next_ssns[i]
    }

    /// Whether `ssn` is the number of the next message to deliver.
    pub(super) fn is_next(&self, stream: u16, ssn: u16) -> bool {
        let next = self.next_ssns.get(usize::from(stream));
        next.copied().unwrap_or(0) == ssn
    }

    /// Advances past `ssn` if that is the next message and no other one of the stream
    /// waits. Returns whether it did: the message can be delivered at once then.
    #[inline]
    pub(super) fn advance_if_alone(&mut self, stream: u16, ssn: u16) -> bool {
        let nobody_waits = self.waiting.is_empty() || !self.waiting.contains_key(&stream);
        let next = self.next_ssn(stream);
        let alone = nobody_waits && ssn == *next;
        if alone {
            *next = next.wrapping_add(1);
        }
        alone
    }

    /// The next message has been delivered.
    #[inline]
    pub(super) fn advance(&mut self, stream: u16) {
        let next = self.next_ssn(stream);
        *next = next.wrapping_add(1);
    }

    /// Keeps a message that has to wait for an earlier one of its stream.
    ///
    /// # Errors
    /// Returns the message if one with the same number is already waiting.
    pub(super) fn hold(&mut self, ready: Ready) -> Result<(), Ready> {
        let stream = ready.message.stream;
        let next = *self.next_ssn(stream);
        let list = self.waiting.entry(stream).or_default();
        let before = list.memory();
        list.insert(next, ready)?;
        self.waiting_memory += list.memory() - before;
        Ok(())
    }

    /// Removes the next message of the stream to deliver, if it has arrived, and advances
    /// past it.
    #[inline]
    pub(super) fn take_next(&mut self, stream: u16) -> Option<Ready> {
        let list = self.waiting.get_mut(&stream)?;
        let next = self.next_ssns[usize::from(stream)];
        let before = list.memory();
        let ready = list.take(next)?;
        self.waiting_memory -= before;
        if list.is_empty() {
            self.waiting.remove(&stream);
        } else {
            self.waiting_memory += list.memory();
        }
        self.advance(stream);
        Some(ready)
    }

    /// The messages that wait for an earlier one.
    pub(super) fn waiting(&self) -> impl Iterator<Item = &Ready> {
        self.waiting.values().flat_map(OutOfOrder::iter)
    }

    /// Memory of the streams and of what waits in them without payloads, in bytes.
    #[inline]
    pub(super) fn memory(&self) -> usize {
        self.next_ssns.capacity() * size_of::<u16>()
            + self.waiting.len() * TREE_ENTRY * size_of::<(u16, OutOfOrder)>()
            + self.waiting_memory
    }

    /// Whether the running total matches the data.
    pub(super) fn total_agrees(&self) -> bool {
        let lists: usize = self.waiting.values().map(OutOfOrder::memory).sum();
        lists == self.waiting_memory
    }
}

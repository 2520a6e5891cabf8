//! The order of messages within each stream (RFC 9260 section 6.6; RFC 8260 section 2.1).

use super::memory::{Counted, TREE_ENTRY, WORD};
use super::number::Number;
use super::out_of_order::{OutOfOrder, Waiting};
use super::ready::Ready;
use std::collections::BTreeMap;

/// The inbound streams: the number of the next message to deliver in each, and the
/// messages that arrived before it. A stream that has had no message takes no memory
/// beyond its number, and one in which no message waits takes that of its number.
#[derive(Debug, Default)]
pub(super) struct Streams<N> {
    /// The next number by stream; 0 beyond the end.
    next: Vec<N>,
    /// The streams in which messages wait.
    waiting: BTreeMap<u16, OutOfOrder<N>>,
    /// Memory of the messages that wait, without their payloads.
    waiting_memory: usize,
}

impl<N: Number> Streams<N> {
    /// The number of the next message to deliver.
    #[inline]
    fn next_mut(&mut self, stream: u16) -> &mut N {
        let i = usize::from(stream);
        if self.next.len() <= i {
            self.next.resize(i + 1, N::default());
        }
        &mut self.next[i]
    }

    /// The number of the next message to deliver.
    pub(super) fn next_of(&self, stream: u16) -> N {
        let next = self.next.get(usize::from(stream));
        next.copied().unwrap_or_default()
    }

    /// Whether `number` is that of the next message to deliver.
    pub(super) fn is_next(&self, stream: u16, number: N) -> bool {
        self.next_of(stream) == number
    }

    /// Advances past `number` if that is the next message and no other one of the stream
    /// waits. Returns whether it did: the message can be delivered at once then.
    #[inline]
    pub(super) fn advance_if_alone(&mut self, stream: u16, number: N) -> bool {
        let nobody_waits = self.waiting.is_empty() || !self.waiting.contains_key(&stream);
        let next = self.next_mut(stream);
        let alone = nobody_waits && number == *next;
        if alone {
            *next = next.following();
        }
        alone
    }

    /// The next message has been delivered.
    #[inline]
    pub(super) fn advance(&mut self, stream: u16) {
        let next = self.next_mut(stream);
        *next = next.following();
    }

    /// All messages of the stream up to `last` are skipped: the next one to deliver is the one
    /// after it.
    pub(super) fn skip(&mut self, stream: u16, last: N) {
        *self.next_mut(stream) = last.following();
    }

    /// Whether a message with this number waits for an earlier one.
    pub(super) fn holds(&self, stream: u16, number: N) -> bool {
        let list = self.waiting.get(&stream);
        list.is_some_and(|l| l.contains(self.next_of(stream), number))
    }

    /// Removes the first message of the stream that waits, if it is not behind `last`, and
    /// advances past it.
    pub(super) fn take_up_to(&mut self, stream: u16, last: N) -> Option<Ready> {
        let next = self.next_of(stream);
        let lowest = self.waiting.get(&stream)?.lowest(next)?;
        if lowest.ahead_of(next) > last.ahead_of(next) {
            return None;
        }
        *self.next_mut(stream) = lowest;
        self.take_next(stream)
    }

    /// Keeps a message that has to wait for an earlier one of its stream.
    ///
    /// # Errors
    /// Returns the message if one with the same number is already waiting.
    pub(super) fn hold(&mut self, ready: Ready) -> Result<(), Ready> {
        let stream = ready.message.stream;
        let next = *self.next_mut(stream);
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
        let next = self.next_of(stream);
        let list = self.waiting.get_mut(&stream)?;
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
    pub(super) fn waiting(&self) -> impl Iterator<Item = &Waiting> {
        self.waiting.values().flat_map(OutOfOrder::iter)
    }

    /// Memory of the streams and of what waits in them without payloads, in bytes.
    #[inline]
    pub(super) fn memory(&self) -> usize {
        self.next.capacity() * size_of::<N>()
            + self.waiting.len() * TREE_ENTRY * (WORD + OutOfOrder::<N>::SIZE)
            + self.waiting_memory
    }

    /// Whether the running total matches the data.
    pub(super) fn total_agrees(&self) -> bool {
        let lists: usize = self.waiting.values().map(OutOfOrder::memory).sum();
        lists == self.waiting_memory
    }
}

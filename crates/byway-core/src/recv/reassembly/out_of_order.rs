//! Complete messages of one stream that wait for an earlier one (RFC 9260 section 6.6; RFC 8260
//! section 2.1).
//!
//! After a loss nearly all messages arrive in the order of their numbers, and they leave from the front when the missing message arrives. A queue
//! holds them. The others are sorted by a tree, so the cost of a message is at most
//! logarithmic in any order.

use super::few::Few;
use super::memory::{BLOCK, Counted, more_room};
use super::number::Number;
use super::ready::Ready;
use super::sorted::Sorted;
use bytes::Bytes;
use std::collections::VecDeque;

/// A message that has to wait.
#[derive(Debug)]
pub(super) struct Waiting {
    /// Without its payload, if that is short.
    ready: Ready,
    few: Few,
}

impl Counted for Waiting {
    const SIZE: usize = 72;
}

impl Waiting {
    fn new(mut ready: Ready) -> Waiting {
        let mut few = Few::default();
        if few.push(&ready.message.payload) {
            ready.message.payload = Bytes::new();
        }
        Waiting { ready, few }
    }

    fn into_ready(mut self) -> Ready {
        if !self.few.is_empty() {
            self.ready.message.payload = Bytes::copy_from_slice(self.few.as_slice());
        }
        self.ready
    }

    /// Bytes of the window.
    pub(super) fn charge(&self) -> u32 {
        self.ready.charge
    }

    /// Bytes of payload.
    pub(super) fn len(&self) -> usize {
        self.ready.message.payload.len() + self.few.len()
    }
}

/// Messages that have to wait for an earlier one. No two have the same number.
#[derive(Debug, Default)]
pub(super) struct OutOfOrder<N> {
    /// Messages that arrived in ascending order.
    in_turn: VecDeque<Waiting>,
    /// The others, by number.
    others: Sorted<N, Waiting>,
}

impl<N> Counted for OutOfOrder<N> {
    const SIZE: usize = 96;
}

impl<N: Number> OutOfOrder<N> {
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.in_turn.is_empty() && self.others.is_empty()
    }

    /// Keeps a message that has to wait for the message numbered `next`.
    ///
    /// # Errors
    /// Returns the message if one with the same number is already waiting.
    pub(super) fn insert(&mut self, next: N, ready: Ready) -> Result<(), Ready> {
        let number = N::of(&ready);
        // Numbers wrap, but the distance to `next` does not.
        let ahead = |w: &Waiting| N::of(&w.ready).ahead_of(next);
        let distance = number.ahead_of(next);
        let is_behind_all = self.in_turn.back().is_none_or(|l| ahead(l) < distance);
        if is_behind_all && (self.others.is_empty() || !self.others.contains(number)) {
            let len = self.in_turn.len();
            if len == self.in_turn.capacity() {
                self.in_turn.reserve_exact(more_room(len));
            }
            self.in_turn.push_back(Waiting::new(ready));
            return Ok(());
        }
        let waits = self.in_turn.binary_search_by_key(&distance, ahead).is_ok();
        if waits || self.others.contains(number) {
            return Err(ready);
        }
        self.others.insert(number, Waiting::new(ready));
        Ok(())
    }

    /// Removes the message numbered `next`, the one to deliver now, if it has
    /// arrived.
    #[inline]
    pub(super) fn take(&mut self, next: N) -> Option<Ready> {
        let front = self.in_turn.front();
        let taken = if front.is_some_and(|w| N::of(&w.ready) == next) {
            self.in_turn.pop_front()
        } else if self.others.is_empty() {
            None
        } else {
            self.others.remove(next)
        };
        taken.map(Waiting::into_ready)
    }

    /// Whether a message with this number waits for the one numbered `next`.
    pub(super) fn contains(&self, next: N, number: N) -> bool {
        let ahead = |w: &Waiting| N::of(&w.ready).ahead_of(next);
        let waits = self
            .in_turn
            .binary_search_by_key(&number.ahead_of(next), ahead);
        waits.is_ok() || self.others.contains(number)
    }

    /// The number of the first message that waits for the one numbered `next`.
    pub(super) fn lowest(&self, next: N) -> Option<N> {
        let above = self.others.first_in(next..);
        let other = above.or_else(|| self.others.first()).map(|e| e.0);
        let first = self.in_turn.front().map(|w| N::of(&w.ready));
        first
            .into_iter()
            .chain(other)
            .min_by_key(|n| n.ahead_of(next))
    }

    /// Memory that the queue and the tree take at most, in bytes, without the payloads: short ones have no
    /// block of their own.
    pub(super) fn memory(&self) -> usize {
        self.in_turn.capacity() * Waiting::SIZE
            + (self.in_turn.len() + self.others.len()) * BLOCK
            + self.others.memory()
    }

    /// All messages, in no particular order.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Waiting> {
        self.in_turn.iter().chain(self.others.values())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::Received;
    use bytes::Bytes;

    fn ready(ssn: u16) -> Ready {
        let message = Received {
            stream: 0,
            ssn,
            ppid: 0,
            unordered: false,
            first: true,
            last: true,
            payload: Bytes::from_static(b"x"),
        };
        Ready {
            message,
            mid: u32::from(ssn),
            charge: 1,
        }
    }

    /// Inserts messages with these numbers, then delivers from `next` on. Returns
    /// the refused numbers and the count of delivered messages.
    fn through(next: u16, ssns: &[u16]) -> (Vec<u16>, u16) {
        let mut waiting: OutOfOrder<u16> = OutOfOrder::default();
        let refused = ssns
            .iter()
            .filter_map(|&s| waiting.insert(next, ready(s)).err())
            .map(|r| r.message.ssn)
            .collect();
        let mut taken = 0;
        // `next` itself is the message that is missing.
        while waiting.take(next.wrapping_add(1 + taken)).is_some() {
            taken += 1;
        }
        assert_eq!(waiting.iter().count() == 0, waiting.is_empty());
        (refused, taken)
    }

    #[test]
    fn messages_leave_in_order_whatever_order_they_arrive_in() {
        for order in [
            [11, 12, 13, 14, 15],
            [15, 14, 13, 12, 11],
            [13, 11, 15, 12, 14],
            [12, 15, 11, 14, 13],
        ] {
            assert_eq!(through(10, &order), (vec![], 5), "{order:?}");
        }
    }

    #[test]
    fn numbers_wrap() {
        let order = [u16::MAX, 1, 0, 2];
        assert_eq!(through(u16::MAX - 1, &order), (vec![], 4));
    }

    #[test]
    fn a_second_message_with_the_same_number_is_returned() {
        // The duplicate is in the queue, in the tree, or arrives last while the first is in
        // the tree.
        assert_eq!(through(10, &[11, 12, 12, 11]).0, [12, 11]);
        assert_eq!(through(10, &[12, 11, 11, 12]).0, [11, 12]);
        let mut waiting: OutOfOrder<u16> = OutOfOrder::default();
        assert!(waiting.insert(10, ready(20)).is_ok());
        assert!(waiting.insert(10, ready(15)).is_ok());
        assert_eq!(waiting.take(20).map(|r| r.message.ssn), Some(20));
        assert!(waiting.insert(10, ready(15)).is_err());
    }

    #[test]
    fn the_lowest_is_the_next_in_the_order_of_numbers_that_wrap() {
        let mut waiting: OutOfOrder<u32> = OutOfOrder::default();
        let at = |mid| Ready { mid, ..ready(0) };
        assert_eq!(waiting.lowest(9), None);
        for mid in [3, 1, u32::MAX, u32::MAX - 2] {
            assert!(waiting.insert(u32::MAX - 5, at(mid)).is_ok());
        }
        for lowest in [u32::MAX - 2, u32::MAX, 1, 3] {
            assert!(waiting.contains(u32::MAX - 5, lowest));
            assert_eq!(waiting.lowest(u32::MAX - 5), Some(lowest));
            assert!(waiting.take(lowest).is_some());
            assert!(!waiting.contains(u32::MAX - 5, lowest));
        }
    }
}

//! The order of messages within one stream (RFC 9260 section 6.6).

use super::out_of_order::OutOfOrder;
use super::ready::Ready;

/// One inbound stream: the number of the next message to deliver, and the
/// messages that arrived before it.
#[derive(Debug, Default)]
pub(super) struct Stream {
    next_ssn: u16,
    out_of_order: OutOfOrder,
}

impl Stream {
    /// Whether `ssn` is the number of the next message to deliver.
    pub(super) fn is_next(&self, ssn: u16) -> bool {
        self.next_ssn == ssn
    }

    /// Advances past `ssn` if that is the next message and no other one waits.
    /// Returns whether it did: the message can be delivered at once then.
    #[inline]
    pub(super) fn advance_if_alone(&mut self, ssn: u16) -> bool {
        let alone = ssn == self.next_ssn && self.out_of_order.is_empty();
        if alone {
            self.advance();
        }
        alone
    }

    /// The next message has been delivered.
    #[inline]
    pub(super) fn advance(&mut self) {
        self.next_ssn = self.next_ssn.wrapping_add(1);
    }

    /// Keeps a message that has to wait for an earlier one.
    ///
    /// # Errors
    /// Returns the message if one with the same number is already waiting.
    pub(super) fn hold(&mut self, ready: Ready) -> Result<(), Ready> {
        self.out_of_order.insert(self.next_ssn, ready)
    }

    /// Removes the next message to deliver, if it has arrived, and advances
    /// past it.
    #[inline]
    pub(super) fn take_next(&mut self) -> Option<Ready> {
        let next = self.out_of_order.take(self.next_ssn)?;
        self.advance();
        Some(next)
    }

    /// The messages that wait for an earlier one.
    pub(super) fn held(&self) -> impl Iterator<Item = &Ready> {
        self.out_of_order.iter()
    }
}

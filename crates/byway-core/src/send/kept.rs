//! What a lost association has not delivered, while messages interleave.

use crate::api::Undelivered;
use std::collections::VecDeque;

/// Undelivered messages that were put together and not taken.
#[derive(Debug)]
pub(super) struct Kept {
    messages: VecDeque<Undelivered>,
    /// Their payload, bytes.
    payload: usize,
}

impl Kept {
    pub(super) fn new(messages: VecDeque<Undelivered>) -> Kept {
        Kept {
            payload: messages.iter().map(|u| u.payload.len()).sum(),
            messages,
        }
    }

    pub(super) fn take(&mut self) -> Option<Undelivered> {
        let next = self.messages.pop_front()?;
        self.payload -= next.payload.len();
        Some(next)
    }

    /// Memory, in bytes.
    pub(super) fn memory(&self) -> usize {
        self.messages.capacity() * size_of::<Undelivered>() + self.payload
    }
}

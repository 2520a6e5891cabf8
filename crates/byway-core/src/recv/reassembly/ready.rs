//! A message, or a part of one, that is ready to be read.

use super::memory::block;
use crate::api::Received;

/// A message or a part of one, and the share of the receive window that it
/// occupies until the application reads it.
#[derive(Debug)]
pub(super) struct Ready {
    pub(super) message: Received,
    /// Bytes of the window, overhead included.
    pub(super) charge: u32,
}

impl Ready {
    /// Memory of the payload, in bytes.
    #[inline]
    pub(super) fn payload_memory(&self) -> usize {
        block(self.message.payload.len())
    }
}

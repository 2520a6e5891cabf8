//! A message, or a part of one, that is ready to be read.

use super::memory::Counted;
use crate::api::Received;

/// A message or a part of one, and the share of the receive window that it
/// occupies until the application reads it.
#[derive(Debug)]
pub(super) struct Ready {
    pub(super) message: Received,
    /// Its Message Identifier, if it came in I-DATA.
    pub(super) mid: u32,
    /// Bytes of the window, overhead included.
    pub(super) charge: u32,
}

impl Counted for Ready {
    const SIZE: usize = 56;
}

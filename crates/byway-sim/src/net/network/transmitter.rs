//! Transmissions as events, for
//! [`Simultaneous::AsScheduled`](crate::net::Simultaneous::AsScheduled). In this order a
//! packet's arrival is scheduled when its transmission begins.

use crate::net::event::Key;
use std::collections::VecDeque;

/// The transmitter of one link.
#[derive(Debug, Default)]
pub(super) struct Transmitter {
    /// When the last transmission ends. It is in the event queue only while packets wait.
    pub(super) free_at: Key,
    /// Slots of the packets that wait.
    pub(super) waiting: VecDeque<u32>,
}

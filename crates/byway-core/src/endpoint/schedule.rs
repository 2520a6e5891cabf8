//! When an association is served again: at once if it may have something to
//! send, otherwise when its earliest timer expires.
//!
//! The timer queue has at most one live entry per association. When a timer moves
//! to a later time, its entry stays. When the entry expires too early, it is put
//! back at the right time. So restarting T3-rtx with every SACK costs nothing.

use super::table::AssociationTable;
use crate::time::Instant;
use core::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// An entry of the timer queue: when, and the index and generation of the
/// association. Entries of one time expire in the order of their indices.
type TimerEntry = (Instant, u32, u32);

/// The associations to serve, now and later.
#[derive(Debug, Default)]
pub(super) struct Schedule {
    /// Associations that may have something to send.
    pub(super) ready: VecDeque<u32>,
    pub(super) timers: BinaryHeap<Reverse<TimerEntry>>,
}

impl Schedule {
    /// A crowd of associations has gone: its timers and their memory are given back.
    pub(super) fn give_back(&mut self, table: &AssociationTable) {
        self.timers.retain(|&Reverse((at, index, generation))| {
            let slot = table.at(index);
            slot.is_some_and(|s| s.generation == generation && s.armed == Some(at))
        });
        self.timers.shrink_to_fit();
        self.ready.retain(|&index| table.at(index).is_some());
        self.ready.shrink_to_fit();
    }
}

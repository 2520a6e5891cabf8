//! Lanes: the packets on their way to the end of one link, in order.

use super::key::Key;

/// Packets on their way to the end of one link.
#[derive(Debug)]
pub(super) struct Lane {
    /// The first and the last of the packets in key order, or `NONE`. The key of
    /// the first is in the heap.
    pub(super) first: u32,
    pub(super) last: u32,
    /// The time of the last.
    pub(super) last_stamp: u64,
    /// Packets that overtake others, in no particular order. All their keys are
    /// in the heap.
    pub(super) overtaking: Vec<(Key, u32)>,
}

/// A packet in a lane, and the number of the next one.
#[derive(Copy, Clone, Debug, Default)]
pub(super) struct LaneEntry {
    pub(super) key: Key,
    pub(super) next: u32,
}

/// No packet has this number.
pub(super) const NONE: u32 = u32::MAX;

impl Default for Lane {
    fn default() -> Lane {
        Lane {
            first: NONE,
            last: NONE,
            last_stamp: 0,
            overtaking: Vec::new(),
        }
    }
}

impl Lane {
    /// Removes the overtaking packet with this key.
    pub(super) fn take_overtaking(&mut self, key: Key) -> u32 {
        let place = self.overtaking.iter().position(|(k, _)| *k == key);
        // A key in the heap is the first of its lane or that of an overtaking packet.
        let place = place.expect("every key in the heap has its packet");
        self.overtaking.swap_remove(place).1
    }
}

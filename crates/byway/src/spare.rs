//! Empty buffers for reuse, so that sending does not allocate.
//!
//! Most datagrams are alone in their batch, such as answers and SACKs, and get a small buffer: while
//! their socket is not writable, nobody may make them hold much more than their bytes. A buffer
//! that grows moves to the next size, and so holds at most eight times its bytes.

use crate::batch::MAX_BYTES;

/// Up to this size, in bytes, a buffer is as large as its first datagram, or doubles.
const SMALL: usize = 2048;

/// The size of those between, in bytes.
const MIDDLE: usize = 16 << 10;

/// Empty buffers that are kept, by size: some hundred kilobytes each.
const KEPT: [usize; 3] = [64, 32, 8];

/// Empty buffers of one size.
#[derive(Debug, Default)]
struct Kept {
    buffers: Vec<Vec<u8>>,
    /// The fewest that there were since the last trim: so many were not needed.
    idle: usize,
}

impl Kept {
    fn pop(&mut self) -> Option<Vec<u8>> {
        let buffer = self.buffers.pop();
        self.idle = self.idle.min(self.buffers.len());
        buffer
    }

    fn trim(&mut self) {
        let needed = self.buffers.len() - self.idle.min(self.buffers.len());
        self.buffers.truncate(needed);
        self.buffers.shrink_to_fit();
        self.idle = needed;
    }
}

/// Empty buffers.
#[derive(Debug, Default)]
pub(crate) struct Spare {
    small: Kept,
    middle: Kept,
    /// For whole batches.
    large: Kept,
}

impl Spare {
    /// A buffer for a datagram of this length.
    pub(crate) fn take(&mut self, len: usize) -> Vec<u8> {
        if len > SMALL {
            return self.larger(len);
        }
        let mut buffer = self.small.pop().unwrap_or_default();
        buffer.reserve_exact(len);
        buffer
    }

    /// Makes room for `more` bytes behind those in `buffer`.
    pub(crate) fn enlarge(&mut self, buffer: &mut Vec<u8>, more: usize) {
        let needed = buffer.len() + more;
        if needed <= buffer.capacity() {
            return;
        }
        if needed <= SMALL {
            return buffer.reserve_exact(SMALL.min(2 * needed) - buffer.len());
        }
        let mut larger = self.larger(needed);
        larger.extend_from_slice(buffer);
        self.give_back(std::mem::replace(buffer, larger));
    }

    fn larger(&mut self, len: usize) -> Vec<u8> {
        let (kept, size) = match len {
            0..=MIDDLE => (&mut self.middle, MIDDLE),
            _ => (&mut self.large, MAX_BYTES.max(len)),
        };
        kept.pop().unwrap_or_else(|| Vec::with_capacity(size))
    }

    /// Keeps a buffer that is not needed any more, if there are few of its size.
    pub(crate) fn give_back(&mut self, mut buffer: Vec<u8>) {
        let (kept, most) = match buffer.capacity() {
            0..=SMALL => (&mut self.small, KEPT[0]),
            MIDDLE => (&mut self.middle, KEPT[1]),
            MAX_BYTES => (&mut self.large, KEPT[2]),
            _ => return,
        };
        if kept.buffers.len() < most {
            buffer.clear();
            kept.buffers.push(buffer);
        }
    }

    /// Frees what has not been needed since the last time.
    pub(crate) fn trim(&mut self) {
        for kept in [&mut self.small, &mut self.middle, &mut self.large] {
            kept.trim();
        }
    }

    /// How many there are of each size.
    #[cfg(test)]
    pub(crate) fn counts(&self) -> [usize; 3] {
        [&self.small, &self.middle, &self.large].map(|kept| kept.buffers.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_holds_at_most_eight_times_its_bytes_however_it_grows() {
        let mut spare = Spare::default();
        for len in [20, 60, 300, 1472, 2049, 9000, 30_000] {
            let mut buffer = spare.take(len);
            let mut filled = 0;
            while filled + len <= MAX_BYTES {
                spare.enlarge(&mut buffer, len);
                buffer.extend(std::iter::repeat_n(7, len));
                filled += len;
                assert_eq!(buffer.len(), filled);
                let room = buffer.capacity();
                // A used one that is small may be taken for a smaller datagram.
                assert!(room <= (8 * filled).max(SMALL), "{room} bytes for {filled}");
            }
            spare.give_back(buffer);
        }
        assert_eq!(spare.counts()[2], 1, "one after the other");
    }

    #[test]
    fn few_are_kept() {
        let mut spare = Spare::default();
        for size in [100, SMALL, MIDDLE, MAX_BYTES, 5000, 100_000] {
            for _ in 0..1000 {
                spare.give_back(Vec::with_capacity(size));
            }
        }
        assert_eq!(spare.counts(), KEPT);
    }

    #[test]
    fn what_is_not_needed_any_more_is_freed() {
        let mut spare = Spare::default();
        let pass = |spare: &mut Spare, buffers: usize| {
            let taken: Vec<_> = (0..buffers).map(|_| spare.take(1000)).collect();
            taken.into_iter().for_each(|b| spare.give_back(b));
        };
        pass(&mut spare, 50);
        spare.trim();
        // All were in use in this time, and few in the next one.
        assert_eq!(spare.counts()[0], 50);
        pass(&mut spare, 3);
        spare.trim();
        assert_eq!(spare.counts()[0], 3);
        spare.trim();
        assert_eq!(spare.counts(), [0; 3]);
    }
}

//! Policers: token buckets that drop what exceeds a rate and delay nothing.

use crate::net::error::BadValue;

/// A policer in front of the queue. Its bucket fills at `rate`, holds at most `burst` bytes
/// and is full at first. A packet that finds fewer bytes in it than it has on the wire is
/// dropped and takes none; another one takes its bytes and goes on at once.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Policer {
    /// Bits per second, at least 1.
    pub rate: u64,
    /// Bytes on the wire, at least 1. A packet of more never passes.
    pub burst: u64,
}

impl Policer {
    pub(super) fn check(&self) -> Result<(), BadValue> {
        let bad = |name| BadValue {
            name,
            value: 0.0,
            range: "at least 1",
        };
        match self {
            Policer { rate: 0, .. } => Err(bad("policer rate")),
            Policer { burst: 0, .. } => Err(bad("policer burst")),
            _ => Ok(()),
        }
    }
}

/// What a byte weighs in a bucket: one bit per second fills 1 in each nanosecond.
const BYTE: u128 = 8_000_000_000;

/// The bucket of a policer. It counts in 1/[`BYTE`] of a byte, so nothing is rounded.
#[derive(Debug)]
pub(super) struct Bucket {
    rate: u128,
    burst: u128,
    level: u128,
    /// When the level was right (ns).
    at: u64,
}

impl Bucket {
    pub(super) fn new(policer: &Policer) -> Bucket {
        let burst = u128::from(policer.burst) * BYTE;
        Bucket {
            rate: policer.rate.into(),
            burst,
            level: burst,
            at: 0,
        }
    }

    /// Whether a packet passes at `now` (ns), which is not before any earlier one.
    pub(super) fn admits(&mut self, now: u64, size: u32) -> bool {
        let filled = u128::from(now.saturating_sub(self.at)) * self.rate;
        self.level = self.burst.min(self.level.saturating_add(filled));
        self.at = now;
        match self.level.checked_sub(u128::from(size) * BYTE) {
            Some(left) => {
                self.level = left;
                true
            }
            None => false,
        }
    }
}

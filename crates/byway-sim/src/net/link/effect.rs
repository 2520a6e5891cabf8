//! Reordering, duplication and corruption.

use crate::net::clock::nanos;
use crate::net::error::{BadValue, check_probability};
use crate::net::rng::{Chance, up_to};
use byway_core::time::Duration;
use chacha20::ChaCha8Rng;

/// Extra delay of some packets after propagation, so that later packets overtake
/// them.
#[derive(Copy, Clone, PartialEq, Debug)]
pub struct Reorder {
    /// Share of packets delayed, 0 to 1.
    pub probability: f64,
    /// The extra delay is uniform between zero and this.
    pub max_extra: Duration,
}

/// A copy of some packets, directly after the original in the queue.
#[derive(Copy, Clone, PartialEq, Debug)]
pub struct Duplicate {
    /// Share of packets duplicated, 0 to 1.
    pub probability: f64,
}

/// Flipped bits in the payload (the SCTP packet) of some packets. The arrival is
/// marked as corrupted, because packets have no checksum inside the simulator.
#[derive(Copy, Clone, PartialEq, Debug)]
pub struct Corrupt {
    /// Share of packets corrupted, 0 to 1.
    pub probability: f64,
    /// The most bits that are flipped (at least 1), at random places, which may coincide.
    pub max_bits: u32,
}

impl Reorder {
    pub(super) fn check(&self) -> Result<(), BadValue> {
        check_probability("reordering probability", self.probability)
    }

    /// Extra delay for one packet in nanoseconds.
    pub(super) fn draw(&self, rng: &mut ChaCha8Rng) -> u64 {
        if Chance::new(self.probability).draw(rng) {
            up_to(rng, nanos(self.max_extra))
        } else {
            0
        }
    }
}

impl Duplicate {
    pub(super) fn check(&self) -> Result<(), BadValue> {
        check_probability("duplication probability", self.probability)
    }

    pub(super) fn draw(&self, rng: &mut ChaCha8Rng) -> bool {
        Chance::new(self.probability).draw(rng)
    }
}

impl Corrupt {
    pub(super) fn check(&self) -> Result<(), BadValue> {
        check_probability("corruption probability", self.probability)
    }

    /// Flips bits with the configured probability. Returns whether it did.
    pub(super) fn apply(&self, payload: &mut [u8], rng: &mut ChaCha8Rng) -> bool {
        if payload.is_empty() || !Chance::new(self.probability).draw(rng) {
            return false;
        }
        let flips = 1 + up_to(rng, u64::from(self.max_bits.max(1) - 1));
        for _ in 0..flips {
            let bit = up_to(rng, payload.len() as u64 * 8 - 1);
            payload[(bit / 8) as usize] ^= 1 << (bit % 8);
        }
        true
    }
}

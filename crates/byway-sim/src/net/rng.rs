//! Random streams: one per link and purpose, all derived from the scenario's seed.

use chacha20::ChaCha8Rng;
use rand::{Rng, SeedableRng};

/// The purpose of a stream. It is part of the derivation, so that switching one
/// effect on does not shift the numbers of another.
#[derive(Copy, Clone, Debug)]
pub(crate) enum Purpose {
    Loss = 1,
    Effects = 2,
    Traffic = 3,
}

/// The stream for `purpose` of part number `id` in the scenario with this seed.
pub(crate) fn stream(seed: u64, purpose: Purpose, id: u32) -> ChaCha8Rng {
    let mut key = *b"........byway-sim network stream";
    key[..8].copy_from_slice(&seed.to_le_bytes());
    let mut rng = ChaCha8Rng::from_seed(key);
    rng.set_stream(((purpose as u64) << 32) | u64::from(id));
    rng
}

/// A probability, held as an integer threshold so that drawing is one
/// comparison and equal on every machine.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) struct Chance(u64);

impl Chance {
    const ONE: u64 = 1 << 53;

    /// `p` must lie in 0..=1, which [`check_probability`](crate::net::error::check_probability)
    /// has established; values outside act like the nearer bound.
    pub(crate) fn new(p: f64) -> Chance {
        Chance(((p * Chance::ONE as f64).round() as u64).min(Chance::ONE))
    }

    pub(crate) fn draw(self, rng: &mut ChaCha8Rng) -> bool {
        (rng.next_u64() >> 11) < self.0
    }
}

/// Uniform in the open interval (0, 1).
pub(crate) fn unit_open(rng: &mut ChaCha8Rng) -> f64 {
    ((rng.next_u64() >> 12) as f64 + 0.5) / (1u64 << 52) as f64
}

/// Uniform in `0..=max`.
pub(crate) fn up_to(rng: &mut ChaCha8Rng, max: u64) -> u64 {
    // Multiply and shift; the bias is below 2^-64 * max and does not matter here.
    ((u128::from(rng.next_u64()) * (u128::from(max) + 1)) >> 64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_differ_by_seed_purpose_and_id_and_repeat() {
        let first = |seed, purpose, id| stream(seed, purpose, id).next_u64();
        let base = first(1, Purpose::Loss, 0);
        assert_eq!(base, first(1, Purpose::Loss, 0));
        assert_ne!(base, first(2, Purpose::Loss, 0));
        assert_ne!(base, first(1, Purpose::Effects, 0));
        assert_ne!(base, first(1, Purpose::Loss, 1));
    }

    #[test]
    fn chance_keeps_its_bounds() {
        let mut rng = stream(7, Purpose::Loss, 0);
        assert!((0..1000).all(|_| Chance::new(1.0).draw(&mut rng)));
        assert!((0..1000).all(|_| !Chance::new(0.0).draw(&mut rng)));
        assert!((0..1000).all(|_| up_to(&mut rng, 3) <= 3));
        assert_eq!(up_to(&mut rng, 0), 0);
    }
}

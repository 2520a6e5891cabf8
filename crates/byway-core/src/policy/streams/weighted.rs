//! Capacity by weight (RFC 8260 section 3.6), by start-time fair queuing with weights (Goyal, Vin
//! and Cheng, "Start-time Fair Queuing", SIGCOMM 1996).
//!
//! As [`super::fair`], but the virtual time of a stream advances by its bytes divided by its
//! weight. A stream with three times the weight of another sends three times its bytes while both
//! have something to send. The value that the user sets for a stream is its weight; 0 and no value
//! count as 1.

use super::Rank;

/// Virtual time of a byte with weight 1: a multiple of the weights, so that little is lost in
/// dividing.
const BYTE: u64 = 1 << 16;

/// The rank after so many bytes.
#[must_use]
pub fn served(was: Rank, bytes: u64, weight: u16) -> Rank {
    let time = bytes.saturating_mul(BYTE) / u64::from(weight.max(1));
    Rank {
        class: 0,
        at: was.at.saturating_add(time),
    }
}

#[cfg(test)]
mod tests {
    use super::super::StreamScheduler::WeightedFair;
    use super::super::testing::order;

    #[test]
    fn bytes_follow_the_weights() {
        // Values, lengths of chunks, and the bytes of each stream after 6,000 chunks.
        for (streams, expected) in [
            (&[(1, 100), (1, 100)][..], [1, 1]),
            (&[(0, 100), (1, 1000)][..], [1, 1]),
            (&[(3, 100), (1, 100)][..], [3, 1]),
            (&[(3, 1000), (1, 70)][..], [3, 1]),
            (&[(1, 100), (10, 1400)][..], [1, 10]),
        ] {
            let chosen = order(WeightedFair, streams, 6000);
            let bytes = |i: usize| chosen.iter().filter(|c| **c == i).count() as u64 * streams[i].1;
            let (a, b) = (bytes(0) * expected[1], bytes(1) * expected[0]);
            let off = a.abs_diff(b) as f64 / a as f64;
            assert!(off < 0.02, "{streams:?}: {} and {}", bytes(0), bytes(1));
        }
    }
}

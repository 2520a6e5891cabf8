//! Delayed Acknowledgements for CMT, DAC (CMT paper section IV.C).
//!
//! With several paths, chunks arrive out of order all the time, and RFC 9260 section 6.7
//! would acknowledge every packet at once. So the receiver delays its SACKs in spite of
//! gaps and writes into each one how many packets with DATA it answers. The sender gets
//! fewer SACKs, so it counts this number of missing reports for each. It counts only one
//! if the SACK acknowledges chunks of several destinations, or chunks on both sides of
//! the missing one.
//!
//! The number is in the two highest bits of the SACK's flags, as in usrsctp
//! (`interop/run usrsctp` checks its packets). A receiver without DAC leaves them 0,
//! and each of its SACKs is one report. RFC 9260 has no such flags (section 3.3.4:
//! ignored on receipt). Off by default, because with fewer SACKs windows grow more
//! slowly if packets are lost.

use super::sfr::NewlyAcked;

/// The first bit of the count in the flags.
const SHIFT: u32 = 6;
/// The largest count.
const MOST: u32 = 3;

/// The flags of a SACK that answers this number of packets.
#[must_use]
pub fn flags(packets: u32) -> u8 {
    (packets.min(MOST) << SHIFT) as u8
}

/// How many packets a SACK with these flags answers; one if the flags are 0.
#[must_use]
pub fn packets(flags: u8) -> u8 {
    (flags >> SHIFT).max(1)
}

/// The number of missing reports that a SACK counts for a chunk that it reports missing.
/// `packets` is the number of packets that it answers. `destinations` is the number of
/// destinations of which it newly acknowledges chunks. `same` has the newly acknowledged
/// chunks of the chunk's own destination.
#[must_use]
pub fn reports(packets: u8, destinations: u32, seq: u64, same: &NewlyAcked) -> u8 {
    let across = same.lowest < seq;
    if destinations > 1 || across {
        1
    } else {
        packets
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::Instant;

    #[test]
    fn as_many_reports_as_packets_where_that_is_safe() {
        let seen = |lowest, highest| NewlyAcked {
            lowest,
            highest,
            newest_sent: Instant::ZERO,
        };
        // packets, destinations, chunk, newly acknowledged there, reports
        let rows = [
            (2, 1, 5, seen(7, 9), 2),
            (1, 1, 5, seen(7, 7), 1),
            // A mixed SACK.
            (2, 2, 5, seen(7, 9), 1),
            // Chunks on both sides of the missing one.
            (2, 1, 5, seen(4, 9), 1),
        ];
        for (packets, destinations, seq, same, expected) in rows {
            let found = reports(packets, destinations, seq, &same);
            assert_eq!(found, expected, "{packets} {destinations} {same:?}");
        }
    }

    #[test]
    fn the_count_survives_the_flags() {
        for (n, read) in [(0, 1), (1, 1), (2, 2), (3, 3), (7, 3)] {
            assert_eq!(packets(flags(n)), read);
        }
        assert_eq!(flags(2), 0x80, "usrsctp's bit");
    }
}

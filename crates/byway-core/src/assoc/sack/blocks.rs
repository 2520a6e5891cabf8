//! Step 1 of SACK reception: the gap blocks are read and checked (RFC 9260
//! sections 3.3.4 and 6.2.1).

use crate::dialect::Blocks;
use byway_wire::Sack;

/// Reads the gap blocks of a SACK into the empty `blocks`, as half-open ranges of
/// sequences. They are sorted, and adjacent ones are joined. Blocks that end before they
/// begin are skipped. The SACK cumulatively acknowledges the sequences below `covered`.
///
/// False if a block is beyond `end`, which was not sent yet, or contains the TSN after
/// the cumulative one.
// The caller owns the list, because returning it in an option would copy it.
pub(super) fn read(sack: &Sack<'_>, covered: u64, end: u64, blocks: &mut Blocks) -> bool {
    let mut in_order = true;
    for (first, last) in sack.gap_blocks() {
        if first == 0 || last < first {
            continue;
        }
        if first == 1 {
            // By the cumulative TSN this TSN is missing.
            return false;
        }
        // Offset 1 is the TSN after the cumulative one, sequence `covered`.
        let (from, to) = (covered + u64::from(first) - 1, covered + u64::from(last));
        if to > end {
            return false;
        }
        in_order &= blocks.last().is_none_or(|b| b.1 < from);
        blocks.push((from, to));
    }
    if !in_order {
        blocks.sort_unstable();
        let mut joined = Blocks::new();
        for &b in &*blocks {
            match joined.last_mut() {
                Some(l) if l.1 >= b.0 => l.1 = l.1.max(b.1),
                _ => joined.push(b),
            }
        }
        *blocks = joined;
    }
    true
}

/// Whether a sequence is in one of the blocks.
pub(in crate::assoc) fn contains(blocks: &Blocks, seq: u64) -> bool {
    let after = blocks.partition_point(|b| b.1 <= seq);
    blocks.get(after).is_some_and(|b| b.0 <= seq)
}

//! Cwnd Update for CMT, CUC (CMT paper section IV.B).
//!
//! RFC 2960 lets a window grow only when the cumulative TSN advances. With CMT this
//! waits for the slowest path, so the windows of the other paths would not grow. So
//! each destination has a pseudo cumulative TSN: the earliest of its own chunks that is
//! not acknowledged. The window of the destination grows when it advances. Version 1
//! tracks one pseudo cumulative TSN. Version 2 tracks a second one for chunks that were
//! retransmitted there, so that neither waits for the other. In RFC 9260 section 7.2.1
//! any newly acknowledged chunk lets the window grow, so CUC replaces
//! `congestion.growth`. The default with CMT is version 2.

use serde::{Deserialize, Serialize};

/// Which acknowledgements let a path's window grow.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Default)]
pub enum Cuc {
    /// The acknowledgements that `congestion.growth` names.
    Off,
    /// Acknowledgements that advance the path's pseudo cumulative TSN.
    V1,
    /// The same, with a second pseudo cumulative TSN for retransmitted chunks.
    #[default]
    V2,
}

/// A chunk as CUC sees it.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// Whether it was last sent to the path in question.
    pub here: bool,
    /// Whether it was sent more than once.
    pub again: bool,
    /// Whether an earlier SACK acknowledged it.
    pub acked: bool,
    /// Whether this SACK acknowledges it.
    pub newly: bool,
}

/// A pseudo cumulative TSN: the sequence of the next expected acknowledgement, and
/// whether this sequence must be found first.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
struct Expected {
    seq: u64,
    find: bool,
}

/// The pseudo cumulative TSNs of one destination.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct PseudoCumulative {
    first: Expected,
    again: Expected,
}

impl Default for PseudoCumulative {
    fn default() -> Self {
        let unknown = Expected { seq: 0, find: true };
        PseudoCumulative {
            first: unknown,
            again: unknown,
        }
    }
}

impl PseudoCumulative {
    /// The cumulative TSN passed a chunk of this destination that was not acknowledged
    /// before, or a chunk was retransmitted elsewhere. So the next expected sequence
    /// must be found again.
    pub fn find(&mut self) {
        self.first.find = true;
        self.again.find = true;
    }

    /// The sequences that are expected now, if known: of chunks sent once (of all
    /// chunks in version 1), and of retransmitted ones.
    #[must_use]
    pub fn expected(&self) -> (u64, u64) {
        (self.first.seq, self.again.seq)
    }

    /// Checks the chunks from `from` to `end`, which is past the last gap block.
    /// Returns the lowest sequence whose acknowledgement advances a pseudo cumulative
    /// TSN, if any does.
    pub fn advance(
        &mut self,
        version: Cuc,
        from: u64,
        end: u64,
        chunk: impl Fn(u64) -> Option<Chunk>,
    ) -> Option<u64> {
        let any = version == Cuc::V1;
        // A late SACK may have taken back what was acknowledged below the last expected one.
        let first = walk(&mut self.first, from, from, end, &chunk, |c| {
            any || !c.again
        });
        if any {
            return first;
        }
        let again = walk(&mut self.again, from, from, end, &chunk, |c| c.again);
        match (first, again) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
    }
}

fn walk(
    e: &mut Expected,
    from: u64,
    start: u64,
    end: u64,
    chunk: impl Fn(u64) -> Option<Chunk>,
    counts: impl Fn(Chunk) -> bool,
) -> Option<u64> {
    let mut advanced = None;
    let mut start = start;
    loop {
        if e.find {
            let fits = |seq: &u64| chunk(*seq).is_some_and(|c| c.here && !c.acked && counts(c));
            let Some(seq) = (start..end).find(fits) else {
                return advanced;
            };
            (e.seq, e.find) = (seq, false);
        }
        let newly = |c: Chunk| c.here && !c.acked && c.newly;
        if e.seq < from || !chunk(e.seq).is_some_and(newly) {
            return advanced;
        }
        advanced = advanced.or(Some(e.seq));
        e.find = true;
        start = e.seq + 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Chunks of a path, as letters: `o` outstanding, `n` newly acknowledged, `a`
    /// acknowledged before; a capital if retransmitted; `.` a chunk of another path.
    fn chunks(text: &str) -> impl Fn(u64) -> Option<Chunk> {
        move |seq| {
            let c = *text.as_bytes().get(seq as usize)?;
            let small = c.to_ascii_lowercase();
            Some(Chunk {
                here: c != b'.',
                again: c.is_ascii_uppercase(),
                acked: small == b'a',
                newly: small == b'n',
            })
        }
    }

    #[test]
    fn a_pseudo_cumulative_tsn_advances_with_the_paths_own_chunks() {
        // chunks, version, the lowest chunk that advances, expected next
        let rows = [
            ("..nno", Cuc::V1, Some(2), (4, 0)),
            ("..nno", Cuc::V2, Some(2), (4, 0)),
            (".o.nn", Cuc::V1, None, (1, 0)),
            (".anno", Cuc::V2, Some(2), (4, 0)),
            // A retransmitted chunk delays version 1, but not version 2.
            (".O.no", Cuc::V1, None, (1, 0)),
            (".O.no", Cuc::V2, Some(3), (4, 1)),
            (".N.oo", Cuc::V2, Some(1), (3, 1)),
        ];
        for (text, version, advances, expected) in rows {
            let mut p = PseudoCumulative::default();
            let found = p.advance(version, 0, text.len() as u64, chunks(text));
            assert_eq!((found, p.expected()), (advances, expected), "{text}");
        }
    }

    #[test]
    fn what_is_expected_is_kept_from_sack_to_sack() {
        let mut p = PseudoCumulative::default();
        assert_eq!(p.advance(Cuc::V2, 0, 3, chunks("o.no")), None);
        assert_eq!(p.expected().0, 0);
        assert_eq!(p.advance(Cuc::V2, 0, 4, chunks("o.an")), None);
        assert_eq!(p.advance(Cuc::V2, 0, 5, chunks("n.aao")), Some(0));
        assert_eq!(p.expected().0, 4);
        // The cumulative TSN passed it.
        p.find();
        assert_eq!(p.advance(Cuc::V2, 5, 8, chunks("a.aaa.no")), Some(6));
    }

    #[test]
    fn what_a_late_sack_takes_back_is_expected_again() {
        let mut p = PseudoCumulative::default();
        assert_eq!(p.advance(Cuc::V2, 0, 3, chunks("nno")), Some(0));
        assert_eq!(p.expected().0, 2);
        // SACKs of two paths in the wrong order: the second one lacks chunk 1, the third has it
        // and the expected chunk.
        assert_eq!(p.advance(Cuc::V2, 0, 3, chunks("aoo")), None);
        assert_eq!(p.advance(Cuc::V2, 0, 3, chunks("aon")), Some(2));
        assert_eq!(p.advance(Cuc::V2, 0, 4, chunks("aoao")), None);
        assert_eq!(p.expected().0, 1);
        assert_eq!(p.advance(Cuc::V2, 0, 4, chunks("anao")), Some(1));
    }
}

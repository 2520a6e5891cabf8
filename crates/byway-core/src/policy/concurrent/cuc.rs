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
    /// No chunk below this sequence can be the expected one, so a search begins here. Without
    /// this mark each SACK would search all chunks since the cumulative TSN.
    searched: u64,
}

/// The pseudo cumulative TSNs of one destination.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct PseudoCumulative {
    first: Expected,
    again: Expected,
}

impl Default for PseudoCumulative {
    fn default() -> Self {
        let unknown = Expected {
            seq: 0,
            find: true,
            searched: 0,
        };
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

    /// A chunk of this destination may be the expected one, although it could not be before:
    /// its acknowledgement was taken back, or it was retransmitted here. `seq` is the lowest
    /// such chunk. So the next search begins no later than there.
    pub(crate) fn search_from(&mut self, seq: u64) {
        self.first.searched = self.first.searched.min(seq);
        self.again.searched = self.again.searched.min(seq);
    }

    /// Whether no chunk from `from` on that a search would skip could be the expected one, for
    /// tests.
    pub(crate) fn skips_rightly(
        &self,
        version: Cuc,
        from: u64,
        chunk: impl Fn(u64) -> Option<Chunk>,
    ) -> bool {
        let waits = |seq| chunk(seq).filter(|c| c.here && !c.acked);
        let any = version == Cuc::V1;
        let first = (from..self.first.searched)
            .filter_map(waits)
            .all(|c| !any && c.again);
        let again = (from..self.again.searched)
            .filter_map(waits)
            .all(|c| any || !c.again);
        version == Cuc::Off || first && again
    }

    /// The sequences that are expected now, if known: of chunks sent once (of all
    /// chunks in version 1), and of retransmitted ones.
    #[must_use]
    pub fn expected(&self) -> (u64, u64) {
        (self.first.seq, self.again.seq)
    }

    /// Checks the chunks from `from` to `end`, which is past the last gap block. What
    /// `chunk` does not know was not sent yet. Returns the lowest sequence whose
    /// acknowledgement advances a pseudo cumulative TSN, if any does.
    pub fn advance(
        &mut self,
        version: Cuc,
        from: u64,
        end: u64,
        chunk: impl Fn(u64) -> Option<Chunk>,
    ) -> Option<u64> {
        let any = version == Cuc::V1;
        // A late SACK may have taken back what was acknowledged below the last expected one.
        let first = walk(&mut self.first, from, end, &chunk, |c| any || !c.again);
        if any {
            return first;
        }
        let again = walk(&mut self.again, from, end, &chunk, |c| c.again);
        match (first, again) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
    }
}

fn walk(
    e: &mut Expected,
    from: u64,
    end: u64,
    chunk: impl Fn(u64) -> Option<Chunk>,
    counts: impl Fn(Chunk) -> bool,
) -> Option<u64> {
    let mut advanced = None;
    let mut start = from;
    e.searched = e.searched.max(from);
    loop {
        if e.find && !search(e, start, end, &chunk, &counts) {
            return advanced;
        }
        let newly = |c: Chunk| c.here && !c.acked && c.newly;
        if e.seq < from || !chunk(e.seq).is_some_and(newly) {
            return advanced;
        }
        advanced = advanced.or(Some(e.seq));
        e.find = true;
        start = e.seq + 1;
        if e.searched == e.seq {
            // This SACK acknowledges it.
            e.searched = start;
        }
    }
}

/// Finds the first chunk from `start` to `end` that can be the expected one. Returns whether
/// there is one.
fn search(
    e: &mut Expected,
    start: u64,
    end: u64,
    chunk: impl Fn(u64) -> Option<Chunk>,
    counts: impl Fn(Chunk) -> bool,
) -> bool {
    // Otherwise nothing is known of the chunks from the mark to `start`.
    let joins = start <= e.searched;
    let mut seq = start.max(e.searched);
    let mut found = false;
    while seq < end {
        // A chunk that was not sent yet may become the expected one.
        let Some(c) = chunk(seq) else { break };
        if c.here && !c.acked && counts(c) {
            found = true;
            break;
        }
        seq += 1;
    }
    if joins {
        e.searched = seq;
    }
    if found {
        (e.seq, e.find) = (seq, false);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

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
        p.search_from(1);
        assert_eq!(p.advance(Cuc::V2, 0, 3, chunks("aoo")), None);
        assert_eq!(p.advance(Cuc::V2, 0, 3, chunks("aon")), Some(2));
        assert_eq!(p.advance(Cuc::V2, 0, 4, chunks("aoao")), None);
        assert_eq!(p.expected().0, 1);
        assert_eq!(p.advance(Cuc::V2, 0, 4, chunks("anao")), Some(1));
    }

    /// A search that begins at the cumulative TSN each time.
    fn walk_all(
        e: &mut Expected,
        (from, end): (u64, u64),
        chunk: impl Fn(u64) -> Option<Chunk>,
        counts: impl Fn(Chunk) -> bool,
    ) -> Option<u64> {
        let mut advanced = None;
        let mut start = from;
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

    fn advance_all(
        p: &mut PseudoCumulative,
        version: Cuc,
        range: (u64, u64),
        chunk: impl Fn(u64) -> Option<Chunk>,
    ) -> Option<u64> {
        let any = version == Cuc::V1;
        let first = walk_all(&mut p.first, range, &chunk, |c| any || !c.again);
        let again = (!any).then(|| walk_all(&mut p.again, range, &chunk, |c| c.again));
        first.into_iter().chain(again.flatten()).min()
    }

    /// A sender to two destinations, with a search of each kind for each of them.
    struct Sender {
        version: Cuc,
        /// Destination, whether retransmitted, whether acknowledged by a gap block.
        chunks: Vec<(usize, bool, bool)>,
        covered: u64,
        resumed: [PseudoCumulative; 2],
        plain: [PseudoCumulative; 2],
    }

    impl Sender {
        fn find(&mut self, path: usize) {
            self.resumed[path].find();
            self.plain[path].find();
        }

        /// A chunk leaves again, as `Association::note_moved` has it.
        fn resend(&mut self, seq: u64, to: usize) {
            let c = &mut self.chunks[seq as usize];
            if seq < self.covered || c.2 {
                return;
            }
            let from = c.0;
            (c.0, c.1) = (to, true);
            self.resumed[to].search_from(seq);
            if from != to {
                self.find(from);
            }
            if self.version == Cuc::V1 {
                self.find(to);
            }
        }

        /// A SACK arrives. `gaps`: for each chunk above `covered`, whether a block has it.
        fn sack(&mut self, covered: u64, gaps: &[bool]) {
            for seq in self.covered..covered {
                let (path, _, acked) = self.chunks[seq as usize];
                if !acked {
                    self.find(path);
                }
            }
            self.covered = covered;
            // By the cumulative TSN the next one is missing.
            let has = |seq: u64| {
                let place = seq.checked_sub(covered + 1)?;
                gaps.get(place as usize).copied()
            };
            let has = |seq| has(seq) == Some(true);
            let sent = self.chunks.len() as u64;
            if let Some(last) = (covered..sent).rev().find(|seq| has(*seq)) {
                for path in 0..2 {
                    let look = |seq: u64| {
                        let &(at, again, acked) = self.chunks.get(seq as usize)?;
                        let here = at == path;
                        let newly = here && !acked && has(seq);
                        Some(Chunk {
                            here,
                            again,
                            acked,
                            newly,
                        })
                    };
                    let end = last + 2;
                    let resumed = self.resumed[path].advance(self.version, covered, end, look);
                    let plain =
                        advance_all(&mut self.plain[path], self.version, (covered, end), look);
                    assert_eq!(resumed, plain, "what advances");
                }
            }
            for seq in covered..sent {
                let c = &mut self.chunks[seq as usize];
                if c.2 && !has(seq) {
                    self.resumed[c.0].search_from(seq);
                }
                c.2 = has(seq);
            }
        }

        fn check(&self) {
            for path in 0..2 {
                let (resumed, plain) = (&self.resumed[path], &self.plain[path]);
                assert_eq!(resumed.expected(), plain.expected());
                assert_eq!(resumed.first.find, plain.first.find);
                assert_eq!(resumed.again.find, plain.again.find);
                let look = |seq: u64| {
                    let &(at, again, acked) = self.chunks.get(seq as usize)?;
                    Some(Chunk {
                        here: at == path,
                        again,
                        acked,
                        newly: false,
                    })
                };
                assert!(resumed.skips_rightly(self.version, self.covered, look));
            }
        }
    }

    #[derive(Clone, Debug)]
    enum Step {
        Send(usize),
        Resend(proptest::sample::Index, usize),
        /// By how much the cumulative TSN advances, and the gap blocks.
        Sack(u64, Vec<bool>),
        /// As the SACK before, but its blocks lack a chunk, or have one more.
        Change(proptest::sample::Index),
        /// Destination 0 is removed: destination 1 has its chunks.
        HandOver,
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let index = any::<proptest::sample::Index>;
        let gaps = proptest::collection::vec(any::<bool>(), 0..24);
        let step = prop_oneof![
            8 => (0..2_usize).prop_map(Step::Send),
            4 => (index(), 0..2_usize).prop_map(|(i, to)| Step::Resend(i, to)),
            3 => (0..4_u64, gaps).prop_map(|(by, gaps)| Step::Sack(by, gaps)),
            6 => index().prop_map(Step::Change),
            1 => Just(Step::HandOver),
        ];
        proptest::collection::vec(step, 1..120)
    }

    proptest! {
        #[test]
        fn a_search_that_resumes_finds_what_one_from_the_cumulative_tsn_finds(
            version in prop_oneof![Just(Cuc::V1), Just(Cuc::V2)],
            steps in steps(),
        ) {
            let mut s = Sender {
                version,
                chunks: Vec::new(),
                covered: 0,
                resumed: <[PseudoCumulative; 2]>::default(),
                plain: <[PseudoCumulative; 2]>::default(),
            };
            for step in steps {
                let sent = s.chunks.len() as u64;
                match step {
                    Step::Send(path) => s.chunks.push((path, false, false)),
                    Step::Resend(i, to) if sent > 0 => s.resend(i.index(sent as usize) as u64, to),
                    Step::Sack(by, gaps) => s.sack((s.covered + by).min(sent), &gaps),
                    Step::Change(i) if sent > s.covered + 1 => {
                        let above = &s.chunks[s.covered as usize + 1..];
                        let mut gaps: Vec<bool> = above.iter().map(|c| c.2).collect();
                        let at = i.index(gaps.len());
                        gaps[at] = !gaps[at];
                        s.sack(s.covered, &gaps);
                    }
                    Step::HandOver => {
                        s.chunks.iter_mut().for_each(|c| c.0 = 1);
                        s.resumed[0] = PseudoCumulative::default();
                        s.plain[0] = PseudoCumulative::default();
                        s.resumed[1].search_from(0);
                    }
                    Step::Resend(..) | Step::Change(_) => {}
                }
                s.check();
            }
        }
    }
}

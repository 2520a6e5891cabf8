//! Which TSNs have arrived (RFC 9260 sections 6.2 and 6.7).
//!
//! Inside the core a TSN is a 64-bit sequence number, counted from the peer's initial
//! TSN, so it does not wrap. Only [`TsnMap::classify`], which converts it, needs the
//! serial number arithmetic of RFC 1982.

use byway_wire::Tsn;

/// How far a TSN may be ahead of the Cumulative TSN Ack. Gap Ack Blocks have 16-bit
/// offsets (section 3.3.4), so a TSN beyond that could not be reported.
const REACH: i64 = u16::MAX as i64;

/// Most duplicates reported in one SACK.
const MAX_DUPLICATES: usize = 32;

/// Most ranges above the first gap. One SACK can report a few hundred, so a peer that
/// makes more gaps than this is an attacker.
const MAX_RANGES: usize = 4096;

/// The answer of [`TsnMap::classify`] for a TSN.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Arrival {
    /// It has not arrived before. Holds its sequence number.
    New(u64),
    /// It has arrived before. Holds its sequence number; 0 for a TSN before the initial
    /// one.
    Duplicate(u64),
    /// It is too far ahead to be accepted.
    OutOfReach,
}

/// The TSNs that have arrived: all below `next`, and ranges above it.
#[derive(Clone, Debug)]
pub(crate) struct TsnMap {
    initial: Tsn,
    /// The first sequence number that is missing.
    next: u64,
    /// Ranges `[from, to)` above `next`, in ascending order and never adjacent.
    ranges: Vec<(u64, u64)>,
    duplicates: Vec<Tsn>,
}

impl TsnMap {
    pub(crate) fn new(initial: Tsn) -> TsnMap {
        TsnMap {
            initial,
            next: 0,
            ranges: Vec::new(),
            duplicates: Vec::new(),
        }
    }

    /// Memory of the ranges and duplicates, in bytes.
    #[inline]
    pub(crate) fn memory(&self) -> usize {
        self.ranges.capacity() * size_of::<(u64, u64)>()
            + self.duplicates.capacity() * size_of::<Tsn>()
    }

    /// The first sequence number that is missing. It is also the number of TSNs
    /// that have arrived in order.
    pub(crate) fn next(&self) -> u64 {
        self.next
    }

    /// The TSN of a sequence number.
    pub(crate) fn tsn_of(&self, seq: u64) -> Tsn {
        self.initial.plus(seq as u32)
    }

    /// The Cumulative TSN Ack: the last TSN before the first gap.
    pub(crate) fn cumulative(&self) -> Tsn {
        self.tsn_of(self.next).minus(1)
    }

    pub(crate) fn gap_count(&self) -> usize {
        self.ranges.len()
    }

    pub(crate) fn has_gap(&self) -> bool {
        !self.ranges.is_empty()
    }

    /// One past the highest sequence number that has arrived.
    pub(crate) fn end(&self) -> u64 {
        self.ranges.last().map_or(self.next, |r| r.1)
    }

    /// Whether `tsn` is new, and its sequence number. Records nothing.
    pub(crate) fn classify(&self, tsn: Tsn) -> Arrival {
        let ahead = i64::from(tsn.ahead_of(self.tsn_of(self.next)));
        if ahead < 0 {
            return Arrival::Duplicate(self.next.saturating_sub(ahead.unsigned_abs()));
        }
        if ahead >= REACH {
            return Arrival::OutOfReach;
        }
        let seq = self.next + ahead.unsigned_abs();
        // Nearly all TSNs arrive in order, with or without a gap before them.
        let i = match self.ranges.last() {
            Some(last) if seq < last.1 => self.ranges.partition_point(|r| r.1 <= seq),
            _ => self.ranges.len(),
        };
        match self.ranges.get(i) {
            Some(r) if r.0 <= seq => Arrival::Duplicate(seq),
            _ if self.ranges.len() >= MAX_RANGES && seq != self.next => Arrival::OutOfReach,
            _ => Arrival::New(seq),
        }
    }

    /// Records the arrival of a sequence number that
    /// [`classify`](Self::classify) called new.
    #[inline(always)]
    pub(crate) fn insert(&mut self, seq: u64) {
        if seq == self.next {
            self.next += 1;
            if let Some(&(from, to)) = self.ranges.first()
                && from == self.next
            {
                self.next = to;
                self.ranges.remove(0);
            }
            return;
        }
        if let Some(last) = self.ranges.last_mut()
            && last.1 == seq
        {
            last.1 += 1;
            return;
        }
        let i = self.ranges.partition_point(|r| r.1 < seq);
        let joins_left = self.ranges.get(i).is_some_and(|r| r.1 == seq);
        let right = if joins_left { i + 1 } else { i };
        let joins_right = self.ranges.get(right).is_some_and(|r| r.0 == seq + 1);
        match (joins_left, joins_right) {
            (true, true) => {
                self.ranges[i].1 = self.ranges[right].1;
                self.ranges.remove(right);
            }
            (true, false) => self.ranges[i].1 = seq + 1,
            (false, true) => self.ranges[right].0 = seq,
            (false, false) => self.ranges.insert(i, (seq, seq + 1)),
        }
    }

    /// The peer has given up all TSNs up to this one (FORWARD-TSN, RFC 3758 section 3.6): they
    /// count as arrived. Returns whether one of them is new; none if it is too far ahead.
    pub(crate) fn skip_to(&mut self, tsn: Tsn) -> Option<bool> {
        let ahead = i64::from(tsn.ahead_of(self.tsn_of(self.next)));
        if ahead >= REACH {
            return None;
        }
        let Ok(ahead) = u64::try_from(ahead) else {
            return Some(false);
        };
        self.next += ahead + 1;
        let covered = self.ranges.partition_point(|r| r.1 <= self.next);
        self.ranges.drain(..covered);
        if let Some(&(from, to)) = self.ranges.first()
            && from <= self.next
        {
            self.next = to;
            self.ranges.remove(0);
        }
        Some(true)
    }

    /// Records a duplicate for the next SACK.
    pub(crate) fn note_duplicate(&mut self, tsn: Tsn) {
        if self.duplicates.len() < MAX_DUPLICATES {
            self.duplicates.push(tsn);
        }
    }

    /// The duplicates since the last SACK.
    pub(crate) fn duplicates(&self) -> &[Tsn] {
        &self.duplicates
    }

    /// The duplicates have been reported in a SACK.
    #[inline]
    pub(crate) fn forget_duplicates(&mut self) {
        if !self.duplicates.is_empty() {
            self.duplicates = Vec::new();
        }
    }

    pub(crate) fn duplicate_count(&self) -> usize {
        self.duplicates.len()
    }

    /// At most `limit` Gap Ack Blocks, lowest first, as first and last offset
    /// from the Cumulative TSN Ack (section 3.3.4).
    #[inline]
    pub(crate) fn gap_blocks(&self, limit: usize) -> impl ExactSizeIterator<Item = (u16, u16)> {
        // The cumulative TSN is the one before `next`; offset 1 would be `next`.
        self.ranges.iter().take(limit).map(|&(from, to)| {
            // REACH bounds the offsets to 16 bits.
            ((from - self.next + 1) as u16, (to - self.next) as u16)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arrive(map: &mut TsnMap, tsn: u32) -> Arrival {
        let a = map.classify(Tsn(tsn));
        if let Arrival::New(seq) = a {
            map.insert(seq);
        }
        a
    }

    fn gaps(map: &TsnMap) -> Vec<(u16, u16)> {
        map.gap_blocks(99).collect()
    }

    #[test]
    fn gaps_open_join_and_close_across_the_wrap_at_2_to_the_32() {
        let mut map = TsnMap::new(Tsn(u32::MAX - 1));
        assert_eq!(map.cumulative(), Tsn(u32::MAX - 2));
        assert_eq!(arrive(&mut map, u32::MAX - 1), Arrival::New(0));
        assert_eq!(arrive(&mut map, 1), Arrival::New(3));
        assert_eq!(arrive(&mut map, 3), Arrival::New(5));
        assert_eq!(gaps(&map), [(3, 3), (5, 5)]);
        assert_eq!(arrive(&mut map, 2), Arrival::New(4));
        assert_eq!(gaps(&map), [(3, 5)]);
        assert_eq!(arrive(&mut map, 1), Arrival::Duplicate(3));
        assert_eq!(arrive(&mut map, u32::MAX), Arrival::New(1));
        assert_eq!(arrive(&mut map, 0), Arrival::New(2));
        assert_eq!((map.cumulative(), map.has_gap()), (Tsn(3), false));
        assert_eq!(arrive(&mut map, u32::MAX), Arrival::Duplicate(1));
    }

    #[test]
    fn a_tsn_beyond_what_a_gap_block_can_report_is_out_of_reach() {
        let map = TsnMap::new(Tsn(10));
        assert_eq!(map.classify(Tsn(10 + 65_534)), Arrival::New(65_534));
        assert_eq!(map.classify(Tsn(10 + 65_535)), Arrival::OutOfReach);
    }

    /// A peer that leaves out every second TSN does not decide how long the list gets. What fills the first gap is taken.
    #[test]
    fn no_more_ranges_are_kept_than_a_bound() {
        let mut map = TsnMap::new(Tsn(0));
        let most = MAX_RANGES as u32;
        for n in 0..most {
            assert_eq!(
                arrive(&mut map, 2 * n + 1),
                Arrival::New(u64::from(2 * n + 1))
            );
        }
        for other in [2 * most + 1, 2, 2 * most] {
            assert_eq!(map.classify(Tsn(other)), Arrival::OutOfReach);
        }
        assert_eq!(map.classify(Tsn(3)), Arrival::Duplicate(3));
        assert_eq!(arrive(&mut map, 0), Arrival::New(0));
        assert_eq!(
            arrive(&mut map, 2 * most + 1),
            Arrival::New(u64::from(2 * most + 1))
        );
    }

    #[test]
    fn what_the_peer_gives_up_counts_as_arrived() {
        // Arrived beside 1, the TSN that is skipped to, the answer, the cumulative TSN and gaps.
        type Row<'a> = (&'a [u32], u32, Option<bool>, u32, &'a [(u16, u16)]);
        let rows: [Row<'_>; 9] = [
            (&[], 1, Some(false), 1, &[]),
            (&[], 0, Some(false), 1, &[]),
            (&[], 2, Some(true), 2, &[]),
            (&[3], 2, Some(true), 3, &[]),
            (&[3, 4, 6], 2, Some(true), 4, &[(2, 2)]),
            (&[3, 4, 6], 3, Some(true), 4, &[(2, 2)]),
            (&[3, 6, 8], 7, Some(true), 8, &[]),
            (&[3, 9], 6, Some(true), 6, &[(3, 3)]),
            (&[], 70_000, None, 1, &[]),
        ];
        for (arrived, to, expected, cumulative, blocks) in rows {
            let mut map = TsnMap::new(Tsn(1));
            arrive(&mut map, 1);
            for t in arrived {
                arrive(&mut map, *t);
            }
            assert_eq!(map.skip_to(Tsn(to)), expected, "{arrived:?} {to}");
            assert_eq!(map.cumulative(), Tsn(cumulative), "{arrived:?} {to}");
            assert_eq!(gaps(&map), blocks, "{arrived:?} {to}");
        }
    }

    #[test]
    fn arrivals_in_any_order_equal_a_plain_set() {
        // A fixed shuffle: 61 is coprime to 199, so every number comes once.
        let mut map = TsnMap::new(Tsn(5));
        let mut seen = std::collections::BTreeSet::new();
        for k in 0..199u32 {
            let seq = u64::from((k * 61) % 199);
            assert_eq!(arrive(&mut map, 5 + seq as u32), Arrival::New(seq));
            seen.insert(seq);
            let missing = (0..).find(|s| !seen.contains(s)).unwrap();
            assert_eq!(map.next(), missing);
            let held: u64 = gaps(&map).iter().map(|g| u64::from(g.1 - g.0) + 1).sum();
            assert_eq!(held + missing, seen.len() as u64);
        }
        assert_eq!(map.next(), 199);
    }
}

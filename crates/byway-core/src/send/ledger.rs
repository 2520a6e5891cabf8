//! The ledger of TSNs: which chunk was sent where, how often, and its fate (RFC
//! 9260 sections 6.2.1 and 7.2.4).
//!
//! TSNs are 64-bit sequences here, counted from the initial TSN, so they never
//! wrap. To keep a SACK cheap, the ledger remembers the gap blocks of the last SACK.
//! It reads both lists of blocks, but only the chunks in their difference. Missing
//! reports are counted for a list of candidates. A chunk leaves this list when it is
//! acknowledged or lost, or when it may not be fast retransmitted again.

use super::fronts::Fronts;
use super::lost::LostChunks;
use super::missing::Missing;
use super::queue::Cut;
use super::record::{Applied, Change, Fate, Record, Reports};
use crate::path::PathId;
use crate::policy::retransmit::LossCause;
use crate::time::Instant;
use byway_wire::Tsn;
use std::collections::VecDeque;

/// The first transmission of a chunk.
#[derive(Copy, Clone, Debug)]
pub(crate) struct FirstSending {
    pub(crate) path: PathId,
    pub(crate) at: Instant,
    /// Bytes of the chunk, header and padding included.
    pub(crate) bytes: u32,
    /// Its I bit asks for a SACK at once.
    pub(crate) immediate: bool,
}

/// All chunks that are not cumulatively acknowledged.
#[derive(Debug)]
pub struct Ledger {
    initial: Tsn,
    /// Sequence of the first record. All below it are cumulatively acknowledged.
    base: u64,
    records: VecDeque<Record>,
    /// Gap blocks of the last SACK, half open, in order.
    gaps: Vec<(u64, u64)>,
    /// One past the highest sequence ever acknowledged.
    high: u64,
    /// Chunks in flight below `high` that may still get missing reports, sorted.
    candidates: Vec<u64>,
    lost: LostChunks,
    /// What records in flight take of the peer's window.
    rwnd_in_flight: u64,
    peer_overhead: u32,
    /// Payload bytes of all records.
    payload: u64,
    /// Records that end a message.
    messages: u64,
    /// Acknowledged payload bytes of the message whose end is the next one to be acknowledged.
    front: u64,
    /// The same of each message, if messages interleave.
    fronts: Option<Box<Fronts>>,
    /// The contexts of messages that have one: the sequence of the last chunk and the context.
    contexts: VecDeque<(u64, u64)>,
}

impl Ledger {
    pub(crate) fn new(initial: Tsn, peer_overhead: u32) -> Ledger {
        Ledger {
            initial,
            base: 0,
            records: VecDeque::new(),
            gaps: Vec::new(),
            high: 0,
            candidates: Vec::new(),
            lost: LostChunks::default(),
            rwnd_in_flight: 0,
            peer_overhead,
            payload: 0,
            messages: 0,
            front: 0,
            fronts: None,
            contexts: VecDeque::new(),
        }
    }

    /// Whether messages interleave. Set before anything is sent.
    pub(crate) fn interleave(&mut self, interleaves: bool) {
        self.fronts = interleaves.then(Box::default);
    }

    /// What the peer has acknowledged of messages that it has not completely, if messages
    /// interleave.
    pub(crate) fn fronts_mut(&mut self) -> Option<&mut Fronts> {
        self.fronts.as_deref_mut()
    }

    /// One past the last sequence that was sent.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.base + self.records.len() as u64
    }

    /// The number of cumulatively acknowledged sequences.
    #[must_use]
    pub fn base(&self) -> u64 {
        self.base
    }

    /// Memory of the records and their payload, in bytes, without
    /// [`fronts_memory`](Self::fronts_memory).
    #[inline]
    pub(crate) fn memory(&self) -> usize {
        self.payload as usize
            + self.records.capacity() * size_of::<Record>()
            + self.gaps.capacity() * size_of::<(u64, u64)>()
            + self.candidates.capacity() * size_of::<u64>()
            + self.contexts.capacity() * size_of::<(u64, u64)>()
    }

    /// Memory of what is acknowledged in part, if messages interleave, in bytes.
    pub(crate) fn fronts_memory(&self) -> usize {
        self.fronts.as_ref().map_or(0, |f| f.memory())
    }

    /// Frees the memory of records, if there is none.
    pub(crate) fn give_idle_memory_back(&mut self) {
        if self.records.is_empty() {
            self.records = VecDeque::new();
            // Empty, too.
            self.candidates.shrink_to_fit();
            self.contexts.shrink_to_fit();
        }
        self.gaps.shrink_to_fit();
    }

    pub(crate) fn len(&self) -> usize {
        self.records.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// The chunks that await retransmission.
    #[must_use]
    pub fn lost(&self) -> &LostChunks {
        &self.lost
    }

    /// What records in flight take of the peer's window.
    pub(crate) fn rwnd_in_flight(&self) -> u64 {
        self.rwnd_in_flight
    }

    /// Payload bytes that are not cumulatively acknowledged.
    pub(crate) fn payload(&self) -> u64 {
        self.payload
    }

    /// Messages whose end was sent and is not cumulatively acknowledged.
    pub(crate) fn messages(&self) -> u64 {
        self.messages
    }

    pub(crate) fn tsn_of(&self, seq: u64) -> Tsn {
        self.initial.plus(seq as u32)
    }

    /// The last TSN that was cumulatively acknowledged.
    pub(crate) fn cumulative(&self) -> Tsn {
        self.tsn_of(self.base).minus(1)
    }

    /// How many TSNs a cumulative acknowledgement covers, counted from the
    /// initial one; `None` if it is older than one seen before. The peer may
    /// acknowledge beyond [`end`](Self::end).
    pub(crate) fn covered_by(&self, cumulative: Tsn) -> Option<u64> {
        let ahead = i64::from(cumulative.ahead_of(self.cumulative()));
        u64::try_from(ahead).ok().map(|a| self.base + a)
    }

    /// The sequence of a TSN, acknowledged or not; `None` if it is before the
    /// initial TSN.
    pub(crate) fn place_of(&self, tsn: Tsn) -> Option<u64> {
        let ahead = i64::from(tsn.ahead_of(self.cumulative()));
        self.base.checked_add_signed(ahead)?.checked_sub(1)
    }

    /// The record of a sequence, unless it was not sent yet or is cumulatively
    /// acknowledged.
    #[must_use]
    pub fn get(&self, seq: u64) -> Option<&Record> {
        self.records.get(seq.checked_sub(self.base)? as usize)
    }

    fn get_mut(&mut self, seq: u64) -> Option<&mut Record> {
        self.records.get_mut(seq.checked_sub(self.base)? as usize)
    }

    fn rwnd_charge(&self, r: &Record) -> u64 {
        r.payload.len() as u64 + u64::from(self.peer_overhead)
    }

    /// Enters a chunk that is sent for the first time and returns its sequence.
    // The record is built in place. Built elsewhere and then copied, the copy has
    // to wait for the store buffer. So it is inlined at each of its callers.
    #[inline(always)]
    pub(crate) fn enter(&mut self, cut: Cut, first: FirstSending) -> u64 {
        let payload = cut.payload.len() as u64;
        self.rwnd_in_flight += payload + u64::from(self.peer_overhead);
        self.payload += payload;
        self.messages += u64::from(cut.end);
        if cut.end && cut.context != 0 {
            self.contexts.push_back((self.end(), cut.context));
        }
        self.records.push_back(Record {
            payload: cut.payload,
            ppid_or_fsn: cut.ppid_or_fsn,
            number: cut.number,
            stream: cut.stream,
            unordered: cut.unordered,
            begin: cut.begin,
            end: cut.end,
            immediate: first.immediate,
            bytes: first.bytes,
            path: first.path,
            fate: Fate::InFlight,
            sends: 1,
            reneged: false,
            one_path: true,
            reports: Reports::default(),
            sent_at: first.at,
        });
        self.end() - 1
    }

    /// A lost chunk is retransmitted on `path`.
    pub(crate) fn resend(&mut self, seq: u64, path: PathId, now: Instant) -> Option<&Record> {
        let (cause, last) = match self.get(seq) {
            Some(r) => match r.fate {
                Fate::Lost(cause) => (cause, r.path),
                _ => return None,
            },
            None => return None,
        };
        self.lost.remove(cause, last, seq);
        let charge = self.get(seq).map_or(0, |r| self.rwnd_charge(r));
        self.rwnd_in_flight += charge;
        let r = self.get_mut(seq)?;
        r.fate = Fate::InFlight;
        r.one_path &= r.path == path;
        r.path = path;
        r.sends = r.sends.saturating_add(1);
        r.reneged = false;
        r.sent_at = now;
        if seq < self.high
            && let Err(at) = self.candidates.binary_search(&seq)
        {
            // The retransmission may be lost as well: count missing reports again.
            self.candidates.insert(at, seq);
        }
        self.get(seq)
    }

    /// Applies a SACK: `covered` sequences are cumulatively acknowledged (at
    /// most [`end`](Self::end)). The half-open `blocks` above them are sorted gap
    /// blocks. `tell` is called with each record before it changes.
    pub(crate) fn apply(
        &mut self,
        covered: u64,
        blocks: &[(u64, u64)],
        mut tell: impl FnMut(u64, &Record, Change),
    ) -> Applied {
        let mut done = Applied {
            cumulative_advanced: covered > self.base,
            ..Applied::default()
        };
        while self.base < covered {
            // Read in place: moving the record out costs more than all the rest.
            let Some(r) = self.records.front() else {
                break;
            };
            let seq = self.base;
            self.base += 1;
            self.payload -= r.payload.len() as u64;
            self.messages -= u64::from(r.end);
            match &mut self.fronts {
                None if r.end => self.front = 0,
                None => self.front += r.payload.len() as u64,
                Some(fronts) => fronts.acknowledged(r),
            }
            if r.fate != Fate::Acked {
                done.highest_new = Some(seq);
                done.cumulative_new = true;
                tell(seq, r, Change::Acked);
                match r.fate {
                    Fate::InFlight => {
                        self.rwnd_in_flight -=
                            r.payload.len() as u64 + u64::from(self.peer_overhead);
                    }
                    Fate::Lost(cause) => self.lost.remove(cause, r.path, seq),
                    Fate::Acked => {}
                }
            } else {
                tell(seq, r, Change::Passed);
            }
            self.records.pop_front();
        }
        if !self.contexts.is_empty() {
            let base = self.base;
            self.contexts.retain(|c| c.0 >= base);
        }
        if self.records.is_empty() && self.records.capacity() > 64 {
            // An idle association must not keep the memory of its busy time.
            self.records = VecDeque::new();
        }
        if !(blocks.is_empty() && self.gaps.is_empty()) {
            self.apply_gaps(blocks, &mut done, &mut tell);
        }
        self.high = self.high.max(self.base);
        done
    }

    /// Acknowledged payload bytes of the message that the first record, or what follows the last
    /// one, belongs to.
    pub(crate) fn acknowledged_front(&self) -> u64 {
        self.front
    }

    /// Takes the first record out, because it will never be acknowledged, with the context of
    /// its message if it ends one.
    pub(crate) fn take(&mut self) -> Option<(Record, u64)> {
        let r = self.records.pop_front()?;
        let seq = self.base;
        self.base += 1;
        self.high = self.high.max(self.base);
        self.payload -= r.payload.len() as u64;
        self.messages -= u64::from(r.end);
        match r.fate {
            Fate::InFlight => self.rwnd_in_flight -= self.rwnd_charge(&r),
            Fate::Lost(cause) => self.lost.remove(cause, r.path, seq),
            Fate::Acked => {}
        }
        self.front = 0;
        let ends = |c: &&(u64, u64)| c.0 == seq;
        let context = self.contexts.front().filter(ends).map_or(0, |c| c.1);
        if context != 0 {
            self.contexts.pop_front();
        }
        Some((r, context))
    }

    /// Whether these gap blocks, with the cumulative TSN of the last SACK, acknowledge less
    /// than that one and nothing else.
    pub(crate) fn only_takes_back(&self, blocks: &[(u64, u64)]) -> bool {
        let known = |&(from, to): &(u64, u64)| {
            let after = self.gaps.partition_point(|g| g.1 <= from);
            self.gaps
                .get(after)
                .is_some_and(|g| g.0 <= from && to <= g.1)
        };
        let len = |all: &[(u64, u64)]| all.iter().map(|g| g.1 - g.0).sum::<u64>();
        len(blocks) < len(&self.gaps) && blocks.iter().all(known)
    }

    /// The parts of the last SACK's gap blocks that are above `covered`.
    pub(crate) fn gaps_above(&self, covered: u64) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.gaps
            .iter()
            .filter(move |g| g.1 > covered)
            .map(move |&(from, to)| (from.max(covered), to))
    }

    fn apply_gaps(
        &mut self,
        blocks: &[(u64, u64)],
        done: &mut Applied,
        tell: &mut impl FnMut(u64, &Record, Change),
    ) {
        let old = core::mem::take(&mut self.gaps);
        let base = self.base;
        for_each_difference(blocks, &old, |from, to| {
            for seq in from.max(base)..to {
                self.ack_gap(seq, done, tell);
            }
        });
        for_each_difference(&old, blocks, |from, to| {
            for seq in from.max(base)..to {
                self.renege(seq, done, tell);
            }
        });
        if done.reneged {
            self.candidates.sort_unstable();
            self.candidates.dedup();
        }
        self.gaps = old;
        self.gaps.clear();
        self.gaps.extend_from_slice(blocks);
    }

    fn ack_gap(
        &mut self,
        seq: u64,
        done: &mut Applied,
        tell: &mut impl FnMut(u64, &Record, Change),
    ) {
        let Some(i) = seq.checked_sub(self.base) else {
            return;
        };
        let Some(r) = self.records.get(i as usize) else {
            return;
        };
        if r.fate == Fate::Acked {
            return;
        }
        tell(seq, r, Change::Acked);
        let charge = self.rwnd_charge(r);
        let (fate, path) = (r.fate, r.path);
        match fate {
            Fate::InFlight => self.rwnd_in_flight -= charge,
            Fate::Lost(cause) => self.lost.remove(cause, path, seq),
            Fate::Acked => {}
        }
        self.records[i as usize].fate = Fate::Acked;
        done.highest_new = done.highest_new.max(Some(seq));
    }

    fn renege(
        &mut self,
        seq: u64,
        done: &mut Applied,
        tell: &mut impl FnMut(u64, &Record, Change),
    ) {
        let Some(r) = self.get(seq) else { return };
        if r.fate != Fate::Acked {
            return;
        }
        tell(seq, r, Change::Reneged);
        let charge = self.rwnd_charge(r);
        self.rwnd_in_flight += charge;
        if let Some(r) = self.get_mut(seq) {
            r.fate = Fate::InFlight;
            r.reneged = true;
            r.reports.missing = 0;
        }
        // Missing reports count for it again.
        self.candidates.push(seq);
        done.reneged = true;
    }

    /// Counts the missing reports of a SACK (section 7.2.4). A chunk that has
    /// enough of them, and may be fast retransmitted (again), becomes lost. `lost`
    /// is called with it before that.
    pub(crate) fn count_missing(&mut self, missing: &Missing, mut lost: impl FnMut(u64, &Record)) {
        // The chunk at `below` was acknowledged; `high` is one past it.
        let new_high = (missing.below + 1).max(self.high).min(self.end());
        for seq in self.high.max(self.base)..new_high {
            if self.get(seq).is_some_and(|r| r.fate == Fate::InFlight) {
                self.candidates.push(seq);
            }
        }
        self.high = new_high;
        let end = self.end();
        let mut candidates = core::mem::take(&mut self.candidates);
        candidates.retain(|&seq| {
            let Some(r) = self.get_mut(seq) else {
                return false;
            };
            let repeated = r.reports.fast_retransmitted.is_some();
            if r.fate != Fate::InFlight || (repeated && !missing.keeps_repeated) {
                return false;
            }
            let reports = missing.count(seq, r);
            if reports == 0 {
                return true;
            }
            r.reports.missing = r.reports.missing.saturating_add(reports);
            let by_time = missing.by_time & (1 << r.path.index()) != 0;
            if r.reports.missing < missing.threshold || by_time {
                return true;
            }
            r.reports.fast_retransmitted = Some(end);
            self.lose(seq, LossCause::FastRetransmit, &mut lost);
            false
        });
        self.candidates = candidates;
    }

    /// Calls `each` with every chunk in flight that left no later than `newest`, lowest
    /// first. Not with one whose acknowledgement the peer took back: it had arrived, so its
    /// time says nothing. Costs what waits below the highest acknowledged sequence.
    pub(crate) fn for_each_older(&self, newest: Instant, mut each: impl FnMut(u64, &Record)) {
        let mut older = |seq: u64, r: &Record| {
            if r.fate == Fate::InFlight && !r.reneged && r.sent_at <= newest {
                each(seq, r);
            }
        };
        for &seq in &self.candidates {
            if let Some(r) = self.get(seq) {
                older(seq, r);
            }
        }
        // Above it nothing was acknowledged. First sendings are in order of time.
        for seq in self.high.max(self.base)..self.end() {
            let Some(r) = self.get(seq) else { break };
            if r.sends == 1 && r.sent_at > newest {
                break;
            }
            older(seq, r);
        }
    }

    /// Takes a chunk in flight for lost because it is overdue.
    pub(crate) fn lose_overdue(&mut self, seq: u64, mut lost: impl FnMut(u64, &Record)) {
        let end = self.end();
        if let Some(r) = self.get_mut(seq) {
            r.reports.fast_retransmitted = Some(end);
        }
        self.lose_one(seq, LossCause::FastRetransmit, &mut lost);
    }

    /// A chunk asks for a SACK at once when it is sent again (RFC 7053).
    pub(crate) fn ask_at_once(&mut self, seq: u64) {
        if let Some(r) = self.get_mut(seq) {
            r.immediate = true;
        }
    }

    /// The missing reports of a chunk, to change.
    pub(crate) fn reports_mut(&mut self, seq: u64) -> Option<&mut Reports> {
        self.get_mut(seq).map(|r| &mut r.reports)
    }

    /// Changes the cause of a lost chunk. Its missing reports start from zero.
    pub(crate) fn change_cause(&mut self, seq: u64, to: LossCause) {
        let Some(r) = self.get_mut(seq) else { return };
        let Fate::Lost(from) = r.fate else { return };
        r.reports.missing = 0;
        r.fate = Fate::Lost(to);
        let path = r.path;
        self.lost.remove(from, path, seq);
        self.lost.insert(to, path, seq);
    }

    /// Marks a chunk in flight as lost.
    fn lose(&mut self, seq: u64, cause: LossCause, lost: &mut impl FnMut(u64, &Record)) {
        let Some(r) = self.get(seq) else { return };
        lost(seq, r);
        let (charge, path) = (self.rwnd_charge(r), r.path);
        self.rwnd_in_flight -= charge;
        self.lost.insert(cause, path, seq);
        if let Some(r) = self.get_mut(seq) {
            r.fate = Fate::Lost(cause);
            r.reports.missing = 0;
        }
    }

    /// T3-rtx of `path` expired: all chunks in flight there are lost (section
    /// 6.3.3, E3).
    pub(crate) fn lose_path(&mut self, path: PathId, lost: impl FnMut(u64, &Record)) {
        self.lose_path_for(path, LossCause::Timeout, lost);
    }

    /// Marks one chunk as lost for `cause`, if it is in flight.
    pub(crate) fn lose_one(
        &mut self,
        seq: u64,
        cause: LossCause,
        mut lost: impl FnMut(u64, &Record),
    ) {
        if self.get(seq).is_some_and(|r| r.fate == Fate::InFlight) {
            self.lose(seq, cause, &mut lost);
        }
    }

    /// Marks all chunks in flight on `path` as lost for `cause`.
    pub(crate) fn lose_path_for(
        &mut self,
        path: PathId,
        cause: LossCause,
        mut lost: impl FnMut(u64, &Record),
    ) {
        for seq in self.base..self.end() {
            if self
                .get(seq)
                .is_some_and(|r| r.path == path && r.fate == Fate::InFlight)
            {
                self.lose(seq, cause, &mut lost);
            }
        }
    }

    /// `from` was removed: what was sent there last counts as sent on `to`. Nothing is in
    /// flight on `from`. Returns the bytes of lost chunks that this moves.
    pub(crate) fn hand_over(&mut self, from: PathId, to: PathId) -> u32 {
        let mut bytes = 0;
        for (i, r) in self.records.iter_mut().enumerate() {
            if r.path != from {
                continue;
            }
            (r.path, r.one_path) = (to, false);
            if let Fate::Lost(cause) = r.fate {
                let seq = self.base + i as u64;
                self.lost.remove(cause, from, seq);
                self.lost.insert(cause, to, seq);
                bytes += r.bytes;
            }
        }
        bytes
    }

    /// The chunks that `path` lost for `cause` and that did not leave again are in flight
    /// again. `tell` is called with the bytes of each.
    pub(crate) fn revive(&mut self, path: PathId, cause: LossCause, mut tell: impl FnMut(u32)) {
        loop {
            let mut groups = self.lost.groups().iter();
            let group = groups.find(|g| g.path == path && g.cause == cause);
            let Some(seq) = group.and_then(super::lost::Group::first) else {
                return;
            };
            self.lost.remove(cause, path, seq);
            self.rwnd_in_flight += self.get(seq).map_or(0, |r| self.rwnd_charge(r));
            if let Some(r) = self.get_mut(seq) {
                r.fate = Fate::InFlight;
                tell(r.bytes);
            }
            if seq < self.high
                && let Err(at) = self.candidates.binary_search(&seq)
            {
                self.candidates.insert(at, seq);
            }
        }
    }

    /// When the second chunk above all that were acknowledged left, if it is in flight on
    /// `path`: a peer answers each second packet at once.
    #[inline]
    pub(crate) fn second_unanswered(&self, path: PathId) -> Option<Instant> {
        let second = self.get(self.high.max(self.base) + 1)?;
        (second.path == path && second.fate == Fate::InFlight).then_some(second.sent_at)
    }

    /// The first chunk in flight on `path` at or above `from`.
    pub(crate) fn first_in_flight(&self, path: PathId, from: u64) -> Option<u64> {
        let start = from.saturating_sub(self.base) as usize;
        self.records
            .iter()
            .enumerate()
            .skip(start)
            .find(|(_, r)| r.path == path && r.fate == Fate::InFlight)
            .map(|(i, _)| self.base + i as u64)
    }

    /// Bytes in flight on a path, recomputed.
    pub(crate) fn recount_flight(&self, path: PathId) -> u32 {
        self.records
            .iter()
            .filter(|r| r.path == path && r.fate == Fate::InFlight)
            .map(|r| r.bytes)
            .sum()
    }

    /// Lost bytes of a path that await retransmission, recomputed.
    pub(crate) fn recount_lost(&self, path: PathId) -> u32 {
        self.records
            .iter()
            .filter(|r| r.path == path && matches!(r.fate, Fate::Lost(_)))
            .map(|r| r.bytes)
            .sum()
    }

    /// Whether the running totals match the records.
    pub(crate) fn totals_agree(&self) -> bool {
        let in_flight = self.records.iter().filter(|r| r.fate == Fate::InFlight);
        let rwnd: u64 = in_flight.map(|r| self.rwnd_charge(r)).sum();
        let payload: u64 = self.records.iter().map(|r| r.payload.len() as u64).sum();
        let ends = self.records.iter().filter(|r| r.end).count() as u64;
        let lost = self
            .records
            .iter()
            .enumerate()
            .filter_map(|(i, r)| match r.fate {
                Fate::Lost(cause) => Some((cause, r.path, self.base + i as u64)),
                _ => None,
            });
        rwnd == self.rwnd_in_flight
            && payload == self.payload
            && ends == self.messages
            && self.lost.are_exactly(lost)
    }
}

/// Calls `each` with the parts of `a` that `b` does not cover; both are sorted
/// lists of half-open ranges.
fn for_each_difference(a: &[(u64, u64)], b: &[(u64, u64)], mut each: impl FnMut(u64, u64)) {
    let mut k = 0;
    for &(mut from, to) in a {
        while k < b.len() && b[k].1 <= from {
            k += 1;
        }
        let mut j = k;
        while from < to {
            match b.get(j) {
                Some(&(bf, bt)) if bf < to => {
                    if from < bf {
                        each(from, bf);
                    }
                    from = from.max(bt);
                    j += 1;
                }
                _ => {
                    each(from, to);
                    break;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;

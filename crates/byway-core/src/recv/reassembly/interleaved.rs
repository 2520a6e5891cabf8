//! Messages that interleave (RFC 8260 section 2.2.3): fragments are put together by stream, U bit,
//! Message Identifier and Fragment Sequence Number. TSNs say nothing here.
//!
//! Consecutive fragments join into runs, as those of DATA do. A run from a first to a last
//! fragment is a message. In each stream one message at a time may be delivered in parts, while
//! those of other streams go on. The partial delivery point counts what all incomplete messages
//! hold together: otherwise many of them could fill the window, and none would reach it.

use super::fragment::{Fragment, InconsistentFragment};
use super::memory::TREE_ENTRY;
use super::run::Run;
use super::sorted::Sorted;
use super::streams::Streams;
use core::ops::RangeInclusive;
use std::collections::BTreeMap;

const NO_BEGIN: InconsistentFragment =
    InconsistentFragment("the fragment with FSN 0 is not marked as the first one");
const REPEATED: InconsistentFragment =
    InconsistentFragment("two TSNs carry the same fragment of a message");
const BEYOND_END: InconsistentFragment =
    InconsistentFragment("a fragment has an FSN above that of the last one");
const END_INSIDE: InconsistentFragment =
    InconsistentFragment("the last fragment of a message has an FSN below another one");
const DELIVERED: InconsistentFragment =
    InconsistentFragment("the MID of a message that was delivered before");
const ANOTHER_PART: InconsistentFragment =
    InconsistentFragment("a message has a MID of which there are fragments");

/// Half of the numbers: those behind a number, by RFC 1982.
const HALF: u32 = 1 << 31;

/// A message of a stream.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct MessageId {
    pub(super) stream: u16,
    pub(super) unordered: bool,
    pub(super) mid: u32,
}

impl MessageId {
    /// The places of its fragments.
    fn places(self) -> RangeInclusive<Place> {
        self.place(0)..=self.place(u64::MAX)
    }

    fn place(self, fsn: u64) -> Place {
        Place { message: self, fsn }
    }
}

/// The place of a fragment. The FSN does not wrap.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    message: MessageId,
    fsn: u64,
}

/// Whether a message is still awaited.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    Awaited,
    /// The peer has given it up (I-FORWARD-TSN): what still comes of it is dropped.
    Skipped,
}

/// The incomplete messages and the order of an association whose messages interleave.
#[derive(Debug)]
pub(super) struct Interleaved {
    /// Incomplete messages, by the place of the first fragment of each run.
    runs: Sorted<Place, Run>,
    /// Memory of the buffers of the runs without their payload, in bytes.
    runs_overhead: usize,
    /// Bytes of the window that the runs take.
    runs_charge: u64,
    pub(super) streams: Streams<u32>,
    /// The message of a stream that is delivered in parts.
    in_parts: BTreeMap<u16, MessageId>,
    /// The last MID that the peer has given up of a stream, for ordered and unordered messages.
    skipped: BTreeMap<(u16, bool), u32>,
    /// Both sides take I-FORWARD-TSN.
    pub(super) forwards: bool,
}

impl Interleaved {
    pub(super) fn new(forwards: bool) -> Interleaved {
        Interleaved {
            runs: Sorted::default(),
            runs_overhead: 0,
            runs_charge: 0,
            streams: Streams::default(),
            in_parts: BTreeMap::new(),
            skipped: BTreeMap::new(),
            forwards,
        }
    }

    /// Memory beyond the payload, in bytes.
    pub(super) fn memory(&self) -> usize {
        self.runs_overhead
            + self.runs.memory()
            + self.streams.memory()
            + self.in_parts.len() * TREE_ENTRY * size_of::<(u16, MessageId)>()
            + self.skipped.len() * TREE_ENTRY * size_of::<((u16, bool), u32)>()
    }

    /// Whether a message may still come.
    ///
    /// # Errors
    /// When it was delivered before.
    pub(super) fn standing(&mut self, id: MessageId) -> Result<Standing, InconsistentFragment> {
        let line = (id.stream, id.unordered);
        let behind = |of: u32| of.wrapping_sub(id.mid) < HALF;
        if let Some(&skipped) = self.skipped.get(&line) {
            if behind(skipped) {
                return Ok(Standing::Skipped);
            }
            if id.mid.wrapping_sub(skipped) > HALF / 2 {
                // It says nothing any more: the numbers will wrap.
                self.skipped.remove(&line);
            }
        }
        let next = self.streams.next_of(id.stream);
        if !id.unordered && next != id.mid && behind(next) {
            return Err(DELIVERED);
        }
        Ok(Standing::Awaited)
    }

    /// Checks that nothing of a message in a single chunk has arrived before.
    pub(super) fn check_whole(&self, id: MessageId) -> Result<(), InconsistentFragment> {
        if !self.runs.is_empty() && self.runs.first_in(id.places()).is_some() {
            return Err(ANOTHER_PART);
        }
        self.check_waiting(id)
    }

    /// Checks that the message is not one that is complete and waits for an earlier one.
    fn check_waiting(&self, id: MessageId) -> Result<(), InconsistentFragment> {
        if !id.unordered && self.streams.holds(id.stream, id.mid) {
            return Err(REPEATED);
        }
        Ok(())
    }

    /// The FSN of a fragment, counted on beyond 2^32.
    fn fsn(&self, f: &Fragment<'_>, id: MessageId) -> Result<u64, InconsistentFragment> {
        let raw = f.seq as u32;
        let front = self.runs.get(id.place(0)).filter(|r| r.begin);
        let Some(front) = front.filter(|_| !f.begin) else {
            return match raw {
                0 if !f.begin => Err(NO_BEGIN),
                raw => Ok(u64::from(raw)),
            };
        };
        let ahead = raw.wrapping_sub(front.end_seq as u32);
        if ahead >= HALF {
            // Linux 6.1 numbers the second fragment so.
            return Err(if raw == 0 { NO_BEGIN } else { REPEATED });
        }
        Ok(front.end_seq + u64::from(ahead))
    }

    /// Adds a fragment to the run that it extends, or starts a new one.
    ///
    /// # Errors
    /// When the fragment contradicts others of its message.
    pub(super) fn extend(
        &mut self,
        f: &Fragment<'_>,
        id: MessageId,
        charge: u32,
    ) -> Result<(), InconsistentFragment> {
        self.check_waiting(id)?;
        let fsn = self.fsn(f, id)?;
        let place = id.place(fsn);
        let left = self.runs.last_in(id.place(0)..=place);
        let mut start = place;
        if let Some((at, run)) = left {
            if at == place || run.end_seq > fsn {
                return Err(REPEATED);
            }
            if run.end {
                return Err(BEYOND_END);
            }
            if run.end_seq == fsn {
                start = at;
            }
        }
        let right = self.runs.first_in(place..=id.place(u64::MAX));
        if f.end && right.is_some() {
            return Err(END_INSIDE);
        }
        let joined = right.map(|(at, _)| at).filter(|at| at.fsn == fsn + 1);
        let right = joined.and_then(|at| self.runs.remove(at));
        let f = Fragment { seq: fsn, ..*f };
        let run = if start == place {
            self.runs.insert(start, Run::starting_with(&f, 0))
        } else {
            let run = self.runs.get_mut(start).expect("found just now");
            self.runs_overhead -= run.overhead();
            run
        };
        run.push(&f, charge);
        if let Some(tail) = right {
            self.runs_overhead -= tail.overhead();
            run.join(tail);
        }
        self.runs_overhead += run.overhead();
        self.runs_charge += u64::from(charge);
        Ok(())
    }

    /// Takes a message out, or its last part, if it is complete.
    pub(super) fn take_complete(&mut self, id: MessageId) -> Option<Run> {
        let run = self.runs.get(id.place(0))?;
        if !(run.begin && run.end) {
            return None;
        }
        self.take_run(id.place(0))
    }

    fn take_run(&mut self, place: Place) -> Option<Run> {
        let run = self.runs.remove(place)?;
        self.runs_overhead -= run.overhead();
        self.runs_charge -= u64::from(run.charge);
        if run.in_parts {
            self.in_parts.remove(&place.message.stream);
        }
        Some(run)
    }

    /// The front of a message that is to be delivered in part, if all incomplete messages together
    /// hold at least `point`.
    pub(super) fn begin_part(&mut self, id: MessageId, point: usize) -> Option<&mut Run> {
        if self.runs_charge < point as u64 {
            return None;
        }
        let its_turn = id.unordered || self.streams.is_next(id.stream, id.mid);
        let free = self.in_parts.get(&id.stream).is_none_or(|m| *m == id);
        let place = id.place(0);
        let run = self.runs.get_mut(place);
        let run = run.filter(|r| r.begin && r.len() > 0 && its_turn && free)?;
        self.in_parts.insert(id.stream, id);
        self.runs_overhead -= run.overhead();
        self.runs_charge -= u64::from(run.charge);
        Some(run)
    }

    /// The part was taken out of the run.
    pub(super) fn end_part(&mut self, id: MessageId) {
        if let Some(run) = self.runs.get_mut(id.place(0)) {
            run.in_parts = true;
            self.runs_overhead += run.overhead();
        }
    }

    /// The first unordered message of a stream, if its first fragment has arrived.
    pub(super) fn next_unordered(&self, stream: u16) -> Option<MessageId> {
        let id = |mid| MessageId {
            stream,
            unordered: true,
            mid,
        };
        let all = id(0).place(0)..=id(u32::MAX).place(u64::MAX);
        let (at, run) = self.runs.first_in(all)?;
        run.begin.then_some(at.message)
    }

    /// The peer has given up all messages of a stream up to `mid`, ordered or unordered ones: their
    /// fragments are dropped. Returns the bytes of the window and of payload that this frees, and
    /// whether a message of which parts were delivered is among them.
    pub(super) fn drop_up_to(
        &mut self,
        stream: u16,
        unordered: bool,
        mid: u32,
    ) -> (u64, u64, bool) {
        let line = (stream, unordered);
        let id = |mid| MessageId {
            stream,
            unordered,
            mid,
        };
        // All that are behind `mid` by RFC 1982.
        let first = mid.wrapping_sub(HALF - 1);
        let ranges = if first <= mid {
            [Some((first, mid)), None]
        } else {
            [Some((0, mid)), Some((first, u32::MAX))]
        };
        let (mut charge, mut payload, mut cut) = (0, 0, false);
        for (from, to) in ranges.into_iter().flatten() {
            let range = id(from).place(0)..=id(to).place(u64::MAX);
            while let Some((at, _)) = self.runs.first_in(range.clone()) {
                let Some(run) = self.take_run(at) else { break };
                charge += u64::from(run.charge);
                payload += run.len() as u64;
                cut |= run.in_parts;
            }
        }
        let skipped = self.skipped.entry(line).or_insert(mid);
        if mid.wrapping_sub(*skipped) < HALF {
            *skipped = mid;
        }
        (charge, payload, cut)
    }

    /// Whether the running totals match the data.
    pub(super) fn totals_agree(&self) -> bool {
        let overhead: usize = self.runs.values().map(Run::overhead).sum();
        overhead == self.runs_overhead
            && self.charge() == self.runs_charge
            && {
                let in_parts = self.runs.iter().filter(|(_, r)| r.in_parts);
                in_parts
                    .map(|(at, _)| at.message)
                    .eq(self.sorted_in_parts())
            }
            && self.streams.total_agrees()
    }

    fn sorted_in_parts(&self) -> impl Iterator<Item = MessageId> {
        self.in_parts.values().copied()
    }

    /// Bytes of the window that the runs take, recounted.
    pub(super) fn charge(&self) -> u64 {
        self.runs.values().map(|r| u64::from(r.charge)).sum()
    }

    /// Bytes of payload of the runs, recounted.
    pub(super) fn payload(&self) -> u64 {
        self.runs.values().map(|r| r.len() as u64).sum()
    }

    /// Lets the front of a message end at this FSN.
    #[cfg(test)]
    pub(super) fn set_end_for_tests(&mut self, id: MessageId, end: u64) {
        if let Some(run) = self.runs.get_mut(id.place(0)) {
            run.end_seq = end;
        }
    }
}

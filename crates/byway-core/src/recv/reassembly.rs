//! Reassembles messages and delivers them in stream order (RFC 9260 sections 6.5, 6.6
//! and 6.9; RFC 8260 section 2.2.3).
//!
//! Fragments with consecutive TSNs join into runs; a run from a first to a last
//! fragment is a message. A message longer than the partial delivery point is delivered
//! in parts, but only if everything before it has arrived. So at most one message is in
//! parts at a time. Messages that interleave are in [`interleaved`].

mod few;
mod fragment;
mod interleaved;
mod memory;
mod number;
mod out_of_order;
mod ready;
mod run;
mod sorted;
mod streams;

pub(crate) use fragment::{Fragment, InconsistentFragment};

use crate::api::Received;
use bytes::Bytes;
use interleaved::{Interleaved, MessageId, Standing};
use memory::{BLOCK, Counted};
use ready::Ready;
use run::Run;
use sorted::Sorted;
use std::collections::VecDeque;
use streams::Streams;

/// Most bytes that are allocated in advance for a message of unknown length.
const MAX_EXPECTED: usize = 1 << 18;

/// Entries of the ready queue for which an idle association keeps memory.
const KEPT: usize = 64;

/// Memory that a byte of the receive window may take.
const MEMORY_A_BYTE: usize = 4;

/// Bytes of the window for what an association keeps when it is idle: empty queues, and
/// the numbers of its streams.
const IDLE: usize = 4096;

const BEGIN_INSIDE: InconsistentFragment =
    InconsistentFragment("a message began inside of another one");
const END_INSIDE: InconsistentFragment =
    InconsistentFragment("a message ended inside of another one");
const NEVER_BEGAN: InconsistentFragment =
    InconsistentFragment("a fragment continues a message that never began");

/// All data that has arrived and has not been read yet.
#[derive(Debug)]
pub(crate) struct Reassembly {
    /// Incomplete messages, by the sequence number of their first fragment.
    runs: Sorted<u64, Run>,
    /// Memory of the buffers of the runs without their payload, in bytes.
    runs_overhead: usize,
    streams: Streams<u16>,
    /// What the application can read now.
    ready: VecDeque<Ready>,
    /// Bytes of the window in use, overhead included.
    held: u64,
    /// The part of `held` that is payload.
    held_payload: u64,
    /// The part of `held` that is ready to be read.
    held_ready: u64,
    /// Length of the last fragmented message, used as the estimate for the next one.
    last_len: usize,
    /// Messages and parts that became ready since the last
    /// [`take_fresh`](Self::take_fresh), and their bytes.
    fresh: (u32, u64),
    /// Bytes of the window that a fragment takes beyond its payload.
    overhead: u32,
    partial_delivery_point: usize,
    /// The incomplete messages and their order, if messages interleave.
    interleaved: Option<Box<Interleaved>>,
}

impl Reassembly {
    pub(crate) fn new(overhead: u32, partial_delivery_point: usize) -> Reassembly {
        Reassembly {
            runs: Sorted::default(),
            runs_overhead: 0,
            streams: Streams::default(),
            ready: VecDeque::new(),
            held: 0,
            held_payload: 0,
            held_ready: 0,
            last_len: 0,
            fresh: (0, 0),
            overhead,
            partial_delivery_point,
            interleaved: None,
        }
    }

    /// Both INITs are known: whether messages interleave, and whether the peer may give some up
    /// (I-FORWARD-TSN). Nothing has arrived yet.
    pub(crate) fn interleave(&mut self, interleaves: bool, forwards: bool) {
        self.interleaved = interleaves.then(|| Box::new(Interleaved::new(forwards)));
    }

    /// Whether messages interleave.
    #[inline]
    pub(crate) fn interleaves(&self) -> bool {
        self.interleaved.is_some()
    }

    /// Whether the peer may give messages up that interleave.
    pub(crate) fn forwards(&self) -> bool {
        self.interleaved.as_ref().is_some_and(|i| i.forwards)
    }

    /// Bytes of the window in use, overhead included.
    pub(crate) fn held(&self) -> u64 {
        self.held
    }

    /// Payload bytes that have not been read yet.
    pub(crate) fn held_payload(&self) -> u64 {
        self.held_payload
    }

    /// Bytes of the window that wait for the application to read them.
    pub(crate) fn held_ready(&self) -> u64 {
        self.held_ready
    }

    /// Memory that all of this takes, in bytes, by the capacity of what holds it.
    #[inline]
    pub(crate) fn memory(&self) -> usize {
        self.held_payload as usize
            + self.runs.memory()
            + self.runs_overhead
            + self.streams.memory()
            + self.interleaved.as_ref().map_or(0, |i| i.memory())
            + self.ready.len() * BLOCK
            + self.ready.capacity() * Ready::SIZE
    }

    /// Bytes of the window in use if each stands for four bytes of memory. It is less than
    /// [`held`](Self::held) unless a peer sends what takes much memory for its size.
    #[inline]
    pub(crate) fn held_by_memory(&self) -> u64 {
        (self.memory() / MEMORY_A_BYTE).saturating_sub(IDLE) as u64
    }

    /// Messages and parts that became ready since the last call, and their
    /// bytes.
    pub(crate) fn take_fresh(&mut self) -> (u32, u64) {
        core::mem::take(&mut self.fresh)
    }

    pub(crate) fn has_ready(&self) -> bool {
        !self.ready.is_empty()
    }

    /// Removes the next message or part for the application.
    pub(crate) fn pop(&mut self) -> Option<Received> {
        let r = self.ready.pop_front()?;
        self.held -= u64::from(r.charge);
        self.held_ready -= u64::from(r.charge);
        self.held_payload -= r.message.payload.len() as u64;
        if self.ready.is_empty() && self.ready.capacity() > KEPT {
            // When an association becomes idle, it frees the memory of its busy time.
            self.ready = VecDeque::new();
        }
        Some(r.message)
    }

    /// Frees the memory of the ready queue and of the runs, if there are none.
    pub(crate) fn give_idle_memory_back(&mut self) {
        if self.ready.is_empty() {
            self.ready = VecDeque::new();
        }
        if self.runs.is_empty() {
            self.runs = Sorted::default();
        }
    }

    /// Adds a fragment that has not arrived before. `in_order` is the first
    /// sequence number that is still missing.
    ///
    /// # Errors
    /// When the fragment contradicts its neighbours.
    pub(crate) fn insert(
        &mut self,
        f: &Fragment<'_>,
        in_order: u64,
    ) -> Result<(), InconsistentFragment> {
        let charge = f.payload.len() as u32 + self.overhead;
        if f.begin && f.end {
            self.check_unfragmented(f)?;
            self.charge(f, charge);
            self.insert_unfragmented(f, charge);
        } else {
            let start = self.extend_run(f, charge, in_order)?;
            self.charge(f, charge);
            self.deliver_if_complete(start, in_order);
        }
        self.check_beginning(in_order)?;
        self.deliver_part(in_order);
        Ok(())
    }

    #[inline]
    fn charge(&mut self, f: &Fragment<'_>, charge: u32) {
        self.held += u64::from(charge);
        self.held_payload += f.payload.len() as u64;
    }

    /// A message in a single chunk, the common case.
    #[inline]
    fn insert_unfragmented(&mut self, f: &Fragment<'_>, charge: u32) {
        let message = whole(f);
        let ready = Ready {
            message,
            mid: 0,
            charge,
        };
        // It is nearly always the next message, and no other one waits for it.
        if f.unordered || self.streams.advance_if_alone(f.stream, f.ssn) {
            self.make_ready(ready);
        } else {
            self.deliver(ready);
        }
    }

    /// Checks that a message in a single chunk is not inside another message.
    fn check_unfragmented(&self, f: &Fragment<'_>) -> Result<(), InconsistentFragment> {
        if self.runs.is_empty() {
            return Ok(());
        }
        if let Some((_, left)) = self.runs.last_in(..f.seq)
            && left.end_seq == f.seq
            && !left.end
        {
            return Err(BEGIN_INSIDE);
        }
        if self.runs.get(f.seq + 1).is_some_and(|r| !r.begin) {
            return Err(END_INSIDE);
        }
        Ok(())
    }

    /// Checks that no run waits for a beginning that cannot come, because everything
    /// before it has arrived. The peer could hoard memory here with fragments that are
    /// acknowledged and never delivered.
    #[inline]
    fn check_beginning(&self, in_order: u64) -> Result<(), InconsistentFragment> {
        match self.runs.first() {
            Some((start, run)) if start < in_order && !run.begin => Err(NEVER_BEGAN),
            _ => Ok(()),
        }
    }

    /// Adds the fragment to the run that it extends, or starts a new one.
    /// Returns the first sequence number of that run.
    fn extend_run(
        &mut self,
        f: &Fragment<'_>,
        charge: u32,
        in_order: u64,
    ) -> Result<u64, InconsistentFragment> {
        let (left, joins_right) = self.neighbours(f)?;
        let start = left.unwrap_or(f.seq);
        // A message that begins in order is probably as long as the last one. Only
        // this message gets memory in advance. Otherwise a peer could claim much
        // memory with many first fragments.
        let expected = if left.is_none() && f.begin && f.seq + 1 == in_order {
            self.last_len.max(f.payload.len())
        } else {
            0
        };
        let right = joins_right.then(|| self.runs.remove(f.seq + 1));
        let run = if left.is_none() {
            self.runs.insert(start, Run::starting_with(f, expected))
        } else {
            let run = self.runs.get_mut(start).expect("found just now");
            self.runs_overhead -= run.overhead();
            run
        };
        run.push(f, charge);
        if let Some(tail) = right.flatten() {
            self.runs_overhead -= tail.overhead();
            run.join(tail);
        }
        self.runs_overhead += run.overhead();
        Ok(start)
    }

    /// The start of the run that the fragment continues, if any, and whether
    /// another run continues the fragment.
    ///
    /// # Errors
    /// When the fragment contradicts one of the two.
    fn neighbours(&self, f: &Fragment<'_>) -> Result<(Option<u64>, bool), InconsistentFragment> {
        let left = self.runs.last_in(..f.seq);
        let left = left.filter(|(_, r)| r.end_seq == f.seq && !r.end);
        let right = self.runs.get(f.seq + 1).filter(|r| !r.begin);
        if left.is_some() && f.begin {
            return Err(BEGIN_INSIDE);
        }
        if right.is_some() && f.end {
            return Err(END_INSIDE);
        }
        if left.is_some_and(|(_, r)| !r.matches(f)) || right.is_some_and(|r| !r.matches(f)) {
            return Err(InconsistentFragment(
                "neighbouring fragments name different streams or sequence numbers",
            ));
        }
        Ok((left.map(|(start, _)| start), right.is_some()))
    }

    /// Delivers the run if it is complete: a message, or the last part of one.
    fn deliver_if_complete(&mut self, start: u64, in_order: u64) {
        let is_complete =
            |run: &Run| run.begin && run.end && !(run.in_parts && run.end_seq > in_order);
        if !self.runs.get(start).is_some_and(is_complete) {
            return;
        }
        let mut run = self.runs.remove(start).expect("looked up above");
        self.runs_overhead -= run.overhead();
        self.last_len = run.len().min(MAX_EXPECTED);
        let ready = taken_from(&mut run, (true, 0));
        self.deliver(ready);
    }

    /// Makes a message, or its last part, ready to be read if it is the next one of its
    /// stream. The messages that waited for it also become ready.
    fn deliver(&mut self, ready: Ready) {
        if ready.message.unordered {
            self.make_ready(ready);
            return;
        }
        let (id, ssn) = (ready.message.stream, ready.message.ssn);
        if !self.streams.is_next(id, ssn) {
            // Of two messages with the same number the first stays, because it has been
            // acknowledged.
            if let Err(second) = self.streams.hold(ready) {
                self.held -= u64::from(second.charge);
                self.held_payload -= second.message.payload.len() as u64;
            }
            return;
        }
        self.streams.advance(id);
        self.make_ready(ready);
        while let Some(next) = self.streams.take_next(id) {
            self.make_ready(next);
        }
    }

    #[inline]
    fn make_ready(&mut self, ready: Ready) {
        self.held_ready += u64::from(ready.charge);
        self.fresh.0 += 1;
        self.fresh.1 += ready.message.payload.len() as u64;
        self.ready.push_back(ready);
    }

    /// Partial delivery (section 6.9): makes the front of a long message ready
    /// if that message is the next one.
    fn deliver_part(&mut self, in_order: u64) {
        if self.runs.is_empty() {
            return;
        }
        let Some((start, run)) = self.runs.last_in(..in_order) else {
            return;
        };
        if !run.begin || run.end || run.end_seq != in_order {
            // The rest of a message in parts may have become complete.
            if run.begin && run.end && run.in_parts {
                self.deliver_if_complete(start, in_order);
            }
            return;
        }
        let (id, ssn, unordered) = (run.stream, run.ssn, run.unordered);
        // The charge includes the overhead. Otherwise a message in tiny fragments
        // could fill the window without ever reaching the point.
        if (run.charge as usize) < self.partial_delivery_point
            || (!unordered && !self.streams.is_next(id, ssn))
        {
            return;
        }
        let run = self.runs.get_mut(start).expect("looked up above");
        self.runs_overhead -= run.overhead();
        let part = taken_from(run, (false, 0));
        run.in_parts = true;
        self.runs_overhead += run.overhead();
        self.make_ready(part);
    }

    /// Adds a fragment of a message that may interleave with others (RFC 8260), which has not
    /// arrived before. `f.seq` is its FSN.
    ///
    /// # Errors
    /// When the fragment contradicts others of its message, or that was delivered before.
    #[inline(never)]
    pub(crate) fn insert_interleaved(
        &mut self,
        f: &Fragment<'_>,
        mid: u32,
    ) -> Result<(), InconsistentFragment> {
        let Some(i) = &mut self.interleaved else {
            return Ok(());
        };
        let id = MessageId {
            stream: f.stream,
            unordered: f.unordered,
            mid,
        };
        if i.standing(id)? == Standing::Skipped {
            // Acknowledged, and dropped as the rest of the message.
            return Ok(());
        }
        let charge = f.payload.len() as u32 + self.overhead;
        if f.begin && f.end {
            i.check_whole(id)?;
            let alone = !f.unordered && i.streams.advance_if_alone(f.stream, mid);
            self.charge(f, charge);
            let ready = Ready {
                message: whole(f),
                mid,
                charge,
            };
            if alone {
                self.make_ready(ready);
                self.deliver_part_interleaved(f.stream);
            } else {
                self.deliver_interleaved(ready);
            }
            return Ok(());
        }
        i.extend(f, id, charge)?;
        let complete = i.take_complete(id);
        self.charge(f, charge);
        match complete {
            Some(mut run) => {
                let was_in_parts = run.in_parts;
                self.deliver_interleaved(taken_from(&mut run, (true, mid)));
                if was_in_parts && let Some(next) = self.next_unordered(f.stream) {
                    self.deliver_part_of(next);
                }
            }
            None => self.deliver_part_of(id),
        }
        Ok(())
    }

    fn next_unordered(&self, stream: u16) -> Option<MessageId> {
        self.interleaved.as_ref()?.next_unordered(stream)
    }

    /// Makes a message, or its last part, ready to be read if it is the next one of its stream, with
    /// the messages that waited for it.
    fn deliver_interleaved(&mut self, ready: Ready) {
        let Some(i) = &mut self.interleaved else {
            return;
        };
        let (stream, mid) = (ready.message.stream, ready.mid);
        if ready.message.unordered {
            return self.make_ready(ready);
        }
        if !i.streams.is_next(stream, mid) {
            // No other one with its number waits: that was checked.
            if let Err(second) = i.streams.hold(ready) {
                self.held -= u64::from(second.charge);
                self.held_payload -= second.message.payload.len() as u64;
            }
            return;
        }
        i.streams.advance(stream);
        self.make_ready(ready);
        self.deliver_waiting(stream);
    }

    /// The next message of a stream is another one: those that waited for it become ready, and what
    /// has arrived of the one after them, if it is to be delivered in parts.
    fn deliver_waiting(&mut self, stream: u16) {
        let next = |r: &mut Self| r.interleaved.as_mut()?.streams.take_next(stream);
        while let Some(ready) = next(self) {
            self.make_ready(ready);
        }
        self.deliver_part_interleaved(stream);
    }

    /// Partial delivery of the next ordered message of a stream.
    #[inline]
    fn deliver_part_interleaved(&mut self, stream: u16) {
        let Some(i) = &self.interleaved else { return };
        self.deliver_part_of(MessageId {
            stream,
            unordered: false,
            mid: i.streams.next_of(stream),
        });
    }

    /// Makes the front of an incomplete message ready, if all of them hold too much.
    fn deliver_part_of(&mut self, id: MessageId) {
        let point = self.partial_delivery_point;
        let Some(i) = &mut self.interleaved else {
            return;
        };
        let Some(run) = i.begin_part(id, point) else {
            return;
        };
        let part = taken_from(run, (false, id.mid));
        i.end_part(id);
        self.make_ready(part);
    }

    /// The peer has given up the messages of a stream up to `mid`, ordered or unordered ones
    /// (I-FORWARD-TSN). Complete ones are delivered. Returns whether parts of one of the others were
    /// delivered already: its rest will not come.
    pub(crate) fn skip(&mut self, stream: u16, unordered: bool, mid: u32) -> bool {
        let Some(i) = &mut self.interleaved else {
            return false;
        };
        let (charge, payload, cut) = i.drop_up_to(stream, unordered, mid);
        self.held -= charge;
        self.held_payload -= payload;
        if unordered {
            return cut;
        }
        let ahead = mid.wrapping_sub(i.streams.next_of(stream));
        if ahead >= 1 << 31 {
            return cut; // older than what was delivered
        }
        let waits = |r: &mut Self| r.interleaved.as_mut()?.streams.take_up_to(stream, mid);
        while let Some(ready) = waits(self) {
            self.make_ready(ready);
        }
        if let Some(i) = &mut self.interleaved {
            i.streams.skip(stream, mid);
        }
        self.deliver_waiting(stream);
        cut
    }

    /// The peer restarted (section 5.2.4, action A): drops all fragments and waiting
    /// messages, resets all stream sequence numbers, and keeps what is ready. `next`: of the
    /// association that begins.
    pub(crate) fn restart(&mut self, next: &Reassembly) {
        self.interleave(next.interleaves(), next.forwards());
        self.runs = Sorted::default();
        self.streams = Streams::default();
        self.runs_overhead = 0;
        self.held = self.held_ready;
        let lengths = self.ready.iter().map(|r| r.message.payload.len() as u64);
        self.held_payload = lengths.sum();
    }

    /// Drops everything.
    pub(crate) fn forget(&mut self) {
        let (interleaves, forwards) = (self.interleaves(), self.forwards());
        *self = Reassembly::new(self.overhead, self.partial_delivery_point);
        self.interleave(interleaves, forwards);
    }

    /// Whether the running totals match the data.
    pub(crate) fn totals_agree(&self) -> bool {
        let runs: usize = self.runs.values().map(Run::overhead).sum();
        let interleaved = self.interleaved.as_ref().is_none_or(|i| i.totals_agree());
        self.windows_agree()
            && self.streams.total_agrees()
            && runs == self.runs_overhead
            && interleaved
    }

    /// Whether `held`, `held_payload` and `held_ready` match the data.
    fn windows_agree(&self) -> bool {
        let i = self.interleaved.as_deref();
        let interleaved = i.into_iter().flat_map(|i| i.streams.waiting());
        let waiting = self.streams.waiting().chain(interleaved);
        let (mut held, mut payload) = (0, 0);
        for r in &self.ready {
            held += u64::from(r.charge);
            payload += r.message.payload.len() as u64;
        }
        let unread = held;
        for w in waiting {
            held += u64::from(w.charge());
            payload += w.len() as u64;
        }
        held += self.runs.values().map(|r| u64::from(r.charge)).sum::<u64>();
        held += i.map_or(0, Interleaved::charge);
        payload += self.runs.values().map(|r| r.len() as u64).sum::<u64>();
        payload += i.map_or(0, Interleaved::payload);
        held == self.held && payload == self.held_payload && unread == self.held_ready
    }
}

/// A message in a single chunk.
#[inline]
fn whole(f: &Fragment<'_>) -> Received {
    Received {
        stream: f.stream,
        ssn: f.ssn,
        ppid: f.ppid,
        unordered: f.unordered,
        first: true,
        last: true,
        payload: match f.shared {
            Some(payload) => payload.clone(),
            None => Bytes::copy_from_slice(f.payload),
        },
    }
}

/// What a run holds, as a message or a part of one, with its MID.
#[inline]
fn taken_from(run: &mut Run, (last, mid): (bool, u32)) -> Ready {
    Ready {
        charge: core::mem::take(&mut run.charge),
        mid,
        message: Received {
            stream: run.stream,
            ssn: run.ssn,
            ppid: run.ppid,
            unordered: run.unordered,
            first: !run.in_parts,
            last,
            payload: run.take_bytes(),
        },
    }
}

#[cfg(test)]
mod tests;

#[cfg(test)]
mod interleaved_tests;

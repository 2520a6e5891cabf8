//! From fragments to messages, in the order of their streams (RFC 9260 sections
//! 6.5, 6.6 and 6.9).
//!
//! Fragments with consecutive TSNs join into runs; a run from a first to a last
//! fragment is a message. A message that outgrows the partial delivery point is
//! handed over in parts, but only once everything before it has arrived, so at
//! most one message is in parts at a time.

use super::waiting::Waiting;
use crate::api::Received;
use bytes::{Bytes, BytesMut};
use std::collections::{BTreeMap, VecDeque};

/// Room that is made at most for a message whose length is not known yet.
const MOST_EXPECTED: usize = 1 << 18;

/// A DATA chunk, as far as reassembly looks at it.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Fragment<'a> {
    pub(crate) seq: u64,
    pub(crate) stream: u16,
    pub(crate) ssn: u16,
    pub(crate) ppid: u32,
    pub(crate) unordered: bool,
    pub(crate) begin: bool,
    pub(crate) end: bool,
    pub(crate) payload: &'a [u8],
    /// The same bytes where they can be kept without copying them.
    pub(crate) shared: Option<&'a Bytes>,
}

/// Why a fragment cannot be part of any message: the peer broke the protocol.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) struct Misfit(pub(crate) &'static str);

/// Consecutive fragments of one message.
#[derive(Debug)]
struct Run {
    /// One past its last sequence.
    end_seq: u64,
    stream: u16,
    ssn: u16,
    ppid: u32,
    unordered: bool,
    /// Has the first fragment, or its front was handed over already.
    begin: bool,
    end: bool,
    /// Its front was handed over already.
    in_parts: bool,
    /// Bytes of the window that it holds.
    charge: u32,
    /// Its bytes, in pieces: a run that grows at its front or joins another one
    /// copies nothing, whatever order a peer sends in.
    pieces: VecDeque<BytesMut>,
}

impl Run {
    /// Adds bytes behind what is there.
    fn append(&mut self, payload: &[u8]) {
        match self.pieces.back_mut() {
            Some(last) => last.extend_from_slice(payload),
            None => self.pieces.push_back(payload.into()),
        }
    }

    /// All bytes as one.
    fn take_bytes(&mut self) -> Bytes {
        if self.pieces.len() > 1 {
            let mut whole = BytesMut::with_capacity(self.len());
            for piece in self.pieces.drain(..) {
                whole.extend_from_slice(&piece);
            }
            return whole.freeze();
        }
        self.pieces.pop_front().unwrap_or_default().freeze()
    }

    fn len(&self) -> usize {
        self.pieces.iter().map(BytesMut::len).sum()
    }
}

/// A message, or part of one, with what it holds of the window.
#[derive(Debug)]
pub(super) struct Ready {
    pub(super) message: Received,
    pub(super) charge: u32,
}

#[derive(Debug, Default)]
struct Stream {
    next_ssn: u16,
    /// Whole messages that wait for an earlier one.
    waiting: Waiting,
}

impl Stream {
    /// Whether it is that message's turn and no other one waits: then the turn is
    /// over, too.
    #[inline]
    fn takes_turn(&mut self, ssn: u16) -> bool {
        let alone = ssn == self.next_ssn && self.waiting.is_empty();
        if alone {
            self.next_ssn = ssn.wrapping_add(1);
        }
        alone
    }
}

/// All that has arrived and was not read yet.
#[derive(Debug)]
pub(crate) struct Reassembly {
    runs: BTreeMap<u64, Run>,
    streams: Vec<Stream>,
    ready: VecDeque<Ready>,
    /// Bytes of the window in use.
    held: u64,
    /// The same without overhead.
    held_payload: u64,
    /// Length of the last message that came in fragments.
    usual: usize,
    /// What of `held` is ready to be read.
    held_ready: u64,
    /// Messages and parts, and their bytes, that became ready since the last
    /// [`take_fresh`](Self::take_fresh).
    fresh: (u32, u64),
    overhead: u32,
    partial_delivery_point: usize,
}

impl Reassembly {
    pub(crate) fn new(overhead: u32, partial_delivery_point: usize) -> Reassembly {
        Reassembly {
            runs: BTreeMap::new(),
            streams: Vec::new(),
            ready: VecDeque::new(),
            held: 0,
            held_payload: 0,
            usual: 0,
            fresh: (0, 0),
            held_ready: 0,
            overhead,
            partial_delivery_point,
        }
    }

    /// Bytes of the window in use, overhead included.
    pub(crate) fn held(&self) -> u64 {
        self.held
    }

    /// Payload bytes that were not read yet.
    pub(crate) fn held_payload(&self) -> u64 {
        self.held_payload
    }

    /// Bytes of the window that only wait for the reader.
    pub(crate) fn held_ready(&self) -> u64 {
        self.held_ready
    }

    /// How many messages and parts, and bytes of them, have become ready since
    /// this was asked last.
    pub(crate) fn take_fresh(&mut self) -> (u32, u64) {
        core::mem::take(&mut self.fresh)
    }

    pub(crate) fn has_ready(&self) -> bool {
        !self.ready.is_empty()
    }

    /// Hands over the next message or part.
    pub(crate) fn pop(&mut self) -> Option<Received> {
        let r = self.ready.pop_front()?;
        self.held -= u64::from(r.charge);
        self.held_ready -= u64::from(r.charge);
        self.held_payload -= r.message.payload.len() as u64;
        if self.ready.is_empty() && self.ready.capacity() > 64 {
            // An idle association shall not keep the memory of a busy one.
            self.ready = VecDeque::new();
        }
        Some(r.message)
    }

    fn stream(&mut self, id: u16) -> &mut Stream {
        let i = usize::from(id);
        if self.streams.len() <= i {
            self.streams.resize_with(i + 1, Stream::default);
        }
        &mut self.streams[i]
    }

    /// Takes a new fragment. `in_order` is the first sequence that is still
    /// missing: all below have arrived.
    ///
    /// # Errors
    /// When the fragment contradicts its neighbours.
    pub(crate) fn insert(&mut self, f: &Fragment<'_>, in_order: u64) -> Result<(), Misfit> {
        let charge = f.payload.len() as u32 + self.overhead;
        if f.begin && f.end {
            self.check_alone(f)?;
            self.held += u64::from(charge);
            self.held_payload += f.payload.len() as u64;
            let message = Received {
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
            };
            let ready = Ready { message, charge };
            // Nearly always it is its turn, and nothing waits for it.
            if f.unordered || self.stream(f.stream).takes_turn(f.ssn) {
                self.make_ready(ready);
            } else {
                self.deliver(ready);
            }
        } else {
            let start = self.join(f, charge, in_order)?;
            self.held += u64::from(charge);
            self.held_payload += f.payload.len() as u64;
            self.finish(start, in_order);
        }
        self.advance_parts(in_order);
        Ok(())
    }

    /// A whole message in one chunk must not stand inside another message.
    fn check_alone(&self, f: &Fragment<'_>) -> Result<(), Misfit> {
        if self.runs.is_empty() {
            return Ok(());
        }
        if let Some((_, left)) = self.runs.range(..f.seq).next_back()
            && left.end_seq == f.seq
            && !left.end
        {
            return Err(Misfit("a message began inside of another one"));
        }
        if self.runs.get(&(f.seq + 1)).is_some_and(|r| !r.begin) {
            return Err(Misfit("a message ended inside of another one"));
        }
        Ok(())
    }

    /// Puts the fragment into the run that it extends, and answers with the
    /// start of that run.
    fn join(&mut self, f: &Fragment<'_>, charge: u32, in_order: u64) -> Result<u64, Misfit> {
        let fits = |r: &Run| {
            r.stream == f.stream && r.unordered == f.unordered && (f.unordered || r.ssn == f.ssn)
        };
        let left = self
            .runs
            .range(..f.seq)
            .next_back()
            .filter(|(_, r)| r.end_seq == f.seq && !r.end)
            .map(|(&s, r)| (s, fits(r)));
        let right = self.runs.get(&(f.seq + 1)).filter(|r| !r.begin).map(&fits);
        if left.is_some() && f.begin {
            return Err(Misfit("a message began inside of another one"));
        }
        if right.is_some() && f.end {
            return Err(Misfit("a message ended inside of another one"));
        }
        if left.is_some_and(|l| !l.1) || right == Some(false) {
            return Err(Misfit(
                "neighbouring fragments name different streams or sequence numbers",
            ));
        }
        let start = left.map_or(f.seq, |l| l.0);
        // A message that begins in order will probably be as long as the last
        // one. Only the one at the front gets that room: a crowd of beginnings
        // shall not.
        let mut first_piece = VecDeque::new();
        if left.is_none() && f.begin && f.seq + 1 == in_order {
            first_piece.push_back(BytesMut::with_capacity(self.usual.max(f.payload.len())));
        }
        let run = self.runs.entry(start).or_insert_with(|| Run {
            end_seq: f.seq,
            stream: f.stream,
            ssn: f.ssn,
            ppid: f.ppid,
            unordered: f.unordered,
            begin: f.begin,
            end: false,
            in_parts: false,
            charge: 0,
            pieces: first_piece,
        });
        run.append(f.payload);
        run.end_seq = f.seq + 1;
        run.end = f.end;
        run.charge += charge;
        if right.is_some() {
            let mut tail = self
                .runs
                .remove(&(f.seq + 1))
                .expect("the right neighbour was found above");
            let run = self.runs.get_mut(&start).expect("inserted above");
            if run.pieces.len() < tail.pieces.len() {
                // The shorter list moves.
                while let Some(piece) = run.pieces.pop_back() {
                    tail.pieces.push_front(piece);
                }
                run.pieces = tail.pieces;
            } else {
                run.pieces.append(&mut tail.pieces);
            }
            run.end_seq = tail.end_seq;
            run.end = tail.end;
            run.charge += tail.charge;
        }
        Ok(start)
    }

    /// Hands the run over if it is a whole message.
    fn finish(&mut self, start: u64, in_order: u64) {
        let run = &self.runs[&start];
        if !(run.begin && run.end) || (run.in_parts && run.end_seq > in_order) {
            return;
        }
        let mut run = self.runs.remove(&start).expect("looked up above");
        self.usual = run.len().min(MOST_EXPECTED);
        let ready = Ready {
            charge: run.charge,
            message: Received {
                stream: run.stream,
                ssn: run.ssn,
                ppid: run.ppid,
                unordered: run.unordered,
                first: !run.in_parts,
                last: true,
                payload: run.take_bytes(),
            },
        };
        self.deliver(ready);
    }

    /// Puts a whole message, or the last part of one, where the reader finds it
    /// once its turn has come.
    fn deliver(&mut self, ready: Ready) {
        if ready.message.unordered {
            self.make_ready(ready);
            return;
        }
        let (id, ssn) = (ready.message.stream, ready.message.ssn);
        let stream = self.stream(id);
        if ssn != stream.next_ssn {
            // A second message with a waiting number replaces nothing: the first
            // one stays, as it was acknowledged already.
            if let Err(second) = stream.waiting.insert(stream.next_ssn, ready) {
                self.held -= u64::from(second.charge);
                self.held_payload -= second.message.payload.len() as u64;
            }
            return;
        }
        stream.next_ssn = ssn.wrapping_add(1);
        self.make_ready(ready);
        loop {
            let stream = &mut self.streams[usize::from(id)];
            let Some(next) = stream.waiting.take(stream.next_ssn) else {
                break;
            };
            stream.next_ssn = stream.next_ssn.wrapping_add(1);
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

    /// Hands over the front of a long message whose turn it is.
    fn advance_parts(&mut self, in_order: u64) {
        if self.runs.is_empty() {
            return;
        }
        let Some((&start, run)) = self.runs.range(..in_order).next_back() else {
            return;
        };
        if !run.begin || run.end || run.end_seq != in_order {
            // It may have become whole while a part of it waited.
            if run.begin && run.end && run.in_parts {
                self.finish(start, in_order);
            }
            return;
        }
        let (id, ssn, unordered) = (run.stream, run.ssn, run.unordered);
        // Counted with its overhead, so that a message in tiny fragments cannot
        // fill the window without ever reaching the point.
        if (run.charge as usize) < self.partial_delivery_point
            || (!unordered && self.stream(id).next_ssn != ssn)
        {
            return;
        }
        let run = self.runs.get_mut(&start).expect("looked up above");
        let part = Ready {
            charge: core::mem::take(&mut run.charge),
            message: Received {
                stream: id,
                ssn,
                ppid: run.ppid,
                unordered,
                first: !run.in_parts,
                last: false,
                payload: run.take_bytes(),
            },
        };
        run.in_parts = true;
        self.make_ready(part);
    }

    /// Forgets all streams' order and all fragments, but keeps what is ready:
    /// the peer restarted (section 5.2.4, action A).
    pub(crate) fn restart(&mut self) {
        self.runs.clear();
        self.streams.clear();
        self.held = self.held_ready;
        let lengths = self.ready.iter().map(|r| r.message.payload.len() as u64);
        self.held_payload = lengths.sum();
    }

    /// Messages and fragments that can never be delivered any more.
    pub(crate) fn totals_agree(&self) -> bool {
        let waiting = self.streams.iter().flat_map(|s| s.waiting.iter());
        let messages: u64 = self
            .ready
            .iter()
            .chain(waiting)
            .map(|r| u64::from(r.charge))
            .sum();
        let unread: u64 = self.ready.iter().map(|r| u64::from(r.charge)).sum();
        let runs: u64 = self.runs.values().map(|r| u64::from(r.charge)).sum();
        let waiting = self.streams.iter().flat_map(|s| s.waiting.iter());
        let ready = self.ready.iter().chain(waiting);
        let payload = ready.map(|r| r.message.payload.len() as u64).sum::<u64>()
            + self.runs.values().map(|r| r.len() as u64).sum::<u64>();
        messages + runs == self.held && payload == self.held_payload && unread == self.held_ready
    }
}

#[cfg(test)]
mod tests;

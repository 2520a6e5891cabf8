//! DATA arrives (RFC 9260 sections 6.2 and 6.5 to 6.7), or I-DATA (RFC 8260).

use super::dispatch::Gathered;
use super::ending::AbortReason;
use super::scarcity::{Room, Waiting};
use super::{Association, Control, Ctx, State};
use crate::api::{Event, LossReason};
use crate::observe::Observation;
use crate::path::PathId;
use crate::recv::acker::Arrived;
use crate::recv::reassembly::Fragment;
use crate::recv::tsn_map::Arrival;
use crate::refusals::Rule;
use bytes::Bytes;
use byway_wire::Data;
use core::ops::ControlFlow;

impl Association {
    /// Handles one DATA chunk; false ends the packet. `tail`: the payload tail, if the
    /// payload is not part of the packet's bytes.
    #[inline(never)]
    pub(super) fn on_data(
        &mut self,
        ctx: &mut Ctx<'_>,
        (from, tail): (Option<PathId>, &Bytes),
        d: &Data<'_>,
        gathered: &mut Gathered,
    ) -> bool {
        match self.admit_data(ctx, from, (d, false), gathered) {
            ControlFlow::Continue(seq) => {
                self.pass_to_reassembly(ctx, (from, tail), (seq, d), gathered)
            }
            ControlFlow::Break(goes_on) => goes_on,
        }
    }

    /// Checks a chunk of user data, of I-DATA if it `interleaves`, and notes its TSN. Returns the
    /// sequence of one that is new, or whether the packet goes on.
    #[inline(always)]
    pub(super) fn admit_data(
        &mut self,
        ctx: &mut Ctx<'_>,
        from: Option<PathId>,
        (d, interleaves): (&Data<'_>, bool),
        gathered: &mut Gathered,
    ) -> ControlFlow<bool, u64> {
        if !self.state.takes_data() {
            self.discard(ctx, Rule::Misplaced, "DATA in a state that takes none");
            return ControlFlow::Break(true);
        }
        if interleaves != self.recv.reassembly.interleaves() {
            // RFC 8260 section 2.2.3.
            self.violation(
                ctx,
                match interleaves {
                    true => "I-DATA, which was not agreed on",
                    false => "DATA, although I-DATA was agreed on",
                },
            );
            return ControlFlow::Break(false);
        }
        gathered.has_data = true;
        if d.payload.is_empty() {
            let reason = LossReason::ProtocolViolation("a DATA chunk without data");
            self.abort(ctx, reason, AbortReason::NoUserData(d.tsn));
            return ControlFlow::Break(false);
        }
        let first = self.recv.tsns.tsn_of(0) == d.tsn;
        let seq = match self.recv.tsns.classify(d.tsn) {
            Arrival::New(seq) => seq,
            Arrival::Duplicate(seq) => {
                self.recv.tsns.note_duplicate(d.tsn);
                self.stats.duplicates_received += 1;
                gathered.data.duplicate = true;
                self.note_data_chunk(first, false);
                self.observe_data(ctx, from, d, seq, true);
                return ControlFlow::Break(true);
            }
            Arrival::OutOfReach => {
                gathered.data.duplicate = true;
                self.note_data_chunk(first, false);
                self.discard(ctx, Rule::Window, "TSN too far ahead");
                return ControlFlow::Break(true);
            }
        };
        let first_missing = seq == self.recv.tsns.next();
        let has_room = self.has_room(seq, first_missing);
        let is_shed = has_room
            && self.room_for_data(ctx.scarcity).is_some_and(|room| {
                let waiting = Waiting {
                    memory: self.recv.reassembly.memory(),
                    window: self.recv.reassembly.held(),
                    first_missing,
                    behind_gap: seq < self.recv.tsns.end(),
                };
                !room.admits(waiting, d.payload.len())
            });
        if is_shed {
            self.refuse(ctx, Rule::DataMemory);
        }
        if !has_room || is_shed {
            // Dropped and not acknowledged, so the peer will send it again. A SACK leaves
            // at once (section 6.2).
            gathered.data.immediate = true;
            self.note_data_chunk(first, false);
            let why = "no room in the receive buffer";
            match is_shed {
                true => self.observe(ctx, || Observation::Discarded { why }),
                false => self.discard(ctx, Rule::Window, why),
            }
            return ControlFlow::Break(true);
        }
        self.observe_data(ctx, from, d, seq, false);
        self.recv.tsns.insert(seq);
        gathered.data.new = true;
        self.note_data_chunk(first, true);
        gathered.data.immediate |= d.immediate;
        ControlFlow::Continue(seq)
    }

    /// Whether there is the stream of a new chunk. If not, the chunk is acknowledged, reported, and
    /// not delivered (section 6.5).
    #[inline]
    fn has_stream(
        &mut self,
        ctx: &mut Ctx<'_>,
        from: Option<PathId>,
        d: &Data<'_>,
        gathered: &mut Gathered,
    ) -> bool {
        let has = d.stream_id < self.recv.streams();
        if !has && !gathered.reported {
            gathered.reported = true;
            self.report(ctx, from, |w| {
                w.invalid_stream_identifier(d.stream_id);
            });
        }
        has
    }

    /// A new chunk goes to its stream; false ends the packet.
    #[inline]
    fn pass_to_reassembly(
        &mut self,
        ctx: &mut Ctx<'_>,
        (from, tail): (Option<PathId>, &Bytes),
        (seq, d): (u64, &Data<'_>),
        gathered: &mut Gathered,
    ) -> bool {
        if !self.has_stream(ctx, from, d, gathered) {
            return true;
        }
        let fragment = Fragment {
            seq,
            stream: d.stream_id,
            ssn: if d.unordered { 0 } else { d.ssn },
            ppid: d.ppid,
            unordered: d.unordered,
            begin: d.begin,
            end: d.end,
            payload: d.payload,
            shared: Some(tail).filter(|t| core::ptr::eq(&***t, d.payload)),
        };
        let in_order = self.recv.tsns.next();
        if let Err(misfit) = self.recv.reassembly.insert(&fragment, in_order) {
            self.violation(ctx, misfit.0);
            return false;
        }
        true
    }

    /// A new I-DATA chunk goes to its stream; false ends the packet. Only the first fragment of a
    /// message carries its PPID, and the others their FSN (RFC 8260 section 2.1).
    pub(super) fn pass_by_fsn(
        &mut self,
        ctx: &mut Ctx<'_>,
        from: Option<PathId>,
        (d, mid): (&Data<'_>, u32),
        gathered: &mut Gathered,
    ) -> bool {
        if !self.has_stream(ctx, from, d, gathered) {
            return true;
        }
        let (fsn, ppid) = if d.begin { (0, d.ppid) } else { (d.ppid, 0) };
        let fragment = Fragment {
            seq: u64::from(fsn),
            stream: d.stream_id,
            ssn: if d.unordered { 0 } else { d.ssn },
            ppid,
            unordered: d.unordered,
            begin: d.begin,
            end: d.end,
            payload: d.payload,
            shared: None,
        };
        if let Err(misfit) = self.recv.reassembly.insert_interleaved(&fragment, mid) {
            self.violation(ctx, misfit.0);
            return false;
        }
        true
    }

    /// A DATA chunk was checked; `first` if it has the initial TSN.
    #[inline]
    fn note_data_chunk(&mut self, first: bool, new: bool) {
        if let Some(d) = &mut self.optional.dialect {
            d.on_data_chunk(first, new && self.recv.tsns.has_gap());
        }
    }

    fn observe_data(
        &self,
        ctx: &mut Ctx<'_>,
        from: Option<PathId>,
        d: &Data<'_>,
        seq: u64,
        duplicate: bool,
    ) {
        self.observe(ctx, || Observation::DataReceived {
            path: from.unwrap_or(PathId(0)),
            tsn: d.tsn,
            seq,
            bytes: d.payload.len() as u32,
            duplicate,
        });
    }

    /// Whether the receive buffer has room for a chunk. If the window is closed, only a
    /// chunk that fills a gap is accepted (section 6.2). Payload decides this, because
    /// the peer counts payload against the advertised window. With overhead, the limit
    /// is twice the buffer. For the first missing chunk it is four times the buffer while
    /// the reader keeps up, because all later data waits for this chunk. The memory that
    /// all this takes may be four times the buffer, or six times for that chunk.
    #[inline(always)]
    fn has_room(&self, seq: u64, first_missing: bool) -> bool {
        let held = &self.recv.reassembly;
        let buffer = u64::from(self.recv.buffer());
        let fills_gap = seq < self.recv.tsns.end();
        let hoard = held.held();
        let by_memory = held.held_by_memory();
        let frees = fills_gap && first_missing && held.held_ready() < buffer;
        hoard < 2 * buffer && by_memory < buffer && (held.held_payload() < buffer || fills_gap)
            || frees && hoard < 4 * buffer && 2 * by_memory < 3 * buffer
    }

    /// A packet with DATA was handled: decides when it is acknowledged.
    // `arrived` is passed by reference. A copy of flags that were just written one by one
    // has to wait for the store buffer.
    #[inline]
    pub(super) fn after_data(&mut self, ctx: &mut Ctx<'_>, from: PathId, arrived: &mut Arrived) {
        if self.counts_packets() {
            // DAC: delayed in spite of gaps.
            arrived.gap = false;
        }
        let room = self.room_for_data(ctx.scarcity);
        self.recv.limit_window(room.map_or(u32::MAX, Room::window));
        let (acker, cfg) = (&mut self.recv.acker, &self.cfg);
        let now = ctx.now;
        let by_dialect = match &mut self.optional.dialect {
            Some(d) => d.on_data(acker, (now, from), arrived, cfg),
            None => false,
        };
        if !by_dialect {
            acker.on_data(now, from, arrived, &cfg.sack);
        }
        self.tune_receive_buffer(ctx);
        if matches!(self.state, State::ShutdownSent) {
            // Section 9.2: SACK at once, SHUTDOWN again, restart T2.
            self.recv.acker.want_now();
            self.control.retain(|c| !matches!(c, Control::Shutdown));
            self.control.push_back(Control::Shutdown);
        }
        self.tell_readable(ctx);
    }

    pub(super) fn tell_readable(&mut self, ctx: &mut Ctx<'_>) {
        let (messages, bytes) = self.recv.reassembly.take_fresh();
        if messages > 0 {
            self.observe_detail(ctx, || Observation::Delivered { messages, bytes });
        }
        if self.recv.take_readable() {
            self.event(ctx, Event::Readable);
        }
    }
}

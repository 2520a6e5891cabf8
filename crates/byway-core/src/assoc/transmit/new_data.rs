//! Sends new chunks (RFC 9260 sections 6.1, 6.9 and 6.10).

use super::Sent;
use super::admission::Admitted;
use super::packet::DataPacket;
use crate::assoc::{Association, Ctx, State};
use crate::observe::Observation;
use crate::path::PathId;
use crate::send::ledger::FirstSending;
use crate::send::queue::{Cut, LaneId};
use byway_wire::{Data, padded};

impl Association {
    /// Sends a packet of new chunks from one lane of the send queue.
    #[inline(never)]
    pub(super) fn send_new(
        &mut self,
        ctx: &mut Ctx<'_>,
        buf: &mut Vec<u8>,
        first: Admitted,
    ) -> Sent {
        let Admitted { path, lane, len } = first;
        let is_window_probe = self.send.window_probe.packet_leaves();
        self.note_leaving(path, ctx.now);
        let max_payload = self.max_payload();
        let header = self.send.header_len();
        let mut packet = self.begin_data_packet(ctx, buf, path, len + header);
        let mut is_first = true;
        let mut waits = Some(len);
        while let Some(len) = waits {
            let len = if is_first {
                len
            } else {
                self.shortened(lane, max_payload, len, packet.room())
            };
            let charge = len as u64 + u64::from(self.cfg.buffer.peer_overhead);
            let fits = padded(len + header) <= packet.room();
            let window = self.send.rwnd() >= charge && !is_window_probe;
            if !(is_first || (fits && window)) {
                break;
            }
            // Two copies of what follows: a fragment that may come from either place would be put
            // together in memory, and each chunk would wait for the store buffer.
            if let Some(cut) = self.send.queue.cut_in_order(lane, len) {
                self.send_chunk(ctx, &mut packet, path, cut);
            } else if !self.send_chunk_of_stream(ctx, &mut packet, path, (lane, len)) {
                break;
            }
            is_first = false;
            if packet.room() <= header {
                // Not even the smallest chunk fits.
                break;
            }
            waits = self.send.queue.next_len(lane, max_payload);
        }
        self.send.queue.packet_ends(lane);
        if let Some(c) = &mut self.send.concurrent {
            c.filled(path);
        }
        let p = self.paths.get_mut(path);
        p.burst.packet_left();
        p.rtt.measurable_leaves(ctx.now);
        self.finish_data_packet(ctx, packet)
    }

    /// The payload bytes of the next chunk of a packet that has other chunks before it. It
    /// is `len`, or less if a message that needs several chunks begins here, or goes on where
    /// messages interleave: its chunk then fills the rest of the packet, if the rest is large
    /// enough.
    fn shortened(&self, lane: LaneId, max_payload: usize, len: usize, room: usize) -> usize {
        let room = room.saturating_sub(self.send.header_len()) & !3;
        let worth = room < len
            && room >= max_payload / 4
            && self.cfg.buffer.fill_packets
            && self.send.queue.begins_long(lane, max_payload);
        if worth { room } else { len }
    }

    /// The next chunk of a lane whose messages wait by stream.
    #[inline(never)]
    fn send_chunk_of_stream(
        &mut self,
        ctx: &mut Ctx<'_>,
        packet: &mut DataPacket<'_>,
        path: PathId,
        (lane, len): (LaneId, usize),
    ) -> bool {
        let cut = self.send.queue.cut_by_stream(lane, len);
        let is_there = cut.is_some();
        if let Some(cut) = cut {
            self.send_chunk(ctx, packet, path, cut);
        }
        is_there
    }

    /// Writes a new chunk into the packet. It gets its TSN and is in flight on `path`.
    #[inline(always)]
    fn send_chunk(
        &mut self,
        ctx: &mut Ctx<'_>,
        packet: &mut DataPacket<'_>,
        path: PathId,
        cut: Cut,
    ) {
        let payload = cut.payload.len();
        let bytes = padded(payload + self.send.header_len()) as u32;
        // The peer should not delay its SACK if no more data will come.
        let last = self.send.queue.is_empty() && matches!(self.state, State::ShutdownPending);
        let immediate = cut.immediate || last || self.asks_at_once(path, bytes);
        let chunk = Data {
            tsn: self.send.ledger.tsn_of(self.send.ledger.end()),
            stream_id: cut.stream,
            ssn: cut.number as u16,
            ppid: cut.ppid_or_fsn,
            unordered: cut.unordered,
            begin: cut.begin,
            end: cut.end,
            immediate,
            payload: &cut.payload,
        };
        packet.put((&chunk, cut.number), &cut.payload, ctx);
        let sending = FirstSending {
            path,
            at: ctx.now,
            bytes,
            immediate,
        };
        let seq = self.send.ledger.enter(cut, sending);
        self.ask(ctx, |d, i| d.on_new_chunk(i, path, seq, bytes));
        let p = self.paths.get_mut(path);
        p.probe_timeout.chunk_left(immediate);
        p.chunk_leaves(bytes, ctx.now);
        p.counters.data_sent(payload);
        p.rtt.time_chunk(seq);
        // Rule R1 of section 6.3.2.
        p.timers.chunk_leaves(seq, p.rtt.timeout(ctx.now));
        self.stats.data_chunks_sent += 1;
        let tsn = self.send.ledger.tsn_of(seq);
        self.observe(ctx, || Observation::DataSent {
            path,
            tsn,
            seq,
            bytes: payload as u32,
            retransmission: None,
        });
    }
}

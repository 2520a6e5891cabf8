//! A packet with DATA chunks, for retransmissions and for new data.
//!
//! A TIMESTAMP comes first if both sides agreed on it. Then comes a SACK if one is owed,
//! even one that is still delayed. If the driver can send from two buffers, a large payload
//! of the last chunk is not copied: it is the *payload tail* of the packet. PAD comes before
//! DATA, as all control chunks do (RFC 9260 section 6.10).

use super::Sent;
use crate::assoc::{Association, Ctx};
use crate::path::PathId;
use crate::send::record::Record;
use bytes::Bytes;
use byway_wire::{CHUNK_HEADER_LEN, Data, IData, PacketBuilder, Tsn, padded};

/// Shorter payloads are copied, because a second buffer would cost more.
const SHORTEST_TAIL: usize = 256;

/// A packet with DATA that is being written.
pub(super) struct DataPacket<'b> {
    builder: PacketBuilder<'b>,
    path: PathId,
    /// The most bytes of the packet.
    limit: usize,
    /// Payload of the last chunk, not copied yet.
    tail: Option<Bytes>,
    /// The SACK at the front: its a_rwnd and its number of gap blocks.
    sack: Option<(u32, usize)>,
    /// I-DATA takes the place of DATA.
    interleaves: bool,
}

impl DataPacket<'_> {
    /// Bytes that are left.
    pub(super) fn room(&self) -> usize {
        self.limit.saturating_sub(self.builder.len())
    }

    /// Appends a chunk; `payload` is its payload. Where messages interleave it becomes an I-DATA
    /// chunk: `number` is its Message Identifier, and its PPID is [`Cut::ppid_or_fsn`].
    ///
    /// [`Cut::ppid_or_fsn`]: crate::send::queue::Cut
    #[inline]
    pub(super) fn put(
        &mut self,
        (chunk, number): (&Data<'_>, u32),
        payload: &Bytes,
        ctx: &Ctx<'_>,
    ) {
        if self.interleaves {
            return self.put_interleaved(chunk, number);
        }
        if let Some(before) = self.tail.take() {
            self.builder.append_payload(&before);
        }
        // A tail has no padding, because that would be a third buffer.
        let tail = payload.len() >= SHORTEST_TAIL && payload.len().is_multiple_of(4);
        if ctx.payload_tail.is_some() && tail {
            self.builder.data_without_payload(chunk);
            self.tail = Some(payload.clone());
        } else {
            self.builder.data(chunk);
        }
    }

    #[inline(never)]
    fn put_interleaved(&mut self, c: &Data<'_>, mid: u32) {
        self.builder.i_data(&IData {
            tsn: c.tsn,
            stream_id: c.stream_id,
            mid,
            ppid_or_fsn: c.ppid,
            unordered: c.unordered,
            begin: c.begin,
            end: c.end,
            immediate: c.immediate,
            payload: c.payload,
        });
    }
}

impl Association {
    /// Begins a packet with DATA to `path`. A SACK that is owed, even a delayed one, is
    /// bundled if it goes to the same path, has at most 64 gap blocks, and leaves room for
    /// the first chunk of `expected` bytes.
    #[inline]
    pub(super) fn begin_data_packet<'b>(
        &mut self,
        ctx: &Ctx<'_>,
        buf: &'b mut Vec<u8>,
        path: PathId,
        expected: usize,
    ) -> DataPacket<'b> {
        let mut builder = PacketBuilder::new(buf, self.header());
        let sack = if self.recv.acker.owed() || self.stamps_packets() {
            self.put_before_data(&mut builder, ctx, path, expected)
        } else {
            None
        };
        let limit = self.paths.get(path).packet_limit();
        if builder.len() + expected > limit {
            self.fill_to_fragment(&mut builder, path, expected);
        }
        DataPacket {
            builder,
            path,
            limit,
            tail: None,
            sack,
            interleaves: self.send.interleaves(),
        }
    }

    #[inline(never)]
    fn put_before_data(
        &mut self,
        builder: &mut PacketBuilder<'_>,
        ctx: &Ctx<'_>,
        path: PathId,
        expected: usize,
    ) -> Option<(u32, usize)> {
        let limit = self.room_beside_timestamp(path);
        let bundled = self.recv.acker.owed()
            && self.sack_path() == path
            && self
                .bundled_sack_len()
                .is_some_and(|len| builder.len() + len + padded(expected) <= limit);
        self.write_timestamp(builder, ctx.now, (true, bundled));
        bundled.then(|| self.write_sack(builder, usize::MAX))
    }

    /// Adds a PAD chunk if the packet must be larger so that the host fragments it. The first
    /// chunk, of `expected` bytes, was sent in a larger packet before and cannot be cut again.
    #[cold]
    fn fill_to_fragment(&self, builder: &mut PacketBuilder<'_>, path: PathId, expected: usize) {
        let least = self.paths.get(path).least_to_fragment().unwrap_or(0);
        let missing = least.saturating_sub(builder.len() + padded(expected));
        if let Some(padding) = missing.checked_sub(CHUNK_HEADER_LEN) {
            builder.pad(padding);
        }
    }

    /// Completes the packet and counts it. The probe timeout and the estimates take note
    /// of it, if they are configured.
    #[inline]
    pub(super) fn finish_data_packet(&mut self, ctx: &mut Ctx<'_>, packet: DataPacket<'_>) -> Sent {
        let path = packet.path;
        let len = packet.builder.finish(ctx.checksum());
        if let (Some(place), Some(tail)) = (ctx.payload_tail.as_deref_mut(), packet.tail) {
            *place = tail;
        }
        if let Some((a_rwnd, gaps)) = packet.sack {
            self.sack_sent(ctx, path, a_rwnd, gaps);
        }
        self.note_owed_acknowledgement(ctx.now, path);
        if self.optional.estimating.is_some() {
            self.earn_probes(ctx, len);
        }
        self.sent(ctx, path, len)
    }
}

/// The chunk of a record.
pub(super) fn chunk(r: &Record, tsn: Tsn) -> Data<'_> {
    Data {
        tsn,
        stream_id: r.stream,
        ssn: r.number as u16,
        ppid: r.ppid_or_fsn,
        unordered: r.unordered,
        begin: r.begin,
        end: r.end,
        immediate: r.immediate,
        payload: &r.payload,
    }
}

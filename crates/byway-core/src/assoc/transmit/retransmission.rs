//! Retransmits lost chunks (RFC 9260 sections 6.1, C, 6.3.3 and 7.2.4). The path comes
//! from `policy/retransmit`, or from `policy/concurrent/rtx` with concurrent multipath
//! transfer.

use super::Sent;
use super::packet::chunk;
use crate::assoc::{Association, Ctx};
use crate::dialect::NextRetransmission;
use crate::observe::Observation;
use crate::path::PathId;
use crate::policy::retransmit::LossCause;
use crate::send::lost::Group;
use crate::send::record::Fate;
use crate::time::Instant;

impl Association {
    /// Sends a packet of lost chunks, if one may leave.
    #[inline(never)]
    pub(super) fn retransmit(&mut self, ctx: &mut Ctx<'_>, buf: &mut Vec<u8>) -> Option<Sent> {
        let by_dialect = self.ask(ctx, |d, i| d.next_retransmission(i));
        let (path, first) = match by_dialect {
            None | Some(NextRetransmission::AsConfigured) => self.next_retransmission(ctx.now)?,
            Some(NextRetransmission::Nothing) => return None,
            Some(NextRetransmission::Chunk(path, seq)) => (path, seq),
        };
        Some(self.send_retransmission(ctx, buf, path, first))
    }

    /// The lowest lost chunk whose target may take data now, with that target.
    fn next_retransmission(&self, now: Instant) -> Option<(PathId, u64)> {
        let view = self.paths.view();
        let groups = self.send.ledger.lost().groups().iter();
        groups
            .filter_map(|g| {
                let path = self.target(now, (g.cause, g.path), &view);
                let (first, p) = (g.first()?, self.paths.get(path));
                let fits = || p.open() && p.keeps_room(self.chunk_bytes(first));
                (self.send.has_forced_packet() || fits()).then_some((first, path))
            })
            .min()
            .map(|(seq, path)| (path, seq))
    }

    fn chunk_bytes(&self, seq: u64) -> u32 {
        self.send.ledger.get(seq).map_or(0, |r| r.bytes)
    }

    /// Sends a packet of lost chunks with the same target, lowest first.
    fn send_retransmission(
        &mut self,
        ctx: &mut Ctx<'_>,
        buf: &mut Vec<u8>,
        path: PathId,
        first: u64,
    ) -> Sent {
        self.send.retransmission_leaves();
        let expected = self.chunk_bytes(first) as usize;
        self.note_leaving(path, ctx.now);
        let mut packet = self.begin_data_packet(ctx, buf, path, expected);
        let mut next = Some(first);
        while let Some(seq) = next {
            self.hasten_answer(seq, path);
            let Some(r) = self.send.ledger.get(seq) else {
                break;
            };
            let Fate::Lost(cause) = r.fate else { break };
            if seq != first && r.bytes as usize > packet.room() {
                break;
            }
            let data = chunk(r, self.send.ledger.tsn_of(seq));
            packet.put((&data, r.number), &r.payload, ctx);
            self.move_to(ctx, seq, path, cause);
            next = self.next_for(path, ctx.now);
        }
        self.finish_data_packet(ctx, packet)
    }

    /// What a silent path leaves behind asks for SACKs at once (RFC 7053) while the window of its
    /// new path is in slow start. A SACK for each second packet makes that grow by half in a round
    /// trip, and not to twice its size. As new data does, a chunk asks that nothing may follow: one
    /// that fills the last gap is in order, and the peer would wait for another one.
    fn hasten_answer(&mut self, seq: u64, path: PathId) {
        let Some(record) = self.send.ledger.get(seq) else {
            return;
        };
        let silent = record.fate == Fate::Lost(LossCause::ProbeTimeout);
        let grows = silent && !self.paths.get(path).window().avoids_congestion();
        if grows || self.asks_at_once(path, record.bytes) {
            self.send.ledger.ask_at_once(seq);
        }
    }

    /// The lowest lost chunk that goes to `path`.
    fn next_for(&self, path: PathId, now: Instant) -> Option<u64> {
        let view = self.paths.view();
        let joins = self.dialect_says(|d| d.joins_retransmissions());
        let groups = self.send.ledger.lost().groups().iter();
        groups
            .filter(|g| joins || self.target(now, (g.cause, g.path), &view) == path)
            .filter_map(Group::first)
            .min()
    }

    /// A lost chunk was written into a packet to `path` and is in flight there again.
    fn move_to(&mut self, ctx: &mut Ctx<'_>, seq: u64, path: PathId, cause: LossCause) {
        let Some(r) = self.send.ledger.get(seq) else {
            return;
        };
        let (bytes, payload) = (r.bytes, r.payload.len() as u32);
        let (from, immediate) = (r.path, r.immediate);
        self.paths.get_mut(from).lost_chunk_settled(bytes);
        self.ask(ctx, |d, i| d.on_retransmission(i, seq, from, path));
        self.send.ledger.resend(seq, path, ctx.now);
        self.note_moved(seq, from, path);
        // Rule C5 of section 6.3.1: a timed chunk gives no sample if it, or an earlier
        // chunk, is retransmitted.
        for p in self.paths.iter_mut() {
            p.rtt.forget_timed_from(seq);
        }
        let t3_by_dialect = self.dialect_says(|d| d.restarts_t3());
        let p = self.paths.get_mut(path);
        p.probe_timeout.chunk_left(immediate);
        p.chunk_leaves(bytes, ctx.now);
        p.counters.data_retransmitted(payload);
        // Rule R1 of section 6.3.2. T3-rtx also restarts when the resent chunk becomes the
        // earliest in flight.
        let at = p.rtt.timeout(ctx.now);
        p.timers.chunk_leaves_again(seq, at, !t3_by_dialect);
        self.stats.data_chunks_retransmitted += 1;
        if cause == LossCause::ProbeTimeout {
            self.note_repeated_in_doubt(ctx.now, path);
        }
        let tsn = self.send.ledger.tsn_of(seq);
        self.observe(ctx, || Observation::DataSent {
            path,
            tsn,
            seq,
            bytes: payload,
            retransmission: Some(cause),
        });
    }
}

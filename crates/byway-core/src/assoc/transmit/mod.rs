//! Sends packets, in this order: control chunks, heartbeats, retransmissions, new data,
//! a SACK alone (RFC 9260 sections 6.1, C, and 6.10).
//!
//! - `control`: control chunks and heartbeats.
//! - `retransmission`: a packet of lost chunks.
//! - `admission`: whether new data may leave, and where (rules A, B and D).
//! - `burst`: resets what one event may release (rule D).
//! - `new_data`: a packet of new chunks.
//! - `packet`: a packet with DATA, for `retransmission` and `new_data`.
//! - `ack`: SACKs, with or without data.

mod ack;
mod admission;
mod burst;
mod control;
mod new_data;
mod packet;
mod retransmission;

use super::{Association, Control, Ctx};
use crate::observe::Observation;
use crate::path::PathId;
use std::collections::VecDeque;

/// A packet that was appended to the buffer.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Sent {
    /// Where it goes.
    pub(crate) path: PathId,
    /// Its bytes.
    pub(crate) len: u32,
    /// It is larger than the path's packets, so the network must be allowed to fragment
    /// it.
    pub(crate) may_fragment: bool,
}

impl Association {
    /// Whether there is certainly nothing to send. This is so after most packets that
    /// arrive. The test is cheap, so it comes first.
    #[inline]
    pub(crate) fn is_quiet(&self) -> bool {
        self.send.queue.is_empty()
            && self.send.ledger.lost().is_empty()
            && !self.recv.acker.due()
            && self.only_data_waits()
    }

    /// Whether at most DATA and a SACK wait: no control chunk, no heartbeat and no probe
    /// for an estimate.
    #[inline]
    fn only_data_waits(&self) -> bool {
        self.control.is_empty()
            && !self.paths.has_probes()
            && !self
                .optional
                .estimating
                .as_ref()
                .is_some_and(|e| e.is_due())
    }

    /// Appends the next packet to `buf`.
    #[inline]
    pub(crate) fn poll_transmit(&mut self, ctx: &mut Ctx<'_>, buf: &mut Vec<u8>) -> Option<Sent> {
        if self.optional.seals {
            return self.next_sealed(ctx, buf);
        }
        self.next_packet(ctx, buf)
    }

    /// The next packet, with an AUTH chunk if the peer requires one.
    #[cold]
    fn next_sealed(&mut self, ctx: &mut Ctx<'_>, buf: &mut Vec<u8>) -> Option<Sent> {
        let start = buf.len();
        let mut sent = self.next_packet(ctx, buf)?;
        let tail = ctx.payload_tail.as_deref().cloned().unwrap_or_default();
        let len = self.seal_if_required(ctx, (buf, start), &tail) + tail.len();
        // The AUTH chunk, where there is one.
        self.charge_unproven(sent.path, len.saturating_sub(sent.len as usize));
        sent.len = len as u32;
        Some(sent)
    }

    #[inline]
    fn next_packet(&mut self, ctx: &mut Ctx<'_>, buf: &mut Vec<u8>) -> Option<Sent> {
        if self.state.is_closed() || self.optional.stalled && self.has_no_source() {
            return None;
        }
        if !self.only_data_waits()
            && let Some(t) = self.send_control_or_heartbeat(ctx, buf)
        {
            return Some(t);
        }
        if self.optional.stalled {
            return None;
        }
        if self.state.sends_data()
            && let Some(t) = self.send_data(ctx, buf)
        {
            return Some(t);
        }
        if self.recv.acker.due() && self.state.acks_data() {
            return Some(self.send_sack(ctx, buf));
        }
        None
    }

    /// Sends the chunks that go before DATA.
    #[cold]
    #[inline(never)]
    fn send_control_or_heartbeat(&mut self, ctx: &mut Ctx<'_>, buf: &mut Vec<u8>) -> Option<Sent> {
        while let Some(control) = self.next_control() {
            if let Some(t) = self.send_control(ctx, buf, control) {
                return Some(t);
            }
        }
        while let Some(path) = self.heartbeat_wanted() {
            if self.rests(path) {
                self.hold_heartbeat(ctx, path);
                continue;
            }
            if self.may_probe(path) {
                return Some(self.send_heartbeat(ctx, buf, path));
            }
            self.put_heartbeat_off(ctx, path);
        }
        if let Some(path) = self.paths.next_mtu_probe()
            && let Some(t) = self.send_mtu_probe(ctx, buf, path)
        {
            return Some(t);
        }
        if self.optional.estimating.is_some()
            && let Some(path) = self.probe_due()
            && self.state.sends_heartbeats()
        {
            return Some(self.send_estimate_probe(ctx, buf, path));
        }
        None
    }

    /// The next control chunk. While no path may take data, only answers to heartbeats
    /// leave: they go where the question came from.
    fn next_control(&mut self) -> Option<Control> {
        let next = if self.optional.stalled {
            let answer = |c: &Control| matches!(c, Control::HeartbeatAck(..));
            let at = self.control.iter().position(answer)?;
            self.control.remove(at)
        } else {
            self.control.pop_front()
        };
        if next.is_some() && self.control.is_empty() {
            // They are rare.
            self.control = VecDeque::new();
        }
        next
    }

    fn heartbeat_wanted(&self) -> Option<PathId> {
        let lost = self.send.ledger.lost();
        let data_first = self.dialect_says(|d| d.data_before_heartbeats(lost));
        if !self.sends_heartbeats() || data_first {
            return None;
        }
        self.paths.next_heartbeat()
    }

    /// A packet with DATA: lost chunks first, then new ones.
    fn send_data(&mut self, ctx: &mut Ctx<'_>, buf: &mut Vec<u8>) -> Option<Sent> {
        if !self.send.ledger.lost().is_empty() {
            // Rule C: no new data leaves before all lost data has left again, even if the
            // target of the lost data has no room and another path has room.
            if let Some(sent) = self.retransmit(ctx, buf) {
                return Some(sent);
            }
            // Concurrent multipath transfer still fills the other paths.
            self.send.concurrent.as_ref()?;
        }
        if self.send.queue.is_empty() {
            self.note_rwnd_blocked(ctx, false);
            return None;
        }
        if self.check_left_path(ctx) {
            // A heartbeat, and what counts as lost now, leave before new data.
            return self.next_packet(ctx, buf);
        }
        let next = self.admit(ctx)?;
        Some(self.send_new(ctx, buf, next))
    }

    /// Counts a packet. Returns its path and its length.
    #[inline]
    pub(super) fn sent(&mut self, ctx: &mut Ctx<'_>, path: PathId, len: usize) -> Sent {
        let bytes = len as u32;
        let p = self.paths.get_mut(path);
        p.counters.sent(len);
        let may_fragment = p.is_too_large(len);
        self.stats.packets_sent += 1;
        self.observe(ctx, || Observation::PacketSent { path, bytes });
        Sent {
            path,
            len: bytes,
            may_fragment,
        }
    }
}

//! Packets go out: control, heartbeats, retransmissions, new data, SACK, in
//! this order (RFC 9260 section 6.1, C, and 6.10).

use super::{Association, Control, Ctx, State};
use crate::observe::Observation;
use crate::path::PathId;
use crate::send::habits::Release;
use byway_wire::{COMMON_HEADER_LEN, CommonHeader, PacketBuilder};

/// Bytes of a SACK without gaps and duplicates.
const SACK_LEN: usize = 16;
/// Gap blocks at most in a SACK that rides with other chunks; one of its own
/// lists as many as fit (section 6.2).
const MAX_RIDING_GAPS: usize = 64;

/// A packet was appended to the buffer.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Sent {
    /// Where it goes.
    pub(crate) path: PathId,
    /// Its bytes.
    pub(crate) len: u32,
}

impl Association {
    /// Whether there is surely nothing to send: as after most packets that
    /// arrive. Cheap enough to be asked first.
    #[inline]
    pub(crate) fn is_quiet(&self) -> bool {
        self.send.queue.is_empty()
            && self.send.ledger.marks().is_empty()
            && !self.recv.acker.due()
            && self.wants_data_alone()
    }

    /// Whether neither a control chunk waits nor a heartbeat.
    #[inline]
    fn wants_data_alone(&self) -> bool {
        self.control.is_empty()
            && self.paths.next_heartbeat().is_none()
            && !self.estimating.as_ref().is_some_and(|e| e.is_due())
    }

    /// Appends the next packet to `buf`.
    #[inline]
    pub(crate) fn poll_transmit(&mut self, ctx: &mut Ctx<'_>, buf: &mut Vec<u8>) -> Option<Sent> {
        if self.state.is_closed() {
            return None;
        }
        if !self.wants_data_alone()
            && let Some(t) = self.send_first(ctx, buf)
        {
            return Some(t);
        }
        if self.state.sends_data()
            && let Some(t) = self.fill_data(ctx, buf)
        {
            return Some(t);
        }
        if self.recv.acker.due() && self.state.acks_data() {
            return Some(self.send_sack(ctx, buf));
        }
        None
    }

    /// What goes before DATA.
    #[cold]
    #[inline(never)]
    fn send_first(&mut self, ctx: &mut Ctx<'_>, buf: &mut Vec<u8>) -> Option<Sent> {
        while let Some(control) = self.control.pop_front() {
            if let Some(t) = self.send_control(ctx, buf, control) {
                return Some(t);
            }
        }
        if let Some(path) = self.heartbeat_wanted() {
            return Some(self.send_heartbeat(ctx, buf, path));
        }
        if self.estimating.is_some()
            && let Some(path) = self.probe_due()
            && self.state.sends_heartbeats()
        {
            return Some(self.send_estimate_probe(ctx, buf, path));
        }
        None
    }

    fn heartbeat_wanted(&self) -> Option<PathId> {
        let data_first = self.cfg.habits.sack_clocked
            && self.send.habits.marked == Release::OnePacket
            && !self.send.ledger.marks().is_empty();
        if !self.state.sends_heartbeats() || data_first {
            return None;
        }
        self.paths.next_heartbeat()
    }

    /// Counts a packet and says where it goes.
    #[inline]
    pub(super) fn sent(&mut self, ctx: &mut Ctx<'_>, path: PathId, len: usize) -> Sent {
        let bytes = len as u32;
        let p = self.paths.get_mut(path);
        p.counters.packets_sent += 1;
        p.counters.bytes_sent += len as u64;
        self.stats.packets_sent += 1;
        self.observe(ctx, || Observation::PacketSent { path, bytes });
        Sent { path, len: bytes }
    }

    fn send_control(
        &mut self,
        ctx: &mut Ctx<'_>,
        buf: &mut Vec<u8>,
        control: Control,
    ) -> Option<Sent> {
        let checksum = ctx.checksum();
        let mut path = self.paths.data;
        let len = match control {
            Control::Init => {
                let header = CommonHeader {
                    verification_tag: 0,
                    ..self.header()
                };
                let mut packet = PacketBuilder::new(buf, header);
                packet.init(false, &self.init_fields(), |w| self.write_init_params(w));
                self.start_t1(ctx);
                packet.finish(checksum)
            }
            Control::CookieEcho => {
                let State::CookieEchoed(cookie) = &self.state else {
                    return None;
                };
                let mut packet = PacketBuilder::new(buf, self.header());
                packet.cookie_echo(cookie);
                let len = packet.finish(checksum);
                self.start_t1(ctx);
                len
            }
            Control::CookieAck(to) => {
                path = to;
                let mut packet = PacketBuilder::new(buf, self.header());
                packet.cookie_ack();
                packet.finish(checksum)
            }
            Control::HeartbeatAck(to, info) => {
                path = to;
                let mut packet = PacketBuilder::new(buf, self.header());
                packet.heartbeat_ack(&info);
                packet.finish(checksum)
            }
            Control::Error(to, causes) => {
                path = self.reply_to(to);
                let mut packet = PacketBuilder::new(buf, self.header());
                packet.raw(byway_wire::chunk_type::ERROR, 0, &causes);
                packet.finish(checksum)
            }
            Control::Shutdown => {
                if !matches!(self.state, State::ShutdownSent) {
                    return None;
                }
                let with_sack = self.recv.acker.due();
                let cumulative = self.recv.tsns.cumulative();
                self.start_t2(ctx);
                if with_sack {
                    return Some(self.send_shutdown_and_sack(ctx, buf, path));
                }
                let mut packet = PacketBuilder::new(buf, self.header());
                packet.shutdown(cumulative);
                packet.finish(checksum)
            }
            Control::ShutdownAck(to) => {
                if !matches!(self.state, State::ShutdownAckSent) {
                    return None;
                }
                path = self.reply_to(to);
                // An answer to a repeated SHUTDOWN leaves T2 running, or a
                // peer that repeats often would keep it from ever firing.
                if self.timers.t2.is_none() {
                    self.start_t2(ctx);
                }
                let mut packet = PacketBuilder::new(buf, self.header());
                packet.shutdown_ack();
                packet.finish(checksum)
            }
        };
        Some(self.sent(ctx, path, len))
    }

    fn send_shutdown_and_sack(
        &mut self,
        ctx: &mut Ctx<'_>,
        buf: &mut Vec<u8>,
        path: PathId,
    ) -> Sent {
        let cumulative = self.recv.tsns.cumulative();
        let mut packet = PacketBuilder::new(buf, self.header());
        // Control chunks other than SACK come first (section 6.10 lets SHUTDOWN
        // ride with SACK).
        packet.shutdown(cumulative);
        let (a_rwnd, gaps) = self.write_sack(&mut packet, MAX_RIDING_GAPS);
        let len = packet.finish(ctx.checksum());
        self.sack_sent(ctx, path, a_rwnd, gaps);
        self.sent(ctx, path, len)
    }

    fn send_heartbeat(&mut self, ctx: &mut Ctx<'_>, buf: &mut Vec<u8>, path: PathId) -> Sent {
        let info = self.begin_probe(ctx, path);
        let mut packet = PacketBuilder::new(buf, self.header());
        packet.heartbeat(&info);
        let p = self.paths.get(path);
        if p.probe.is_some_and(|probe| probe.whole) {
            fill_up(&mut packet, p.packet_limit());
        }
        let len = packet.finish(ctx.checksum());
        self.sent(ctx, path, len)
    }

    /// A heartbeat that estimates an idle path.
    fn send_estimate_probe(&mut self, ctx: &mut Ctx<'_>, buf: &mut Vec<u8>, path: PathId) -> Sent {
        let (info, whole) = self.begin_estimate_probe(ctx, path);
        let mut packet = PacketBuilder::new(buf, self.header());
        packet.heartbeat(&info);
        if whole {
            fill_up(&mut packet, self.paths.get(path).packet_limit());
        }
        let len = packet.finish(ctx.checksum());
        self.count_probe(ctx, path, len);
        self.sent(ctx, path, len)
    }

    /// Where a reply to `to` may go: no chunk but a heartbeat's goes to an
    /// unconfirmed address (section 5.4).
    fn reply_to(&self, to: PathId) -> PathId {
        if self.paths.contains(to) && self.paths.get(to).confirmed {
            to
        } else {
            self.paths.data
        }
    }

    /// Where a SACK goes (section 6.4).
    pub(super) fn sack_path(&self) -> PathId {
        match self.cfg.sack.destination {
            crate::config::SackDestination::DataPath => self.paths.data,
            crate::config::SackDestination::ReplyPath => {
                let reply = self.recv.acker.reply_path().unwrap_or(self.paths.data);
                self.reply_to(reply)
            }
        }
    }

    /// Writes the SACK that leaves now, with `most` gap blocks at most: the window
    /// that it advertises, and its gap blocks.
    #[inline]
    pub(super) fn write_sack(
        &mut self,
        packet: &mut PacketBuilder<'_>,
        most: usize,
    ) -> (u32, usize) {
        let (a_rwnd, flags) = (self.recv.a_rwnd(), self.sack_flags());
        let tsns = &mut self.recv.tsns;
        let (gaps, duplicates) = (tsns.gap_blocks(most), tsns.duplicates().iter().copied());
        let count = gaps.len();
        packet.sack_from(flags, tsns.cumulative(), a_rwnd, gaps, duplicates);
        tsns.forget_duplicates();
        (a_rwnd, count)
    }

    /// Gap blocks that fit into a packet of their own.
    fn gaps_that_fit(&self, path: PathId) -> usize {
        let room = self.room_beside_timestamp(path) - COMMON_HEADER_LEN - SACK_LEN;
        (room / 4).saturating_sub(self.recv.tsns.duplicate_count())
    }

    /// Bytes of a SACK chunk that rides with data, if it may.
    pub(super) fn riding_sack_len(&self) -> Option<usize> {
        let gaps = self.recv.tsns.gap_count();
        let len = SACK_LEN + 4 * gaps + 4 * self.recv.tsns.duplicate_count();
        (gaps <= MAX_RIDING_GAPS).then_some(len)
    }

    #[inline]
    pub(super) fn sack_sent(&mut self, ctx: &mut Ctx<'_>, path: PathId, a_rwnd: u32, gaps: usize) {
        self.recv.acker.sent();
        self.recv.advertised = a_rwnd;
        self.stats.sacks_sent += 1;
        let cumulative = self.recv.tsns.cumulative();
        self.observe_detail(ctx, || Observation::SackSent {
            path,
            cumulative,
            gaps: gaps as u16,
            a_rwnd,
        });
    }

    #[inline(never)]
    fn send_sack(&mut self, ctx: &mut Ctx<'_>, buf: &mut Vec<u8>) -> Sent {
        let path = self.sack_path();
        let most = self.gaps_that_fit(path);
        let mut packet = PacketBuilder::new(buf, self.header());
        self.write_timestamp(&mut packet, ctx.now, (false, true));
        let (a_rwnd, gaps) = self.write_sack(&mut packet, most);
        let len = packet.finish(ctx.checksum());
        self.sack_sent(ctx, path, a_rwnd, gaps);
        self.sent(ctx, path, len)
    }
}

/// Pads a packet until it is as large as one of DATA (RFC 4820; RFC 8899
/// section 4.1).
fn fill_up(packet: &mut PacketBuilder<'_>, limit: usize) {
    let room = limit.saturating_sub(packet.len());
    if let Some(padding) = room.checked_sub(byway_wire::CHUNK_HEADER_LEN) {
        packet.pad(padding);
    }
}

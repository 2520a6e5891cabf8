//! Sends control chunks and heartbeats (RFC 9260 sections 5.1, 8.3 and 9.2).

use super::Sent;
use super::ack::MAX_BUNDLED_GAPS;
use crate::assoc::on_heartbeat::info_of;
use crate::assoc::{Association, Control, Ctx, State};
use crate::path::PathId;
use byway_wire::{CommonHeader, PacketBuilder};

impl Association {
    pub(super) fn send_control(
        &mut self,
        ctx: &mut Ctx<'_>,
        buf: &mut Vec<u8>,
        control: Control,
    ) -> Option<Sent> {
        let path = self.paths.data();
        Some(match control {
            Control::Init => self.send_init(ctx, buf, path),
            Control::CookieEcho => {
                if !matches!(self.state, State::CookieEchoed(_)) {
                    return None;
                }
                self.start_t1(ctx);
                self.setup.echoed = Some(ctx.now);
                return self.send_cookie_echo(ctx, buf, path);
            }
            Control::CookieAck(to) => self.send_one(ctx, buf, to, |p| p.cookie_ack()),
            Control::HeartbeatAck(to, info) => {
                let kind = byway_wire::chunk_type::HEARTBEAT_ACK;
                self.send_one(ctx, buf, to, |p| p.raw(kind, 0, &info))
            }
            Control::Error(to, causes) => {
                let to = self.reply_to(to);
                let kind = byway_wire::chunk_type::ERROR;
                self.send_one(ctx, buf, to, |p| p.raw(kind, 0, &causes))
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
                self.send_one(ctx, buf, path, |p| p.shutdown(cumulative))
            }
            Control::ShutdownAck(to) => {
                if !matches!(self.state, State::ShutdownAckSent) {
                    return None;
                }
                // An answer to a repeated SHUTDOWN does not restart T2. Otherwise a
                // peer that repeats it often would prevent T2 from expiring.
                if self.timers.t2.is_none() {
                    self.start_t2(ctx);
                }
                let to = self.reply_to(to);
                self.send_one(ctx, buf, to, |p| p.shutdown_ack())
            }
            Control::Again => return self.send_again(ctx, buf),
        })
    }

    /// Sends again what waits for its answer (`assoc/answer.rs`). T1 and T2 run on.
    fn send_again(&mut self, ctx: &mut Ctx<'_>, buf: &mut Vec<u8>) -> Option<Sent> {
        let path = self.paths.data();
        match self.state {
            State::CookieEchoed(_) => self.send_cookie_echo(ctx, buf, path),
            State::ShutdownSent => {
                let cumulative = self.recv.tsns.cumulative();
                Some(self.send_one(ctx, buf, path, |p| p.shutdown(cumulative)))
            }
            State::ShutdownAckSent => {
                let to = self.reply_to(self.shutdown.from.unwrap_or(path));
                Some(self.send_one(ctx, buf, to, |p| p.shutdown_ack()))
            }
            _ => None,
        }
    }

    /// None in another state than COOKIE-ECHOED.
    fn send_cookie_echo(
        &mut self,
        ctx: &mut Ctx<'_>,
        buf: &mut Vec<u8>,
        path: PathId,
    ) -> Option<Sent> {
        let State::CookieEchoed(cookie) = &self.state else {
            return None;
        };
        let mut packet = PacketBuilder::new(buf, self.header());
        packet.cookie_echo(cookie);
        let len = packet.finish(ctx.checksum());
        Some(self.sent(ctx, path, len))
    }

    fn send_init(&mut self, ctx: &mut Ctx<'_>, buf: &mut Vec<u8>, path: PathId) -> Sent {
        let header = CommonHeader {
            verification_tag: 0,
            ..self.header()
        };
        let mut packet = PacketBuilder::new(buf, header);
        packet.init(false, &self.init_fields(), |w| self.write_init_params(w));
        self.setup.unlisted |= self.leaves_addresses_out() && self.addresses.local.len() > 1;
        self.start_t1(ctx);
        self.setup.asked_once = self.setup.asked.is_none();
        self.setup.asked = Some(ctx.now);
        let len = packet.finish(ctx.checksum());
        self.sent(ctx, path, len)
    }

    /// A packet of one chunk, which `write` appends.
    fn send_one<R>(
        &mut self,
        ctx: &mut Ctx<'_>,
        buf: &mut Vec<u8>,
        to: PathId,
        write: impl FnOnce(&mut PacketBuilder<'_>) -> R,
    ) -> Sent {
        let mut packet = PacketBuilder::new(buf, self.header());
        write(&mut packet);
        let len = packet.finish(ctx.checksum());
        self.sent(ctx, to, len)
    }

    fn send_shutdown_and_sack(
        &mut self,
        ctx: &mut Ctx<'_>,
        buf: &mut Vec<u8>,
        path: PathId,
    ) -> Sent {
        let cumulative = self.recv.tsns.cumulative();
        let mut packet = PacketBuilder::new(buf, self.header());
        // Control chunks other than SACK come first (section 6.10 allows SHUTDOWN to be
        // bundled with SACK).
        packet.shutdown(cumulative);
        let (a_rwnd, gaps) = self.write_sack(&mut packet, MAX_BUNDLED_GAPS);
        let len = packet.finish(ctx.checksum());
        self.sack_sent(ctx, path, a_rwnd, gaps);
        self.sent(ctx, path, len)
    }

    pub(super) fn send_heartbeat(
        &mut self,
        ctx: &mut Ctx<'_>,
        buf: &mut Vec<u8>,
        path: PathId,
    ) -> Sent {
        let info = self.begin_probe(ctx, path);
        self.count_listed(path);
        let mut packet = PacketBuilder::new(buf, self.header());
        packet.heartbeat(&info);
        let p = self.paths.get(path);
        if p.heartbeat
            .under_way()
            .is_some_and(|probe| probe.full_sized)
        {
            fill_up(&mut packet, p.packet_limit());
        }
        let len = packet.finish(ctx.checksum());
        self.charge_unproven(path, len);
        self.sent(ctx, path, len)
    }

    /// Sends a probe of a path's MTU: a heartbeat that is filled up. None if none is
    /// needed any more.
    pub(super) fn send_mtu_probe(
        &mut self,
        ctx: &mut Ctx<'_>,
        buf: &mut Vec<u8>,
        path: PathId,
    ) -> Option<Sent> {
        let (nonce, size) = self.begin_mtu_probe(ctx, path)?;
        let mut packet = PacketBuilder::new(buf, self.header());
        packet.heartbeat(&info_of(path, ctx.now, nonce));
        fill_up(&mut packet, self.paths.get(path).sctp_bytes(size));
        let len = packet.finish(ctx.checksum());
        let sent = self.sent(ctx, path, len);
        Some(Sent {
            may_fragment: false,
            ..sent
        })
    }

    /// Sends a heartbeat that measures a path for its estimate.
    pub(super) fn send_estimate_probe(
        &mut self,
        ctx: &mut Ctx<'_>,
        buf: &mut Vec<u8>,
        path: PathId,
    ) -> Sent {
        let (info, full_sized) = self.begin_estimate_probe(ctx, path);
        let mut packet = PacketBuilder::new(buf, self.header());
        packet.heartbeat(&info);
        if full_sized {
            fill_up(&mut packet, self.paths.get(path).packet_limit());
        }
        let len = packet.finish(ctx.checksum());
        self.count_probe(ctx, path, len);
        self.sent(ctx, path, len)
    }

    /// The path of a reply to `to`: only a heartbeat may go to an unconfirmed address
    /// (section 5.4).
    pub(super) fn reply_to(&self, to: PathId) -> PathId {
        if self.is_confirmed(to) {
            to
        } else {
            self.paths.data()
        }
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

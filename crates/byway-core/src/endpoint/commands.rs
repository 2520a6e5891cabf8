//! Commands on one association.

use super::{Endpoint, ctx};
use crate::api::{AssocId, CommandError, LossReason, Message, Received, SendFailure, Undelivered};
use crate::assoc::{AbortReason, Association, Ctx};
use crate::path::{PathId, lower_header_bytes};
use crate::policy::Detection;
use crate::time::Instant;
use byway_wire::Packet;
use core::net::{IpAddr, SocketAddr};

impl Endpoint {
    /// Runs a command on an association that has not ended, then schedules it.
    pub(super) fn command<T>(
        &mut self,
        now: Instant,
        id: AssocId,
        run: impl FnOnce(&mut Association, &mut Ctx<'_>) -> Result<T, CommandError>,
    ) -> Result<T, CommandError> {
        let mut ctx = ctx!(self, now);
        let slot = self.table.get_live_mut(id).ok_or(CommandError::Gone)?;
        let result = run(&mut slot.assoc, &mut ctx);
        self.wake(id.index);
        result
    }

    /// Queues a message for sending.
    ///
    /// # Errors
    /// When the message is not accepted. The error says why, and what to do.
    pub fn send(
        &mut self,
        _now: Instant,
        id: AssocId,
        message: Message,
    ) -> Result<(), CommandError> {
        let slot = self.table.get_live_mut(id);
        let result = slot.ok_or(CommandError::Gone)?.assoc.send_message(message);
        self.wake(id.index);
        result
    }

    /// Whether a message of `len` bytes on this stream would be accepted now. If the buffer is
    /// full, [`Event::Writable`](crate::Event::Writable) follows, as after a message that was
    /// refused.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    pub fn check_send(&mut self, id: AssocId, stream: u16, len: usize) -> Result<(), CommandError> {
        let slot = self.table.get_live_mut(id).ok_or(CommandError::Gone)?;
        slot.assoc.check_message(stream, len, None)
    }

    /// Removes the next message, or part of one, that has arrived; `None` if there
    /// is none. This also works after the association has ended, until
    /// [`release`](Self::release).
    pub fn receive(&mut self, id: AssocId) -> Option<Received> {
        let slot = self.table.get_mut(id)?;
        let received = slot.assoc.receive();
        if !slot.ended && slot.assoc.owes_sack() {
            self.wake(id.index);
        } else if received.is_none() {
            self.recount(id.index);
        }
        received
    }

    /// Removes the next message that the peer has not completely acknowledged, of an association
    /// that was lost; `None` if there is none, or the association lives. Those that have left
    /// come first, in the order in which they left; those of one stream are in order. This works
    /// until [`release`](Self::release). There are as many as
    /// [`Event::Lost`](crate::Event::Lost) says. What a restart of the peer lost is not here
    /// (`setup.keep_on_restart`).
    pub fn take_undelivered(&mut self, id: AssocId) -> Option<Undelivered> {
        let slot = self.table.get_mut(id)?;
        let undelivered = slot.assoc.take_undelivered();
        self.recount(id.index);
        undelivered
    }

    /// Shuts the association down gracefully (RFC 9260 section 9.2): all queued
    /// messages are delivered first.
    /// [`Event::ShutdownComplete`](crate::Event::ShutdownComplete) follows.
    ///
    /// # Errors
    /// When it has ended already.
    pub fn shutdown(&mut self, now: Instant, id: AssocId) -> Result<(), CommandError> {
        self.command(now, id, Association::shutdown)
    }

    /// The driver could not send a packet that [`poll_transmit`](Self::poll_transmit) gave
    /// it: these bytes, to this address. The protocol sees the packet as lost
    /// in any case; this only spares it the time to find out.
    pub fn send_failed(
        &mut self,
        now: Instant,
        destination: SocketAddr,
        packet: &[u8],
        why: SendFailure,
    ) {
        let Ok(parsed) = Packet::parse(packet) else {
            return;
        };
        let port = parsed.header().destination_port;
        let Some(index) = self.table.find_listed(destination, port) else {
            return;
        };
        let bytes = packet.len() as u32 + lower_header_bytes(destination);
        let mut ctx = ctx!(self, now);
        let a = &mut self.table[index].assoc;
        if !a.is_closed() {
            a.on_send_failure(&mut ctx, &destination, bytes, why);
        }
        self.wake(index);
    }

    /// Aborts the association (RFC 9260 section 9.1). The ABORT carries at most
    /// 256 bytes of `reason`. Unacknowledged messages are lost.
    ///
    /// # Errors
    /// When it has ended already.
    pub fn abort(&mut self, now: Instant, id: AssocId, reason: &[u8]) -> Result<(), CommandError> {
        let reason = &reason[..reason.len().min(256)];
        self.command(now, id, |a, ctx| {
            a.abort(ctx, LossReason::AbortedLocally, AbortReason::User(reason));
            Ok(())
        })
    }

    /// Makes a path the primary path: new data goes there while it is active (RFC
    /// 9260 section 6.4). It is no backup any more.
    ///
    /// # Errors
    /// When there is no such path, or its address is unconfirmed.
    pub fn set_primary(
        &mut self,
        now: Instant,
        id: AssocId,
        path: PathId,
    ) -> Result<(), CommandError> {
        self.command(now, id, |a, ctx| a.set_primary(ctx, path))
    }

    /// Makes a path a backup (`true`), or ends that: a backup carries data, new or
    /// retransmitted, only while no other path is active. It is monitored as before. SCTP has
    /// no such flag, so this side alone knows; MPTCP's has the same sense (RFC 8684 section
    /// 3.3.8). A message that is bound to a path ([`Message::path`](crate::Message)) goes there
    /// all the same.
    ///
    /// # Errors
    /// When there is no such path.
    pub fn set_backup(
        &mut self,
        now: Instant,
        id: AssocId,
        path: PathId,
        backup: bool,
    ) -> Result<(), CommandError> {
        self.command(now, id, |a, ctx| a.set_backup(ctx, path, backup))
    }

    /// Sends everything on a path from this local address (RFC 9260 section
    /// 11.1.5, the optional source address) instead of the one that
    /// [`Routes`](crate::Routes) chose.
    ///
    /// # Errors
    /// When there is no such path, or the address is not one of ours.
    pub fn set_source(
        &mut self,
        now: Instant,
        id: AssocId,
        path: PathId,
        local: IpAddr,
    ) -> Result<(), CommandError> {
        self.command(now, id, |a, _| a.set_source(path, local))
    }

    /// Sets the value of an outbound stream for `streams.scheduler`: its priority (0, the default,
    /// is the highest) or its weight (0 counts as 1); other schedulers ignore it (RFC 8260 section
    /// 4.3.3). Messages that are sent from now on have it.
    ///
    /// # Errors
    /// When there is no such stream, or the association has ended.
    pub fn set_stream_value(
        &mut self,
        now: Instant,
        id: AssocId,
        stream: u16,
        value: u16,
    ) -> Result<(), CommandError> {
        self.command(now, id, |a, _| a.set_stream_value(stream, value))
    }

    /// Sends a heartbeat on a path now (RFC 9260 section 11.1.10).
    ///
    /// # Errors
    /// When there is no such path.
    pub fn request_heartbeat(
        &mut self,
        now: Instant,
        id: AssocId,
        path: PathId,
    ) -> Result<(), CommandError> {
        self.command(now, id, |a, _| a.request_heartbeat(path))
    }

    /// Turns periodic heartbeats on a path on or off (RFC 9260 section 11.1.9).
    /// Heartbeats to unconfirmed and potentially failed paths are not affected.
    ///
    /// # Errors
    /// When there is no such path.
    pub fn enable_heartbeat(
        &mut self,
        now: Instant,
        id: AssocId,
        path: PathId,
        enabled: bool,
    ) -> Result<(), CommandError> {
        self.command(now, id, |a, ctx| a.enable_heartbeat(ctx, path, enabled))
    }

    /// Sets how the failure of one path is detected, instead of
    /// `failure.detection` (cortes-2008: "applications can tune this algorithm").
    ///
    /// # Errors
    /// When there is no such path, the detector's settings are invalid, or the
    /// user's own detector watches all paths (`custom.detection`).
    pub fn set_detection(
        &mut self,
        now: Instant,
        id: AssocId,
        path: PathId,
        detection: Detection,
    ) -> Result<(), CommandError> {
        self.command(now, id, |a, ctx| a.set_detection(ctx, path, detection))
    }

    /// Frees an association with everything that could still be read from it. An
    /// association that has not ended is aborted first. Its events that nobody has taken are
    /// dropped.
    pub fn release(&mut self, now: Instant, id: AssocId) {
        if self.table.get(id).is_none() {
            return;
        }
        // An error only means that the association has ended already.
        let _ = self.abort(now, id, b"released");
        if let Some(slot) = self.table.get(id) {
            self.account.change(slot.charged, 0);
        }
        if self.table.remove(id) {
            self.schedule.give_back(&self.table);
        }
    }
}

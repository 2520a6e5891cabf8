//! Commands on one association, and questions about it.

use super::{Endpoint, EndpointStats, ctx};
use crate::api::{AssocId, AssocStats, CommandError, LossReason, Message, PathStats, Received};
use crate::assoc::{Association, Ctx, Told};
use crate::config::Config;
use crate::path::PathId;
use crate::policy::Detection;
use crate::time::Instant;
use core::net::{IpAddr, SocketAddr};

impl Endpoint {
    /// Runs a command on a living association and looks after what follows.
    fn command<T>(
        &mut self,
        now: Instant,
        id: AssocId,
        run: impl FnOnce(&mut Association, &mut Ctx<'_>) -> Result<T, CommandError>,
    ) -> Result<T, CommandError> {
        let mut ctx = ctx!(self, now);
        let slot = self.table.get_mut(id.index());
        let Some(slot) = slot.filter(|s| s.generation == id.generation && !s.unlinked) else {
            return Err(CommandError::Gone);
        };
        let result = run(&mut slot.assoc, &mut ctx);
        self.wake(id.index);
        result
    }

    /// Hands over a message for sending.
    ///
    /// # Errors
    /// The message was not taken; the error says why and what would do.
    pub fn send(
        &mut self,
        _now: Instant,
        id: AssocId,
        message: Message,
    ) -> Result<(), CommandError> {
        let slot = self.slot_mut(id).filter(|s| !s.unlinked);
        let result = slot.ok_or(CommandError::Gone)?.assoc.send_message(message);
        self.wake(id.index);
        result
    }

    /// Takes the next message, or part of one, that has arrived. Works as well
    /// after the association has ended, until [`release`](Self::release).
    pub fn receive(&mut self, id: AssocId) -> Option<Received> {
        let slot = self.slot_mut(id)?;
        let received = slot.assoc.receive();
        if !slot.unlinked && slot.assoc.recv.acker.due() {
            self.wake(id.index);
        }
        received
    }

    /// Ends the association gracefully: everything handed over is delivered
    /// first. [`Event::ShutdownComplete`](crate::Event::ShutdownComplete)
    /// follows.
    ///
    /// # Errors
    /// When it has ended already.
    pub fn shutdown(&mut self, now: Instant, id: AssocId) -> Result<(), CommandError> {
        self.command(now, id, Association::shutdown)
    }

    /// Ends the association at once; the peer is told `reason`, at most 256
    /// bytes of it. What was not acknowledged is lost.
    ///
    /// # Errors
    /// When it has ended already.
    pub fn abort(&mut self, now: Instant, id: AssocId, reason: &[u8]) -> Result<(), CommandError> {
        let reason = &reason[..reason.len().min(256)];
        self.command(now, id, |a, ctx| {
            a.abort(ctx, LossReason::AbortedLocally, Told::User(reason));
            Ok(())
        })
    }

    /// Makes a path the primary: new data goes there while it is active.
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
        self.command(now, id, |a, _| {
            a.check_path(path)?;
            a.want_heartbeat(path);
            Ok(())
        })
    }

    /// Turns periodic heartbeats on a path on or off (section 11.1.9). The
    /// probing of unconfirmed and suspect paths is not affected.
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
        self.command(now, id, |a, ctx| {
            a.check_path(path)?;
            a.paths.get_mut(path).hb_enabled = enabled;
            a.schedule_heartbeat(ctx, path);
            Ok(())
        })
    }

    /// Chooses how the death of one path is noticed, instead of
    /// `failure.detection` (cortes-2008: "applications can tune this algorithm").
    ///
    /// # Errors
    /// When there is no such path, or the detector's numbers cannot work.
    pub fn set_detection(
        &mut self,
        now: Instant,
        id: AssocId,
        path: PathId,
        detection: Detection,
    ) -> Result<(), CommandError> {
        self.command(now, id, |a, ctx| a.set_detection(ctx, path, detection))
    }

    /// Forgets an ended association and what could still be read from it. One
    /// that lives is aborted first.
    pub fn release(&mut self, now: Instant, id: AssocId) {
        if self.slot(id).is_none() {
            return;
        }
        // Gone already is what is wanted.
        let _ = self.abort(now, id, b"released");
        self.out.events.retain(|e| e.0 != id);
        self.table.remove(id.index());
    }

    /// The settings of an association.
    #[must_use]
    pub fn config(&self, id: AssocId) -> Option<&Config> {
        self.slot(id).map(|s| &*s.assoc.cfg)
    }

    /// The state of an association, in RFC 9260's words.
    #[must_use]
    pub fn state_name(&self, id: AssocId) -> Option<&'static str> {
        self.slot(id).map(|s| s.assoc.state.name())
    }

    /// Counts of an association.
    #[must_use]
    pub fn stats(&self, id: AssocId) -> Option<AssocStats> {
        self.slot(id).map(|s| s.assoc.stats)
    }

    /// State and counts of a path.
    #[must_use]
    pub fn path_stats(&self, id: AssocId, path: PathId) -> Option<PathStats> {
        let a = &self.slot(id)?.assoc;
        a.paths.contains(path).then(|| a.path_stats(path))
    }

    /// State and counts of all paths.
    #[must_use]
    pub fn paths(&self, id: AssocId) -> Vec<PathStats> {
        self.slot(id).map_or_else(Vec::new, |s| {
            s.assoc.paths.ids().map(|p| s.assoc.path_stats(p)).collect()
        })
    }

    /// Payload bytes that wait or are not acknowledged yet.
    #[must_use]
    pub fn buffered(&self, id: AssocId) -> Option<u64> {
        self.slot(id).map(|s| s.assoc.send.buffered())
    }

    /// Associations that have not ended.
    #[must_use]
    pub fn association_count(&self) -> usize {
        self.live
    }

    /// Our own addresses.
    #[must_use]
    pub fn local_addresses(&self) -> &[SocketAddr] {
        &self.local
    }

    /// Our SCTP port.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.cfg.port
    }

    /// Counts of packets that reached no association.
    #[must_use]
    pub fn endpoint_stats(&self) -> EndpointStats {
        EndpointStats {
            answers_dropped: self.out.replies_dropped,
            ..self.stats
        }
    }

    /// A cookie of any contents with a genuine MAC: fuzzing alone has this.
    #[cfg(fuzzing)]
    #[doc(hidden)]
    #[must_use]
    pub fn seal_for_fuzzing(&self, contents: &[u8]) -> Vec<u8> {
        self.keys.seal_bytes(contents)
    }

    /// Recounts every running total of an association: flights, windows,
    /// buffers. For tests; it costs as much as is outstanding.
    ///
    /// # Errors
    /// The first total that does not agree with its parts.
    pub fn check_totals(&self, id: AssocId) -> Result<(), String> {
        self.slot(id).map_or(Ok(()), |s| s.assoc.check_totals())
    }
}

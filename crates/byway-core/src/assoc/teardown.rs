//! Graceful shutdown (RFC 9260 section 9.2).

use super::{Association, Control, Ctx, State};
use crate::api::{CommandError, Event, LossReason};
use crate::observe::{Observation, Timer};
use crate::path::PathId;
use byway_wire::Shutdown;

impl Association {
    /// The user shuts down: queued data is delivered first.
    pub(crate) fn shutdown(&mut self, ctx: &mut Ctx<'_>) -> Result<(), CommandError> {
        match self.state {
            State::Closed => Err(CommandError::Gone),
            State::CookieWait | State::CookieEchoed(_) => {
                self.shutdown.wanted = true;
                Ok(())
            }
            State::Established => {
                self.begin_shutdown(ctx);
                Ok(())
            }
            // Already in progress.
            _ => Ok(()),
        }
    }

    pub(crate) fn begin_shutdown(&mut self, ctx: &mut Ctx<'_>) {
        self.enter(ctx, State::ShutdownPending);
        self.advance_shutdown(ctx);
    }

    /// Once all data is acknowledged, SHUTDOWN or SHUTDOWN ACK follows.
    pub(crate) fn advance_shutdown(&mut self, ctx: &mut Ctx<'_>) {
        if !self.send.is_drained() {
            return;
        }
        match self.state {
            State::ShutdownPending => {
                self.enter(ctx, State::ShutdownSent);
                self.control.push_back(Control::Shutdown);
                self.start_t5(ctx);
            }
            State::ShutdownReceived => {
                self.enter(ctx, State::ShutdownAckSent);
                let to = self.shutdown.from.unwrap_or(self.paths.data());
                self.control.push_back(Control::ShutdownAck(to));
                self.start_t5(ctx);
            }
            _ => {}
        }
    }

    /// T5: five times RTO.Max for the whole shutdown (section 9.2).
    fn start_t5(&mut self, ctx: &Ctx<'_>) {
        if self.timers.t5.is_none() {
            self.timers.t5 = Some(ctx.now + self.cfg.rto.max * 5);
        }
    }

    /// A SACK arrived that acknowledges everything below `covered`. While the shutdown
    /// waits for data to be acknowledged, T5 runs from the first SACK that acknowledges
    /// nothing new. Otherwise a peer that answers and never opens its window would keep
    /// the association for ever.
    #[inline]
    pub(super) fn guard_shutdown(&mut self, ctx: &Ctx<'_>, covered: u64) {
        if matches!(self.state, State::ShutdownPending | State::ShutdownReceived) {
            if covered > self.send.ledger.base() {
                self.timers.t5 = None;
            } else {
                self.start_t5(ctx);
            }
        }
    }

    /// T2 starts when SHUTDOWN or SHUTDOWN ACK leaves.
    pub(crate) fn start_t2(&mut self, ctx: &Ctx<'_>) {
        let rto = self.paths.get(self.paths.data()).rtt.rto();
        self.timers.t2 = Some(ctx.now + rto);
    }

    pub(crate) fn on_t2(&mut self, ctx: &mut Ctx<'_>) {
        self.timers.t2 = None;
        if !matches!(self.state, State::ShutdownSent | State::ShutdownAckSent) {
            return;
        }
        self.observe(ctx, || Observation::TimerFired {
            timer: Timer::T2Shutdown,
            path: None,
        });
        let path = self.paths.data();
        self.paths.get_mut(path).rtt.back_off(&self.cfg.rto);
        self.count_error(ctx, path, true, self.cfg.failure.path_max_retrans);
        if self.peer_is_unreachable(ctx) {
            return;
        }
        // Lost on this path: try the next one.
        let view = self.paths.view();
        let confirmed = || view.ring(path).find(|p| view.is_confirmed(*p));
        let next = view.alternate(path).or_else(confirmed).unwrap_or(path);
        self.paths.move_data(next);
        self.control.push_back(match self.state {
            State::ShutdownSent => Control::Shutdown,
            _ => Control::ShutdownAck(next),
        });
    }

    pub(crate) fn on_t5(&mut self, ctx: &mut Ctx<'_>) {
        self.timers.t5 = None;
        self.observe(ctx, || Observation::TimerFired {
            timer: Timer::T5ShutdownGuard,
            path: None,
        });
        self.abort(
            ctx,
            LossReason::PeerUnreachable,
            super::ending::AbortReason::User(b"the shutdown took too long"),
        );
    }

    /// SHUTDOWN: the peer has no more data to send. Its cumulative TSN acknowledges our
    /// data.
    pub(crate) fn on_shutdown(&mut self, ctx: &mut Ctx<'_>, from: Option<PathId>, s: Shutdown) {
        let reply = from.unwrap_or(self.paths.data());
        self.shutdown.from = from;
        match self.state {
            State::Established | State::ShutdownPending => {
                self.enter(ctx, State::ShutdownReceived);
                self.event(ctx, Event::PeerShutdown);
                self.on_cumulative_ack(ctx, s.cumulative_tsn_ack);
                self.advance_shutdown(ctx);
            }
            State::ShutdownReceived => {
                self.on_cumulative_ack(ctx, s.cumulative_tsn_ack);
                self.advance_shutdown(ctx);
            }
            // Both sides shut down at once.
            State::ShutdownSent => {
                self.enter(ctx, State::ShutdownAckSent);
                self.control.push_back(Control::ShutdownAck(reply));
                self.timers.t2 = None;
            }
            State::ShutdownAckSent => {
                // One answer is enough, even if a packet has many SHUTDOWNs.
                let queued = |c: &Control| matches!(c, Control::ShutdownAck(_));
                if !self.control.iter().any(queued) {
                    self.control.push_back(Control::ShutdownAck(reply));
                }
            }
            State::CookieWait | State::CookieEchoed(_) | State::Closed => {}
        }
    }

    /// SHUTDOWN ACK: answered with SHUTDOWN COMPLETE, and the association ends.
    pub(crate) fn on_shutdown_ack(&mut self, ctx: &mut Ctx<'_>, inbound: &super::Inbound<'_>) {
        if !matches!(self.state, State::ShutdownSent | State::ShutdownAckSent) {
            return;
        }
        let mut bytes = Vec::new();
        let mut packet = byway_wire::PacketBuilder::new(&mut bytes, self.header());
        packet.shutdown_complete(false);
        packet.finish(ctx.checksum());
        ctx.out.queue_reply(crate::outbox::OutboundReply {
            source: *inbound.destination,
            destination: *inbound.source,
            bytes,
        });
        self.complete(ctx);
    }

    pub(crate) fn on_shutdown_complete(&mut self, ctx: &mut Ctx<'_>) {
        if matches!(self.state, State::ShutdownAckSent) {
            self.complete(ctx);
        }
    }

    fn complete(&mut self, ctx: &mut Ctx<'_>) {
        self.close(ctx);
        self.event(ctx, Event::ShutdownComplete);
    }
}

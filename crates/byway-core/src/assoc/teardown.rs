//! Graceful shutdown (RFC 9260 section 9.2).
//!
//! Its end does not depend on the peer. T5-shutdown-guard runs for five times RTO.Max from when
//! SHUTDOWN or SHUTDOWN ACK is due, and before that from the first SACK that acknowledges nothing
//! new. A peer that goes on to take data, however little, has [`LONGEST`] in all.

use super::{Association, Control, Ctx, State};
use crate::api::{CommandError, Event, LossReason};
use crate::observe::{Observation, Timer};
use crate::path::{PathId, PathTrouble};
use byway_wire::Shutdown;

/// The longest time that a shutdown takes, as a multiple of RTO.Max: ten times T5, 50 minutes by
/// default. In this time a peer takes what is queued, or it does not want it.
const LONGEST: u32 = 50;

impl Association {
    /// The user shuts down: queued data is delivered first.
    pub(crate) fn shutdown(&mut self, ctx: &mut Ctx<'_>) -> Result<(), CommandError> {
        self.shutdown.wanted = true;
        match self.state {
            State::Closed => Err(CommandError::Gone),
            // Once it is established.
            State::CookieWait | State::CookieEchoed(_) => Ok(()),
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
        self.limit_shutdown(ctx);
        self.advance_shutdown(ctx);
    }

    /// From here on the shutdown has an end.
    fn limit_shutdown(&mut self, ctx: &Ctx<'_>) {
        let longest = ctx.now + self.cfg.rto.max * LONGEST;
        let ends = *self.shutdown.ends.get_or_insert(longest);
        self.timers.t5 = Some(ends);
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
                self.await_answer_to_shutdown(ctx, self.paths.data());
                self.start_t5(ctx);
            }
            State::ShutdownReceived => {
                self.enter(ctx, State::ShutdownAckSent);
                let to = self.shutdown.from.unwrap_or(self.paths.data());
                self.control.push_back(Control::ShutdownAck(to));
                self.await_answer_to_shutdown(ctx, to);
                self.start_t5(ctx);
            }
            _ => {}
        }
    }

    /// T5: five times RTO.Max from now (section 9.2), unless it runs for less.
    fn start_t5(&mut self, ctx: &Ctx<'_>) {
        let guard = ctx.now + self.cfg.rto.max * 5;
        self.timers.t5 = Some(self.timers.t5.map_or(guard, |t5| t5.min(guard)));
    }

    /// A SACK arrived that acknowledges everything below `covered`. While the shutdown
    /// waits for data to be acknowledged, T5 runs from the first SACK that acknowledges
    /// nothing new. Otherwise a peer that answers and never opens its window would keep
    /// the association for ever.
    #[inline]
    pub(super) fn guard_shutdown(&mut self, ctx: &Ctx<'_>, covered: u64) {
        if matches!(self.state, State::ShutdownPending | State::ShutdownReceived) {
            if covered > self.send.ledger.base() {
                self.timers.t5 = self.shutdown.ends;
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
        (self.timers.t2, self.timers.answer) = (None, None);
        if !matches!(self.state, State::ShutdownSent | State::ShutdownAckSent) {
            return;
        }
        self.observe(ctx, || Observation::TimerFired {
            timer: Timer::T2Shutdown,
            path: None,
        });
        let path = self.paths.data();
        self.paths.get_mut(path).rtt.back_off(&self.cfg.rto);
        self.blame(path, PathTrouble::ControlUnanswered);
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
                self.limit_shutdown(ctx);
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
                // As where only the peer shuts down: from here on each side has all that the other sent.
                self.event(ctx, Event::PeerShutdown);
                self.control.push_back(Control::ShutdownAck(reply));
                self.await_answer_to_shutdown(ctx, reply);
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
        ctx.out.queue_packet(crate::outbox::Finished {
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

//! An association ends without a graceful shutdown: it is lost, closed or aborted (RFC
//! 9260 section 9.1). The graceful shutdown is in `teardown`.

use super::timers::Timers;
use super::{Association, Ctx, State};
use crate::api::{Event, LossReason, Undelivered};
use crate::outbox::Finished;
use crate::send::record::Fate;
use byway_wire::PacketBuilder;

/// The reason that an ABORT reports to the peer.
pub(crate) enum AbortReason<'a> {
    User(&'a [u8]),
    Violation(&'static str),
    NoUserData(byway_wire::Tsn),
    OutOfResource,
    /// RFC 5061 section 5.3, F0.
    IllegalAsconfAck,
}

impl Association {
    /// Ends the association without a packet to the peer.
    #[cold]
    pub(crate) fn lose(&mut self, ctx: &mut Ctx<'_>, reason: LossReason) {
        if matches!(self.state, State::Closed) {
            return;
        }
        let undelivered_messages = self.undelivered_messages();
        self.close(ctx);
        let event = Event::Lost {
            reason,
            undelivered_messages,
        };
        self.event(ctx, event);
    }

    /// The association has ended, and what it has received and nobody has read is to be lost.
    #[cold]
    pub(crate) fn lose_received(&mut self, ctx: &mut Ctx<'_>) {
        let event = Event::Lost {
            reason: LossReason::OutOfMemory,
            undelivered_messages: self.undelivered_messages(),
        };
        self.event(ctx, event);
    }

    fn undelivered_messages(&self) -> u64 {
        self.send.queue.messages() + self.send.ledger.messages()
    }

    /// Enters CLOSED: all timers stop and no more packets leave. Data that has arrived
    /// can still be read.
    pub(crate) fn close(&mut self, ctx: &mut Ctx<'_>) {
        self.enter(ctx, State::Closed);
        self.timers = Timers::default();
        self.optional.dialect = None;
        self.control.clear();
        for p in self.paths.iter_mut() {
            p.stop_timers();
        }
        for id in self.paths.ids() {
            self.paths.want_heartbeat(id, false);
        }
        self.recv.end();
    }

    /// Aborts: one packet reports the reason to the peer (section 9.1).
    #[cold]
    pub(crate) fn abort(&mut self, ctx: &mut Ctx<'_>, reason: LossReason, told: AbortReason<'_>) {
        if matches!(self.state, State::Closed) {
            return;
        }
        // Before INIT ACK the peer's tag is unknown, so no ABORT can be sent.
        if !matches!(self.state, State::CookieWait) {
            let mut bytes = Vec::new();
            let mut packet = PacketBuilder::new(&mut bytes, self.header());
            packet.abort(false, |causes| {
                match told {
                    AbortReason::User(reason) => causes.user_initiated_abort(reason),
                    AbortReason::Violation(what) => causes.protocol_violation(what.as_bytes()),
                    AbortReason::NoUserData(tsn) => causes.no_user_data(tsn),
                    AbortReason::OutOfResource => causes.out_of_resource(),
                    AbortReason::IllegalAsconfAck => causes.illegal_asconf_ack(),
                };
            });
            packet.finish(ctx.checksum());
            if self.optional.seals {
                self.seal_if_required(ctx, (&mut bytes, 0), &[]);
            }
            let p = self.paths.get(self.paths.data());
            if self.optional.stalled && self.has_no_source() {
                return self.lose(ctx, reason);
            }
            ctx.out.queue_packet(Finished {
                source: p.local(),
                destination: p.remote(),
                bytes,
            });
            self.setup.was_up_or_aborted = true;
        }
        self.lose(ctx, reason);
    }

    /// The next message that the peer has not completely acknowledged, once the association has
    /// ended.
    pub(crate) fn take_undelivered(&mut self) -> Option<Undelivered> {
        if !self.state.is_closed() {
            return None;
        }
        let paths = &mut self.paths;
        self.send.take_undelivered(|r| {
            let path = paths.get_mut(r.path);
            match r.fate {
                Fate::InFlight => path.chunk_acknowledged(r.bytes),
                Fate::Lost(_) => path.lost_chunk_settled(r.bytes),
                Fate::Acked => {}
            }
        })
    }

    /// Whether data that has arrived waits to be read, here or where the user keeps it.
    pub(crate) fn holds_received(&self) -> bool {
        self.recv.is_holding()
    }

    /// The user keeps so many bytes for the association, outside of the endpoint.
    pub(crate) fn keep_by_user(&mut self, bytes: usize) {
        self.recv.keep_by_user(bytes);
    }

    /// Drops what has arrived and was not read, to free its memory.
    pub(crate) fn forget_received(&mut self) {
        self.recv.forget();
    }

    /// The peer violated the protocol: sends an ABORT and ends the association.
    #[cold]
    pub(crate) fn violation(&mut self, ctx: &mut Ctx<'_>, what: &'static str) {
        self.abort(
            ctx,
            LossReason::ProtocolViolation(what),
            AbortReason::Violation(what),
        );
    }
}

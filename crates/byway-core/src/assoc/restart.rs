//! A COOKIE ECHO for an association that exists (RFC 9260 section 5.2.4).

use super::{Association, Control, Ctx, Ours, State, Tags};
use crate::api::{Event, LossReason};
use crate::endpoint::cookie::Cookie;
use crate::path::{Path, PathId, PathTable};
use core::net::SocketAddr;

/// The result for the cookie.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum CookieOutcome {
    /// Accepted: the rest of the packet may be handled.
    Taken,
    /// Discarded with the packet.
    Discarded,
    /// The peer restarted while we shut down: SHUTDOWN ACK again, and an error.
    WhileShuttingDown,
    /// The peer restarted, and the association has ended: the cookie begins a new one.
    Ended,
}

/// The action of table 12.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Action {
    /// A: the peer restarted.
    Restart,
    /// B: both set up at the same time; the peer's tag is new.
    Collision,
    /// D: a duplicate, or our own set-up completing.
    Duplicate,
    /// C, and all cases that the table does not list.
    Discard,
}

impl Association {
    /// Table 12: compares the tags of the cookie with ours.
    ///
    /// Action B is for two set-ups at the same time. If this association stands already, the
    /// cookie is of another association of the peer than the one that it stands with, with other
    /// TSNs, and only to take its tag would leave both without a peer. With our tie-tags the
    /// peer began anew after it had answered our INIT: a restart. Without them it began twice,
    /// and has the one that stands: the other cookie is discarded.
    fn action(&self, c: &Cookie) -> Action {
        let local = c.local_tag == self.tags.local;
        let peer = c.peer_tag == self.tags.peer;
        let tied = self.is_tied(c);
        match (local, peer) {
            (true, true) => Action::Duplicate,
            (true, false) if self.sets_up() => Action::Collision,
            (_, false) if tied => Action::Restart,
            _ => Action::Discard,
        }
    }

    /// Whether the cookie has this association's Tie-Tags.
    pub(crate) fn is_tied(&self, c: &Cookie) -> bool {
        c.tie_tags == self.tags.tie
    }

    fn sets_up(&self) -> bool {
        matches!(self.state, State::CookieWait | State::CookieEchoed(_))
    }

    /// Whether both tags of the cookie are this association's. Such a cookie is valid
    /// at any age (step 3).
    pub(crate) fn owns_cookie(&self, c: &Cookie) -> bool {
        c.local_tag == self.tags.local && c.peer_tag == self.tags.peer
    }

    /// A COOKIE ECHO of this cookie arrived from `source`, where its answer goes (section
    /// 6.4): the path of the cookie may be dead.
    pub(crate) fn on_cookie_echo(
        &mut self,
        ctx: &mut Ctx<'_>,
        (c, ours): (&Cookie, &Ours),
        source: &SocketAddr,
    ) -> CookieOutcome {
        match self.action(c) {
            Action::Restart if matches!(self.state, State::ShutdownAckSent) => {
                let to = self.paths.find(c.source.ip()).unwrap_or(self.paths.data());
                self.control.push_back(Control::ShutdownAck(to));
                CookieOutcome::WhileShuttingDown
            }
            Action::Restart if !self.cfg.setup.keep_on_restart => {
                self.lose(ctx, LossReason::PeerRestarted);
                CookieOutcome::Ended
            }
            Action::Restart => {
                self.restart(ctx, c, ours);
                if !self.state.is_closed() {
                    self.answer_cookie(c, source);
                }
                CookieOutcome::Taken
            }
            Action::Collision => {
                self.collide(ctx, c);
                if !self.state.is_closed() {
                    self.answer_cookie(c, source);
                }
                CookieOutcome::Taken
            }
            Action::Duplicate => {
                if matches!(self.state, State::CookieEchoed(_)) {
                    self.establish(ctx);
                }
                self.answer_cookie(c, source);
                CookieOutcome::Taken
            }
            Action::Discard => CookieOutcome::Discarded,
        }
    }

    fn answer_cookie(&mut self, c: &Cookie, source: &SocketAddr) {
        let path = self.paths.find_source(source);
        let path = path.or_else(|| self.paths.find(c.source.ip()));
        self.control
            .push_front(Control::CookieAck(path.unwrap_or(PathId(0))));
    }

    /// Action A: everything starts again, except messages that are ready to be read.
    fn restart(&mut self, ctx: &mut Ctx<'_>, c: &Cookie, ours: &Ours) {
        let undelivered_messages = self.send.queue.messages() + self.send.ledger.messages();
        let mut first = Path::new(c.local, c.source, true, &self.cfg, ctx.now);
        first.note_answer_here();
        self.paths = PathTable::new(first);
        let old = core::mem::replace(
            &mut self.recv,
            crate::recv::RecvHalf::new(c.peer_tsn, c.inbound, &self.cfg.buffer),
        );
        let changes = self.take_changes(c, ours);
        self.adopt_cookie(ctx, c);
        let settled = self.ask_again(changes, ours);
        // Cookies of an earlier restart carry the old tie-tags: a delayed one must not
        // restart the association again.
        self.tags.tie = Tags::new_tie(ctx);
        self.recv.keep_unread(old);
        self.timers = super::Timers::default();
        self.control.clear();
        self.failure.clear();
        self.optional.estimating = super::estimating::Estimating::of(&self.cfg);
        self.optional.trials = super::trial::Trials::of(&self.cfg);
        self.shutdown.from = None;
        if !self.shutdown.wanted {
            self.shutdown.ends = None;
        }
        self.paths.detect_as(&self.cfg);
        self.make_room_for_timestamps(ctx.now);
        self.optional.stalled = false;
        self.enter(ctx, State::Established);
        self.event(
            ctx,
            Event::Restarted {
                undelivered_messages,
            },
        );
        for id in self.paths.ids() {
            let (remote, state) = (self.paths.get(id).remote(), self.paths.get(id).state());
            self.announce_path(ctx, id, remote, state);
        }
        self.leave_sources(ctx);
        if self.state.is_closed() {
            return;
        }
        self.begin_verification(ctx);
        self.tell_again(ctx, settled);
        // A peer that restarts does not hold who wants to end.
        if self.shutdown.wanted {
            self.begin_shutdown(ctx);
        }
    }

    /// Action B: takes the peer's tag, TSN, streams and window from the cookie, and the
    /// association is established.
    fn collide(&mut self, ctx: &mut Ctx<'_>, c: &Cookie) {
        self.tags.peer = c.peer_tag;
        self.recv = crate::recv::RecvHalf::new(c.peer_tsn, c.inbound, &self.cfg.buffer);
        self.send.adopt_grant(c.outbound, c.a_rwnd);
        self.check_queued_streams(ctx);
        if self.state.is_closed() {
            return;
        }
        self.agree_on_timestamps(c.timestamps);
        self.agree_on_interleaving(c.interleaving);
        self.adopt_auth(c.auth.as_ref(), c.peer_tsn);
        self.add_listed(ctx, c);
        self.establish(ctx);
    }
}

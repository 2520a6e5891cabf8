//! The way back after an outage of all paths (`policy/revival.rs`).

use super::{Association, Ctx, Inbound};
use crate::path::{PathId, PathState, PathTimer, Probe};
use crate::policy::retransmit::LossCause;
use crate::time::{Duration, Instant};
use byway_wire::chunk_type;

/// The shortest time between two heartbeats to a failed path that is heard.
const LEAST_PACE: Duration = Duration::from_millis(20);
/// This time if the path's round trip is unknown.
const UNMEASURED: Duration = Duration::from_millis(100);

impl Association {
    /// The pace of the heartbeats if no path is active and data is outstanding, so that
    /// T3-rtx counts the silence: the heartbeats of the revival count no errors. Not while data
    /// waits for an address to be verified, as T3-rtx does not run then.
    pub(super) fn revival_pace(&self) -> Option<Duration> {
        let rule = self
            .cfg
            .failover
            .revival
            .filter(|_| !self.optional.stalled)?;
        let active = |p: &crate::path::Path| p.state() == PathState::Active;
        let stalled = !self.send.ledger.is_empty() && !self.paths.iter().any(active);
        stalled.then_some(rule.pace)
    }

    /// The last active path was left: every path is probed from now on.
    pub(super) fn begin_revival(&mut self, ctx: &Ctx<'_>) {
        let Some(pace) = self.revival_pace() else {
            return;
        };
        for path in self.paths.ids() {
            let timers = &self.paths.get(path).timers;
            let soon = ctx.now + pace;
            let comes = [PathTimer::Heartbeat, PathTimer::HeartbeatLost]
                .iter()
                .any(|t| timers.get(*t).is_some_and(|at| at <= soon));
            if !comes && !self.paths.wants_heartbeat(path) && !self.is_spared(path) {
                let timers = &mut self.paths.get_mut(path).timers;
                timers.set(PathTimer::Heartbeat, Some(ctx.now));
            }
        }
    }

    /// A heartbeat of the revival was not answered: it is no error, and the next one
    /// leaves. False if it was an ordinary heartbeat, or to an address that never answered.
    pub(super) fn repeat_revival_heartbeat(&mut self, path: PathId) -> bool {
        let may_be_a_victim = !self.paths.get(path).is_confirmed();
        if self.revival_pace().is_none() || may_be_a_victim {
            return false;
        }
        self.paths
            .get_mut(path)
            .timers
            .set(PathTimer::HeartbeatLost, None);
        self.paths.want_heartbeat(path, true);
        true
    }

    /// A packet of the peer came from a path that is not active. An address that failed before
    /// it was verified is verified now, whatever the settings (RFC 9260 section 5.4): until then
    /// not even a SACK may go there, and the peer may have no other address.
    #[cold]
    pub(super) fn on_failed_path_heard(
        &mut self,
        ctx: &Ctx<'_>,
        (path, inbound): (PathId, &Inbound<'_>),
    ) {
        // Who denies the association is no sign of it: each heartbeat would get its denial, and the denial the next
        // heartbeat, without end.
        let first = &inbound.first;
        let denied = first.kind == chunk_type::ABORT && first.flags & 1 == 1;
        if denied || !self.state.sends_heartbeats() {
            return;
        }
        let p = self.paths.get(path);
        let under_way = p.heartbeat.under_way();
        let wanted = if self.cfg.failover.revival.is_some() {
            let pace = p.rtt.srtt().unwrap_or(UNMEASURED).max(LEAST_PACE);
            let asked = |h: Probe| ctx.now.since(h.sent) < pace;
            !under_way.is_some_and(asked)
        } else {
            // Another one would make the answer to the one under way worthless.
            !p.is_confirmed() && under_way.is_none()
        };
        if wanted {
            self.want_heartbeat(path);
        }
    }

    /// The peer answered what left on a path at this time, a heartbeat, a probe or an ASCONF: the path has no errors
    /// any more, and is active again if it was not.
    pub(super) fn take_back(&mut self, ctx: &mut Ctx<'_>, path: PathId, asked: Instant) {
        let state = self.paths.get(path).state();
        self.clear_errors(ctx, path, true);
        if state != PathState::Active {
            self.end_revival(ctx, path, asked);
            self.ask(ctx, |d, i| d.on_returned(i, path));
        }
    }

    /// A path is active again that answered what left at this time. What is in flight
    /// on paths that are not active leaves on it, and so does what it carried itself
    /// before.
    pub(super) fn end_revival(&mut self, ctx: &mut Ctx<'_>, back: PathId, asked: Instant) {
        if self.cfg.failover.revival.is_none() {
            return;
        }
        self.rescue_flights(ctx, back);
        let base = self.send.ledger.base();
        let oldest = self.send.ledger.first_in_flight(back, base);
        let sent = oldest.and_then(|seq| self.send.ledger.get(seq));
        if sent.is_some_and(|r| r.sent_at < asked) {
            self.take_flight_for_lost(back, LossCause::FastRetransmit);
            self.send.force_packet();
            self.observe_window(ctx, back);
        }
    }

    /// What is in flight on paths that are not active leaves on the one that works.
    pub(super) fn rescue_flights(&mut self, ctx: &mut Ctx<'_>, back: PathId) {
        for path in self.paths.ids() {
            let p = self.paths.get(path);
            if path == back || p.state() == PathState::Active || p.window().flight == 0 {
                continue;
            }
            self.take_flight_for_lost(path, LossCause::ProbeTimeout);
            self.observe_window(ctx, path);
        }
        self.keep_losses(back);
    }

    /// What the path of new data lost while it was dead leaves on it, now that it is back. The
    /// alternate's window may hold a packet, and what was lost a hundred.
    fn keep_losses(&mut self, back: PathId) {
        if back != self.paths.data() {
            return;
        }
        let groups = self.send.ledger.lost().groups().iter();
        let moves = groups.filter(|g| g.path == back && g.cause != LossCause::FastRetransmit);
        let seqs: Vec<u64> = moves.flat_map(|g| g.seqs()).collect();
        for seq in seqs {
            self.send
                .ledger
                .change_cause(seq, LossCause::FastRetransmit);
        }
    }
}

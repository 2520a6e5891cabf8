//! Another address of this side takes over where the peer has one address only.
//!
//! With one address of the peer there is one path, however many cards this side has. While it is
//! silent, a heartbeat leaves to the same address from each other one of ours that has a way of
//! its own. If one is answered and the path stays silent, the path leaves from there: after
//! the same time in which data would move to another path. All addresses are asked at the
//! same moment, so a lost chunk alone moves nothing.

use super::{Association, Ctx, on_heartbeat, unverified};
use crate::path::{PathId, PathState, PathTimer};
use crate::time::{Duration, Instant};
use core::net::SocketAddr;
use rand::RngExt;
use smallvec::SmallVec;

/// Heartbeats to the address of a path from other addresses of this side.
#[derive(Debug)]
pub(super) struct OtherSources {
    path: PathId,
    remote: SocketAddr,
    sent: Instant,
    asked: SmallVec<[Asked; 2]>,
    /// Whether the path has been silent for as long as an answer takes.
    silent: bool,
}

#[derive(Debug)]
struct Asked {
    local: SocketAddr,
    nonce: u64,
    /// The round trip of its answer.
    answered: Option<Duration>,
}

impl Association {
    /// A path is silent, or the kernel refuses its packets (`refused`), and no other one can
    /// take over: the other sources are asked, if there are any.
    #[cold]
    pub(super) fn ask_other_sources(&mut self, ctx: &mut Ctx<'_>, path: PathId, refused: bool) {
        let Some(rule) = self.cfg.failover.probe_timeout else {
            return;
        };
        let p = self.paths.get(path);
        if self.addresses.local.len() < 2
            || !p.is_confirmed()
            || !self.state.sends_heartbeats()
            || self.paths.view().alternate(path).is_some()
        {
            return;
        }
        let (own, remote, rto) = (p.local(), p.remote(), p.rtt.rto());
        // A timeout has passed already where the path is not active.
        let silent = refused || p.state() != PathState::Active;
        let before = self.addresses.other_sources.as_deref();
        if before.is_some_and(|o| o.path == path && ctx.now.since(o.sent) < rto) {
            return;
        }
        let asked = self.ask_from_each(ctx, (own, remote));
        if asked.is_empty() {
            return;
        }
        self.addresses.other_sources = Some(Box::new(OtherSources {
            path,
            remote,
            sent: ctx.now,
            asked,
            silent,
        }));
        let silent_at = ctx.now + self.answer_time(rule, path);
        let timers = &mut self.paths.get_mut(path).timers;
        if !silent && timers.get(PathTimer::MoveHoldOff).is_none() {
            timers.set(PathTimer::MoveHoldOff, Some(silent_at));
            self.stats.suspicions += 1;
        }
        if self.paths.get(path).heartbeat.under_way().is_none() {
            self.want_heartbeat(path);
        }
    }

    /// A heartbeat leaves from each other address that has a way of its own to the peer's.
    fn ask_from_each(
        &self,
        ctx: &mut Ctx<'_>,
        (own, remote): (SocketAddr, SocketAddr),
    ) -> SmallVec<[Asked; 2]> {
        let ours = &self.addresses.local;
        let mut used = vec![own];
        let mut asked = SmallVec::new();
        while let Some(at) = ctx.routes.source_beside(ours, remote.ip(), &used)
            && let Some(local) = ours.get(at).copied()
            && !used.contains(&local)
        {
            used.push(local);
            let nonce = ctx.rng.random();
            let info = on_heartbeat::info_of(unverified::NO_PATH, ctx.now, nonce);
            self.send_beside_paths(ctx, (local, remote), |w| w.heartbeat(&info));
            asked.push(Asked {
                local,
                nonce,
                answered: None,
            });
        }
        asked
    }

    /// A HEARTBEAT ACK came to an address of this side from which no path leaves. True if it
    /// answers the heartbeat from there.
    pub(super) fn on_other_source_answered(
        &mut self,
        ctx: &mut Ctx<'_>,
        (local, remote): (SocketAddr, SocketAddr),
        nonce: u64,
    ) -> bool {
        let all = self.addresses.other_sources.as_deref_mut();
        let Some(all) = all.filter(|o| o.remote == remote) else {
            return false;
        };
        let mut asked = all.asked.iter_mut();
        let Some(asked) = asked.find(|a| (a.local, a.nonce) == (local, nonce)) else {
            return false;
        };
        asked.answered.get_or_insert(ctx.now.since(all.sent));
        let path = all.path;
        if all.silent {
            self.leave_silent_source(ctx, path);
        }
        true
    }

    /// The path has been silent for as long as an answer takes, unless it is given more time.
    pub(super) fn on_silence_of_source(&mut self, ctx: &mut Ctx<'_>, path: PathId) {
        let timers = &self.paths.get(path).timers;
        if timers.get(PathTimer::MoveHoldOff).is_some() {
            return;
        }
        let all = self.addresses.other_sources.as_deref_mut();
        if let Some(all) = all.filter(|o| o.path == path) {
            all.silent = true;
            self.leave_silent_source(ctx, path);
        }
    }

    /// The path leaves from the other source that answered first, if one has.
    fn leave_silent_source(&mut self, ctx: &mut Ctx<'_>, path: PathId) {
        let Some(all) = self.addresses.other_sources.as_deref() else {
            return;
        };
        let ours = &self.addresses.local;
        let answered = all.asked.iter().filter(|a| ours.contains(&a.local));
        let answered = answered.filter_map(|a| Some((a.answered?, a.local)));
        let Some((round_trip, local)) = answered.min() else {
            return;
        };
        self.addresses.other_sources = None;
        if !self.paths.contains(path) || self.paths.view().alternate(path).is_some() {
            return;
        }
        self.leave_from(ctx, path, local);
        let p = self.paths.get_mut(path);
        p.rtt.sample(round_trip, &self.cfg.rto);
        p.errors.clear();
        self.failure.errors = 0;
        if p.state() != PathState::Active {
            self.set_path_state(ctx, path, PathState::Active);
        }
        self.observe_rto(ctx, path, Some(round_trip));
        self.recv.acker.want_now();
        self.choose_data_path(ctx, None);
        self.rescue_flights(ctx, path);
        self.new_burst();
    }

    /// The path has answered from its own source: nothing moves.
    #[inline]
    pub(super) fn forget_other_sources(&mut self, path: PathId) {
        let all = &mut self.addresses.other_sources;
        if all.as_deref().is_some_and(|o| o.path == path) {
            *all = None;
        }
    }
}

//! The peer's data stops in the middle of a flow (`failover.revival.silence`; `policy/revival.rs`).
//!
//! Who only receives has nothing whose acknowledgement could be overdue. A translator that has forgotten the binding lets
//! nothing of the peer through until something leaves by it, and the peer cannot ask. So the side that connected asks.

use super::{Association, Ctx};
use crate::path::{PathId, PathTimer};
use crate::time::{Duration, Instant};

/// So many packets with data, none of which came [`silence`](crate::policy::Revival::silence) after the one before, are a flow.
/// Single messages are not asked after.
const FLOW: u32 = 16;

/// The flow of the peer's data.
#[derive(Debug, Default)]
pub(super) struct PeersFlow {
    /// Packets with data since the last silence.
    packets: u32,
    /// When the last one came.
    last: Instant,
    /// The path whose timer watches the flow.
    path: Option<PathId>,
    /// Since when heartbeats ask the peer, if they do.
    asks_since: Option<Instant>,
}

impl PeersFlow {
    /// Whether heartbeats ask the peer.
    pub(super) fn asks(&self) -> bool {
        self.asks_since.is_some()
    }
}

impl Association {
    /// How long the peer's data has stopped when this side asks, if it does at all.
    #[inline]
    fn silence(&self) -> Option<Duration> {
        if self.setup.accepted {
            return None;
        }
        let rule = self.cfg.failover.revival.as_ref()?;
        (rule.silence > Duration::ZERO).then_some(rule.silence)
    }

    /// A packet with the peer's data came on a path. The timer is not set anew for each of them.
    #[inline]
    pub(super) fn note_peers_flow(&mut self, now: Instant, from: PathId) {
        let Some(silence) = self.silence() else {
            return;
        };
        let flow = &mut self.failure.peers_flow;
        flow.packets = flow.packets.saturating_add(1);
        flow.last = now;
        flow.asks_since = None;
        let path = flow.path.filter(|p| self.paths.contains(*p));
        let watch = |p: PathId| self.paths.get(p).timers.get(PathTimer::Silence);
        if path.and_then(watch).is_none() {
            self.watch_flow(from, now + silence);
        }
    }

    #[cold]
    fn watch_flow(&mut self, path: PathId, due: Instant) {
        self.failure.peers_flow.path = Some(path);
        let timers = &mut self.paths.get_mut(path).timers;
        timers.set(PathTimer::Silence, Some(due));
    }

    /// The flow may have stopped, or the peer has not answered.
    pub(super) fn on_silence(&mut self, ctx: &Ctx<'_>, path: PathId) {
        let timers = &mut self.paths.get_mut(path).timers;
        timers.set(PathTimer::Silence, None);
        if !self.state.sends_heartbeats() {
            return;
        }
        let next = match self.failure.peers_flow.asks_since {
            None => self.ask_for_flow(ctx, path),
            Some(since) => self.ask_for_life(ctx, since),
        };
        if let Some(next) = next {
            self.watch_flow(path, next);
        }
    }

    /// Asks the peer if its flow has stopped. Returns when to look again, if at all.
    fn ask_for_flow(&mut self, ctx: &Ctx<'_>, path: PathId) -> Option<Instant> {
        let srtt = self.paths.get(path).rtt.srtt().unwrap_or_default();
        let wait = self.silence()?.max(srtt * 2);
        let flow = &mut self.failure.peers_flow;
        let due = flow.last + wait;
        if due > ctx.now {
            return Some(due);
        }
        let flowed = core::mem::take(&mut flow.packets) >= FLOW;
        if !flowed || !self.send.ledger.is_empty() {
            return None;
        }
        flow.asks_since = Some(ctx.now);
        self.ask_each_path();
        Some(ctx.now + wait)
    }

    /// Asks the peer again unless it was heard since. Returns when to look again, if at all.
    fn ask_for_life(&mut self, ctx: &Ctx<'_>, since: Instant) -> Option<Instant> {
        let heard = self.paths.iter().filter_map(|p| p.counters.last_heard());
        // The peer is there, and has nothing to send. What left here says more when it is overdue.
        if heard.max().is_some_and(|at| at > since) || !self.send.ledger.is_empty() {
            self.failure.peers_flow.asks_since = None;
            return None;
        }
        self.ask_each_path();
        let rule = self.cfg.failover.revival.as_ref()?;
        Some(ctx.now + rule.pace)
    }

    fn ask_each_path(&mut self) {
        for path in self.paths.ids() {
            if self.paths.get(path).is_confirmed() && !self.is_spared(path) {
                self.want_heartbeat(path);
            }
        }
    }
}

//! Path MTU discovery at work (RFC 8899; `policy/mtu_discovery.rs`).

use super::probe_timeout::coming_round_trip;
use super::{Association, Ctx};
use crate::observe::{Observation, Timer};
use crate::path::{PathId, PathState, PathTimer};
use crate::policy::ProbeTimeout;
use crate::policy::mtu_discovery::Outcome;
use crate::policy::retransmit::LossCause;
use rand::RngExt;

impl Association {
    /// The MTU of a path's interface bounds the search, which then begins.
    pub(super) fn learn_mtu(&mut self, ctx: &mut Ctx<'_>, path: PathId) {
        let p = self.paths.get_mut(path);
        if p.mtu.wants_bound() && p.is_confirmed() {
            let interface = ctx.routes.interface_mtu(p.local(), p.remote().ip());
            if let Some(outcome) = p.mtu.bound(interface, self.cfg.pmtu.over(interface)) {
                p.end_mtu_probe();
                self.paths.want_mtu_probe(path, false);
                if outcome != Outcome::Same {
                    self.adopt_mtu(ctx, path, Some(outcome));
                }
            }
        }
        self.begin_mtu_search(path);
    }

    /// The routes changed, and with them perhaps the interface of a path or its MTU.
    pub(super) fn learn_mtu_again(&mut self, ctx: &mut Ctx<'_>, path: PathId) {
        let p = self.paths.get_mut(path);
        p.mtu.forget_bound();
        // Another network may take the answers of this one.
        p.mtu.forget_lost(u32::MAX);
        self.learn_mtu(ctx, path);
    }

    /// A path may carry data: the search begins, or a heartbeat measures the round trip
    /// first, which says how long to wait for a probe.
    pub(super) fn begin_mtu_search(&mut self, path: PathId) {
        let p = self.paths.get(path);
        let wanted = p.is_confirmed() && p.mtu.search().is_some_and(|s| s.next().is_some());
        if !wanted || p.mtu.has_probe() || p.timers.get(PathTimer::MtuProbe).is_some() {
            return;
        }
        if p.rtt.srtt().is_some() {
            self.paths.want_mtu_probe(path, true);
        } else {
            self.want_heartbeat(path);
        }
    }

    /// The next probe leaves: its nonce and the size of its IP packet. None if none is
    /// needed any more.
    pub(super) fn begin_mtu_probe(
        &mut self,
        ctx: &mut Ctx<'_>,
        path: PathId,
    ) -> Option<(u64, u32)> {
        self.paths.want_mtu_probe(path, false);
        let waits = !self.send.queue.is_empty();
        let p = self.paths.get_mut(path);
        let size = p.mtu.search()?.next()?;
        let nonce = p.mtu.probe_leaves(ctx.rng.random(), size);
        let wait = match coming_round_trip(p, waits) {
            Some(rtt) => ProbeTimeout::default().answer(rtt, p.rtt.rttvar()),
            None => p.rtt.rto(),
        };
        p.timers.set(PathTimer::MtuProbe, Some(ctx.now + wait));
        Some((nonce, size))
    }

    /// A HEARTBEAT ACK with this nonce arrived. True if it answers a probe of the path's
    /// MTU, perhaps one that was taken for lost.
    pub(super) fn on_mtu_probe_answered(
        &mut self,
        ctx: &mut Ctx<'_>,
        path: PathId,
        nonce: u64,
    ) -> bool {
        let p = self.paths.get_mut(path);
        let Some(size) = p.mtu.probe_answered(nonce) else {
            return false;
        };
        p.timers.set(PathTimer::MtuProbe, None);
        let outcome = p.mtu.search_mut().map(|s| s.answered(size));
        self.adopt_mtu(ctx, path, outcome);
        true
    }

    /// A chunk of this size arrived that left after the path fell into doubt. If it filled a packet, the
    /// size passes, and the losses have another cause.
    pub(super) fn note_large_arrived(&mut self, path: PathId, bytes: u32) {
        let p = self.paths.get_mut(path);
        if bytes < p.window().pmdcs {
            return;
        }
        if p.mtu.search_mut().is_some_and(|s| s.data_passes()) {
            p.lose_mtu_probe();
            self.paths.want_mtu_probe(path, false);
            self.begin_mtu_search(path);
        }
    }

    /// A small heartbeat was answered: the path passes something.
    pub(super) fn note_small_answer(&mut self, path: PathId) {
        if let Some(search) = self.paths.get_mut(path).mtu.search_mut() {
            search.passes_small();
            self.begin_mtu_search(path);
        }
    }

    /// The timer of the path's MTU: a probe is lost, or larger sizes are tried again.
    pub(super) fn on_mtu_timer(&mut self, ctx: &mut Ctx<'_>, path: PathId) {
        let p = self.paths.get_mut(path);
        let was_lost = p.mtu.has_probe();
        p.lose_mtu_probe();
        let Some(search) = p.mtu.search_mut() else {
            return;
        };
        let outcome = if was_lost {
            search.lost()
        } else {
            search.again();
            Outcome::Same
        };
        self.observe(ctx, || Observation::TimerFired {
            timer: Timer::MtuProbe,
            path: Some(path),
        });
        self.adopt_mtu(ctx, path, Some(outcome));
    }

    /// Data of a path stalls. Its size is probed beside a small heartbeat, because the
    /// path may have become a black hole for it.
    pub(super) fn doubt_mtu(&mut self, path: PathId) {
        let p = self.paths.get_mut(path);
        if p.state() == PathState::Unconfirmed || !p.mtu.search_mut().is_some_and(|s| s.doubt()) {
            return;
        }
        p.lose_mtu_probe();
        // An answer to an earlier probe of this size does not say that it passes now.
        p.mtu.forget_lost(p.mtu.pmtu());
        self.paths.want_mtu_probe(path, true);
        self.want_heartbeat(path);
    }

    /// The kernel or a router refuses packets of this many bytes on a path.
    pub(super) fn on_too_large(&mut self, ctx: &mut Ctx<'_>, path: PathId, size: u32) {
        let p = self.paths.get_mut(path);
        let outcome = p.mtu.search_mut().map(|s| s.refuse(size));
        p.mtu.forget_lost(u32::MAX);
        // Not the raise timer: it may run without a probe.
        if p.mtu.has_probe() {
            p.end_mtu_probe();
        }
        self.adopt_mtu(ctx, path, outcome);
    }

    /// The path's packets have another size from now on, if it changed. The search goes
    /// on, or the raise timer starts.
    fn adopt_mtu(&mut self, ctx: &mut Ctx<'_>, path: PathId, outcome: Option<Outcome>) {
        let Some(outcome) = outcome else { return };
        if let Outcome::Raised(size) | Outcome::Fell(size) = outcome {
            self.paths.set_pmtu(path, size);
            self.observe(ctx, || Observation::PathMtu { path, bytes: size });
        }
        if matches!(outcome, Outcome::Fell(_)) {
            self.paths.get_mut(path).mtu.forget_lost(u32::MAX);
            // It was sent in packets that do not pass, so it leaves again, in packets
            // that the network may fragment.
            self.take_flight_for_lost(path, LossCause::FastRetransmit);
            self.send.force_packet();
        }
        let p = self.paths.get_mut(path);
        let searching = p.mtu.search().is_some_and(|s| s.next().is_some());
        if searching {
            self.paths.want_mtu_probe(path, true);
        } else if let Some(rule) = self.cfg.mtu_discovery {
            let p = self.paths.get_mut(path);
            p.timers
                .set(PathTimer::MtuProbe, Some(ctx.now + rule.raise));
        }
    }
}

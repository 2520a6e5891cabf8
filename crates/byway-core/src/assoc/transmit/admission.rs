//! Whether new data may leave now, and where (RFC 9260 section 6.1).
//!
//! Rule A: the peer's window, and the probe of a closed window. Rule B: the congestion
//! window of the path. Rule D: Max.Burst. The user or the policies choose the path.

use crate::assoc::{Association, Ctx};
use crate::config::{BurstRule, CongestionConfig};
use crate::observe::Observation;
use crate::path::{Path, PathId, PathState};
use crate::send::queue::LaneId;
use crate::time::Instant;
use byway_wire::padded;

/// No packet of new data begins with this many TSNs that are not cumulatively
/// acknowledged. TSNs that are lost or acknowledged by gap blocks count as well. The
/// offsets of a gap block have 16 bits, so a SACK reaches 65,535 TSNs beyond the
/// cumulative TSN. The difference leaves room for the chunks of one packet.
const MAX_TSNS: usize = 60_000;

/// The start of the next packet of new data: its path, the lane of the send queue, and
/// the payload bytes of the first chunk.
#[derive(Copy, Clone, Debug)]
pub(super) struct Admitted {
    pub(super) path: PathId,
    pub(super) lane: LaneId,
    pub(super) len: usize,
}

impl Association {
    /// What may be sent now, if anything.
    #[inline]
    pub(super) fn admit(&mut self, ctx: &mut Ctx<'_>) -> Option<Admitted> {
        if self.send.ledger.len() >= MAX_TSNS || self.waits_for_confirmation() {
            return None;
        }
        if self.ask(ctx, |d, i| d.releases_new_data(i)) == Some(false) {
            return None;
        }
        let max_payload = self.max_payload();
        // By index and not by iterator, because the loop borrows the association.
        let mut waiting = self.send.queue.next_lane(0);
        let mut may_begin = false;
        while let Some(w) = waiting {
            let len = w.left.min(max_payload);
            let mut place = 0;
            while let Some(path) = self.candidate(ctx.now, w.path, place) {
                place += 1;
                if self.may_begin(ctx, path) {
                    may_begin = true;
                    let chunk = padded(len + self.send.header_len()) as u32;
                    if self.rwnd_allows(ctx, path, len)
                        && self.ask(ctx, |d, i| d.may_send(i, path, chunk)) != Some(false)
                    {
                        let lane = w.lane;
                        return Some(Admitted { path, lane, len });
                    }
                }
            }
            waiting = self.send.queue.lane_after(w.lane);
        }
        if !may_begin {
            self.note_rwnd_blocked(ctx, false);
        }
        if let Some(d) = &mut self.optional.dialect {
            d.after_new_data();
        }
        None
    }

    /// Whether data waits until every address is confirmed
    /// (`setup.confirm_all_before_data`).
    pub(in crate::assoc) fn waits_for_confirmation(&self) -> bool {
        self.cfg.setup.confirm_all_before_data
            && self.paths.ids().any(|id| {
                let p = self.paths.get(id);
                !p.is_confirmed() && p.state() != PathState::Inactive
            })
    }

    /// The path of new data at this place in the order: the path that the message is
    /// bound to, if it takes data, or else those that the policies choose.
    #[inline]
    fn candidate(&mut self, now: Instant, wish: Option<PathId>, place: usize) -> Option<PathId> {
        let alone = match (wish, &self.send.concurrent) {
            (Some(p), _) if self.paths.contains(p) && self.takes_pinned(p) => p,
            (_, Some(c)) => {
                let first = c.first();
                return self.concurrent_order(first, now).get(place).copied();
            }
            (_, None) => self.paths.data(),
        };
        (place == 0).then_some(alone)
    }

    /// Whether a path takes data that the user bound to it. It does while it is active, or
    /// potentially failed with no active path (RFC 7829 section 3.2, rule 3).
    fn takes_pinned(&self, path: PathId) -> bool {
        match self.paths.get(path).state() {
            PathState::Active => true,
            PathState::PotentiallyFailed => self.paths.view().alternate(path).is_none(),
            PathState::Unconfirmed | PathState::Inactive => false,
        }
    }

    /// Rules B and D, and pacing: whether a packet of new data may begin on a path. If nothing is in
    /// flight there, cwnd first decays for the idle time. Rule D may also reduce cwnd.
    #[inline]
    fn may_begin(&mut self, ctx: &Ctx<'_>, path: PathId) -> bool {
        self.begin_burst();
        let p = self.paths.get_mut(path);
        let (mut by_dialect, mut core_decays) = (None, true);
        if let Some(d) = &self.optional.dialect {
            by_dialect = d.may_begin(p.window());
            core_decays = !d.shrinks_idle_windows();
        }
        if p.window().flight == 0 && core_decays {
            p.on_idle(ctx.now, &self.cfg.congestion);
        }
        if let Some(may) = by_dialect {
            return may;
        }
        // An estimate of the packet's size: the waiting data of all lanes with one DATA
        // header, up to one PMDCS.
        let waits = self.send.queue.bytes() + self.send.header_len() as u64;
        let next = waits.min(p.window().pmdcs.into()) as u32;
        if !p.open() || !p.keeps_room(next) {
            return false;
        }
        let may = within_burst(p, &self.cfg.congestion) && p.is_paced_open(ctx.now);
        if !may {
            p.hold_back(ctx.now);
        }
        may
    }

    /// Rule A: the peer's window, and the probe of a closed window.
    #[inline]
    fn rwnd_allows(&mut self, ctx: &mut Ctx<'_>, path: PathId, len: usize) -> bool {
        let taken = self.ask(ctx, |d, i| d.rwnd_taken(i)).unwrap_or(0);
        let needed = len as u64 + u64::from(self.cfg.buffer.peer_overhead) + taken;
        let allowed = self.send.rwnd() >= needed;
        self.note_rwnd_blocked(ctx, !allowed);
        allowed || self.may_probe_window(ctx, path)
    }

    /// Whether a chunk may leave although the peer's window has no room for it.
    fn may_probe_window(&mut self, ctx: &Ctx<'_>, path: PathId) -> bool {
        if !self.send.ledger.is_empty() {
            return false;
        }
        let at_once = self.dialect_says(|d| d.probes_window_at_once());
        if self.send.window_probe.is_due() || at_once {
            return true;
        }
        if self.timers.window_probe.is_none() {
            let rto = self.paths.get(path).rtt.rto();
            self.timers.window_probe = Some(ctx.now + rto);
        }
        false
    }

    /// Records whether data waits for the peer's window although rules B and D let it
    /// leave on a path (receive buffer blocking).
    #[inline]
    pub(super) fn note_rwnd_blocked(&mut self, ctx: &mut Ctx<'_>, blocked: bool) {
        if self.send.is_rwnd_blocked() != blocked {
            self.toggle_rwnd_blocked(ctx);
        }
    }

    /// Data begins to wait for the peer's window, or waits no more.
    #[cold]
    fn toggle_rwnd_blocked(&mut self, ctx: &mut Ctx<'_>) {
        match self.send.toggle_rwnd_blocked(ctx.now) {
            Some(since) => self.stats.rwnd_blocked += ctx.now.since(since),
            None => self.stats.rwnd_blocked_episodes += 1,
        }
        let blocked = self.send.is_rwnd_blocked();
        self.observe(ctx, || Observation::RwndBlocked { blocked });
    }

    /// Payload bytes of the largest DATA chunk. It fits every path whose MTU is known, because a chunk
    /// cannot be cut again when it moves to another path (section 6.9).
    pub(super) fn max_payload(&self) -> usize {
        self.paths.least_pmdcs() as usize - self.send.header_len()
    }
}

/// Rule D: whether the current event may release another packet. With
/// [`BurstRule::ShrinkWindow`] this also reduces cwnd.
fn within_burst(p: &mut Path, cfg: &CongestionConfig) -> bool {
    let (rule, Some(max_burst)) = (cfg.burst_rule, cfg.max_burst) else {
        return p.burst.allows_packet();
    };
    if rule == BurstRule::CountPackets || !p.burst.allows_packet() {
        return p.burst.allows_packet();
    }
    let w = p.window();
    let limit = w.flight.saturating_add(max_burst.saturating_mul(w.pmdcs));
    let limit = p.burst.flight_limit(limit);
    if rule == BurstRule::ShrinkWindow {
        p.on_burst(limit);
    }
    p.window().flight < limit
}

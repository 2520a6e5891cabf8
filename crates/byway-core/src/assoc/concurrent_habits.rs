//! Habits of ns-2's CMT class ([`concurrent_class`], with all others on), as far
//! as concurrent multipath transfer itself does not know them.
//!
//! [`concurrent_class`]: crate::config::HabitsConfig::concurrent_class

use super::{Association, Ctx, MAX_PATHS};
use crate::cc;
use crate::config::HabitsConfig;
use crate::path::{Alarm, PathId, PathState};
use crate::policy::RtxPolicy;
use crate::send::coin::Coin;
use crate::send::habits::Release;
use crate::send::ledger::{Applied, Change, Fate, Record};
use crate::time::Instant;
use core::cmp::Ordering;

/// What the class remembers, and what a SACK is about to mean for its windows.
#[derive(Clone, Debug, Default)]
pub(crate) struct ClassState {
    /// A fast retransmission of this path's losses may ignore cwnd: told at the
    /// last SACK that reported losses.
    forced: [bool; MAX_PATHS],
    /// Packets of marked chunks that the present event sent there.
    sent: [u32; MAX_PATHS],
    /// Packets of the present burst there.
    burst: [u32; MAX_PATHS],
    /// One past the last sequence of the path's fast recovery.
    exit: [u64; MAX_PATHS],
    /// One past the highest sequence that was ever seen outstanding there.
    highest_sent: [u64; MAX_PATHS],
    /// Since when it is potentially failed.
    suspect_since: [Option<Instant>; MAX_PATHS],
    /// What its pseudo cumulative TSNs expected before the SACK at hand.
    pub(crate) expected: [(u64, u64); MAX_PATHS],
    /// Whether what waits to be repeated is all that the present event may send.
    unless_marked: bool,
    /// Behind the last marked chunk that the present event looked at.
    cursor: u64,
    /// Decides among equals.
    coin: Option<Coin>,
    /// Bytes that the SACK at hand acknowledges: cumulatively, and by gap blocks
    /// as far as they count towards partial bytes acknowledged.
    cumulative: [u32; MAX_PATHS],
    gaps: [u32; MAX_PATHS],
}

impl ClassState {
    pub(crate) fn new(habits: &HabitsConfig) -> ClassState {
        ClassState {
            coin: habits.concurrent_coin.map(Coin::new),
            ..ClassState::default()
        }
    }

    /// Whether the later of two equal paths is taken.
    fn toss(&mut self) -> bool {
        self.coin.as_mut().is_some_and(Coin::toss)
    }

    /// An event begins.
    pub(crate) fn begin_event(&mut self) {
        self.cursor = 0;
        self.sent = [0; MAX_PATHS];
        self.burst = [0; MAX_PATHS];
        self.unless_marked = false;
    }

    /// The SACK at hand newly acknowledges a chunk; `advanced`: from where on it
    /// advances the path's pseudo cumulative TSNs. Whether T3-rtx stops.
    pub(crate) fn note(
        &mut self,
        seq: u64,
        covered: u64,
        r: &Record,
        change: Change,
        advanced: Option<u64>,
    ) -> bool {
        let path = r.path.index();
        if change == Change::Acked {
            if seq < covered {
                self.cumulative[path] += r.bytes;
            } else if advanced.is_some_and(|from| from <= seq) {
                self.gaps[path] += r.bytes;
            }
        }
        let (first, again) = self.expected[path];
        seq < covered && (first <= seq || again <= seq)
    }
}

impl Association {
    /// Whether the habits are those of ns-2's CMT class.
    pub(super) fn is_class(&self) -> bool {
        self.cfg.habits.concurrent_class && self.send.concurrent.is_some()
    }

    fn class(&mut self) -> Option<&mut ClassState> {
        self.send.concurrent.as_mut().map(|c| &mut c.class)
    }

    /// Marked bytes that wait on a path and are outstanding for the class.
    pub(super) fn held(&self, path: PathId) -> u32 {
        if self.is_class() {
            self.paths.get(path).window.marked
        } else {
            0
        }
    }

    /// All of them: they take the peer's window.
    pub(super) fn held_in_all(&self) -> u64 {
        let held = self.paths.ids().map(|p| u64::from(self.held(p)));
        held.sum()
    }

    /// Missing reports of the class: for what its own destination's chunks
    /// report, whatever was newly acknowledged elsewhere. Whether any was marked.
    pub(super) fn count_missing_as_class(
        &mut self,
        now: Instant,
        applied: &Applied,
        touched: &mut [super::on_sack::Touched],
    ) -> bool {
        let Some(highest) = applied.highest_new else {
            return false;
        };
        self.count_missing(now, highest, highest, Instant::FAR_FUTURE, touched)
    }

    /// The window of a path after a SACK, and its partial bytes acknowledged.
    pub(super) fn grow_as_class(&mut self, path: PathId, full_before: bool, bytes: u32) {
        let i = path.index();
        let advanced = self.pseudo_cumulative_advanced(path).unwrap_or(true);
        let Some(c) = self.class() else { return };
        let cumulative = core::mem::take(&mut c.cumulative[i]);
        let gaps = core::mem::take(&mut c.gaps[i]);
        let most = self.cfg.congestion.slow_start_limit;
        let w = &mut self.paths.get_mut(path).window;
        let avoiding = w.cwnd > w.ssthresh;
        if avoiding {
            let cumulative = if full_before { cumulative } else { 0 };
            w.partial_bytes_acked += cumulative + gaps;
        }
        let full = w.flight + bytes >= w.cwnd;
        if advanced && bytes > 0 && full {
            if !avoiding {
                w.cwnd += bytes.min(most.saturating_mul(w.pmdcs));
            } else if w.partial_bytes_acked >= w.cwnd {
                w.partial_bytes_acked -= w.cwnd;
                w.cwnd += w.pmdcs;
            }
        }
        if w.flight == 0 {
            w.partial_bytes_acked = 0;
        }
    }

    /// A SACK reported losses: the window of each path with a marked chunk beyond
    /// its own exit point is cut.
    pub(super) fn cut_as_class(&mut self, ctx: &mut Ctx<'_>) {
        let mut cut = [false; MAX_PATHS];
        let mut forced = [false; MAX_PATHS];
        for seq in self.send.ledger.base()..self.send.ledger.end() {
            let Some(r) = self.send.ledger.get(seq) else {
                break;
            };
            let (path, i) = (r.path, r.path.index());
            let Fate::Marked(cause) = r.fate else {
                continue;
            };
            forced[i] |= cause == crate::policy::retransmit::LossCause::FastRetransmit;
            let exit = self.class().map_or(0, |c| c.exit[i]);
            if cut[i] || seq < exit {
                continue;
            }
            cut[i] = true;
            let highest = self.highest_outstanding_on(path);
            if let Some(c) = self.class() {
                // A slip of the class: where less is outstanding than once was,
                // it forgets its exit point.
                c.exit[i] = if highest < c.highest_sent[i] {
                    0
                } else {
                    highest
                };
                c.highest_sent[i] = c.highest_sent[i].max(highest);
            }
            let p = self.paths.get_mut(path);
            cc::on_fast_retransmit(&mut p.window, &self.cfg.congestion);
            p.rtt_pending = false;
            self.observe_window(ctx, path);
        }
        if let Some(c) = self.class() {
            c.forced = forced;
        }
    }

    fn highest_outstanding_on(&self, path: PathId) -> u64 {
        let ledger = &self.send.ledger;
        let here = |seq: &u64| {
            let r = ledger.get(*seq);
            r.is_some_and(|r| r.path == path && !matches!(r.fate, Fate::Marked(_)))
        };
        let last = (ledger.base()..ledger.end()).rev().find(here);
        last.map_or(0, |seq| seq + 1)
    }

    /// The next marked chunk that the event may release, each with a target of
    /// its own.
    pub(super) fn next_clocked_as_class(&mut self, ctx: &mut Ctx<'_>) -> Option<(PathId, u64)> {
        if self.send.habits.marked == Release::Nothing {
            return None;
        }
        let from = self.class().map_or(0, |c| c.cursor);
        for seq in from.max(self.send.ledger.base())..self.send.ledger.end() {
            let Some(r) = self.send.ledger.get(seq) else {
                break;
            };
            if !matches!(r.fate, Fate::Marked(_)) {
                continue;
            }
            let Some(path) = self.class_target(ctx, r.path) else {
                continue;
            };
            let one = self.send.habits.marked == Release::OnePacket;
            let w = &self.paths.get(path).window;
            let open = w.flight < w.cwnd;
            let i = path.index();
            let Some(c) = self.class() else { break };
            if !(open || one && c.forced[i] && c.sent[i] == 0) {
                continue;
            }
            c.sent[i] += 1;
            c.cursor = seq + 1;
            self.touch_next_marked(seq, path);
            if self.exceeds_burst_as_class(path) {
                // This one still leaves.
                self.send.habits.marked = Release::Nothing;
            }
            return Some((path, seq));
        }
        self.send.habits.marked = Release::Nothing;
        None
    }

    /// The marked chunk behind one that is sent is looked at, too, before it turns
    /// out that it does not fit into the packet.
    fn touch_next_marked(&mut self, seq: u64, path: PathId) {
        let ledger = &self.send.ledger;
        let marked = |s: &u64| {
            let r = ledger.get(*s);
            r.is_some_and(|r| matches!(r.fate, Fate::Marked(_)))
        };
        let Some(next) = (seq + 1..ledger.end()).find(marked) else {
            return;
        };
        let last = ledger.get(next).map_or(path, |r| r.path);
        self.send.ledger.bar_fast_retransmit(next);
        if last != path
            && let Some(c) = &mut self.send.concurrent
        {
            c.cumulatives[last.index()].find();
        }
    }

    /// One more packet of a burst to a path leaves, or would; whether it is one
    /// too many. The class limits bursts for good once it has begun to.
    pub(super) fn exceeds_burst_as_class(&mut self, path: PathId) -> bool {
        let limited = self.send.habits.burst_limited;
        let most = self.cfg.congestion.max_burst;
        let (true, Some(most), Some(c)) = (limited, most, self.class()) else {
            return false;
        };
        let burst = &mut c.burst[path.index()];
        *burst += 1;
        *burst > most
    }

    fn class_target(&mut self, ctx: &mut Ctx<'_>, last: PathId) -> Option<PathId> {
        let rtx = self.cfg.concurrent.as_ref()?.rtx;
        if matches!(rtx, RtxPolicy::Ssthresh | RtxPolicy::Cwnd)
            && let Some(path) = self.revive_as_class(ctx)
        {
            return Some(path);
        }
        let mut class = self.send.concurrent.as_mut().map(|c| &mut c.class);
        let view = self.paths.view();
        let active = |p: &PathId| view.state(*p) == PathState::Active;
        let mut best = |key: &dyn Fn(PathId) -> u32| {
            view.all()
                .filter(active)
                .reduce(|a, b| match key(b).cmp(&key(a)) {
                    Ordering::Greater => b,
                    Ordering::Equal if class.as_mut().is_some_and(|c| c.toss()) => b,
                    _ => a,
                })
        };
        match rtx {
            RtxPolicy::Same => {
                let alive = |p: &PathId| view.state(*p) != PathState::Inactive;
                Some(last)
                    .filter(alive)
                    .or_else(|| view.ring(last).find(alive))
            }
            // Here it keeps the first one where the coin falls on 1.
            RtxPolicy::Asap => {
                let open = |p: &PathId| active(p) && view.room(*p) > 0;
                view.all().filter(open).reduce(|a, b| {
                    let keeps = class.as_mut().is_some_and(|c| c.toss());
                    if keeps { a } else { b }
                })
            }
            RtxPolicy::Cwnd => best(&|p| view.cwnd(p)),
            RtxPolicy::Ssthresh => best(&|p| view.ssthresh(p)),
            // It has to be told the rates, and was not.
            RtxPolicy::LossRate => best(&|_| 0),
        }
    }

    /// All paths are potentially failed: the one with the fewest errors, among
    /// equals the one that was suspect last, counts as active again, with its
    /// errors and a window of one chunk.
    pub(super) fn revive_as_class(&mut self, ctx: &mut Ctx<'_>) -> Option<PathId> {
        let pf = PathState::PotentiallyFailed;
        if self.paths.iter().any(|p| p.state != pf) {
            return None;
        }
        let since = self.class()?.suspect_since;
        let rank = |p: &PathId| {
            let since = since[p.index()].unwrap_or(Instant::ZERO);
            (self.paths.get(*p).errors, core::cmp::Reverse(since))
        };
        let path = self.paths.ids().min_by_key(rank)?;
        let p = self.paths.get_mut(path);
        p.t3 = None;
        p.probe = None;
        p.alarms.set(Alarm::Heartbeat, None);
        p.window.cwnd = p.window.pmdcs;
        self.paths.want_heartbeat(path, false);
        self.set_path_state(ctx, path, PathState::Active);
        Some(path)
    }

    /// A path is potentially failed from now on.
    pub(super) fn note_suspect(&mut self, ctx: &Ctx<'_>, path: PathId) {
        let now = ctx.now;
        if let Some(c) = self.class() {
            c.suspect_since[path.index()] = Some(now);
        }
    }

    /// A heartbeat brought a suspect or inactive path back: what is outstanding
    /// there is repeated, and new data leaves if nothing is left to be.
    pub(super) fn release_by_heartbeat(&mut self, path: PathId) {
        let window = &mut self.paths.get_mut(path).window;
        self.send
            .ledger
            .mark_path(path, |_, r| window.lose(r.bytes));
        self.send.ledger.remark_path(path);
        self.send.habits.marked = Release::OnePacket;
        self.send.habits.new_wanted = true;
        if let Some(c) = self.class() {
            c.unless_marked = true;
        }
    }

    /// Whether new data waits for what is marked, after a heartbeat.
    pub(super) fn waits_for_marked(&mut self) -> bool {
        let marked = !self.send.ledger.marks().is_empty();
        let waits = marked && self.class().is_some_and(|c| c.unless_marked);
        if waits {
            self.send.habits.new_wanted = false;
        }
        waits
    }
}

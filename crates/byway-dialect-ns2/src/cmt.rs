//! The module's CMT class (`cmt_class`, with all other settings on): the rules in which
//! it differs from byway's concurrent multipath transfer.

use crate::Ns2Config;
use crate::coin::Coin;
use crate::release::{Release, Retransmissions};
use byway_core::dialect::{Change, Fate, Growth, Inside, LostChunks, MAX_PATHS, Record};
use byway_core::path::PathsView;
use byway_core::policy::RtxPolicy;
use byway_core::policy::concurrent::Cuc;
use byway_core::policy::retransmit::LossCause;
use byway_core::time::Instant;
use byway_core::{PathId, PathState};
use core::cmp::{Ordering, Reverse};
use smallvec::SmallVec;

/// The state of the class, and what the current SACK means for its windows.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cmt {
    /// The state of each path.
    paths: [OfPath; MAX_PATHS],
    /// No new data leaves in this event while retransmissions wait.
    retransmissions_first: bool,
    /// One past the last lost chunk that this event sent.
    cursor: u64,
    /// Breaks ties.
    coin: Option<Coin>,
}

#[derive(Copy, Clone, Debug, Default)]
struct OfPath {
    /// A fast retransmission of this path's losses may ignore cwnd. The last SACK that
    /// reported losses decides this.
    forced: bool,
    /// Packets of lost chunks that this event sent there.
    sent: u32,
    /// Packets of this burst there.
    burst: u32,
    /// One past the last sequence of the path's fast recovery.
    exit: u64,
    /// One past the highest sequence that was ever seen outstanding there.
    highest_sent: u64,
    /// Since when it is potentially failed.
    suspect_since: Option<Instant>,
    /// What its pseudo cumulative TSNs expected before this SACK.
    expected: (u64, u64),
    /// Bytes that this SACK acknowledges cumulatively.
    cumulative: u32,
    /// Bytes that its gap blocks acknowledge, if they count in partial_bytes_acked.
    gaps: u32,
    /// cwnd was full before this SACK, with lost chunks included.
    full_before: bool,
}

impl Cmt {
    pub(crate) fn new(cfg: &Ns2Config) -> Cmt {
        Cmt {
            coin: cfg.cmt_coin.map(Coin::new),
            ..Cmt::default()
        }
    }

    pub(crate) fn begin_event(&mut self) {
        self.cursor = 0;
        self.retransmissions_first = false;
        for p in &mut self.paths {
            (p.sent, p.burst) = (0, 0);
        }
    }

    fn toss(&mut self) -> bool {
        self.coin.as_mut().is_some_and(Coin::toss)
    }

    // --- SACK reception ---

    /// The ledger is about to apply a SACK.
    pub(crate) fn before_ledger(&mut self, inside: &mut Inside<'_>) {
        let ids: SmallVec<[PathId; MAX_PATHS]> = inside.view().all().collect();
        for id in ids {
            let w = inside.window(id);
            self.paths[id.index()].full_before = w.flight + w.lost >= w.cwnd;
        }
        let off = inside
            .cfg
            .concurrent
            .as_ref()
            .is_none_or(|c| c.cuc == Cuc::Off);
        if let Some(c) = inside.concurrent_ref().filter(|_| !off) {
            for (p, cumulative) in self.paths.iter_mut().zip(c.cumulatives()) {
                p.expected = cumulative.expected();
            }
        }
    }

    /// This SACK changes a chunk. `counts`: a gap block acknowledges it, and partial_bytes_acked
    /// counts it. Returns whether T3-rtx stops.
    pub(crate) fn on_record(
        &mut self,
        seq: u64,
        covered: u64,
        r: &Record,
        change: Change,
        counts: bool,
    ) -> bool {
        let p = &mut self.paths[r.path.index()];
        if change == Change::Acked {
            if seq < covered {
                p.cumulative += r.bytes;
            } else if counts {
                p.gaps += r.bytes;
            }
        }
        let (first, again) = p.expected;
        seq < covered && (first <= seq || again <= seq)
    }

    /// Grows the window of a path after a SACK, and updates partial_bytes_acked.
    pub(crate) fn grow(&mut self, inside: &mut Inside<'_>, path: PathId, growth: &Growth) {
        let p = &mut self.paths[path.index()];
        let cumulative = core::mem::take(&mut p.cumulative);
        let gaps = core::mem::take(&mut p.gaps);
        let full_before = p.full_before;
        let advanced = growth.pseudo_cumulative_advanced.unwrap_or(true);
        let most = inside.cfg.congestion.slow_start_limit;
        let w = inside.window_mut(path);
        let avoiding = w.avoids_congestion();
        if avoiding {
            let cumulative = if full_before { cumulative } else { 0 };
            w.partial_bytes_acked += cumulative + gaps;
        }
        let full = w.flight + growth.bytes >= w.cwnd;
        if advanced && growth.bytes > 0 && full {
            if !avoiding {
                w.cwnd += growth.bytes.min(most.saturating_mul(w.pmdcs));
            } else if w.partial_bytes_acked >= w.cwnd {
                w.partial_bytes_acked -= w.cwnd;
                w.cwnd += w.pmdcs;
            }
        }
        if w.flight == 0 {
            w.partial_bytes_acked = 0;
        }
    }

    /// A SACK reported losses: cuts the window of each path with a lost chunk beyond its
    /// exit point. Returns these paths.
    pub(crate) fn cut(
        &mut self,
        inside: &mut Inside<'_>,
        timing: &mut [bool; MAX_PATHS],
    ) -> SmallVec<[PathId; MAX_PATHS]> {
        for p in &mut self.paths {
            p.forced = false;
        }
        let mut cut = SmallVec::new();
        for seq in inside.ledger().base()..inside.ledger().end() {
            let Some(r) = inside.ledger().get(seq) else {
                break;
            };
            let path = r.path;
            let Fate::Lost(cause) = r.fate else {
                continue;
            };
            let p = &mut self.paths[path.index()];
            p.forced |= cause == LossCause::FastRetransmit;
            if cut.contains(&path) || seq < p.exit {
                continue;
            }
            cut.push(path);
            let highest = highest_outstanding(inside, path);
            // A bug of the class: it forgets its exit point if the highest outstanding
            // TSN is lower than before.
            p.exit = if highest < p.highest_sent { 0 } else { highest };
            p.highest_sent = p.highest_sent.max(highest);
            inside.cut_window(path);
            timing[path.index()] = false;
        }
        cut
    }

    // --- retransmissions ---

    /// The next lost chunk that the event may release. Each has its own target.
    pub(crate) fn next_retransmission(
        &mut self,
        inside: &mut Inside<'_>,
        release: &mut Release,
    ) -> Option<(PathId, u64)> {
        if release.retransmissions == Retransmissions::None {
            return None;
        }
        let (from, end) = (
            self.cursor.max(inside.ledger().base()),
            inside.ledger().end(),
        );
        for seq in from..end {
            let Some(r) = inside.ledger().get(seq) else {
                break;
            };
            let last = r.path;
            if !matches!(r.fate, Fate::Lost(_)) {
                continue;
            }
            let Some(path) = self.target(inside, last, release.is_one_packet()) else {
                continue;
            };
            let w = inside.window(path);
            let open = w.flight < w.cwnd;
            let p = &mut self.paths[path.index()];
            if !(open || release.is_one_packet() && p.forced && p.sent == 0) {
                continue;
            }
            p.sent += 1;
            self.cursor = seq + 1;
            touch_next_lost(inside, seq, path);
            let most = inside.cfg.congestion.max_burst;
            if self.exceeds_burst(path, most.filter(|_| release.burst_limited)) {
                // This packet still leaves.
                release.retransmissions = Retransmissions::None;
            }
            return Some((path, seq));
        }
        release.retransmissions = Retransmissions::None;
        None
    }

    /// Counts one more packet of a burst to a path. Returns whether it exceeds the limit.
    /// Once the class limits bursts, it always does.
    pub(crate) fn exceeds_burst(&mut self, path: PathId, most: Option<u32>) -> bool {
        let Some(most) = most else { return false };
        let burst = &mut self.paths[path.index()].burst;
        *burst += 1;
        *burst > most
    }

    /// `one_packet`: each path with losses may send one packet whatever its cwnd.
    fn target(
        &mut self,
        inside: &mut Inside<'_>,
        last: PathId,
        one_packet: bool,
    ) -> Option<PathId> {
        let rtx = inside.cfg.concurrent.as_ref()?.rtx;
        if matches!(rtx, RtxPolicy::Ssthresh | RtxPolicy::Cwnd)
            && let Some(path) = self.revive_one(inside)
        {
            return Some(path);
        }
        let view = inside.view();
        let active = |p: &PathId| view.state(*p) == PathState::Active;
        match rtx {
            RtxPolicy::Same => {
                let alive = |p: &PathId| view.state(*p) != PathState::Inactive;
                Some(last)
                    .filter(alive)
                    .or_else(|| view.ring(last).find(alive))
            }
            // Here a coin that falls on 1 keeps the first path.
            RtxPolicy::Asap => {
                let paths = self.paths;
                let forced = |p: &PathId| {
                    let own = &paths[p.index()];
                    one_packet && own.forced && own.sent == 0
                };
                let open = |p: &PathId| active(p) && (forced(p) || view.room(*p) > 0);
                let keep = |a, b| if self.toss() { a } else { b };
                view.all().filter(open).reduce(keep)
            }
            RtxPolicy::Cwnd => self.best(&view, |p| view.cwnd(p)),
            RtxPolicy::Ssthresh => self.best(&view, |p| view.ssthresh(p)),
            // The module needs the loss rates as settings. Without them all paths are equal,
            // the potentially failed ones among them.
            RtxPolicy::LossRate => {
                let alive = |p: &PathId| view.state(*p) != PathState::Inactive;
                let turn = |a, b| if self.toss() { b } else { a };
                view.all().filter(alive).reduce(turn)
            }
        }
    }

    fn best(&mut self, view: &PathsView<'_>, key: impl Fn(PathId) -> u32) -> Option<PathId> {
        let active = |p: &PathId| view.state(*p) == PathState::Active;
        view.all()
            .filter(active)
            .reduce(|a, b| match key(b).cmp(&key(a)) {
                Ordering::Greater => b,
                Ordering::Equal if self.toss() => b,
                _ => a,
            })
    }

    // --- failures ---

    /// If all paths are potentially failed, makes the one with the fewest errors active,
    /// with its errors and a window of one chunk. The one that was suspected last wins a
    /// tie.
    pub(crate) fn revive_one(&mut self, inside: &mut Inside<'_>) -> Option<PathId> {
        let view = inside.view();
        let suspect = |p: PathId| view.state(p) == PathState::PotentiallyFailed;
        if !view.all().all(suspect) {
            return None;
        }
        let rank = |p: &PathId| {
            let since = self.paths[p.index()].suspect_since;
            (view.errors(*p), Reverse(since.unwrap_or(Instant::ZERO)))
        };
        let path = view.all().min_by_key(rank)?;
        let w = inside.window_mut(path);
        w.cwnd = w.pmdcs;
        inside.revive(path);
        Some(path)
    }

    /// Whether a path with `errors` consecutive errors becomes potentially failed.
    pub(crate) fn admits_suspicion(&mut self, now: Instant, path: PathId, errors: u32) -> bool {
        if errors > 1 {
            return false;
        }
        self.paths[path.index()].suspect_since = Some(now);
        true
    }

    /// A heartbeat made a potentially failed or inactive path active again. All data
    /// outstanding there is retransmitted, and new data leaves if no retransmission waits.
    pub(crate) fn on_returned(&mut self, inside: &mut Inside<'_>, path: PathId) {
        inside.lose_flight(path);
        let ledger = inside.ledger();
        let lost = |seq: &u64| {
            let r = ledger.get(*seq);
            r.is_some_and(|r| r.path == path && matches!(r.fate, Fate::Lost(_)))
        };
        let all: SmallVec<[u64; 32]> = (ledger.base()..ledger.end()).filter(lost).collect();
        for seq in all {
            inside.change_cause(seq, LossCause::Timeout);
        }
        self.retransmissions_first = true;
    }

    /// Whether new data waits for retransmissions, after a heartbeat.
    pub(crate) fn waits_for_lost(&self, lost: &LostChunks) -> bool {
        self.retransmissions_first && !lost.is_empty()
    }
}

/// The paths of new data, in order.
pub(crate) fn order(view: &PathsView<'_>, first: PathId) -> SmallVec<[PathId; MAX_PATHS]> {
    let active = |p: &PathId| view.state(*p) == PathState::Active;
    let others = view.ring(first).filter(|p| *p != first);
    core::iter::once(first)
        .chain(others)
        .filter(active)
        .collect()
}

/// Makes sure that a chunk is never fast retransmitted (again).
pub(crate) fn bar_fast_retransmit(inside: &mut Inside<'_>, seq: u64) {
    let end = inside.ledger().end();
    if let Some(r) = inside.reports_mut(seq) {
        r.fast_retransmitted.get_or_insert(end);
    }
}

fn highest_outstanding(inside: &Inside<'_>, path: PathId) -> u64 {
    let ledger = inside.ledger();
    let here = |seq: &u64| {
        let r = ledger.get(*seq);
        r.is_some_and(|r| r.path == path && !matches!(r.fate, Fate::Lost(_)))
    };
    let last = (ledger.base()..ledger.end()).rev().find(here);
    last.map_or(0, |seq| seq + 1)
}

/// The module also marks the next lost chunk as retransmitted, before it finds that the
/// chunk does not fit into the packet.
fn touch_next_lost(inside: &mut Inside<'_>, seq: u64, path: PathId) {
    let ledger = inside.ledger();
    let lost = |s: &u64| {
        let r = ledger.get(*s);
        r.is_some_and(|r| matches!(r.fate, Fate::Lost(_)))
    };
    let Some(next) = (seq + 1..ledger.end()).find(lost) else {
        return;
    };
    let last = ledger.get(next).map_or(path, |r| r.path);
    bar_fast_retransmit(inside, next);
    if last != path
        && let Some(c) = inside.concurrent()
    {
        c.find_expected(last);
    }
}

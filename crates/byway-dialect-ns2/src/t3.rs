//! When T3-rtx restarts, and which chunk is timed (`restarts_t3_at_any_chunk`,
//! `rtt_flag`).

use byway_core::PathId;
use byway_core::dialect::{Blocks, Change, Fate, Inside, Ledger, MAX_PATHS, Record};
use byway_core::policy::retransmit::LossCause;
use core::ops::Range;
use std::collections::BTreeSet;

/// The module's state for T3-rtx and for the chunk that is timed.
#[derive(Debug, Default)]
pub(crate) struct T3 {
    /// T3-rtx of each path stops with this SACK, and restarts if anything is
    /// outstanding.
    pub(crate) stops: [bool; MAX_PATHS],
    /// The first unacknowledged chunk of each path before this SACK, between its
    /// cumulative TSN and the end of its last gap block.
    firsts: [Option<u64>; MAX_PATHS],
    /// A chunk of the path is being timed.
    pub(crate) timing: [bool; MAX_PATHS],
    /// Chunks that were chosen to be timed.
    timed: BTreeSet<u64>,
}

/// The first chunk of each path among these that is not acknowledged.
fn first_outstanding(ledger: &Ledger, among: Range<u64>) -> [Option<u64>; MAX_PATHS] {
    let mut firsts = [None; MAX_PATHS];
    for seq in among {
        if let Some(r) = ledger.get(seq)
            && r.fate != Fate::Acked
        {
            firsts[r.path.index()].get_or_insert(seq);
        }
    }
    firsts
}

/// A chunk that was last sent on `from` is about to be sent again on `to`. T3-rtx of each
/// of the two restarts if the chunk is the first one of that path.
pub(crate) fn restart(inside: &mut Inside<'_>, seq: u64, from: PathId, to: PathId) {
    let ledger = inside.ledger();
    let firsts = first_outstanding(ledger, ledger.base()..ledger.end());
    let first = |p: PathId| firsts[p.index()];
    if first(from) == Some(seq) && inside.window(from).flight > 0 {
        inside.set_t3(from, Some(inside.timeout(from)));
    }
    let lowest = first(to).is_none_or(|f| seq < f);
    if lowest || inside.t3(to).is_none() {
        inside.set_t3(to, Some(inside.timeout(to)));
    }
}

impl T3 {
    /// The ledger is about to apply a SACK. `any_chunk`: any chunk that it passes restarts
    /// T3-rtx.
    pub(crate) fn before_ledger(
        &mut self,
        any_chunk: bool,
        ledger: &Ledger,
        covered: u64,
        blocks: &Blocks,
    ) {
        self.stops = [false; MAX_PATHS];
        self.firsts = if any_chunk {
            // After the last block nothing is acknowledged.
            let end = blocks.last().map_or(covered, |b| b.1);
            first_outstanding(ledger, covered..end)
        } else {
            [None; MAX_PATHS]
        };
    }

    /// This SACK changes a chunk. `below`: the chunk is cumulatively acknowledged.
    pub(crate) fn on_record(
        &mut self,
        (seq, r): (u64, &Record),
        change: Change,
        (below, cmt_class): (bool, bool),
    ) {
        let stops = &mut self.stops[r.path.index()];
        if below {
            *stops |= !cmt_class;
            if change == Change::Passed {
                self.timed.remove(&seq);
            }
        } else {
            *stops |= self.firsts[r.path.index()] == Some(seq);
        }
    }

    /// A new chunk leaves. It is timed, unless another chunk is being timed.
    pub(crate) fn begin_timing(&mut self, seq: u64, path: PathId, rtt_flag: bool) {
        let timing = core::mem::replace(&mut self.timing[path.index()], true);
        if rtt_flag && !timing {
            self.timed.insert(seq);
        }
    }

    /// A chunk is retransmitted, so it is no longer timed.
    pub(crate) fn forget_timing(&mut self, seq: u64, path: PathId) {
        if self.timing[path.index()] && self.timed.remove(&seq) {
            self.timing[path.index()] = false;
        }
    }

    /// Whether a newly acknowledged chunk measures the round trip. `below`: the chunk is
    /// cumulatively acknowledged.
    pub(crate) fn measures(&mut self, seq: u64, r: &Record, below: bool) -> bool {
        let timing = &mut self.timing[r.path.index()];
        let measures = *timing && self.timed.contains(&seq) && r.sends == 1;
        *timing &= !measures;
        if below {
            self.timed.remove(&seq);
        }
        measures && r.fate != Fate::Lost(LossCause::Timeout)
    }
}

//! The sender's state for concurrent multipath transfer, and how it reads a SACK
//! (`policy/concurrent`).

use super::delivery::Delivery;
use super::record::Record;
use crate::config::{ConcurrentConfig, Config, FastRecovery};
use crate::path::{MAX_PATHS, PathId};
use crate::policy::concurrent::FillOrder;
use crate::policy::concurrent::cuc::{Chunk, Cuc, PseudoCumulative};
use crate::policy::concurrent::sfr::NewlyAcked;
use crate::policy::concurrent::{dac, sfr};
use crate::policy::{FastRetransmits, Scheduler};
use crate::time::{Duration, Instant};

/// The sender's state for concurrent multipath transfer.
#[derive(Clone, Debug, Default)]
pub struct Concurrent {
    /// The path with which the round of the current event begins. `None` means the
    /// primary.
    first: Option<PathId>,
    /// The round of the next event begins with the path after this one.
    last: Option<PathId>,
    order: FillOrder,
    /// Whether new data has left in this event.
    begun: bool,
    /// The pseudo cumulative TSNs of each path.
    cumulatives: [PseudoCumulative; MAX_PATHS],
    /// The sequence from which the current SACK advances them, if it does.
    advanced: [Option<u64>; MAX_PATHS],
    /// What the current SACK newly acknowledges of each path.
    newly: [Option<NewlyAcked>; MAX_PATHS],
    /// How many packets the current SACK answers.
    packets: u8,
    /// What each path delivers, if the scheduler wants to know.
    deliveries: Option<Box<[Delivery; MAX_PATHS]>>,
    /// Whether the scheduler `Ecf` waits for the fastest path.
    pub(crate) waits: bool,
}

impl Concurrent {
    pub(crate) fn new(cfg: &ConcurrentConfig, scheduler: Scheduler) -> Concurrent {
        Concurrent {
            order: cfg.order,
            deliveries: (scheduler == Scheduler::Earliest).then(Box::default),
            ..Concurrent::default()
        }
    }

    /// A path was removed, or another one begins in its place.
    pub(crate) fn forget_path(&mut self, path: PathId) {
        let i = path.index();
        self.cumulatives[i] = PseudoCumulative::default();
        (self.advanced[i], self.newly[i]) = (None, None);
        self.first = self.first.filter(|p| *p != path);
        self.last = self.last.filter(|p| *p != path);
        if let Some(all) = &mut self.deliveries {
            all[i] = Delivery::default();
        }
    }

    /// What a path delivers, if this is measured.
    pub(crate) fn delivery(&self, path: PathId) -> Option<&Delivery> {
        self.deliveries.as_ref().map(|all| &all[path.index()])
    }

    /// Data leaves on a path. `idle`: nothing was in flight there.
    #[inline]
    pub(crate) fn leaves(&mut self, path: PathId, idle: bool, now: Instant) {
        if let Some(all) = &mut self.deliveries {
            all[path.index()].leaves(idle, now);
        }
    }

    /// A SACK acknowledged data of a path (see [`Delivery::acknowledged`]).
    pub(crate) fn delivered(
        &mut self,
        path: PathId,
        (bytes, round_trip): (u32, Option<Duration>),
        drained: bool,
        now: Instant,
    ) {
        if let Some(all) = &mut self.deliveries {
            all[path.index()].acknowledged(bytes, round_trip, drained, now);
        }
    }

    /// The path with which the round of the current event begins.
    pub(crate) fn first(&self) -> Option<PathId> {
        self.first
    }

    /// The path that the last packet of new data took, with the order `BehindLast`.
    pub(crate) fn last(&self) -> Option<PathId> {
        self.last
    }

    /// An event begins. The round starts after the path that was filled last, or after
    /// the path that began the last round (`concurrent.order`).
    pub(crate) fn begin_event(&mut self, paths: usize) {
        self.begun = false;
        self.first = self.last.map(|p| PathId((p.0 + 1) % paths as u8));
    }

    /// New data leaves on a path.
    pub(crate) fn filled(&mut self, path: PathId) {
        if self.order == FillOrder::BehindLast || !self.begun {
            self.last = Some(path);
        }
        self.begun = true;
    }

    /// A SACK that answers this many packets is about to be applied.
    pub(crate) fn begin_sack(&mut self, packets: u8) {
        self.packets = packets;
        self.newly = [None; MAX_PATHS];
        self.advanced = [None; MAX_PATHS];
    }

    /// The pseudo cumulative TSNs of each path.
    #[must_use]
    pub fn cumulatives(&self) -> &[PseudoCumulative; MAX_PATHS] {
        &self.cumulatives
    }

    /// A chunk of this path moved: CUC must find the path's expected chunk again.
    pub fn find_expected(&mut self, path: PathId) {
        self.cumulatives[path.index()].find();
    }

    /// CUC may expect this chunk of the path, although it could not before.
    pub(crate) fn may_expect(&mut self, path: PathId, seq: u64) {
        self.cumulatives[path.index()].search_from(seq);
    }

    /// The current SACK cumulatively acknowledges this chunk of the path.
    pub(crate) fn acknowledge(&mut self, path: PathId, seq: u64) {
        self.find_expected(path);
        self.advanced[path.index()].get_or_insert(seq);
    }

    /// CUC reads the chunks from `covered` to `end`, which is after the last gap block of
    /// the current SACK.
    pub(crate) fn advance(
        &mut self,
        path: PathId,
        version: Cuc,
        (covered, end): (u64, u64),
        chunk: impl Fn(u64) -> Option<Chunk>,
    ) {
        let i = path.index();
        let advanced = self.cumulatives[i].advance(version, covered, end, chunk);
        self.advanced[i] = self.advanced[i].or(advanced);
    }

    /// The sequence from which the current SACK advances the path's pseudo cumulative
    /// TSNs, if it does.
    pub(crate) fn advanced(&self, path: PathId) -> Option<u64> {
        self.advanced[path.index()]
    }

    /// The current SACK newly acknowledges this chunk of the path.
    pub(crate) fn newly_acknowledged(&mut self, path: PathId, seq: u64, sent_at: Instant) {
        NewlyAcked::join(&mut self.newly[path.index()], seq, sent_at);
    }
}

/// How missing reports are counted with concurrent multipath transfer.
#[derive(Copy, Clone, Debug)]
pub struct Split {
    /// What the SACK newly acknowledges of each path.
    pub newly: [Option<NewlyAcked>; MAX_PATHS],
    /// Split Fast Retransmit.
    pub sfr: bool,
    /// How many packets with DATA the SACK answers, if DAC counts them.
    pub packets: Option<u8>,
    /// The number of paths of which it newly acknowledges chunks.
    pub destinations: u32,
}

impl Split {
    /// The number of missing reports that the SACK counts for a chunk. `rule` says
    /// whether a chunk may be fast retransmitted again. `htna` is the answer of
    /// RFC 9260's rule, with the highest newly acknowledged sequence. `sent_again`
    /// is when the chunk was last retransmitted, if it was.
    #[must_use]
    pub fn reports(
        &self,
        seq: u64,
        r: &Record,
        (rule, htna, sent_again): (FastRetransmits, (bool, u64), Option<Instant>),
    ) -> u8 {
        let same = self.newly[r.path.index()].as_ref();
        let (reported, highest) = if self.sfr {
            let highest = same.map_or(0, |n| n.highest);
            (sfr::reports(seq, sent_again, same), highest)
        } else {
            htna
        };
        if !(reported && rule.counts(r.reports.fast_retransmitted, highest)) {
            return 0;
        }
        match (self.packets, same) {
            (Some(packets), Some(same)) => dac::reports(packets, self.destinations, seq, same),
            _ => 1,
        }
    }
}

/// The scope of fast recovery. With concurrent multipath transfer each path has its
/// own, unless fast recovery is off.
pub(crate) fn fast_recovery(cfg: &Config, concurrent: bool) -> FastRecovery {
    match cfg.congestion.fast_recovery {
        FastRecovery::PerAssociation if concurrent => FastRecovery::PerDestination,
        rule => rule,
    }
}

/// How this SACK counts missing reports with concurrent multipath transfer.
pub(crate) fn split(cfg: &Config, concurrent: Option<&Concurrent>) -> Option<Split> {
    let (cfg, c) = (cfg.concurrent.as_ref()?, concurrent?);
    Some(Split {
        newly: c.newly,
        sfr: cfg.sfr,
        packets: cfg.dac.then_some(c.packets),
        destinations: c.newly.iter().flatten().count() as u32,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use FillOrder::{BehindLast, InTurn};

    #[test]
    fn the_round_begins_behind_the_last_path_or_behind_the_last_first_one() {
        // Order, number of paths, the paths of new data in each event, and the path
        // that each event and the next one start with (9: the primary).
        type Row<'a> = (FillOrder, usize, &'a [&'a [u8]], &'a [u8]);
        let rows: [Row<'_>; 8] = [
            (
                BehindLast,
                2,
                &[&[0, 0, 1, 1], &[0, 0], &[1]],
                &[9, 0, 1, 0],
            ),
            (InTurn, 2, &[&[0, 0, 1, 1], &[1, 1], &[0, 1]], &[9, 1, 0, 1]),
            // Each event reaches all paths, and the last path gets what is left.
            (BehindLast, 3, &[&[0, 1, 2], &[0, 1, 2]], &[9, 0, 0]),
            (
                InTurn,
                3,
                &[&[0, 1, 2], &[1, 2, 0], &[2, 0, 1]],
                &[9, 1, 2, 0],
            ),
            // With one packet per event both orders are the same.
            (BehindLast, 2, &[&[0], &[1], &[0]], &[9, 1, 0, 1]),
            (InTurn, 2, &[&[0], &[1], &[0]], &[9, 1, 0, 1]),
            // An event without new data changes nothing.
            (InTurn, 2, &[&[0, 1], &[], &[1]], &[9, 1, 1, 0]),
            // A path without room loses its turn to one that has room.
            (InTurn, 3, &[&[0, 1], &[2, 0], &[1]], &[9, 1, 0, 2]),
        ];
        for (order, paths, events, expected) in rows {
            let cfg = ConcurrentConfig {
                order,
                ..ConcurrentConfig::default()
            };
            let mut c = Concurrent::new(&cfg, Scheduler::Fill);
            let mut began = Vec::new();
            for event in events.iter().chain([&[][..]].iter()) {
                c.begin_event(paths);
                began.push(c.first.map_or(9, |p| p.0));
                event.iter().for_each(|&p| c.filled(PathId(p)));
            }
            assert_eq!(began, expected, "{order:?}, {events:?}");
        }
    }
}

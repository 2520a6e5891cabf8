//! Which paths new data takes with concurrent multipath transfer: asks the dialect or the
//! scheduler (`policy/concurrent/scheduler.rs`), and gathers what the scheduler reads.

use super::Association;
use crate::path::PathId;
use crate::policy::Scheduler;
use crate::policy::concurrent::outlook::{Load, Order, Outlook};
use crate::policy::concurrent::{choice, earliest};
use crate::time::{Duration, Instant};
use smallvec::SmallVec;

/// The candidates of a scheduler; most associations have two paths.
type Candidates = SmallVec<[Outlook; 2]>;

impl Association {
    /// The paths of new data, in the order in which they are filled.
    pub(super) fn concurrent_order(&mut self, first: Option<PathId>, now: Instant) -> Order {
        let first = first.unwrap_or(self.paths.primary());
        let view = self.paths.view();
        let by_dialect = self.optional.dialect.as_ref();
        if let Some(order) = by_dialect.and_then(|d| d.concurrent_order(&view, first)) {
            return order;
        }
        let round: Order = choice::order(first, &view).collect();
        if self.cfg.scheduler == Scheduler::Fill {
            return round;
        }
        let mut candidates: Candidates = round.iter().map(|p| self.outlook(*p, now)).collect();
        let load = self.load();
        let mut alone = false;
        let waits = self.send.concurrent.as_mut().map(|c| &mut c.waits);
        let waits = waits.unwrap_or(&mut alone);
        self.cfg.scheduler.order(&mut candidates, load, waits)
    }

    /// The path of the earliest delivery, for a retransmission; `None` if no path may carry
    /// data.
    pub(super) fn earliest_path(&self, now: Instant) -> Option<PathId> {
        let view = self.paths.view();
        let mut candidates: Candidates = choice::order(PathId(0), &view)
            .map(|p| self.outlook(p, now))
            .collect();
        earliest::first(&mut candidates)
    }

    /// What the scheduler knows of a path.
    fn outlook(&self, path: PathId, now: Instant) -> Outlook {
        let (p, c) = (self.paths.get(path), self.send.concurrent.as_ref());
        let w = p.window();
        let delivery = c.and_then(|c| c.delivery(path));
        Outlook {
            path,
            srtt: p.rtt.srtt(),
            rttvar: p.rtt.rttvar(),
            cwnd: w.cwnd,
            flight: w.flight,
            room: (p.recovery.proportion_room()).unwrap_or_else(|| self.paths.view().room(path)),
            pmdcs: w.pmdcs,
            least: delivery.and_then(|d| d.least()),
            rate: delivery.and_then(|d| d.rate()),
            continues: c.is_some_and(|c| c.last() == Some(path)),
            late: match delivery {
                Some(d) if w.flight > 0 => d.late(now),
                _ => Duration::ZERO,
            },
        }
    }

    /// What waits, and what may be outstanding.
    fn load(&self) -> Load {
        let lost = self.paths.iter().map(|p| u64::from(p.window().lost)).sum();
        let window = self.send.whole_window(lost).min(self.most_outstanding());
        Load {
            waiting: self.send.queue.bytes(),
            more_follows: self.send.is_writer_waiting(),
            window,
        }
    }

    /// The room in a window of which `outstanding` bytes are in flight that the scheduler
    /// leaves unused until a run of packets fits.
    pub(super) fn room_for_run(&self, outstanding: u32) -> u32 {
        let runs = self.cfg.scheduler == Scheduler::Earliest && self.cfg.concurrent.is_some();
        if runs { earliest::run(outstanding) } else { 0 }
    }

    /// Data is about to leave on a path.
    #[inline]
    pub(super) fn note_leaving(&mut self, path: PathId, now: Instant) {
        if let Some(c) = &mut self.send.concurrent {
            c.leaves(path, self.paths.get(path).window().flight == 0, now);
        }
    }
}

//! Losses that a path has not recovered from (RFC 9260 section 7.2.4).

use super::{RackState, Window};
use crate::cc::prr::{Delivery, Prr};
use crate::config::Config;
use crate::policy::spurious::Reduction;
use crate::send::record::Record;
use crate::time::{Duration, Instant};

/// Losses that a path has not recovered from (section 7.2.4).
#[derive(Clone, Debug, Default)]
pub(crate) struct Recovery {
    /// Until this sequence is acknowledged, a loss belongs to the last loss event (fast
    /// recovery per destination).
    exit: Option<u64>,
    /// One packet at a time, from a timeout until an acknowledgement (section 7.2.3).
    one_packet: bool,
    /// When the window was last reduced for a loss.
    cut_at: Option<Instant>,
    /// Proportional rate reduction, while it lasts.
    prr: Option<Box<Prr>>,
    /// The last reduction of the window, while it may prove to be spurious.
    pub(crate) reduction: Option<Box<Reduction>>,
    /// Loss detection by time, if it is configured.
    pub(crate) rack: Option<Box<RackState>>,
}

impl Recovery {
    pub(super) fn new(cfg: &Config) -> Recovery {
        Recovery {
            rack: cfg.retransmission.rack.map(|r| Box::new(RackState::new(r))),
            ..Recovery::default()
        }
    }

    /// The window is reduced for a loss.
    pub(crate) fn cut(&mut self, now: Instant) {
        if let Some(rack) = &mut self.rack {
            rack.recovers();
        }
        self.cut_at = Some(now);
    }

    /// Whether the window was not reduced after this time.
    pub(crate) fn is_cut_before(&self, at: Instant) -> bool {
        self.cut_at.is_none_or(|cut| cut <= at)
    }

    /// Fast recovery begins; it ends when the data before `exit` is acknowledged.
    pub(crate) fn enter(&mut self, exit: u64) {
        self.exit = Some(exit);
    }

    /// Whether the path is in fast recovery.
    #[inline]
    pub(crate) fn in_progress(&self) -> bool {
        self.exit.is_some()
    }

    /// Whether the loss of this sequence is a new loss event.
    #[inline]
    pub(crate) fn is_new_event(&self, seq: u64) -> bool {
        self.exit.is_none_or(|end| seq >= end)
    }

    /// No data before this sequence is in flight: fast recovery ends at its exit point.
    #[inline]
    pub(crate) fn all_arrived_before(&mut self, seq: u64) {
        if self.exit.is_some_and(|end| seq >= end) {
            self.exit = None;
        }
    }

    /// T3-rtx expired: fast recovery ends, and unless the timeout is `harmless` one
    /// packet at a time leaves.
    pub(crate) fn on_timeout(&mut self, harmless: bool) {
        self.prr = None;
        self.one_packet |= !harmless;
        self.exit = None;
    }

    /// A chunk counts as lost, in a recovery that may prove to be spurious.
    #[inline]
    pub(crate) fn count_lost(&mut self, seq: u64, chunk: &Record) {
        if let Some(r) = &mut self.reduction {
            r.lost(seq, chunk.reneged);
        }
    }

    /// A chunk that counted as lost had arrived. Returns whether its loss was part of the
    /// last reduction.
    #[inline]
    pub(crate) fn refute(&mut self, seq: u64, unsent: bool) -> bool {
        let reduction = self.reduction.as_mut();
        reduction.is_some_and(|r| r.refute(seq, unsent))
    }

    /// A chunk arrived later than newer ones, with `base` and `end` as the first and one
    /// past the last chunk under way.
    pub(crate) fn arrived_late(&mut self, base: u64, end: u64) {
        if let Some(rack) = &mut self.rack {
            rack.arrived_late(base, end);
        }
    }

    /// A heartbeat of the path was answered.
    pub(crate) fn heartbeat_answered(&mut self, rtt: Duration) {
        if let Some(rack) = &mut self.rack {
            rack.heartbeat_answered(rtt);
        }
    }

    /// The newest chunk that was acknowledged is not known any more.
    pub(crate) fn forget_newest(&mut self) {
        if let Some(rack) = &mut self.rack {
            rack.forget_newest();
        }
    }

    /// The last reduction was spurious: its recovery ends.
    pub(crate) fn end_as_spurious(&mut self) {
        self.reduction = None;
        self.prr = None;
        self.exit = None;
        self.one_packet = false;
    }

    /// The reduction of a window with this flight, lost bytes included, is proportional
    /// to what is delivered, until the data before `exit` is acknowledged.
    pub(crate) fn begin_proportional(&mut self, flight: u32, exit: u64) {
        self.prr = Some(Box::new(Prr::begin(flight, exit)));
    }

    /// No data before this sequence is in flight: the proportional reduction ends at its
    /// exit point.
    pub(crate) fn end_proportional_before(&mut self, seq: u64) {
        if self.prr.as_ref().is_some_and(|prr| !prr.lasts(seq)) {
            self.prr = None;
        }
    }

    /// A SACK acknowledged `bytes` of the path and all before `base`. `safe`: it advanced
    /// the cumulative TSN, and no further chunk is lost.
    #[inline]
    pub(super) fn on_delivery(&mut self, w: &Window, (bytes, safe): (u32, bool), base: u64) {
        let Some(prr) = &mut self.prr else { return };
        if w.flight + w.lost == 0 || !prr.lasts(base) {
            self.prr = None;
            return;
        }
        prr.on_sack(Delivery {
            bytes,
            safe,
            flight: w.flight,
            ssthresh: w.ssthresh,
            pmdcs: w.pmdcs,
        });
    }

    /// A chunk leaves.
    #[inline]
    pub(super) fn chunk_leaves(&mut self, bytes: u32) {
        if let Some(prr) = &mut self.prr {
            prr.sent(bytes);
        }
    }

    /// Whether proportional rate reduction lets a packet begin; none if it does not
    /// decide.
    #[inline]
    pub(super) fn proportion_allows(&self) -> Option<bool> {
        self.prr.as_ref().map(|prr| prr.allows())
    }

    /// Bytes that it lets leave now; none if it does not decide.
    pub(crate) fn proportion_room(&self) -> Option<u32> {
        self.prr.as_ref().map(|prr| prr.room())
    }

    /// New data of the path was acknowledged: packets leave as the window allows.
    #[inline]
    pub(crate) fn on_acknowledgement(&mut self) {
        self.one_packet = false;
    }

    /// Whether one packet at a time leaves.
    #[inline]
    pub(super) fn one_packet(&self) -> bool {
        self.one_packet
    }
}

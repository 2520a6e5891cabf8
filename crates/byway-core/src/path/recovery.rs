//! Losses that a path has not recovered from (RFC 9260 section 7.2.4).

use super::RackState;
use crate::config::Config;
use crate::time::Instant;

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
        self.one_packet |= !harmless;
        self.exit = None;
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

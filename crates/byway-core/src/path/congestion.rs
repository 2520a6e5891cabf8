//! The window of a path: what counts as in flight there, and what its congestion
//! control is told. Only the congestion control changes cwnd, ssthresh and
//! partial_bytes_acked, or a dialect in its place.

use super::{Path, PathTimer, Reduced, Window};
use crate::cc::coupled::Flow;
use crate::cc::{Moment, PathAck};
use crate::config::CongestionConfig;
use crate::time::Instant;

impl Path {
    /// The window.
    #[inline]
    pub(crate) fn window(&self) -> &Window {
        &self.window
    }

    /// The window, for a dialect that changes it by rules of its own.
    pub(crate) fn window_for_dialect(&mut self) -> &mut Window {
        &mut self.window
    }

    /// A chunk of this number of bytes leaves.
    #[inline]
    pub(crate) fn chunk_leaves(&mut self, bytes: u32, now: Instant) {
        self.window.flight += bytes;
        self.window.sent_at(now);
        self.recovery.chunk_leaves(bytes);
        if let Some(pacer) = &mut self.pacer {
            pacer.sent(bytes, &self.window, &self.rtt, now);
        }
    }

    /// A chunk in flight counts as lost, with so many bytes of the user's.
    #[inline]
    pub(crate) fn lose_chunk(&mut self, bytes: u32, payload: usize) {
        self.window.lose(bytes);
        self.counters.data_lost(payload);
    }

    /// A chunk in flight was acknowledged.
    #[inline]
    pub(crate) fn chunk_acknowledged(&mut self, bytes: u32) {
        self.window.flight -= bytes;
    }

    /// The peer took the acknowledgement of a chunk back: it is in flight again.
    pub(crate) fn chunk_taken_back(&mut self, bytes: u32) {
        self.window.flight += bytes;
    }

    /// A chunk that counted as lost was acknowledged, or leaves again.
    #[inline]
    pub(crate) fn lost_chunk_settled(&mut self, bytes: u32) {
        self.window.lost -= bytes;
    }

    /// A SACK acknowledged new data of this path.
    #[inline]
    pub(crate) fn on_ack(&mut self, ack: PathAck, at: Moment, cfg: &CongestionConfig) {
        self.control.on_ack(&mut self.window, ack, at, cfg);
    }

    /// Missing reports announced a loss: the window is reduced.
    pub(crate) fn on_fast_retransmit(&mut self, cfg: &CongestionConfig) {
        self.control.on_fast_retransmit(&mut self.window, cfg);
    }

    /// Whether pacing lets a packet of new data begin now.
    #[inline]
    pub(crate) fn is_paced_open(&self, now: Instant) -> bool {
        let pacer = self.pacer.as_ref();
        pacer.is_none_or(|p| p.allows(&self.window, &self.rtt, now))
    }

    /// Pacing or Max.Burst holds back new data for which the window has room. With
    /// pacing, a timer releases more.
    #[inline]
    pub(crate) fn hold_back(&mut self, now: Instant) {
        if let Some(pacer) = &self.pacer
            && self.timers.get(PathTimer::Pacing).is_none()
        {
            let at = pacer.retry(&self.window, &self.rtt, now);
            self.timers.set(PathTimer::Pacing, at);
        }
    }

    /// A SACK acknowledged `bytes` here and all before `base`. `safe`: it advanced the
    /// cumulative TSN, and no further chunk is lost.
    #[inline]
    pub(crate) fn on_delivery(&mut self, bytes: u32, safe: bool, base: u64) {
        self.recovery.on_delivery(&self.window, (bytes, safe), base);
    }

    /// A reduction of the window was spurious.
    pub(crate) fn on_spurious(&mut self, before: Reduced) {
        self.control.on_spurious(&mut self.window, before);
    }

    /// A chunk that counted as lost, and did not leave again, is in flight after all.
    pub(crate) fn chunk_revived(&mut self, bytes: u32) {
        self.window.lost -= bytes;
        self.window.flight += bytes;
    }

    /// T3-rtx expired: the window falls.
    pub(crate) fn on_timeout(&mut self, cfg: &CongestionConfig) {
        self.control.on_timeout(&mut self.window, cfg);
    }

    /// Nothing is in flight there, and data is about to leave.
    #[inline]
    pub(crate) fn on_idle(&mut self, now: Instant, cfg: &CongestionConfig) {
        let rto = self.rtt.rto();
        self.control.on_idle(&mut self.window, now, rto, cfg);
    }

    /// A packet of new data may leave if the flight size is below `limit`.
    pub(crate) fn on_burst(&mut self, limit: u32) {
        self.control.on_burst(&mut self.window, limit);
    }

    /// A potentially failed path is active again, with a window of this number of
    /// PMDCS.
    pub(crate) fn on_return(&mut self, pmdcs: u32) {
        self.control.on_return(&mut self.window, pmdcs);
    }

    /// A SACK acknowledged this number of bytes here, of `flight` that were in flight.
    /// Returns what coupled paths need to know of this one, if it is coupled.
    pub(crate) fn coupled_flow(&mut self, acknowledged: u32, flight: u32) -> Option<Flow> {
        self.control.count_acknowledged(acknowledged);
        let between_losses = self.control.bytes_between_losses();
        Flow::new(&self.window, flight, self.rtt.srtt(), between_losses)
    }
}

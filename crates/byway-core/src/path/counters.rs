//! Measurements of a path, for statistics and policies.

use crate::time::Instant;

/// The weight of one chunk in a path's loss rate.
const LOSS_GAIN: f32 = 1.0 / 64.0;

/// Measurements of a path, for statistics and policies.
#[derive(Clone, Debug, Default)]
pub(crate) struct PathCounters {
    pub(super) packets_sent: u64,
    pub(super) bytes_sent: u64,
    pub(super) bytes_received: u64,
    pub(super) data_bytes_sent: u64,
    pub(super) data_bytes_retransmitted: u64,
    pub(super) data_bytes_lost: u64,
    pub(super) timeouts: u64,
    pub(super) failures: u64,
    pub(super) last_heard: Option<Instant>,
    /// Share of the chunks sent here that were lost, smoothed (`concurrent.rtx`).
    loss_rate: f32,
}

impl PathCounters {
    /// A packet of this number of bytes left.
    #[inline]
    pub(crate) fn sent(&mut self, bytes: usize) {
        self.packets_sent += 1;
        self.bytes_sent += bytes as u64;
    }

    /// A packet of this number of bytes arrived from there.
    #[inline]
    pub(crate) fn received(&mut self, now: Instant, bytes: usize) {
        self.heard(now);
        self.bytes_received += bytes as u64;
    }

    /// When something came from there last.
    pub(crate) fn last_heard(&self) -> Option<Instant> {
        self.last_heard
    }

    /// The path answered.
    #[inline]
    pub(crate) fn heard(&mut self, now: Instant) {
        self.last_heard = Some(now);
    }

    /// New user data of this number of bytes left.
    #[inline]
    pub(crate) fn data_sent(&mut self, bytes: usize) {
        self.data_bytes_sent += bytes as u64;
    }

    /// User data of this number of bytes left again.
    #[inline]
    pub(crate) fn data_retransmitted(&mut self, bytes: u32) {
        self.data_bytes_retransmitted += u64::from(bytes);
    }

    /// User data of this number of bytes counts as lost.
    #[inline]
    pub(super) fn data_lost(&mut self, bytes: usize) {
        self.data_bytes_lost += bytes as u64;
    }

    /// The path stopped being active.
    pub(super) fn failed(&mut self) {
        self.failures += 1;
    }

    /// T3-rtx expired.
    pub(crate) fn timed_out(&mut self) {
        self.timeouts += 1;
    }

    /// A chunk that was last sent to this path was lost.
    #[inline]
    pub(crate) fn chunk_lost(&mut self) {
        self.note_outcome(1.0);
    }

    /// A chunk that was last sent to this path was acknowledged.
    #[inline]
    pub(crate) fn chunk_acknowledged(&mut self) {
        self.note_outcome(0.0);
    }

    #[inline]
    fn note_outcome(&mut self, lost: f32) {
        self.loss_rate += (lost - self.loss_rate) * LOSS_GAIN;
    }

    /// Share of the chunks sent here that were lost, smoothed.
    pub(super) fn loss_rate(&self) -> f32 {
        self.loss_rate
    }

    #[cfg(test)]
    pub(super) fn set_loss_rate(&mut self, to: f32) {
        self.loss_rate = to;
    }
}

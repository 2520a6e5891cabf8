//! Errors of a path and their results (RFC 9260 section 8.2; RFC 7829).

use super::PathTrouble;
use crate::time::Instant;

/// Errors of a path and their results (section 8.2; RFC 7829).
#[derive(Copy, Clone, Debug, Default)]
pub(crate) struct PathErrors {
    /// Consecutive errors.
    count: u32,
    /// When the last of them happened. An answer to something sent before proves
    /// nothing.
    last_at: Option<Instant>,
    /// When the path stopped being active; none while it is active.
    left_at: Option<Instant>,
    /// Heartbeats that were sent after this time and lost.
    heartbeats_lost: u32,
    /// Heartbeats answered since the last error.
    heartbeats_answered: u32,
    /// New data left the path for an active one. If the path answers before this time,
    /// the failover was spurious.
    abandoned_until: Option<Instant>,
    /// Why the path is in doubt, since it was last active.
    trouble: Option<PathTrouble>,
}

impl PathErrors {
    /// Consecutive errors.
    #[inline]
    pub(crate) fn count(&self) -> u32 {
        self.count
    }

    /// Why the path is in doubt, since it was last active.
    pub(crate) fn trouble(&self) -> Option<PathTrouble> {
        self.trouble
    }

    /// A sign that the path may not work.
    pub(crate) fn blame(&mut self, trouble: PathTrouble) {
        self.trouble = Some(trouble);
    }

    /// Lost heartbeats that were sent after the path stopped being active.
    pub(crate) fn heartbeats_lost(&self) -> u32 {
        self.heartbeats_lost
    }

    /// Heartbeats answered since the last error.
    pub(crate) fn heartbeats_answered(&self) -> u32 {
        self.heartbeats_answered
    }

    /// An error happened. It need not be counted.
    pub(crate) fn happened(&mut self, now: Instant) {
        self.last_at = Some(now);
        // The path may really be dead.
        self.abandoned_until = None;
    }

    /// Counts one more consecutive error.
    pub(crate) fn count_one(&mut self) {
        self.count += 1;
        self.heartbeats_answered = 0;
    }

    /// The path works: no consecutive errors. Returns whether there were any.
    pub(crate) fn clear(&mut self) -> bool {
        core::mem::take(&mut self.count) != 0
    }

    /// An answer to something that was sent before proves nothing.
    pub(crate) fn distrust_before(&mut self, now: Instant) {
        self.last_at = Some(now);
    }

    /// Whether an answer to something that was sent at this time proves that the path
    /// works.
    #[inline]
    pub(crate) fn trusts_answer_to(&self, sent_at: Instant) -> bool {
        self.last_at.is_none_or(|e| sent_at >= e)
    }

    /// A heartbeat was answered.
    pub(crate) fn heartbeat_answered(&mut self) {
        self.heartbeats_answered = self.heartbeats_answered.saturating_add(1);
    }

    /// The heartbeat that was sent at this time is lost. It counts if the path had
    /// stopped being active before.
    pub(crate) fn heartbeat_lost(&mut self, sent: Instant) {
        if self.left_at.is_some_and(|left| sent >= left) {
            self.heartbeats_lost = self.heartbeats_lost.saturating_add(1);
        }
    }

    /// New data left the path for an active one: an answer before `until` shows that
    /// this was spurious.
    pub(crate) fn abandoned(&mut self, until: Instant) {
        self.abandoned_until = Some(until);
    }

    /// The path answers. Returns whether the failover from it was spurious.
    pub(crate) fn end_failover(&mut self, now: Instant) -> bool {
        let until = self.abandoned_until.take();
        until.is_some_and(|until| now <= until)
    }

    /// The path is active again.
    pub(super) fn became_active(&mut self) {
        self.left_at = None;
        self.heartbeats_lost = 0;
        self.trouble = None;
    }

    /// The path stopped being active.
    pub(super) fn left_active(&mut self, now: Instant) {
        self.left_at = Some(now);
    }

    /// Sets the counts by hand, for a model of paths.
    pub(super) fn set_counts(&mut self, errors: u32, heartbeats_lost: u32) {
        self.count = errors;
        self.heartbeats_lost = heartbeats_lost;
    }
}

//! What deciders may read of the paths.

use super::{PathId, PathState, PathTable};
use crate::time::Duration;

impl PathTable {
    pub(crate) fn view(&self) -> PathsView<'_> {
        PathsView { table: self }
    }
}

/// What deciders may read of the paths.
#[derive(Copy, Clone, Debug)]
pub struct PathsView<'a> {
    table: &'a PathTable,
}

impl PathsView<'_> {
    /// The number of places in the table. A removed path keeps its place.
    #[must_use]
    pub fn count(&self) -> usize {
        self.table.len()
    }

    /// The state of a path.
    #[must_use]
    pub fn state(&self, id: PathId) -> PathState {
        self.table.get(id).state
    }

    /// Its consecutive errors.
    #[must_use]
    pub fn errors(&self, id: PathId) -> u32 {
        self.table.get(id).errors.count()
    }

    /// Lost heartbeats of a path that were sent after it stopped being active.
    #[must_use]
    pub fn heartbeats_lost(&self, id: PathId) -> u32 {
        self.table.get(id).errors.heartbeats_lost()
    }

    /// Heartbeats answered on a path since its last error.
    #[must_use]
    pub fn heartbeats_answered(&self, id: PathId) -> u32 {
        self.table.get(id).errors.heartbeats_answered()
    }

    /// Smoothed round trip of a path; `None` before the first measurement.
    #[must_use]
    pub fn srtt(&self, id: PathId) -> Option<Duration> {
        self.table.get(id).rtt.srtt()
    }

    /// Retransmission timeout of a path (RFC 9260 section 6.3.1).
    #[must_use]
    pub fn rto(&self, id: PathId) -> Duration {
        self.table.get(id).rtt.rto()
    }

    /// Whether data may be sent on a path: it is confirmed and not inactive.
    #[must_use]
    pub fn is_usable(&self, id: PathId) -> bool {
        matches!(
            self.state(id),
            PathState::Active | PathState::PotentiallyFailed
        )
    }

    /// Where new data goes now.
    #[must_use]
    pub fn data_path(&self) -> PathId {
        self.table.data()
    }

    /// The primary.
    #[must_use]
    pub fn primary(&self) -> PathId {
        self.table.primary()
    }

    /// The last destination that was active.
    #[must_use]
    pub fn last_active(&self) -> PathId {
        self.table.last_active()
    }

    /// All paths in table order.
    pub fn all(&self) -> impl Iterator<Item = PathId> + use<> {
        self.table.ids()
    }

    /// Congestion window of a path, bytes.
    #[must_use]
    pub fn cwnd(&self, id: PathId) -> u32 {
        self.table.get(id).window.cwnd
    }

    /// Slow start threshold of a path, bytes.
    #[must_use]
    pub fn ssthresh(&self, id: PathId) -> u32 {
        self.table.get(id).window.ssthresh
    }

    /// The free part of a path's congestion window, bytes.
    #[must_use]
    pub fn room(&self, id: PathId) -> u32 {
        let w = &self.table.get(id).window;
        w.cwnd.saturating_sub(w.flight)
    }

    /// Estimated share of a path's chunks that are lost, 0 to 1. It is updated only
    /// with concurrent multipath transfer.
    #[must_use]
    pub fn loss_rate(&self, id: PathId) -> f32 {
        self.table.get(id).counters.loss_rate()
    }

    /// All paths in table order, starting after `after` and ending with it.
    pub fn ring(&self, after: PathId) -> impl Iterator<Item = PathId> + use<> {
        let (n, live) = (self.table.len() as u8, self.table.live());
        (1..=n)
            .map(move |k| PathId((after.0 + k) % n))
            .filter(move |p| live >> p.0 & 1 == 1)
    }

    /// Whether the user wants a path to be a backup.
    #[must_use]
    pub fn is_backup(&self, id: PathId) -> bool {
        self.table.get(id).backup
    }

    /// Whether a path is active, and no backup while one that is none is active, too.
    #[must_use]
    pub fn is_preferred(&self, id: PathId) -> bool {
        let active = |p| self.state(p) == PathState::Active;
        let other = || self.all().any(|p| active(p) && !self.is_backup(p));
        active(id) && !(self.is_backup(id) && other())
    }

    /// The active path that differs most from `after` in its two addresses (RFC 9260
    /// section 6.4.1), a backup only if there is no other. The next one in table order wins a
    /// tie. It is never `after` itself.
    #[must_use]
    pub fn alternate(&self, after: PathId) -> Option<PathId> {
        self.ring(after)
            .filter(|&p| p != after && self.state(p) == PathState::Active)
            .min_by_key(|&p| (self.is_backup(p), 2 - self.divergence(p, after)))
    }

    /// The number of addresses in which a path differs from another one: 0 to 2.
    #[must_use]
    pub fn divergence(&self, a: PathId, b: PathId) -> u32 {
        let (a, b) = (self.table.get(a), self.table.get(b));
        u32::from(a.local.ip() != b.local.ip()) + u32::from(a.remote.ip() != b.remote.ip())
    }

    /// Whether the address was ever confirmed.
    #[must_use]
    pub fn is_confirmed(&self, id: PathId) -> bool {
        self.table.get(id).confirmed
    }
}

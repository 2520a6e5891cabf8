//! Queries about an endpoint and its associations.

use super::{Endpoint, EndpointStats};
use crate::api::{AssocId, AssocStats, PathStats};
use crate::config::Config;
use crate::path::PathId;
use core::net::SocketAddr;

impl Endpoint {
    /// The settings of an association.
    #[must_use]
    pub fn config(&self, id: AssocId) -> Option<&Config> {
        self.table.get(id).map(|s| &**s.assoc.config())
    }

    /// The state of an association, as RFC 9260 section 4 names it.
    #[must_use]
    pub fn state_name(&self, id: AssocId) -> Option<&'static str> {
        self.table.get(id).map(|s| s.assoc.state_name())
    }

    /// Counters of an association.
    #[must_use]
    pub fn stats(&self, id: AssocId) -> Option<AssocStats> {
        self.table.get(id).map(|s| s.assoc.stats())
    }

    /// State and counters of a path.
    #[must_use]
    pub fn path_stats(&self, id: AssocId, path: PathId) -> Option<PathStats> {
        self.table.get(id)?.assoc.stats_of_path(path)
    }

    /// State and counters of all paths, in the order of their ids.
    #[must_use]
    pub fn paths(&self, id: AssocId) -> Vec<PathStats> {
        let slot = self.table.get(id);
        slot.map_or_else(Vec::new, |s| s.assoc.stats_of_paths().collect())
    }

    /// Payload bytes that are queued or not yet cumulatively acknowledged.
    #[must_use]
    pub fn buffered(&self, id: AssocId) -> Option<u64> {
        self.table.get(id).map(|s| s.assoc.buffered())
    }

    /// Associations that have not ended.
    #[must_use]
    pub fn association_count(&self) -> usize {
        self.table.live()
    }

    /// Our own addresses.
    #[must_use]
    pub fn local_addresses(&self) -> &[SocketAddr] {
        &self.local
    }

    /// Our SCTP port.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.cfg.port
    }

    /// Counters of the endpoint outside its associations.
    #[must_use]
    pub fn endpoint_stats(&self) -> EndpointStats {
        EndpointStats {
            answers_dropped: self.out.replies_dropped(),
            ..self.stats
        }
    }

    /// A cookie with these contents and a valid MAC. Only for fuzzing.
    #[cfg(fuzzing)]
    #[doc(hidden)]
    #[must_use]
    pub fn seal_for_fuzzing(&self, contents: &[u8]) -> Vec<u8> {
        self.keys.seal_bytes(contents)
    }

    /// Recomputes every running total of an association (flight sizes, windows,
    /// buffers) and compares. For tests, because it visits all outstanding data.
    ///
    /// # Errors
    /// When a total is wrong; the error names the first one.
    pub fn check_totals(&self, id: AssocId) -> Result<(), String> {
        self.table
            .get(id)
            .map_or(Ok(()), |s| s.assoc.check_totals())
    }

    /// Checks that an association goes on: that whatever it has to do waits for a timer that
    /// runs, on a path that there is. For tests, after
    /// [`poll_transmit`](Self::poll_transmit) gave `None`.
    ///
    /// # Errors
    /// When something waits for ever; the error names the first such thing.
    pub fn check_progress(&mut self, id: AssocId) -> Result<(), String> {
        let routes = &mut *self.routes;
        self.table
            .get(id)
            .map_or(Ok(()), |s| s.assoc.check_progress(routes))
    }
}

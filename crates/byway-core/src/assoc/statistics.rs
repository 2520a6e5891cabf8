//! Counters of an association.

use super::{Association, Control};
use crate::api::{PathEstimateStats, PathStats};
use crate::path::PathId;

impl Association {
    pub(super) fn path_stats(&self, id: PathId) -> PathStats {
        let probes = self.optional.estimating.as_ref().map(|e| e.probes(id));
        let (probes_sent, probe_bytes) = probes.unwrap_or_default();
        PathStats {
            estimate: self.estimate(id).map(|e| PathEstimateStats {
                rtt: e.rtt,
                loss: e.loss(),
                samples: e.trials,
            }),
            probes_sent,
            probe_bytes,
            ..self.paths.stats(id)
        }
    }

    /// Memory that the association takes, in bytes: itself, its paths, and what its two
    /// halves hold.
    #[inline]
    pub(crate) fn memory(&self) -> usize {
        size_of::<Association>()
            + self.paths.memory()
            + self.send.memory()
            + self.recv.memory()
            + self.control.capacity() * size_of::<Control>()
            + self.authentication_memory()
            + self.asconf_memory()
            + self.addresses.pathless.capacity() * size_of::<core::net::IpAddr>()
            + self.addresses.listed.memory()
    }
}

//! Counters of an association, and a check of its running totals.

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
    }

    /// Recounts all running totals (for tests) and reports the first wrong one.
    pub(crate) fn check_totals(&self) -> Result<(), String> {
        for id in self.paths.ids() {
            let (flight, counted) = (
                self.paths.get(id).window().flight,
                self.send.ledger.recount_flight(id),
            );
            let lost = self.send.ledger.recount_lost(id);
            if self.paths.get(id).window().lost != lost {
                return Err(format!("lost bytes of path {id} are not {lost}"));
            }
            if self.paths.get(id).window().pmdcs < self.paths.least_pmdcs() {
                return Err(format!("PMDCS of path {id} is less than the least"));
            }
            if flight != counted {
                return Err(format!(
                    "flight of path {id} is {flight}, counted {counted}"
                ));
            }
        }
        let all = [
            ("ledger", self.send.ledger.totals_agree()),
            ("send queue", self.send.queue.totals_agree()),
            ("reassembly", self.recv.reassembly.totals_agree()),
        ];
        match all.iter().find(|a| !a.1) {
            Some((what, _)) => Err(format!("a total of the {what} is wrong")),
            None => Ok(()),
        }
    }
}

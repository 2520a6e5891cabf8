//! The figures of a path for the user.

use super::{PathId, PathState, PathTable};
use crate::api::PathStats;

impl PathTable {
    /// The figures of a path, without those of its estimate.
    pub(crate) fn stats(&self, id: PathId) -> PathStats {
        let p = self.get(id);
        let (window, counters) = (p.window(), &p.counters);
        let doubted = p.state() != PathState::Active || p.errors.count() > 0;
        PathStats {
            path: id,
            local: p.local(),
            remote: p.remote(),
            state: p.state(),
            primary: self.primary() == id,
            in_use: self.data() == id,
            backup: p.backup,
            cwnd: window.cwnd,
            ssthresh: window.ssthresh,
            flight: window.flight,
            srtt: p.rtt.srtt(),
            rto: p.rtt.rto(),
            error_count: p.errors.count(),
            trouble: p.errors.trouble().filter(|_| doubted),
            dead_for_data: p.dead_data.is_dead(),
            pmtu: p.pmtu(),
            largest_pmtu: p.mtu.search().map_or(p.pmtu(), |s| s.most()),
            packets_sent: counters.packets_sent,
            bytes_sent: counters.bytes_sent,
            bytes_received: counters.bytes_received,
            data_bytes_sent: counters.data_bytes_sent,
            data_bytes_retransmitted: counters.data_bytes_retransmitted,
            data_bytes_lost: counters.data_bytes_lost,
            timeouts: counters.timeouts,
            failures: counters.failures,
            last_heard: counters.last_heard,
            estimate: None,
            probes_sent: 0,
            probe_bytes: 0,
        }
    }
}

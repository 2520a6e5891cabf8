//! Concurrent multipath transfer.

use crate::policy::{Cuc, RtxPolicy};
use serde::{Deserialize, Serialize};

/// New data on every path at once (CMT). Windows, fast recovery and bursts are a
/// path's own then. Both ends may have it or one alone: the sender chooses paths,
/// the receiver only delays its SACKs (`dac`), and that is told in each of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ConcurrentConfig {
    /// Split Fast Retransmit (true): only what was sent later to the same
    /// destination reports a chunk missing.
    pub sfr: bool,
    /// Cwnd Update for CMT (V2): which acknowledgements let a window grow; `Off`
    /// leaves it to `congestion.growth`.
    pub cuc: Cuc,
    /// Delayed Acknowledgements for CMT (true): SACKs are delayed in spite of
    /// gaps and say how many packets they answer, and the peer's are counted so.
    pub dac: bool,
    /// Where a lost chunk goes (Ssthresh); replaces `retransmission.target`.
    pub rtx: RtxPolicy,
}

impl Default for ConcurrentConfig {
    fn default() -> Self {
        ConcurrentConfig {
            sfr: true,
            cuc: Cuc::V2,
            dac: true,
            rtx: RtxPolicy::Ssthresh,
        }
    }
}

//! Concurrent multipath transfer.

use crate::policy::{Cuc, FillOrder, RtxPolicy};
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
    /// Delayed Acknowledgements for CMT (false): SACKs are delayed in spite of
    /// gaps and say how many packets they answer, and the peer's are counted so.
    /// Half the SACKs, against slower windows where packets are lost: 8 MiB over
    /// two paths with 1 % loss took 14.5 s with it and 12.8 s without.
    pub dac: bool,
    /// Where a lost chunk goes (Ssthresh); replaces `retransmission.target`.
    pub rtx: RtxPolicy,
    /// Which path new data fills first when several have room (BehindLast).
    pub order: FillOrder,
}

impl Default for ConcurrentConfig {
    fn default() -> Self {
        ConcurrentConfig {
            sfr: true,
            cuc: Cuc::V2,
            dac: false,
            rtx: RtxPolicy::Ssthresh,
            order: FillOrder::BehindLast,
        }
    }
}

//! Concurrent multipath transfer.

use crate::policy::{Cuc, FillOrder, RtxPolicy};
use serde::{Deserialize, Serialize};

/// New data on every path at once (CMT). Each path has its own window, fast recovery and
/// burst limit. It also works if only one endpoint uses it: the sender chooses the
/// paths, and the receiver only delays its SACKs (`dac`). Each delayed SACK says how
/// many packets it answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ConcurrentConfig {
    /// Split Fast Retransmit (true): a chunk is reported missing only by a chunk that
    /// was sent later to the same destination.
    pub sfr: bool,
    /// Cwnd Update for CMT (V2): which acknowledgements let a window grow. `Off` leaves
    /// it to `congestion.growth`.
    pub cuc: Cuc,
    /// Delayed Acknowledgements for CMT (false). SACKs are delayed in spite of gaps and
    /// carry the number of packets that they answer. The sender counts this number of
    /// missing reports for a SACK. This halves the number of SACKs, but windows grow more
    /// slowly if packets are lost: 8 MiB over two paths with 1 % loss took 14.5 s with it
    /// and 12.8 s without.
    pub dac: bool,
    /// Which path takes a retransmission (Ssthresh); replaces `retransmission.target`. Not
    /// used with `scheduler` = Earliest.
    pub rtx: RtxPolicy,
    /// Which path is filled first when several paths have room (BehindLast). Not used with
    /// other schedulers than Fill.
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

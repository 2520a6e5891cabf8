//! The names of what `retransmit` decides: the built-in targets (caro-2004 section II.A)
//! and the causes of a loss. They stand apart from the deciders, because settings and the
//! record of a chunk name them without knowing of paths.

use serde::{Deserialize, Serialize};

/// Where a lost chunk is sent again.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Default)]
pub enum RetransmitTarget {
    /// Every retransmission to the destination that lost the chunk.
    AllRtxSame,
    /// Every retransmission to an alternate destination.
    AllRtxAlt,
    /// Fast retransmissions to the same destination, timeouts to an alternate.
    #[default]
    FrSameRtoAlt,
}

/// Why a chunk is lost.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum LossCause {
    /// Enough missing reports.
    FastRetransmit,
    /// The retransmission timer of its path expired.
    Timeout,
    /// The probe timeout made its path potentially failed.
    ProbeTimeout,
}

//! Who gets a retransmission (caro-2003; caro-2004 section II.A; RFC 9260
//! section 6.4).
//!
//! AllRtxSame repeats on the path that lost the chunk, AllRtxAlt always tries
//! another one, FrSameRtoAlt stays for fast retransmits, whose cause is a
//! single loss, and moves away after timeouts, whose cause may be a dead path.
//! RFC 2960 asked for AllRtxAlt; RFC 9260 asks for FrSameRtoAlt, the default.

use crate::path::{PathId, PathsView};
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

/// Why a chunk was taken for lost.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum LossCause {
    /// Enough missing reports.
    FastRetransmit,
    /// The retransmission timer of its path expired.
    Timeout,
}

impl RetransmitTarget {
    /// The path on which a chunk is repeated that was last sent on `last` and
    /// was lost for `cause`.
    ///
    /// An alternate is the next active destination after `last`, in the order
    /// of the table; without one, the destination that data would take now.
    #[must_use]
    pub fn target(self, cause: LossCause, last: PathId, paths: &PathsView<'_>) -> PathId {
        let stay = match self {
            RetransmitTarget::AllRtxSame => true,
            RetransmitTarget::AllRtxAlt => false,
            RetransmitTarget::FrSameRtoAlt => cause == LossCause::FastRetransmit,
        };
        if stay && paths.is_usable(last) {
            return last;
        }
        paths.alternate(last).unwrap_or_else(|| paths.data_path())
    }
}

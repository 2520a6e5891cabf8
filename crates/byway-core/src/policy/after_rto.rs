//! Heartbeat After RTO (caro-2004 section II.B).
//!
//! A timeout says that a path may be dead, yet the next data may go elsewhere
//! and leave the path's RTO doubled and untested. So a heartbeat is sent there
//! at once: its answer gives a fresh RTT and clears the doubt. RFC 9260 does
//! nothing of the kind; the default is nothing.

use serde::{Deserialize, Serialize};

/// What a retransmission timeout starts besides the retransmission.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Default)]
pub enum AfterRto {
    /// Nothing (RFC 9260).
    #[default]
    Nothing,
    /// A heartbeat to the path that timed out (HAR).
    Heartbeat,
}

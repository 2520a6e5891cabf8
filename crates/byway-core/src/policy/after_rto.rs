//! Heartbeat After RTO (caro-2004 section II.B).
//!
//! A timeout shows that a path may be dead. But the next data may take another path, so
//! the RTO of this path stays doubled and untested. A heartbeat at once gives a fresh
//! RTT or more evidence of a failure. RFC 9260 sends none, and this is the default.

use serde::{Deserialize, Serialize};

/// What follows a retransmission timeout besides the retransmission.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Default)]
pub enum AfterRto {
    /// Nothing (RFC 9260).
    #[default]
    Nothing,
    /// A heartbeat to the path that timed out (HAR).
    Heartbeat,
}

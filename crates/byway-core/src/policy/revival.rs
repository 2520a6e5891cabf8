//! The way back after an outage of all paths (byway's own; the pace of the probes is
//! the idea of cortes-2008).
//!
//! After an outage T3-rtx and the heartbeats of RFC 9260 have backed off to RTO.Max, so
//! a network that works again is unused for up to a minute. So while no path is active
//! and data is outstanding, a heartbeat leaves to each path at a fixed pace, and a packet of the
//! peer on a failed path is answered with a heartbeat at once. When a path returns, the
//! data in flight on dead paths leaves on it. Off by default: RFC 9260 section 8.3 asks
//! for one heartbeat per backed-off RTO.
//!
//! Who only receives has no data outstanding, and a translator may have forgotten the binding by which the peer's data
//! came: so who connected asks when that data stops in the middle of a flow.
//!
//! The cost is one small packet for each path and pace during an outage. While data is outstanding these
//! heartbeats count no errors when they are lost, or the association would end early. Those of who only receives
//! count as the first of each RTO does.

use crate::time::Duration;
use crate::units;
use serde::{Deserialize, Serialize};

/// The settings of the way back.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Revival {
    /// The time between two heartbeats to a path while no path is active (500 ms).
    #[serde(with = "units::duration")]
    pub pace: Duration,
    /// How long the peer's data has stopped in the middle of a flow when the side that connected, and has nothing to be acknowledged, asks
    /// each path with a heartbeat (300 ms, and two round trips at least; 0: never). Until something is heard, one follows at each
    /// `pace`.
    #[serde(with = "units::duration")]
    pub silence: Duration,
}

impl Default for Revival {
    fn default() -> Revival {
        Revival {
            pace: Duration::from_millis(500),
            silence: Duration::from_millis(300),
        }
    }
}

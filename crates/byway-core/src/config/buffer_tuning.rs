//! Buffers that tune themselves.

use serde::{Deserialize, Serialize};

/// How far the buffers of an association grow. They begin with `buffer.receive` and
/// `buffer.send`, and never shrink.
///
/// The receive buffer grows to twice what the user reads in a round trip (dynamic
/// right-sizing: Fisk and Feng, "Dynamic right-sizing in TCP", 2001), the longest of all
/// active paths, and to twice what waits behind gaps while the user reads: for data of a slower path, or of one that is
/// sent again. A reader that is slow makes nothing grow. While half of the endpoint's
/// `max_memory` is in use, or a quarter by associations of the same host, nothing grows, and no
/// receive buffer grows beyond a sixteenth of it.
///
/// What waits in the send buffer stays within `buffer.send`; what is unacknowledged counts
/// besides, up to `send`.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct BufferTuning {
    /// The largest receive buffer (16 MiB).
    pub receive: u32,
    /// The most payload in the send queue and unacknowledged (16 MiB).
    pub send: u32,
}

impl Default for BufferTuning {
    fn default() -> BufferTuning {
        BufferTuning {
            receive: 16 << 20,
            send: 16 << 20,
        }
    }
}

//! Control chunks that wait to be sent.

use crate::path::PathId;

/// A control chunk that waits to be sent.
#[derive(Debug)]
pub(crate) enum Control {
    Init,
    CookieEcho,
    CookieAck(PathId),
    HeartbeatAck(PathId, Box<[u8]>),
    /// Error causes, ready made.
    Error(PathId, Box<[u8]>),
    Shutdown,
    /// To where the SHUTDOWN came from (section 6.4), or to where T2 moved on.
    ShutdownAck(PathId),
}

//! Control chunks that wait to be sent.

use crate::path::PathId;

/// A control chunk that waits to be sent.
#[derive(Debug)]
pub(crate) enum Control {
    Init,
    CookieEcho,
    CookieAck(PathId),
    HeartbeatAck(PathId, Box<[u8]>),
    /// Error causes, already encoded.
    Error(PathId, Box<[u8]>),
    Shutdown,
    /// To the path of the peer's SHUTDOWN (section 6.4), or to the path that T2 chose.
    ShutdownAck(PathId),
    /// What waits for its answer, once more: COOKIE ECHO, SHUTDOWN or SHUTDOWN ACK, by state.
    Again,
}

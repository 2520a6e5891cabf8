//! Streams: interleaving and scheduling (RFC 8260).

use crate::policy::StreamScheduler;
use serde::{Deserialize, Serialize};

/// Streams: whether their messages interleave, and which one sends next (RFC 8260).
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(default, deny_unknown_fields)]
pub struct StreamsConfig {
    /// Whether set-up offers user message interleaving: I-DATA in place of DATA, so that a
    /// long message does not hold back those of other streams (false, in all presets). It is
    /// used if the peer offers it, too. The application must be able to read parts of
    /// messages of several streams in turn: so RFC 8260 section 2.2.1 asks that it says so.
    /// Linux numbers fragments otherwise (interop/README.md): where its program offers this,
    /// too, the first message in fragments ends the association.
    pub interleaving: bool,
    /// Which stream sends next (FirstCome). The user may set a value for a stream: its
    /// priority with `Priority`, its weight with `WeightedFair`. It needs nothing of the
    /// peer; without `interleaving` a message that has begun is finished first. With another
    /// one than `FirstCome`, a stream of which nothing waits may queue a message of at most
    /// 64 KiB although `buffer.send` is full (up to twice that): it need not wait for what
    /// other streams queue.
    pub scheduler: StreamScheduler,
}

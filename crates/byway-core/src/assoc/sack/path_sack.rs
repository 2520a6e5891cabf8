//! The results of a SACK for one path, collected in steps 2 and 3 and used in step 4.

use crate::cc::PathAck;
use crate::path::Path;
use crate::time::Duration;

/// The results of a SACK for one path.
#[derive(Copy, Clone, Debug, Default)]
pub(in crate::assoc) struct PathSack {
    /// The input of congestion control.
    pub(super) ack: PathAck,
    /// Number of newly acknowledged chunks that were last sent there.
    pub(super) chunks: u32,
    /// The round-trip sample.
    pub(super) sample: Option<Duration>,
    /// The round trip of the newest chunk that was sent once.
    pub(super) round_trip: Option<Duration>,
    /// What the acknowledged chunks prove about the path.
    pub(super) proof: Proof,
    /// What the SACK changes for T3-rtx.
    pub(super) t3: T3Change,
    /// Missing reports made chunks lost.
    pub(super) lost: bool,
    /// A lost chunk begins a new loss event: it is at or beyond the exit point of the
    /// path's own fast recovery, or the path has no fast recovery in progress.
    pub(super) new_loss_event: bool,
    /// A lost chunk was a retransmission that left after the window was last reduced.
    pub(super) lost_again: bool,
    /// The SACK acknowledged new data, on any path.
    pub(super) any_new: bool,
}

/// What acknowledged chunks prove about a path.
///
/// A chunk is *timely* if it was last sent at or after the path's last error, and no
/// timeout made it lost. A dialect may accept more chunks.
#[derive(Copy, Clone, Debug, Default)]
pub(super) struct Proof {
    /// They clear its error counter.
    pub(super) clears: bool,
    /// A timely chunk was never sent to another path, or a dialect lets a chunk clear the
    /// error counter.
    pub(super) unambiguous: bool,
    /// Size of the largest timely chunk that was never sent to another path, bytes.
    pub(super) largest: u32,
}

/// What a SACK changes for T3-rtx of a path (section 6.3.2).
#[derive(Copy, Clone, Debug, Default)]
pub(super) struct T3Change {
    /// The earliest chunk in flight was acknowledged or is lost, so T3-rtx restarts
    /// (R3).
    pub(super) restart: bool,
    /// The next earliest chunk is after this sequence.
    pub(super) after: u64,
    /// It may also be before this sequence, because the peer reneged.
    pub(super) rescan: bool,
}

impl PathSack {
    /// Whether the SACK can change anything for that path. It cannot if nothing was in
    /// flight or lost there, as on an idle alternate.
    #[inline]
    pub(super) fn concerns(&self, p: &Path) -> bool {
        self.chunks > 0
            || self.lost
            || p.window().flight > 0
            || p.timers.t3().is_some()
            || p.recovery.in_progress()
            || p.detector.is_probing()
    }
}

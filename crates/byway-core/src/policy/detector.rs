//! Decides when a path has failed: the interface between an association and a detector.
//!
//! A path is in *doubt* ([`Doubt`]) from its first timeout (T3-rtx) until the detector
//! accepts an acknowledgement as proof, or until the path has failed. [`Detection`] has
//! the built-in detectors: only the error counter (RFC 9260 section 8.2, the default),
//! or probes at a fixed interval (cortes-2008).

use super::Detection;
use super::probing::{Evidence, Verdict};
use crate::path::{PathId, PathsView};
use crate::time::Instant;
use core::fmt;

/// A path that may have failed: its first timeout has happened.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Doubt {
    /// The path.
    pub path: PathId,
    /// The time of its first timeout.
    pub since: Instant,
    /// The current time.
    pub now: Instant,
}

/// Decides when a path has failed, for all paths of an association.
///
/// It only reads the paths. The association sends the probes, changes the path's state
/// and counts consecutive errors (`failure.path_max_retrans`).
pub trait Detector: fmt::Debug + Send + Sync {
    /// What to do about the path now. The association asks at the path's first timeout
    /// and then at the time of the last [`Verdict::Probe`], but at least 1 ms later.
    /// `None` ends the probing, and only the error counter decides.
    fn verdict(&self, paths: &PathsView<'_>, doubt: Doubt) -> Option<Verdict>;

    /// Whether this acknowledgement proves that the path works. The default accepts
    /// that of a heartbeat, and that of data sent to this path after its last timeout.
    fn accepts(&self, evidence: Evidence) -> bool {
        evidence != Evidence::AnyData
    }

    /// Whether timeouts beyond `failure.path_max_retrans` also make a path inactive
    /// (true). Lost heartbeats always do.
    fn counts_timeouts(&self) -> bool {
        true
    }

    /// Bytes of each path's window that data leaves free for heartbeats (0). The
    /// association asks once, when the path is created.
    fn reserved(&self) -> u32 {
        0
    }
}

impl Detector for Detection {
    fn verdict(&self, _: &PathsView<'_>, doubt: Doubt) -> Option<Verdict> {
        match self {
            Detection::ErrorCount => None,
            Detection::Probing(p) => Some(p.verdict(doubt.since, doubt.now)),
        }
    }

    fn accepts(&self, evidence: Evidence) -> bool {
        match self {
            Detection::ErrorCount => true,
            Detection::Probing(p) => p.stop.accepts(evidence),
        }
    }

    fn counts_timeouts(&self) -> bool {
        Detection::counts_timeouts(self)
    }

    fn reserved(&self) -> u32 {
        Detection::reserved(self)
    }
}

//! When a path counts as failed: what an association asks of a detector.
//!
//! A path is in *doubt* from its first timeout (T3-rtx) until the detector takes
//! an acknowledgement for proof, or the path has failed. The built-in answers are
//! those of [`Detection`]: errors alone (RFC 9260 section 8.2, the default), or
//! probes at a fixed pace (cortes-2008).

use super::Detection;
use super::probing::{Evidence, Verdict};
use crate::path::{PathId, PathsView};
use crate::time::Instant;
use core::fmt;

/// A path in doubt.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Doubt {
    /// Which one.
    pub path: PathId,
    /// When its first timeout was.
    pub since: Instant,
    /// The present time.
    pub now: Instant,
}

/// Decides when a path has failed, for all paths of an association.
///
/// It reads the paths and answers; the association probes, and changes the path's
/// state. Consecutive errors (`failure.path_max_retrans`) are counted beside it.
pub trait Detector: fmt::Debug + Send + Sync {
    /// What a path in doubt needs now. Asked at the path's first timeout, and
    /// again at the time that the last [`Verdict::Probe`] named, which is at
    /// least 1 ms later. None ends the doubt: errors alone decide.
    fn verdict(&self, paths: &PathsView<'_>, doubt: Doubt) -> Option<Verdict>;

    /// Whether this acknowledgement ends the doubt. By default one of a heartbeat
    /// or of data that went to this path since its last timeout does.
    fn accepts(&self, evidence: Evidence) -> bool {
        evidence != Evidence::AnyData
    }

    /// Whether timeouts beyond `failure.path_max_retrans` make a path inactive,
    /// too (true). Lost heartbeats do in either case.
    fn counts_timeouts(&self) -> bool {
        true
    }

    /// Bytes of each path's window that data leaves to heartbeats (0). Asked when
    /// a path begins.
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

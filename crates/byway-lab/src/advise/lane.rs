//! What a race is made of, and what it comes to.

use super::answer::Effort;
use super::candidates::Candidate;
use super::evidence::Sample;

/// A candidate and its runs so far.
#[derive(Clone)]
pub(super) struct Lane {
    pub(super) candidate: Candidate,
    pub(super) samples: Vec<Sample>,
}

impl Lane {
    pub(super) fn new(candidate: Candidate) -> Lane {
        Lane {
            candidate,
            samples: Vec::new(),
        }
    }
}

/// What the race has come to for the targets, in the order of the request.
pub(super) struct Outcome {
    /// How many settings were tried, and those that the search has left, the best first.
    pub(super) tried: Vec<usize>,
    pub(super) found: Vec<Vec<Lane>>,
    /// The same and the defaults, with the runs of the check.
    pub(super) checked: Vec<Vec<Lane>>,
    pub(super) effort: Effort,
    pub(super) simulated: usize,
    pub(super) interrupted: bool,
}

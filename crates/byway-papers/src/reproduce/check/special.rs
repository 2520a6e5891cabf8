//! Checks that compare runs with more than a band: each a piece of code with a name.

use super::blocked;
use super::finding::Finding;
use crate::reproduce::cells::Cells;
use serde::Deserialize;

/// A check by name.
#[derive(Clone, Debug, Deserialize)]
pub struct Special {
    /// Which.
    name: Name,
}

/// The special checks.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Name {
    /// What PMR 0 sends while PMR 1 waits (caro-2006 section III.7).
    PacketsWhileBlocked,
    /// The same where it goes on the primary (scenario 4).
    PacketsOnThePrimary,
}

impl Special {
    /// The measure that it takes from its study.
    #[must_use]
    pub fn measure(&self) -> &str {
        match self.name {
            Name::PacketsWhileBlocked => blocked::ALTERNATE.measure,
            Name::PacketsOnThePrimary => blocked::PRIMARY.measure,
        }
    }

    /// Looks; `off`: at runs without the mechanism, where it must not hold.
    #[must_use]
    pub fn evaluate(&self, cells: &Cells, off: bool) -> Option<Finding> {
        match self.name {
            Name::PacketsWhileBlocked => blocked::evaluate(&blocked::ALTERNATE, cells, off),
            Name::PacketsOnThePrimary => blocked::evaluate(&blocked::PRIMARY, cells, off),
        }
    }
}

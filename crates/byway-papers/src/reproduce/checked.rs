//! A check with what was found.

use serde::Serialize;

/// A check with what was found.
#[derive(Clone, Debug, Serialize)]
pub struct Checked {
    /// What was looked at.
    pub what: String,
    /// The paper's value.
    pub paper: String,
    /// ns-2's, where it is known.
    pub ns2: Option<String>,
    /// Whether ns-2's cells pass the same check; none where there are none.
    pub ns2_holds: Option<bool>,
    /// byway's, with its 95 % confidence interval.
    pub byway: String,
    /// Whether the check holds.
    pub holds: bool,
    /// Whether it counts; else its figure is only shown.
    pub counts: bool,
    /// Where it fails, or what counts.
    pub detail: Option<String>,
}

//! What a check looks at and what it finds.

use crate::reproduce::show::Unit;
use serde::Deserialize;

/// What a check found in one simulator's cells.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// In a few words, with the confidence interval.
    pub text: String,
    /// Whether it is what the paper says.
    pub holds: bool,
    /// Where it fails, or what else should be known.
    pub detail: Option<String>,
}

/// A measure and how it is written.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Measured {
    /// Which measure.
    pub(super) measure: String,
    /// Its unit.
    #[serde(default)]
    pub(super) unit: Unit,
}

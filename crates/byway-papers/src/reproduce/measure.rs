//! The metrics that claims and figures name (`byway_lab::metrics`).

use super::sample::Kind;
use byway_lab::metrics::{self, Metrics};

/// What the values of a metric are.
#[must_use]
pub fn kind(name: &str) -> Kind {
    match Metrics::standard().find(name).map(|m| m.kind()) {
        Some(metrics::Kind::Count) => Kind::Count,
        _ => Kind::Quantity,
    }
}

/// The metric that a condition such as `failures >= 1` is about.
#[must_use]
pub fn base(name: &str) -> &str {
    name.split_whitespace().next().unwrap_or(name)
}

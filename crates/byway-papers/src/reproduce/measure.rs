//! The metrics that claims and figures name (`byway_lab::metrics`).

use super::sample::Kind;
use byway_lab::metrics::{self, Metric, Metrics};
use byway_lab::result::RunResult;
use sha2::{Digest, Sha256};

/// The metric by which a run is known: two runs with the same one are the same run
/// under two names.
pub const MARK: &str = "run_mark";

/// The metrics that claims and figures can name, and [`MARK`].
#[must_use]
pub fn known() -> Metrics {
    let mark = Metric::new(MARK, "", |run| Some(mark(run)));
    Metrics::standard().with(mark.on_request())
}

/// A digest of all figures of a run, as a number. It leaves out the policy's name and the
/// digest of packets, in which random tags differ from seed to seed.
fn mark(run: &RunResult) -> f64 {
    let mut figures = serde_json::to_value(run).unwrap_or_default();
    if let Some(figures) = figures.as_object_mut() {
        for name in ["policy", "note", "digest"] {
            figures.remove(name);
        }
    }
    let bytes = Sha256::digest(figures.to_string());
    let number = bytes
        .iter()
        .take(6)
        .fold(0_u64, |n, b| n << 8 | u64::from(*b));
    number as f64
}

/// What the values of a metric are.
#[must_use]
pub fn kind(name: &str) -> Kind {
    match known().find(name).map(|m| m.kind()) {
        Some(metrics::Kind::Count) => Kind::Count,
        _ => Kind::Quantity,
    }
}

/// The metric that a condition such as `failures >= 1` is about.
#[must_use]
pub fn base(name: &str) -> &str {
    name.split_whitespace().next().unwrap_or(name)
}

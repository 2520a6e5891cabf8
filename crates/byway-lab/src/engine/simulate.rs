//! One run in the simulator.

use super::plan::Plan;
use super::row::{Record, Row};
use crate::metrics::Metric;
use crate::run::{DriveError, RunError, RunOptions, one};
use crate::scenario::Scenario;
use std::sync::atomic::AtomicBool;

/// Runs one cell of a plan with one of its seeds; `None` when it was cancelled.
#[must_use]
pub fn run_row(plan: &Plan, cell: usize, run: usize, cancel: Option<&AtomicBool>) -> Option<Row> {
    let scenario = &plan.cells[cell].scenario;
    let seed = plan.seeds[run];
    let record = simulate(scenario, seed, &plan.metrics, cancel)?;
    Some(record.row(cell, run, seed))
}

/// Runs a scenario's first policy with a seed; `None` when it was cancelled.
pub(super) fn simulate(
    scenario: &Scenario,
    seed: u64,
    metrics: &[Metric],
    cancel: Option<&AtomicBool>,
) -> Option<Record> {
    let mut scenario = scenario.clone();
    scenario.seed = seed;
    let options = RunOptions {
        figures_only: true,
        cancel,
        ..RunOptions::default()
    };
    match one(&scenario, 0, options) {
        Ok(result) => Some(Record::of(&result, metrics)),
        Err(RunError::Policy {
            error: DriveError::Cancelled,
            ..
        }) => None,
        Err(error) => Some(Record::refused(error.to_string(), metrics.len())),
    }
}

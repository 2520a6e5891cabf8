//! Runs of scenarios.

use byway_lab::run::{RunOptions, run as run_policies};
use byway_lab::scenario::{BUILT_IN, BUILT_IN_NAME, Scenario};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// Adds what is here to the module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(run_json, module)?)
}

/// Runs a scenario and returns what `byway run --json` prints.
#[pyfunction]
fn run_json(py: Python<'_>, text: Option<&str>) -> PyResult<String> {
    let (name, text) = match text {
        Some(text) => ("scenario", text),
        None => (BUILT_IN_NAME, BUILT_IN),
    };
    let scenario =
        Scenario::parse(name, text).map_err(|e| PyValueError::new_err(e.to_string()))?;
    let comparison = py
        .detach(|| run_policies(&scenario, RunOptions::default()))
        .map_err(|e| PyValueError::new_err(e.to_string()))?;
    serde_json::to_string(&comparison).map_err(|e| PyValueError::new_err(e.to_string()))
}

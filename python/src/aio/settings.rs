//! Settings of associations over real sockets.

use super::errors;
use byway::Config;
use byway_lab::scenario::{Override, apply_overrides, setting_lines};
use pyo3::prelude::*;

/// Settings, read and checked.
#[pyclass(module = "byway._native", frozen)]
pub(super) struct SocketSettings {
    pub(super) config: Config,
}

/// The settings of a preset with changes, each with its key and its value as the command
/// takes it.
#[pyfunction]
pub(super) fn socket_settings(
    preset: &str,
    changes: Vec<(String, String)>,
) -> PyResult<SocketSettings> {
    let base = Config::preset(preset).map_err(|e| errors::setting("preset", preset, &e.problem))?;
    let overrides: Vec<Override> = changes
        .into_iter()
        .map(|(key, value)| Override { key, value })
        .collect();
    let config = apply_overrides(&base, &overrides)
        .map_err(|problems| errors::settings(&placed(problems, &overrides)))?;
    Ok(SocketSettings { config })
}

/// The problems with their keys. The command names its own option.
fn placed(problems: Vec<String>, overrides: &[Override]) -> Vec<(String, String)> {
    let place = |problem: String| {
        for o in overrides {
            let head = format!("--set {}={}: ", o.key, o.value);
            if let Some(message) = problem.strip_prefix(&head) {
                return (o.key.clone(), format!("{} = {}: {message}", o.key, o.value));
            }
        }
        // What `KEY = VALUE: problem` says about settings together.
        let key = problem.split(" = ").next().unwrap_or_default();
        (key.to_owned(), problem)
    };
    problems.into_iter().map(place).collect()
}

/// The settings, one `key = value` a line.
pub(super) fn lines(config: &Config) -> String {
    setting_lines(config)
}

//! The Rust half of the Python package `byway`: what `byway/_native.pyi` says.
//!
//! Each file adds what it has to the module in its own `register`.

mod advise;
mod aio;
mod chunks;
mod decider;
mod error;
mod job;
mod papers;
mod run;
mod scenario;
mod sweep;
mod toml_text;

use pyo3::prelude::*;

/// The Rust half of byway. Use `import byway`; this has no promises.
#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    // One line for each file that adds something.
    aio::register(module)?;
    advise::register(module)?;
    decider::register(module)?;
    papers::register(module)?;
    run::register(module)?;
    scenario::register(module)?;
    sweep::register(module)?;
    chunks::register(module)?;
    Ok(())
}

/// A value in a few characters, for messages.
fn show(value: &Bound<'_, PyAny>) -> String {
    const LONGEST: usize = 60;
    let Ok(text) = value.repr().map(|r| r.to_string()) else {
        return toml_text::kind(value);
    };
    match text.char_indices().nth(LONGEST) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text,
    }
}

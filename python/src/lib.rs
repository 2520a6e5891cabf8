//! The Rust half of the Python package `byway`: what `byway/_native.pyi` says.
//!
//! Each file adds what it has to the module in its own `register`.

mod chunks;
mod run;

use pyo3::prelude::*;

/// The Rust half of byway. Use `import byway`; this has no promises.
#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    // One line for each file that adds something.
    run::register(module)?;
    chunks::register(module)?;
    Ok(())
}

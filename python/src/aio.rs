//! Real sockets for asyncio: what `byway/aio.py` is built on.
//!
//! The sockets are driven by byway's own threads, which never touch Python: they neither
//! need the interpreter's lock nor notice its end. An asyncio loop polls the futures of
//! the crate `byway` itself, once for each wake-up. A waker writes to a socket that the
//! loop watches ([`reactor`]); so messages that arrive together cost one wake-up.

mod association;
mod endpoint;
mod errors;
mod facts;
mod message;
mod operation;
mod process;
mod reactor;
mod settings;

use pyo3::prelude::*;

/// Adds what is here to the module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<reactor::Reactor>()?;
    module.add_class::<reactor::Gate>()?;
    module.add_class::<operation::Operation>()?;
    module.add_class::<endpoint::PyEndpoint>()?;
    module.add_class::<association::PyAssociation>()?;
    module.add_class::<message::PyMessage>()?;
    module.add_class::<message::Unsent>()?;
    module.add_class::<settings::SocketSettings>()?;
    module.add_function(wrap_pyfunction!(message::to_bytes, module)?)?;
    module.add_function(wrap_pyfunction!(settings::socket_settings, module)?)?;
    module.add_function(wrap_pyfunction!(process::forked, module)?)?;
    module.add_function(wrap_pyfunction!(process::finish, module)?)?;
    Ok(())
}

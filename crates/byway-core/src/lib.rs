//! byway-core: being built.
pub mod time;

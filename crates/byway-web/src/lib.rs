//! The simulator in a web page: a scenario that a visitor changes while it runs.
//!
//! [`Session`] has all that the page does without drawing. What the visitor does becomes an event of the
//! scenario at the present simulated time. So at any time there is a scenario file that `byway run` runs
//! to the same result, byte for byte. `bindings` makes it callable from JavaScript.

#[cfg(target_arch = "wasm32")]
pub mod bindings;
mod file;
mod lane;
mod packets;
mod session;
mod view;

pub use lane::CurveKind;
pub use packets::{MARK_NUMBERS, Mark, Motion};
pub use session::{Session, catalogue};

//! Error causes: what ABORT and ERROR carry (RFC 9260 section 3.3.10), with
//! those of RFC 4895 and RFC 5061.

pub mod cause_code;
mod list;
mod raw;
mod read;
mod write;

pub use list::{CauseIter, Causes};
pub use raw::RawCause;
pub use read::Cause;
pub use write::CauseWriter;

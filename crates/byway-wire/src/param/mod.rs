//! Parameters: the lists at the end of INIT, INIT ACK, ASCONF, ASCONF-ACK and
//! RE-CONFIG (RFC 9260 section 3.2.1).

mod list;
pub mod param_type;
mod raw;
mod read;
mod reconfig;
mod write;

pub use list::{ParamIter, Params};
pub use raw::RawParam;
pub use read::Param;
pub use reconfig::{AddStreams, IncomingSsnReset, OutgoingSsnReset, ReconfigResponse, SsnTsnReset};
pub use write::ParamWriter;

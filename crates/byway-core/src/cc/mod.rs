//! Congestion control (RFC 9260 section 7): the only code that changes cwnd,
//! ssthresh and partial_bytes_acked of a path, and it changes nothing else. (A
//! [`Dialect`](crate::dialect::Dialect) may change them, too, through
//! [`Inside`](crate::dialect::Inside).)
//!
//! [`CongestionControl`] is the trait of an algorithm. Two are built in, one file
//! each: [`Rfc9260Control`] and [`CubicControl`], which `congestion.algorithm`
//! chooses. A user's own is given to [`Custom`](crate::config::Custom) and needs
//! no change here. `congestion.coupled` says how the paths of one association
//! share their growth (`coupled`).

mod control;
pub(crate) mod coupled;
mod cubic;
mod path_control;
mod rfc9260;

pub use control::{CongestionControl, Moment, PathAck, StartCongestionControl};
pub use cubic::CubicControl;
pub use rfc9260::Rfc9260Control;

pub use crate::path::Window;

pub(crate) use path_control::PathControl;

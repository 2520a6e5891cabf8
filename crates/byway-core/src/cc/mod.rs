//! Congestion control (RFC 9260 section 7). Only this code changes cwnd, ssthresh and
//! partial_bytes_acked of a path, and it changes nothing else. (A
//! [`Dialect`](crate::dialect::Dialect) may also change them, through
//! [`Inside`](crate::dialect::Inside).)
//!
//! [`CongestionControl`] is the trait of an algorithm. Two are built in, each in its
//! own file: [`Rfc9260Control`] and [`CubicControl`]; `congestion.algorithm` chooses
//! one. A user passes another one to [`Custom`](crate::config::Custom), with no change
//! here. `congestion.coupled` says how the paths of one association share their growth
//! (`coupled`).

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

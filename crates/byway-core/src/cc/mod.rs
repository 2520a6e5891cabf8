//! Congestion control (RFC 9260 section 7). Only this code and a
//! [`Dialect`](crate::dialect::Dialect) change cwnd, ssthresh and partial_bytes_acked of
//! a path, and this code changes nothing else.
//!
//! [`CongestionControl`] is the trait of an algorithm. [`Rfc9260Control`] and
//! [`CubicControl`] are built in, and `congestion.algorithm` chooses one. A user passes
//! another one to [`Custom`](crate::config::Custom). `congestion.coupled` says how the
//! paths of one association share their growth (`coupled`).

mod control;
pub(crate) mod coupled;
mod cubic;
mod hystart;
mod idle;
mod path_control;
pub(crate) mod prr;
mod rfc9260;

pub use control::{CongestionControl, Moment, PathAck, StartCongestionControl};
pub use cubic::CubicControl;
pub use rfc9260::Rfc9260Control;

pub use crate::path::{Reduced, Window};

pub(crate) use path_control::PathControl;

//! What varies from cell to cell: one language for sweep files and for the
//! papers' studies.
//!
//! An axis has a key and values. The key is one of these:
//!
//! - a key of the scenario, such as `path.1.loss` or `event.1.at`;
//! - a setting of the protocol, such as `rto.min`;
//! - `policy`, whose values are names of the scenario's policies;
//! - a [short name](short::NAMES), whose values are plain numbers: `loss1 = 3`
//!   loses 3 % of the packets on path 1 both ways.

mod base;
mod patch;
pub mod short;
mod value;
mod variation;

pub use base::Base;
pub use value::Value;
pub use variation::POLICY;
pub(crate) use variation::Variation;

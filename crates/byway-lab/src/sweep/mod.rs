//! Grids of scenarios: what varies, how often each is run, and what comes out.
//!
//! A [`Plan`] is read from a sweep file ([`Plan::read`]) or made of scenarios
//! ([`Plan::of`]). [`run`] carries it out on all processors and gives its
//! [`Row`]s, one for each run, in the same order and with the same numbers
//! whatever the number of threads.

mod cells;
mod engine;
mod metrics;
mod patch;
mod plan;
mod read;
mod row;

pub use engine::{OnRow, Options, SweepError, run, run_row};
pub use metrics::{Kind, Metric};
pub use plan::{Axis, Cell, Load, Plan, StopRule};
pub use row::{Row, Status};

#[cfg(test)]
mod tests;

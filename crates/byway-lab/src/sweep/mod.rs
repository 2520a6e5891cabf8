//! Grids of scenarios: what varies, how often each is run, and what comes out.
//!
//! A [`Plan`] is read from a sweep file ([`Plan::read`]) or made of scenarios
//! ([`Plan::of`]). [`run`] carries it out on all processors and gives its
//! [`Row`]s, one for each run, in the same order and with the same numbers
//! whatever the number of threads.

mod cells;
mod compare;
mod engine;
mod journal;
mod load;
mod metrics;
mod patch;
mod plan;
mod read;
mod results;
mod row;
mod session;
mod store;
mod summary;

pub use compare::{Comparison, Pair, Question, compare_files, compare_values};
pub use engine::{OnRow, Options, SweepError, run, run_row};
pub use metrics::{Kind, Metric};
pub use plan::{Axis, Cell, Load, Plan, StopRule};
pub use results::{About, ResultCell, Results};
pub use row::{Row, Status};
pub use session::{Resumed, Session, journal_path, sweep};
pub use store::schema;
pub use summary::{CellSummary, MetricSummary, Summary};

#[cfg(test)]
mod disk_tests;
#[cfg(test)]
mod tests;

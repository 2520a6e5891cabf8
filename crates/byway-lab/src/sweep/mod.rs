//! Sweeps: grids of scenarios from a file, and their results on the disk.
//!
//! [`read`] makes a [`Plan`] of a sweep file; [`sweep`] carries it out with the
//! [engine](crate::engine) and writes its [`Results`]. A [`Dealer`] does the same with
//! workers in other processes, which get the plan as a [`Description`].

mod axes;
mod cells;
mod compare;
mod dealer;
mod description;
mod load;
mod read;
mod results;
mod session;
mod summary;
mod write;

pub use crate::engine::Plan;
pub use compare::{Comparison, Pair, Question, compare_files, compare_values};
pub use dealer::{Dealer, Dealt, Written, remove_journal};
pub use description::Description;
pub use read::{Load, parse, read};
pub use results::{About, ResultCell, Results};
pub use session::{Found, Session, journal_path, sweep};
pub use summary::{CellSummary, MetricSummary, Summary};
pub use write::schema;

#[cfg(test)]
mod dealer_tests;
#[cfg(test)]
mod disk_tests;
#[cfg(test)]
mod tests;

//! Runs plans: many scenarios, each with many seeds, on all processors.
//!
//! A [`Plan`] says what is run and what is measured. [`run`] carries out one or
//! several plans and gives their [`Row`]s, one for each run. The rows have the
//! same order and the same values whatever the number of threads. Runs that
//! are the same are done once (see `chain.rs`); a [`Store`] keeps what is done on
//! the disk, so that it is not done again.
//!
//! What is done next is decided in one place (`deal.rs`), for the threads of [`run`]
//! as for a [`Coordinator`], whose chunks a [`Worker`] may do on another machine.

mod chain;
mod chunk;
mod coordinator;
mod deal;
mod job;
mod journal;
mod options;
mod plan;
mod row;
mod rows;
mod simulate;
mod store;
#[cfg(test)]
pub(crate) mod testing;
mod tryout;
mod work;
mod worker;

pub use coordinator::{Chunk, Coordinator, TakeError};
pub use journal::Wording;
pub use options::{Done, EngineError, Options};
pub(crate) use plan::FORMAT;
pub use plan::{Axis, Cell, Plan, StopRule, Threshold};
pub use row::{Record, Row, Status};
pub use simulate::run_row;
pub use store::{Header, Resumed, Store};
pub use tryout::{Differs, try_out};
pub use work::run;
pub use worker::Worker;

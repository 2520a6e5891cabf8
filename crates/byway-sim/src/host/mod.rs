//! Hosts: an SCTP endpoint of the core, and the application on top of it.

mod app;
mod bulk;
mod periodic;
mod sink;

pub use app::{AppCtx, Application, Idle};
pub use bulk::{Bulk, BulkReport};
pub use periodic::{Periodic, PeriodicReport};
pub use sink::{Delivery, Sink, SinkReport};

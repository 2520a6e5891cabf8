//! Hosts: an SCTP endpoint of the core, and the application on top of it.

mod app;
mod sender;
mod sink;

pub use app::{AppCtx, Application, Idle};
pub use sender::{Sender, SenderReport};
pub use sink::{Delivery, Sink, SinkReport};

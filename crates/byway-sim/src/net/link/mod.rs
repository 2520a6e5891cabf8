//! One-way links. When a packet is offered to a link, it is known at
//! once whether and when it arrives at the other end.
//!
//! The order of the effects is ns-2's: outage, loss model, corruption and
//! duplication, drop-tail queue, transmission, propagation, jitter, reordering. A policer, which
//! ns-2's links do not have, stands before the queue.
//! Packets must be offered in time order. Then the link needs no events, because
//! all its changes are known in advance.

mod chunk_scan;
mod config;
mod effect;
mod fate;
mod loss;
mod losses;
mod policer;
mod queue;
mod rate;
mod running;
mod schedule;
#[cfg(test)]
mod tests;
mod times;

pub use config::LinkConfig;
pub use effect::{Corrupt, Duplicate, Reorder};
pub(crate) use fate::Fate;
pub use loss::{LossModel, PacketMatch, TsnDrop};
pub use policer::Policer;
pub use queue::QueueLimit;
pub use rate::{DeliveryTrace, Rate};
pub(crate) use running::Link;
pub use schedule::LinkChange;

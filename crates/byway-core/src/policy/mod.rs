//! The mechanisms of the papers as deciders. A decider reads a view of the paths and
//! returns a small value. It never sends, sets timers or changes a path.
//!
//! Three of them are traits that a user may implement and pass to
//! [`Custom`](crate::config::Custom): [`RetransmissionTarget`], [`Failover`] and
//! [`Detector`].

pub mod after_rto;
pub mod choice;
pub mod concurrent;
pub mod dead_data;
pub mod detector;
pub mod estimate;
pub mod failover;
pub mod fast_retransmit;
mod in_force;
pub mod mtu_discovery;
pub mod pacing;
pub mod probe_timeout;
pub mod probing;
pub mod rack;
pub mod retransmit;
pub mod revival;
pub mod rtt_sampling;
pub mod scheme;
pub(crate) mod spurious;
pub mod streams;
mod target;
#[cfg(test)]
mod testing;
pub mod trial;

pub use after_rto::AfterRto;
pub use concurrent::{Cuc, FillOrder, RtxPolicy, Scheduler};
pub use dead_data::DeadData;
pub use detector::{Detector, Doubt};
pub use estimate::{Choice, EstimateConfig, Formula};
pub use failover::Failover;
pub use fast_retransmit::FastRetransmits;
pub use mtu_discovery::MtuDiscovery;
pub use pacing::Pacing;
pub use probe_timeout::{DataMove, ProbeTimeout, Repeats, WaitsSince};
pub use probing::{Detection, Evidence, Verdict};
pub use rack::Rack;
pub use retransmit::{LossCause, RetransmissionTarget, RetransmitTarget};
pub use revival::Revival;
pub use rtt_sampling::RttSampling;
pub use scheme::Scheme;
pub use streams::StreamScheduler;
pub use trial::Trial;

//! Concurrent multipath transfer (CMT): new data on every path at once
//! (Iyengar, Amer and Stewart, "Concurrent Multipath Transfer Using SCTP
//! Multihoming Over Independent End-to-End Paths", IEEE/ACM Transactions on
//! Networking 14(5), 2006; natarajan-2006 for failures).
//!
//! Each rule has its own file: which path new data takes ([`choice`]), when a chunk is
//! reported missing ([`sfr`], [`dac`]), when a window grows ([`cuc`]), and where a lost
//! chunk is sent again ([`rtx`]). Beyond the paper, a [`scheduler`] spares paths that are
//! too slow ([`ecf`], [`blest`], [`earliest`]).

pub mod blest;
pub mod choice;
pub mod cuc;
pub mod dac;
pub mod earliest;
pub mod ecf;
pub mod outlook;
pub mod rtx;
pub mod scheduler;
pub mod sfr;

pub use choice::FillOrder;
pub use cuc::Cuc;
pub use outlook::{Load, Outlook};
pub use rtx::RtxPolicy;
pub use scheduler::Scheduler;

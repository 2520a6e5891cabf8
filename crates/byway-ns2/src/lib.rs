//! Compares byway with ns-2's SCTP module, packet by packet.
//!
//! A folder holds scenarios of the module's own validation suite (topology,
//! settings, losses, events) and the trace that ns-2 gives for each. The same
//! scenario runs in byway's simulator, and every DATA and SACK on every link
//! must have the same TSN, size and time.
#![forbid(unsafe_code)]

pub mod compare;
pub mod excuses;
pub mod grid;
pub mod network;
pub mod run;
pub mod scenario;
pub mod settings;
pub mod suite;
pub mod trace;
pub mod wire;

//! The whole stack over real sockets of this machine's loopback addresses.

mod attacks;
mod common;
mod ending;
mod failover;
mod fairness;
mod icmp;
mod raw;
mod restarting;
#[path = "../../src/skipped.rs"]
mod skipped;
mod stranger;
mod strangers;
mod transfer;
mod watching;
mod workers;

//! What the papers say, checked with byway: their claims and figures run again
//! ([`reproduce`]), their equations ([`analysis`]), the time that a failover
//! takes by the settings ([`failover_time`]), and their state machines
//! ([`machine`]).

#![forbid(unsafe_code)]

pub mod analysis;
pub mod failover_time;
pub mod machine;
pub mod reproduce;

/// The example of the README, as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

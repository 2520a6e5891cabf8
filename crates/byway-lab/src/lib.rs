//! Scenarios, runs, tables, pictures and reports for byway.

#![forbid(unsafe_code)]

pub mod address;
pub mod advise;
pub mod axis;
mod clock;
mod collect;
mod drive;
pub mod emulation;
pub mod engine;
pub mod live;
pub mod measures;
pub mod metrics;
mod network;
mod paths;
pub mod picture;
pub mod report;
pub mod result;
pub mod run;
pub mod scenario;
pub mod series;
pub mod show;
pub mod source;
pub mod stats;
pub mod sweep;
pub mod table;
pub mod terminal;
#[cfg(test)]
mod testing;
mod traffic;
pub mod trouble;
mod truth;
pub mod units;

/// The example of the README, as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

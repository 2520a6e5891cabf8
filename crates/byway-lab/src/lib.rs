//! Scenarios, runs, tables, pictures and reports for byway.

#![forbid(unsafe_code)]
#![cfg_attr(
    target_arch = "wasm32",
    allow(
        dead_code,
        unused_imports,
        reason = "what only sweeps use of the other modules"
    )
)]

pub mod address;
mod clock;
mod collect;
mod drive;
pub mod live;
pub mod measures;
mod network;
mod paths;
pub mod result;
pub mod run;
pub mod scenario;
pub mod series;
pub mod source;
#[cfg(test)]
mod testing;
mod traffic;
mod truth;
pub mod units;

// A web page (`byway-web`) runs scenarios and shows them itself: it has no files, threads or terminal.
#[cfg(not(target_arch = "wasm32"))]
pub mod advise;
#[cfg(not(target_arch = "wasm32"))]
pub mod axis;
#[cfg(not(target_arch = "wasm32"))]
pub mod emulation;
#[cfg(not(target_arch = "wasm32"))]
pub mod engine;
#[cfg(not(target_arch = "wasm32"))]
pub mod measured;
#[cfg(not(target_arch = "wasm32"))]
pub mod metrics;
#[cfg(not(target_arch = "wasm32"))]
pub mod options;
#[cfg(not(target_arch = "wasm32"))]
pub mod picture;
#[cfg(not(target_arch = "wasm32"))]
pub mod report;
#[cfg(not(target_arch = "wasm32"))]
pub mod show;
#[cfg(not(target_arch = "wasm32"))]
pub mod stats;
#[cfg(not(target_arch = "wasm32"))]
pub mod sweep;
#[cfg(not(target_arch = "wasm32"))]
pub mod table;
#[cfg(not(target_arch = "wasm32"))]
pub mod terminal;
#[cfg(not(target_arch = "wasm32"))]
pub mod transfer;
#[cfg(not(target_arch = "wasm32"))]
pub mod trouble;

/// The example of the README, as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

//! ns-2's SCTP module (release 2.35, by the authors of the caro and natarajan papers) as
//! a [dialect](byway_core::dialect) of byway's core.
//!
//! The papers used that module. [`Ns2Config`] names each rule in which it differs from
//! RFC 9260, and [`Ns2`] implements these rules, so that byway's runs can be compared
//! with the module's packet by packet. It is for simulations only.
#![forbid(unsafe_code)]

mod acks;
mod cmt;
mod coin;
mod config;
mod failures;
mod heartbeats;
mod marks;
mod missing;
mod ns2;
mod release;
mod settings;
mod t3;
mod windows;

pub use config::Ns2Config;
pub use ns2::Ns2;
pub use settings::Settings;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

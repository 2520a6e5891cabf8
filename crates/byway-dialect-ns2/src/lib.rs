//! How ns-2's SCTP module (release 2.35, by the authors of the caro and natarajan
//! papers) reads the standard: a [dialect](byway_core::dialect) of byway's core.
//!
//! The papers ran on that module. Where it contradicts RFC 9260, [`Ns2Config`]
//! names the difference, and [`Ns2`] acts on it, so that byway's runs can be
//! compared with the module's packet by packet. The laboratory uses it; nothing
//! that opens a socket does.
//!
//! ```
//! use byway_dialect_ns2::Settings;
//!
//! let mut settings = Settings::preset("ns2")?;
//! settings.congestion.fast_retransmit_threshold = 4; // settings of the core
//! settings.ns2.partial_bytes_late = true; // and of the module
//! let config = settings.build(); // what an endpoint is given
//! assert!(config.dialect.is_some());
//! # Ok::<(), byway_core::ConfigError>(())
//! ```
#![forbid(unsafe_code)]

mod acks;
mod cmt;
mod coin;
mod config;
mod failures;
mod heartbeats;
mod missing;
mod ns2;
mod release;
mod settings;
mod t3;
mod windows;

pub use config::Ns2Config;
pub use ns2::Ns2;
pub use settings::Settings;

//! cortes-2008 on real sockets: what was seen, beside the simulation and the paper.
//!
//! The processes and the network belong to the command (`byway reproduce cortes-2008 --real`);
//! here is what is made of the times at which messages arrived: the time from the unplugging to
//! the first delivery over the other path, a table, and figure 2.

mod page;
mod record;
mod simulated;
mod text;

pub use page::html;
pub use record::{Arm, Arrival, Experiment, Flow, Measured, SCHEMA, Spread};
pub use simulated::simulated;
pub use text::render;

/// Length of a message, bytes (section III).
pub const MESSAGE: usize = 40;
/// Time from one message to the next, milliseconds (section III).
pub const EVERY_MS: u64 = 100;
/// Time from the first message to the unplugging, seconds (section III).
pub const UNPLUGGED_AFTER_S: f64 = 15.0;
/// The standard's settings: the preset, and each setting that is changed.
pub const STANDARD: (&str, &[(&str, &str)]) =
    ("rfc2960", &[("retransmission.target", "AllRtxSame")]);
/// The detector's settings, Dmax = 10 s and n = 10.
pub const DECOUPLED: (&str, &[(&str, &str)]) = (
    "rfc2960",
    &[
        ("retransmission.target", "AllRtxSame"),
        ("failure.path_max_retrans", "100"),
        ("failure.association_max_retrans", "100"),
        (
            "failure.detection",
            "{ Probing = { dmax = \"10 s\", n = 10 } }",
        ),
    ],
);

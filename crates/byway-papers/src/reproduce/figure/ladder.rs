//! The packets of a run between the interfaces of two hosts.

/// The packets of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Ladder {
    /// The names of the paths, one or two.
    pub paths: Vec<String>,
    /// The packets, in order of sending.
    pub hops: Vec<Hop>,
    /// Expirations of T3-rtx: when, seconds, and of which path.
    pub timeouts: Vec<(f64, usize)>,
}

/// A packet.
#[derive(Clone, Debug, PartialEq)]
pub struct Hop {
    /// The place of its path.
    pub path: usize,
    /// Whether it goes from the sender to the receiver.
    pub forward: bool,
    /// What it carries.
    pub label: String,
    /// The place of what it carries among the figure's names.
    pub kind: usize,
    /// When it was sent, seconds.
    pub from: f64,
    /// When it arrives or was lost.
    pub to: f64,
    /// Whether it was lost.
    pub lost: bool,
}

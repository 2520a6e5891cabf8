//! The window before a reduction, for its undoing.

/// cwnd and ssthresh of a path before a reduction that proved to be spurious, in bytes.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Reduced {
    /// Congestion window.
    pub cwnd: u32,
    /// Slow start threshold.
    pub ssthresh: u32,
}

//! The order of events that happen at the same time.

/// The order of events at the same nanosecond.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub enum Simultaneous {
    /// Packets before timers, and packets in the order of their links' numbers. This
    /// depends only on the topology. The default.
    #[default]
    ByLink,
    /// As in ns-2, whose clock is a 64-bit float of seconds. The time of an event is the
    /// time of its cause plus a delay, with the rounding of floats. At equal times the
    /// event that was scheduled first comes first. A packet's arrival is scheduled when
    /// its transmission begins, so every hop is an event.
    AsScheduled,
}

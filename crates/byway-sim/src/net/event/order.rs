//! The order of events that happen at the same time.

/// What happens first of what happens at the same nanosecond.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub enum Simultaneous {
    /// Packets before timers, packets in the order of their links' numbers: a
    /// property of the topology. The default.
    #[default]
    ByLink,
    /// As in ns-2, whose clock is a 64-bit float of seconds: by that clock, each
    /// event's time being that of its cause plus a delay, rounding included;
    /// then what was scheduled first. A packet's arrival is scheduled when its
    /// transmission begins. Every hop is an event then.
    AsScheduled,
}

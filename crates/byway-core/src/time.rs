//! Virtual time: an instant that starts at zero and never reads a clock.
//!
//! Every call of the core passes the current time. A simulator passes its own clock and
//! a driver passes the time since its start, and both get the same behaviour.

use core::fmt;
use core::num::NonZeroU64;
use core::ops::{Add, AddAssign, Sub};
pub use core::time::Duration;

/// Nanoseconds since the start of the run. 2^64 ns are 584 years.
// The stored value is one more than the nanoseconds. So an `Option<Instant>`, of which
// a path has about twelve, is no larger than an `Instant`.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant(NonZeroU64);

impl Default for Instant {
    fn default() -> Instant {
        Instant::ZERO
    }
}

impl Instant {
    /// The start of the run.
    pub const ZERO: Instant = Instant(NonZeroU64::MIN);
    /// Later than anything that happens.
    pub const FAR_FUTURE: Instant = Instant(NonZeroU64::MAX);

    /// The instant `nanos` nanoseconds after the start.
    #[must_use]
    pub const fn from_nanos(nanos: u64) -> Instant {
        Instant(NonZeroU64::MIN.saturating_add(nanos))
    }

    /// The instant `millis` milliseconds after the start.
    #[must_use]
    pub const fn from_millis(millis: u64) -> Instant {
        Instant::from_nanos(millis * 1_000_000)
    }

    /// The instant `secs` seconds after the start, rounded to nanoseconds.
    /// Negative and non-finite values become zero.
    #[must_use]
    pub fn from_secs_f64(secs: f64) -> Instant {
        // A float-to-int `as` saturates, so no input can wrap.
        Instant::from_nanos((secs * 1e9).round() as u64)
    }

    /// Nanoseconds since the start.
    #[must_use]
    pub const fn as_nanos(self) -> u64 {
        self.0.get() - 1
    }

    /// Seconds since the start.
    #[must_use]
    pub fn as_secs_f64(self) -> f64 {
        self.as_nanos() as f64 / 1e9
    }

    /// The instant this number of nanoseconds later.
    #[inline]
    #[must_use]
    pub(crate) const fn plus_nanos(self, nanos: u64) -> Instant {
        Instant(self.0.saturating_add(nanos))
    }

    /// Time from `earlier` to `self`; zero when `earlier` is later.
    #[must_use]
    pub const fn since(self, earlier: Instant) -> Duration {
        Duration::from_nanos(self.0.get().saturating_sub(earlier.0.get()))
    }
}

/// A duration in nanoseconds, saturating at 584 years.
#[must_use]
pub(crate) const fn nanos(d: Duration) -> u64 {
    match d.as_secs().checked_mul(1_000_000_000) {
        Some(n) => n.saturating_add(d.subsec_nanos() as u64),
        None => u64::MAX,
    }
}

impl Add<Duration> for Instant {
    type Output = Instant;
    fn add(self, d: Duration) -> Instant {
        Instant(self.0.saturating_add(nanos(d)))
    }
}

impl AddAssign<Duration> for Instant {
    fn add_assign(&mut self, d: Duration) {
        *self = *self + d;
    }
}

impl Sub<Instant> for Instant {
    type Output = Duration;
    fn sub(self, earlier: Instant) -> Duration {
        self.since(earlier)
    }
}

/// Not before [`Instant::ZERO`].
impl Sub<Duration> for Instant {
    type Output = Instant;
    fn sub(self, d: Duration) -> Instant {
        Instant::from_nanos((self.0.get() - 1).saturating_sub(nanos(d)))
    }
}

impl fmt::Debug for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.6}s", self.as_secs_f64())
    }
}

impl fmt::Display for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.6}", self.as_secs_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_are_rounded_to_nanoseconds_and_nothing_is_before_the_start() {
        for (secs, nanos) in [
            (1.5, 1_500_000_000),
            (0.000_000_000_6, 1),
            (-1.0, 0),
            (f64::NAN, 0),
        ] {
            assert_eq!(Instant::from_secs_f64(secs).as_nanos(), nanos, "{secs}");
        }
        assert_eq!(Instant::from_secs_f64(f64::INFINITY), Instant::FAR_FUTURE);
    }

    /// As the time of a packet in a log.
    #[test]
    fn an_instant_is_written_in_seconds_with_microseconds() {
        let at = Instant::from_nanos(1_234_567_890);
        assert_eq!(
            (format!("{at}"), format!("{at:?}")),
            ("1.234568".into(), "1.234568s".into())
        );
    }

    #[test]
    fn a_time_that_no_clock_reaches_is_the_far_future() {
        assert_eq!(Instant::ZERO + Duration::MAX, Instant::FAR_FUTURE);
        assert_eq!(Instant::from_millis(7) - Duration::MAX, Instant::ZERO);
    }
}

//! How fast a link transmits: a bit rate, no limit, or a recorded trace of
//! delivery opportunities.

use crate::net::clock::nanos;
use crate::net::error::BadValue;
use byway_core::time::{Duration, Instant};
use std::sync::Arc;

const NANOS_PER_SEC: u64 = 1_000_000_000;

/// How fast a link puts packets on the wire.
#[derive(Clone, PartialEq, Debug, Default)]
pub enum Rate {
    /// Transmission takes no time. The default.
    #[default]
    Unlimited,
    /// Bits per second. At 0 packets wait in the queue until the rate changes;
    /// a packet that no later change releases is dropped as
    /// [`DropReason::NeverSent`](crate::net::DropReason::NeverSent).
    BitsPerSecond(u64),
    /// Packets leave at recorded opportunities, as on a cellular link.
    Opportunities(DeliveryTrace),
}

impl Rate {
    /// `n` megabits (10^6 bits) per second.
    #[must_use]
    pub const fn mbps(n: u64) -> Rate {
        Rate::BitsPerSecond(n * 1_000_000)
    }

    pub(super) fn check(&self) -> Result<(), BadValue> {
        match self {
            Rate::Opportunities(trace) => trace.check(),
            Rate::Unlimited | Rate::BitsPerSecond(_) => Ok(()),
        }
    }
}

/// A repeating list of times at which a fixed number of bytes can leave. Measured
/// cellular links are commonly published in this form, with milliseconds and 1504
/// bytes; see [`DeliveryTrace::from_millis_text`].
///
/// Several packets may share an opportunity, and one packet may use several.
/// Unused bytes are lost.
#[derive(Clone, PartialEq, Debug)]
pub struct DeliveryTrace {
    moments: Arc<[u64]>,
    period: u64,
    bytes: u32,
}

impl DeliveryTrace {
    /// Opportunities of `bytes` bytes each at `moments` after the start of the run,
    /// repeated after each `period`. The moments may be in any order, and several
    /// may be equal.
    #[must_use]
    pub fn new(moments: &[Instant], period: Duration, bytes: u32) -> DeliveryTrace {
        let mut moments: Vec<u64> = moments.iter().map(|m| m.as_nanos()).collect();
        moments.sort_unstable();
        DeliveryTrace {
            moments: moments.into(),
            period: nanos(period),
            bytes,
        }
    }

    /// Reads one opportunity per line, in whole milliseconds. The largest is also
    /// the period. Empty lines are ignored.
    ///
    /// # Errors
    /// The number, from 1, of the first line that cannot be read.
    pub fn from_millis_text(text: &str, bytes: u32) -> Result<DeliveryTrace, usize> {
        let mut moments = Vec::new();
        for (i, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() {
                continue;
            }
            let millis: u32 = line.parse().map_err(|_| i + 1)?;
            moments.push(Instant::from_millis(u64::from(millis)));
        }
        let period = moments.iter().max().copied().unwrap_or_default();
        Ok(DeliveryTrace::new(&moments, period - Instant::ZERO, bytes))
    }

    fn check(&self) -> Result<(), BadValue> {
        let bad = |name, value, range| Err(BadValue { name, value, range });
        match self.moments.last() {
            None => bad("number of opportunities", 0.0, "at least 1"),
            Some(_) if self.bytes == 0 => bad("bytes per opportunity", 0.0, "at least 1"),
            Some(&last) if self.period == 0 || last > self.period => bad(
                "period of the opportunities (ns)",
                self.period as f64,
                "positive and not before the last opportunity",
            ),
            Some(_) => Ok(()),
        }
    }

    /// When opportunity number `index`, counted over all repetitions, comes.
    fn moment(&self, index: u64) -> u64 {
        let n = self.moments.len() as u64;
        (index / n)
            .saturating_mul(self.period)
            .saturating_add(self.moments[(index % n) as usize])
    }

    /// Number of the first opportunity at or after `at`.
    fn first_from(&self, at: u64) -> u64 {
        let n = self.moments.len() as u64;
        // An opportunity at the very end of a period belongs to the round before.
        let round = at.saturating_sub(1) / self.period;
        let within = at - round * self.period;
        round * n + self.moments.partition_point(|&m| m < within) as u64
    }
}

/// A rate with its state.
#[derive(Clone, Debug)]
pub(super) enum RateState {
    Unlimited,
    Bits(u64),
    Trace(TraceState),
}

#[derive(Clone, Debug)]
pub(super) struct TraceState {
    trace: DeliveryTrace,
    /// Number of the first opportunity that is not used up, and its bytes left.
    index: u64,
    left: u32,
}

impl RateState {
    pub(super) fn new(rate: &Rate) -> RateState {
        match rate {
            Rate::Unlimited => RateState::Unlimited,
            Rate::BitsPerSecond(bits) => RateState::Bits(*bits),
            Rate::Opportunities(trace) => RateState::Trace(TraceState {
                trace: trace.clone(),
                index: 0,
                left: trace.bytes,
            }),
        }
    }

    /// Frees the opportunities after `at`: the packets that would have used them have
    /// been dropped.
    pub(super) fn rewind(&mut self, at: u64) {
        if let RateState::Trace(state) = self {
            state.index = state.index.min(state.trace.first_from(at));
            state.left = state.trace.bytes;
        }
    }
}

impl TraceState {
    /// When the last of `bytes` bytes, ready at `at`, leaves.
    pub(super) fn serve(&mut self, at: u64, bytes: u32) -> u64 {
        if self.trace.moment(self.index) < at {
            self.index = self.trace.first_from(at);
            self.left = self.trace.bytes;
        }
        let mut needed = bytes;
        while needed > self.left {
            needed -= self.left;
            self.index += 1;
            self.left = self.trace.bytes;
        }
        self.left -= needed;
        self.trace.moment(self.index)
    }
}

/// Nanoseconds to transmit `bits` at `rate` bits per second (not 0), rounded up.
pub(super) fn transmission(bits: u64, rate: u64) -> u64 {
    match bits.checked_mul(NANOS_PER_SEC) {
        Some(product) => product.div_ceil(rate),
        None => (u128::from(bits) * u128::from(NANOS_PER_SEC))
            .div_ceil(u128::from(rate))
            .min(u128::from(u64::MAX)) as u64,
    }
}

/// Transmission time of one byte at `rate` bits per second (not 0), if it is a
/// whole number of nanoseconds, as at all common rates.
pub(super) fn whole_nanos_per_byte(rate: u64) -> Option<u32> {
    const BYTE: u64 = 8 * NANOS_PER_SEC;
    if !BYTE.is_multiple_of(rate) {
        return None;
    }
    u32::try_from(BYTE / rate).ok()
}

/// Whole bits that `rate` bits per second transmit in `nanos`.
pub(super) fn bits_in(nanos: u64, rate: u64) -> u64 {
    let bits = u128::from(nanos) * u128::from(rate) / u128::from(NANOS_PER_SEC);
    bits.min(u128::from(u64::MAX)) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn trace(text: &str) -> TraceState {
        let trace = DeliveryTrace::from_millis_text(text, 1500).expect("numbers only");
        trace.check().expect("a valid trace");
        let RateState::Trace(state) = RateState::new(&Rate::Opportunities(trace)) else {
            unreachable!("made from opportunities");
        };
        state
    }

    #[test]
    fn opportunities_are_shared_split_and_repeated() {
        let mut t = trace("2\n2\n5\n10\n");
        assert_eq!(t.serve(0, 1500), 2 * MS);
        assert_eq!(t.serve(0, 700), 2 * MS);
        assert_eq!(t.serve(0, 800), 2 * MS, "fits into the rest");
        assert_eq!(t.serve(0, 1600), 10 * MS, "needs two");
        assert_eq!(t.serve(11 * MS, 100), 12 * MS, "second round");
        assert_eq!(
            t.serve(13 * MS, 1500),
            15 * MS,
            "unused opportunities are lost"
        );
        assert_eq!(t.serve(1000 * MS, 1500), 1000 * MS);
    }

    #[test]
    fn text_errors_name_the_line() {
        assert_eq!(DeliveryTrace::from_millis_text("1\n\nx\n", 1500), Err(3));
    }

    #[test]
    fn transmission_rounds_up_and_never_overflows() {
        assert_eq!(transmission(12_000, 10_000_000), 1_200_000);
        assert_eq!(transmission(1, 3), 333_333_334);
        assert_eq!(whole_nanos_per_byte(10_000_000), Some(800));
        assert_eq!(whole_nanos_per_byte(3_000_000), None, "2666.7");
        assert_eq!(whole_nanos_per_byte(1), None, "does not fit");
        assert_eq!(whole_nanos_per_byte(u64::MAX), None);
        assert_eq!(transmission(u64::MAX, 1), u64::MAX);
        assert_eq!(bits_in(1_200_000, 10_000_000), 12_000);
    }
}

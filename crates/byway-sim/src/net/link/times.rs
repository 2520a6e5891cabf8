//! How long a packet takes on a link of constant rate.

use super::rate::{self, RateState};
use crate::net::clock;

const UNLIMITED: u64 = u64::MAX;

/// Transmission times at the current rate. The last one is cached, because most packets
/// have the size of the previous one.
#[derive(Debug)]
pub(super) struct TransmissionTimes {
    /// Bits per second; `UNLIMITED`, or 0 if a single number does not describe
    /// the rate (rate 0, delivery trace).
    rate: u64,
    /// Transmission time of one byte, if that is a whole number of nanoseconds;
    /// else 0.
    nanos_per_byte: u64,
    /// The last size, and its transmission time in nanoseconds.
    last_size: u32,
    last_nanos: u64,
    /// The last size asked for in seconds, its transmission time and the
    /// propagation delay.
    seconds_size: u32,
    seconds: (f64, f64),
}

impl TransmissionTimes {
    pub(super) fn new(rate: &RateState) -> TransmissionTimes {
        let rate = match rate {
            RateState::Unlimited => UNLIMITED,
            RateState::Bits(rate) => (*rate).min(UNLIMITED - 1),
            RateState::Trace(_) => 0,
        };
        let nanos_per_byte = match rate {
            UNLIMITED | 0 => 0,
            rate => rate::whole_nanos_per_byte(rate).map_or(0, u64::from),
        };
        TransmissionTimes {
            rate,
            nanos_per_byte,
            last_size: u32::MAX,
            last_nanos: 0,
            seconds_size: u32::MAX,
            seconds: (0.0, 0.0),
        }
    }

    /// Nanoseconds for `size` bytes; `u64::MAX` if the rate is not constant.
    #[inline(always)]
    pub(super) fn nanos(&mut self, size: u32) -> u64 {
        match self.nanos_per_byte {
            0 => self.divided_nanos(size),
            // Both factors have at most 32 bits.
            nanos => u64::from(size) * nanos,
        }
    }

    /// For rates at which a byte does not take whole nanoseconds.
    fn divided_nanos(&mut self, size: u32) -> u64 {
        if size != self.last_size {
            self.last_size = size;
            self.last_nanos = match self.rate {
                UNLIMITED => 0,
                // Computed for every packet by `Timeline::departure`.
                0 => u64::MAX,
                rate => rate::transmission(u64::from(size) * 8, rate),
            };
        }
        self.last_nanos
    }

    /// Transmission time and propagation delay in seconds; the first is 0 if the
    /// rate is not constant.
    #[inline]
    pub(super) fn seconds(&mut self, size: u32, delay: u64) -> (f64, f64) {
        if size != self.seconds_size {
            let sends = match self.rate {
                UNLIMITED | 0 => 0.0,
                rate => 8.0 * f64::from(size) / rate as f64,
            };
            self.seconds_size = size;
            self.seconds = (sends, clock::seconds(delay));
        }
        self.seconds
    }
}

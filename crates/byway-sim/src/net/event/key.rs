//! Keys: the order of events in one number.

use super::order::Simultaneous;
use crate::net::clock::seconds;

/// The place of an event in the order of all events. The upper half is the time,
/// in nanoseconds or as the bits of a float of seconds, which sort like the
/// float. The lower half is kind (2 bits), number (22) and insertion count (40);
/// with [`Simultaneous::AsScheduled`] the count comes first.
/// As wide as a machine vector, so that the heap moves it in one piece.
pub(crate) type Key = u128;

pub(super) const NUMBER_BITS: u32 = 22;
pub(super) const COUNT_BITS: u32 = 40;

/// Links, sources and timers each have fewer than this many members.
pub(crate) const MAX_NUMBER: u32 = 1 << NUMBER_BITS;

pub(super) const HOP: u64 = 0;
pub(super) const TRAFFIC: u64 = 1;
pub(super) const TIMER: u64 = 2;
pub(super) const TRANSMISSION_END: u64 = 3;
pub(super) const KIND_BITS: u32 = 2;

/// The time of a key in nanoseconds.
#[inline]
pub(super) fn time(key: Key, order: Simultaneous) -> u64 {
    let time = (key >> 64) as u64;
    match order {
        Simultaneous::ByLink => time,
        Simultaneous::AsScheduled => nanos_of_bits(time),
    }
}

/// Nanoseconds of a time in seconds, given as the bits of a float. Not inlined,
/// like the next one, so that the default order computes nothing in floats.
#[cold]
#[inline(never)]
pub(super) fn nanos_of_bits(seconds: u64) -> u64 {
    let nanos = f64::from_bits(seconds) * 1e9;
    if nanos >= 9e18 {
        return nanos.round() as u64;
    }
    // The same result as `round`, which would be a library call for every event.
    let whole = nanos as i64;
    let half = nanos - whole as f64 >= 0.5;
    whole as u64 + u64::from(half)
}

/// A time in seconds, as the bits of a float.
#[cold]
#[inline(never)]
pub(super) fn seconds_in_bits(nanos: u64) -> u64 {
    seconds(nanos).to_bits()
}

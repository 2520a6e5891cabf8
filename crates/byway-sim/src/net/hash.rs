//! Hashing of addresses for the tables that every packet looks into.

use std::net::IpAddr;

/// An odd number close to 2^64 divided by the golden ratio. Multiplying by it
/// spreads close numbers over the upper bits (Fibonacci hashing).
pub(crate) const SPREAD: u64 = 0x9E37_79B9_7F4A_7C15;

/// An address in 64 bits. IPv4 addresses are unchanged, and no two are equal.
#[inline]
pub(crate) fn folded(address: &IpAddr) -> u64 {
    match address {
        IpAddr::V4(a) => u64::from(a.to_bits()),
        IpAddr::V6(a) => {
            let bits = a.to_bits();
            (bits as u64) ^ ((bits >> 64) as u64).rotate_left(29) ^ 1
        }
    }
}

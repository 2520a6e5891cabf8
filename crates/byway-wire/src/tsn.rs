//! Serial-number arithmetic for TSNs, stream sequence numbers and the other
//! wrapping counters of SCTP (RFC 1982; RFC 9260 section 1.6).

/// A Transmission Sequence Number: 32 bits, wraps, compared by RFC 1982.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Tsn(pub u32);

impl Tsn {
    /// The TSN `n` places later, wrapping at 2^32.
    #[must_use]
    pub const fn plus(self, n: u32) -> Tsn {
        Tsn(self.0.wrapping_add(n))
    }

    /// The TSN `n` places earlier, wrapping at zero.
    #[must_use]
    pub const fn minus(self, n: u32) -> Tsn {
        Tsn(self.0.wrapping_sub(n))
    }

    /// How far `self` is ahead of `other`: positive if later, negative if earlier. A
    /// distance of exactly 2^31 is undefined in RFC 1982 and counts as earlier here.
    #[must_use]
    pub const fn ahead_of(self, other: Tsn) -> i32 {
        self.0.wrapping_sub(other.0).cast_signed()
    }

    /// Whether `self` comes strictly before `other`.
    #[must_use]
    pub const fn is_before(self, other: Tsn) -> bool {
        self.ahead_of(other) < 0
    }

    /// Whether `self` comes strictly after `other`.
    #[must_use]
    pub const fn is_after(self, other: Tsn) -> bool {
        self.ahead_of(other) > 0
    }
}

impl core::fmt::Display for Tsn {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        self.0.fmt(f)
    }
}

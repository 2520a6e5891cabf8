//! The numbers of ordered messages: Stream Sequence Numbers of DATA (RFC 9260 section 6.6), and
//! Message Identifiers of I-DATA (RFC 8260 section 2.1).

use super::ready::Ready;

/// The number of a message in its stream. It wraps.
pub(super) trait Number: Copy + Ord + Default {
    /// The number of a message.
    fn of(ready: &Ready) -> Self;
    /// The number after it.
    fn following(self) -> Self;
    /// How far it is ahead of `other`.
    fn ahead_of(self, other: Self) -> Self;
}

impl Number for u16 {
    #[inline]
    fn of(ready: &Ready) -> u16 {
        ready.message.ssn
    }

    #[inline]
    fn following(self) -> u16 {
        self.wrapping_add(1)
    }

    #[inline]
    fn ahead_of(self, other: u16) -> u16 {
        self.wrapping_sub(other)
    }
}

impl Number for u32 {
    #[inline]
    fn of(ready: &Ready) -> u32 {
        ready.mid
    }

    #[inline]
    fn following(self) -> u32 {
        self.wrapping_add(1)
    }

    #[inline]
    fn ahead_of(self, other: u32) -> u32 {
        self.wrapping_sub(other)
    }
}

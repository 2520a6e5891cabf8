//! What to do with chunks and parameters of unknown type.

/// What a receiver does with a chunk or parameter type that it does not know;
/// the type's upper two bits say it (RFC 9260 sections 3.2 and 3.2.1).
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub enum UnknownAction {
    /// `00`: stop, and drop what follows.
    Stop,
    /// `01`: stop, drop what follows, and report it in an ERROR (a chunk), or
    /// in an ERROR or INIT ACK (a parameter).
    StopAndReport,
    /// `10`: skip it and go on.
    Skip,
    /// `11`: skip it, go on, and report it.
    SkipAndReport,
}

impl UnknownAction {
    pub(crate) const fn from_top_bits(bits: u8) -> UnknownAction {
        match bits {
            0 => UnknownAction::Stop,
            1 => UnknownAction::StopAndReport,
            2 => UnknownAction::Skip,
            _ => UnknownAction::SkipAndReport,
        }
    }

    /// Whether the rest of the packet (or of the chunk's parameters) is dropped.
    #[must_use]
    pub const fn stops(self) -> bool {
        matches!(self, UnknownAction::Stop | UnknownAction::StopAndReport)
    }

    /// Whether the sender is told.
    #[must_use]
    pub const fn reports(self) -> bool {
        matches!(
            self,
            UnknownAction::StopAndReport | UnknownAction::SkipAndReport
        )
    }
}

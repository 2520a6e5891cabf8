//! What to do with chunks and parameters of unknown type.

/// What a receiver does with a chunk or parameter whose type it does not know. The upper
/// two bits of the type decide this (RFC 9260 sections 3.2 and 3.2.1).
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub enum UnknownAction {
    /// `00`: stop, and discard the rest.
    Stop,
    /// `01`: stop, discard the rest, and report the type: a chunk in an ERROR, a
    /// parameter in an ERROR or INIT ACK.
    StopAndReport,
    /// `10`: skip it and continue.
    Skip,
    /// `11`: skip it, continue, and report the type.
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

    /// Whether the rest of the packet, or of the chunk's parameters, is discarded.
    #[must_use]
    pub const fn stops(self) -> bool {
        matches!(self, UnknownAction::Stop | UnknownAction::StopAndReport)
    }

    /// Whether the type is reported to the sender.
    #[must_use]
    pub const fn reports(self) -> bool {
        matches!(
            self,
            UnknownAction::StopAndReport | UnknownAction::SkipAndReport
        )
    }
}

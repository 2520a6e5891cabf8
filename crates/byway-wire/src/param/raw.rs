//! A parameter with known bounds and unread contents.

use crate::error::ParamError;
use crate::tlv::Tlv;
use crate::u16_list::U16List;
use crate::unknown_action::UnknownAction;

/// A parameter with known bounds, whose contents have not been read.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub struct RawParam<'a> {
    /// Parameter type, see [`param_type`](super::param_type).
    pub kind: u16,
    /// The bytes after the parameter header, without padding.
    pub value: &'a [u8],
    /// Header and value, without padding.
    pub bytes: &'a [u8],
}

impl<'a> RawParam<'a> {
    /// What a receiver that does not know this parameter type does with it.
    #[must_use]
    pub const fn unknown_action(kind: u16) -> UnknownAction {
        UnknownAction::from_top_bits((kind >> 14) as u8)
    }
}

impl<'a> From<Tlv<'a>> for RawParam<'a> {
    #[inline]
    fn from(tlv: Tlv<'a>) -> Self {
        RawParam {
            kind: tlv.kind(),
            value: tlv.value,
            bytes: tlv.bytes,
        }
    }
}

/// Reading fields of the value, with all length checks.
impl<'a> RawParam<'a> {
    pub(super) fn bad_length(&self, rule: &'static str) -> ParamError {
        ParamError::Length {
            kind: self.kind,
            have: self.value.len(),
            rule,
        }
    }

    /// The value, which must have exactly `N` bytes.
    pub(super) fn exactly<const N: usize>(
        &self,
        rule: &'static str,
    ) -> Result<&'a [u8; N], ParamError> {
        self.value.try_into().map_err(|_| self.bad_length(rule))
    }

    /// The first `N` bytes of the value, and the rest.
    pub(super) fn at_least<const N: usize>(
        &self,
        rule: &'static str,
    ) -> Result<(&'a [u8; N], &'a [u8]), ParamError> {
        self.value
            .split_first_chunk()
            .ok_or_else(|| self.bad_length(rule))
    }

    pub(super) fn number(&self) -> Result<u32, ParamError> {
        self.exactly("this number has 4")
            .map(|&bytes| u32::from_be_bytes(bytes))
    }

    pub(super) fn u16_list(&self, bytes: &'a [u8]) -> Result<U16List<'a>, ParamError> {
        U16List::new(bytes)
            .ok_or_else(|| self.bad_length("a list of 16-bit numbers has an even count"))
    }
}

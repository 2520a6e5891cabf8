//! A cause with known bounds and unread contents.

use crate::error::CauseError;

/// A cause with known bounds, whose contents have not been read.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub struct RawCause<'a> {
    /// Cause code, see [`cause_code`](super::cause_code).
    pub code: u16,
    /// The bytes after the cause header, without padding.
    pub value: &'a [u8],
    /// Header and value, without padding.
    pub bytes: &'a [u8],
}

impl<'a> RawCause<'a> {
    pub(super) fn bad_length(&self, rule: &'static str) -> CauseError {
        CauseError::Length {
            code: self.code,
            have: self.value.len(),
            rule,
        }
    }

    pub(super) fn exactly<const N: usize>(
        &self,
        rule: &'static str,
    ) -> Result<&'a [u8; N], CauseError> {
        self.value.try_into().map_err(|_| self.bad_length(rule))
    }

    pub(super) fn empty(&self) -> Result<(), CauseError> {
        self.exactly::<0>("this cause has none").map(|_| ())
    }
}

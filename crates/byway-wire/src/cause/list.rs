//! Lists of causes.

use super::raw::RawCause;
use crate::error::CauseError;
use crate::tlv::Tlvs;

/// The causes of a chunk, not yet read.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct Causes<'a>(&'a [u8]);

impl<'a> Causes<'a> {
    /// Takes bytes as a cause list.
    #[must_use]
    pub const fn new(bytes: &'a [u8]) -> Self {
        Causes(bytes)
    }

    /// The causes in order, up to the first wrong length.
    #[must_use]
    pub const fn iter(&self) -> CauseIter<'a> {
        CauseIter(Tlvs::new(self.0))
    }

    /// The bytes of the list.
    #[must_use]
    pub const fn as_bytes(&self) -> &'a [u8] {
        self.0
    }
}

impl<'a> IntoIterator for Causes<'a> {
    type Item = Result<RawCause<'a>, CauseError>;
    type IntoIter = CauseIter<'a>;

    fn into_iter(self) -> CauseIter<'a> {
        self.iter()
    }
}

/// Iterates over [`Causes`]. Ends after the first error.
#[derive(Copy, Clone, Debug)]
pub struct CauseIter<'a>(Tlvs<'a>);

impl<'a> Iterator for CauseIter<'a> {
    type Item = Result<RawCause<'a>, CauseError>;

    fn next(&mut self) -> Option<Self::Item> {
        Some(match self.0.next()? {
            Ok(tlv) => Ok(RawCause {
                code: tlv.kind(),
                value: tlv.value,
                bytes: tlv.bytes,
            }),
            Err(error) => Err(CauseError::List(error)),
        })
    }
}

impl core::iter::FusedIterator for CauseIter<'_> {}

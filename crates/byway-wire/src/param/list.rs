//! Lists of parameters.

use super::raw::RawParam;
use crate::error::ParamError;
use crate::tlv::Tlvs;

/// The parameters of a chunk, not yet read.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct Params<'a>(&'a [u8]);

impl<'a> Params<'a> {
    /// Takes bytes as a parameter list.
    #[must_use]
    pub const fn new(bytes: &'a [u8]) -> Self {
        Params(bytes)
    }

    /// The parameters in order, up to the first wrong length.
    #[must_use]
    pub const fn iter(&self) -> ParamIter<'a> {
        ParamIter(Tlvs::new(self.0))
    }

    /// The bytes of the list.
    #[must_use]
    pub const fn as_bytes(&self) -> &'a [u8] {
        self.0
    }

    /// The first parameter of a type, if all lengths before it are right.
    #[must_use]
    pub fn find(&self, kind: u16) -> Option<RawParam<'a>> {
        self.iter()
            .map_while(Result::ok)
            .find(|param| param.kind == kind)
    }
}

impl<'a> IntoIterator for Params<'a> {
    type Item = Result<RawParam<'a>, ParamError>;
    type IntoIter = ParamIter<'a>;

    fn into_iter(self) -> ParamIter<'a> {
        self.iter()
    }
}

/// Iterates over [`Params`]. Ends after the first error.
#[derive(Copy, Clone, Debug)]
pub struct ParamIter<'a>(Tlvs<'a>);

impl<'a> Iterator for ParamIter<'a> {
    type Item = Result<RawParam<'a>, ParamError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        Some(match self.0.next()? {
            Ok(tlv) => Ok(RawParam::from(tlv)),
            Err(error) => Err(ParamError::List(error)),
        })
    }
}

impl core::iter::FusedIterator for ParamIter<'_> {}

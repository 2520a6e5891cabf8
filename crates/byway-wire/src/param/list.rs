//! Walking lists of parameters, and lists of 16-bit numbers inside them.

use super::read::Param;
use crate::chunk::UnknownAction;
use crate::error::ParamError;
use crate::tlv::{Tlv, Tlvs};

/// The parameters of a chunk, not yet walked.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct Params<'a>(&'a [u8]);

impl<'a> Params<'a> {
    /// Takes bytes as a parameter list.
    #[must_use]
    pub const fn new(bytes: &'a [u8]) -> Self {
        Params(bytes)
    }

    /// The parameters in order, up to the first broken length.
    #[must_use]
    pub const fn iter(&self) -> ParamIter<'a> {
        ParamIter(Tlvs::new(self.0))
    }

    /// The bytes of the list.
    #[must_use]
    pub const fn as_bytes(&self) -> &'a [u8] {
        self.0
    }

    /// The first parameter of a type, if the list is whole up to there.
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

/// Walks [`Params`]; ends after the first error.
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

/// A parameter whose bounds are known and whose contents have not been looked at.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub struct RawParam<'a> {
    /// Parameter type, see [`super::param_type`].
    pub kind: u16,
    /// What follows the parameter header, without padding.
    pub value: &'a [u8],
    /// Header and value, without padding.
    pub bytes: &'a [u8],
}

impl<'a> RawParam<'a> {
    /// Reads the parameter by its type.
    ///
    /// # Errors
    /// When the value has a size that the type does not allow.
    pub fn parse(&self) -> Result<Param<'a>, ParamError> {
        Param::read(self)
    }

    /// What to do when this parameter type is not known.
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

/// A list of 16-bit numbers: address types, hash identifiers, streams, missing
/// parameters.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct U16List<'a>(&'a [[u8; 2]]);

impl<'a> U16List<'a> {
    /// Bytes as big-endian numbers, or nothing when their count is odd.
    #[must_use]
    pub const fn new(bytes: &'a [u8]) -> Option<Self> {
        match bytes.as_chunks() {
            (numbers, []) => Some(U16List(numbers)),
            _ => None,
        }
    }

    /// The numbers in order.
    #[must_use]
    pub fn iter(&self) -> U16Iter<'a> {
        U16Iter(self.0.iter())
    }

    /// How many numbers there are.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a number is listed.
    #[must_use]
    pub fn contains(&self, number: u16) -> bool {
        self.0.contains(&number.to_be_bytes())
    }

    /// The numbers as they are on the wire.
    #[must_use]
    pub const fn as_bytes(&self) -> &'a [u8] {
        self.0.as_flattened()
    }
}

impl<'a> IntoIterator for U16List<'a> {
    type Item = u16;
    type IntoIter = U16Iter<'a>;

    fn into_iter(self) -> U16Iter<'a> {
        self.iter()
    }
}

/// Walks a [`U16List`].
#[derive(Clone, Debug)]
pub struct U16Iter<'a>(core::slice::Iter<'a, [u8; 2]>);

impl Iterator for U16Iter<'_> {
    type Item = u16;

    fn next(&mut self) -> Option<u16> {
        self.0.next().map(|&bytes| u16::from_be_bytes(bytes))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

impl ExactSizeIterator for U16Iter<'_> {}
impl core::iter::FusedIterator for U16Iter<'_> {}

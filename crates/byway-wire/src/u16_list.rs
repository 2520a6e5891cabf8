//! Lists of 16-bit numbers inside parameters and causes.

/// A list of 16-bit numbers: address types, hash identifiers, streams, missing
/// parameters.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct U16List<'a>(&'a [[u8; 2]]);

impl<'a> U16List<'a> {
    /// Bytes as big-endian numbers; `None` if the number of bytes is odd.
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

    /// Whether the list is empty.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a number is listed.
    #[must_use]
    pub fn contains(&self, number: u16) -> bool {
        self.0.contains(&number.to_be_bytes())
    }

    /// The numbers as bytes, in network byte order.
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

/// Iterates over a [`U16List`].
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

//! Reading and writing lists of type-length-value elements.
//!
//! Chunks (RFC 9260 section 3.2), parameters (3.2.1) and causes (3.3.10) share
//! a layout: four header bytes whose last two are a length that counts the
//! header but not the padding, a value, then zero to three padding bytes.

use crate::error::TlvError;

/// Bytes of an element header: type (and flags), then length.
pub(crate) const HEADER_LEN: usize = 4;
/// The largest length that a header can state.
pub(crate) const MAX_LENGTH: usize = 65_535;

/// `len` rounded up to the next multiple of four, the boundary at which the
/// next chunk, parameter or cause begins.
#[must_use]
pub const fn padded(len: usize) -> usize {
    len.saturating_add(3) & !3
}

/// One element of a list.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Tlv<'a> {
    /// Type (one or two bytes), then length.
    pub(crate) header: &'a [u8; HEADER_LEN],
    /// After the header, without padding.
    pub(crate) value: &'a [u8],
    /// Header and value, without padding.
    pub(crate) bytes: &'a [u8],
}

impl Tlv<'_> {
    /// The first two header bytes as one number: parameter type or cause code.
    pub(crate) const fn kind(&self) -> u16 {
        u16::from_be_bytes([self.header[0], self.header[1]])
    }
}

/// A bounded, fused iterator. Each step consumes at least four bytes or ends the
/// iteration, so no length field can make it loop or read past the end.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Tlvs<'a> {
    rest: &'a [u8],
    at: usize,
}

impl<'a> Tlvs<'a> {
    pub(crate) const fn new(bytes: &'a [u8]) -> Self {
        Tlvs { rest: bytes, at: 0 }
    }

    /// The bytes not yet read.
    pub(crate) const fn rest(&self) -> &'a [u8] {
        self.rest
    }

    #[cold]
    fn fail(&mut self, error: TlvError) -> Option<Result<Tlv<'a>, TlvError>> {
        self.rest = &[];
        Some(Err(error))
    }
}

impl<'a> Iterator for Tlvs<'a> {
    type Item = Result<Tlv<'a>, TlvError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let (at, have) = (self.at, self.rest.len());
        let Some(header) = self.rest.first_chunk::<HEADER_LEN>() else {
            return self.fail(TlvError::HeaderTruncated { at, have });
        };
        let length = usize::from(u16::from_be_bytes([header[2], header[3]]));
        let Some((bytes, after)) = self.rest.split_at_checked(length) else {
            return self.fail(TlvError::Overrun { at, length, have });
        };
        let Some(value) = bytes.get(HEADER_LEN..) else {
            return self.fail(TlvError::LengthTooSmall { at, length });
        };
        // The padding of the last element may be missing: the length field around
        // the list does not have to count it (RFC 9260 section 3.2).
        self.rest = after.get(padded(length) - length..).unwrap_or_default();
        self.at = at + padded(length);
        Some(Ok(Tlv {
            header,
            value,
            bytes,
        }))
    }
}

impl core::iter::FusedIterator for Tlvs<'_> {}

/// Appends elements with a two-byte type, padding between them but not after
/// the last: a chunk's length counts the inner padding only.
#[derive(Debug)]
pub(crate) struct TlvWriter<'b> {
    buf: &'b mut Vec<u8>,
    /// Where the list begins; padding is relative to it.
    base: usize,
    /// The list must not grow past this length of `buf`.
    end: usize,
}

impl<'b> TlvWriter<'b> {
    /// Starts a list at the end of `buf`, which may grow to `end` bytes.
    pub(crate) fn new(buf: &'b mut Vec<u8>, end: usize) -> Self {
        let base = buf.len();
        TlvWriter { buf, base, end }
    }

    /// Most bytes that the next element can have, its header included.
    pub(crate) fn room(&self) -> usize {
        let next = self.base + padded(self.buf.len() - self.base);
        self.end.saturating_sub(next).min(MAX_LENGTH)
    }

    fn begin(&mut self, kind: u16, length: usize) {
        let next = self.base + padded(self.buf.len() - self.base);
        self.buf.resize(next, 0);
        let length =
            u16::try_from(length).expect("callers stay within room(), which is at most 65535");
        self.buf.extend_from_slice(&kind.to_be_bytes());
        self.buf.extend_from_slice(&length.to_be_bytes());
    }

    /// Writes one element, or nothing if it does not fit. Returns whether it was
    /// written.
    pub(crate) fn put(&mut self, kind: u16, parts: &[&[u8]]) -> bool {
        let length = HEADER_LEN + parts.iter().map(|part| part.len()).sum::<usize>();
        if length > self.room() {
            return false;
        }
        self.begin(kind, length);
        for part in parts {
            self.buf.extend_from_slice(part);
        }
        true
    }

    /// Writes one element whose `tail` is truncated to the room, or nothing if not
    /// even `head` fits. Returns whether the whole element was written.
    pub(crate) fn put_cut(&mut self, kind: u16, head: &[u8], tail: &[u8]) -> bool {
        let Some(room) = self.room().checked_sub(HEADER_LEN + head.len()) else {
            return false;
        };
        let kept = tail.get(..room).unwrap_or(tail);
        self.put(kind, &[head, kept]) && kept.len() == tail.len()
    }

    /// Writes one element whose value is `head` and then 16-bit numbers, or
    /// nothing if it does not fit. Returns whether it was written.
    pub(crate) fn put_u16s(
        &mut self,
        kind: u16,
        head: &[u8],
        numbers: impl ExactSizeIterator<Item = u16>,
    ) -> bool {
        let length = HEADER_LEN + head.len() + 2 * numbers.len();
        if length > self.room() {
            return false;
        }
        self.begin(kind, length);
        self.buf.extend_from_slice(head);
        for number in numbers {
            self.buf.extend_from_slice(&number.to_be_bytes());
        }
        true
    }

    /// Writes one element whose value is `head` and then a nested list. Returns
    /// whether at least `head` fit.
    pub(crate) fn put_list(
        &mut self,
        kind: u16,
        head: &[u8],
        list: impl FnOnce(TlvWriter<'_>),
    ) -> bool {
        let room = self.room();
        if room < HEADER_LEN + head.len() {
            return false;
        }
        self.begin(kind, HEADER_LEN);
        let start = self.buf.len() - HEADER_LEN;
        self.buf.extend_from_slice(head);
        list(TlvWriter::new(self.buf, start + room));
        set_length(self.buf, start);
        true
    }
}

/// Writes the length of the element that begins at `start` and ends `buf`.
pub(crate) fn set_length(buf: &mut [u8], start: usize) {
    let length = u16::try_from(buf.len() - start)
        .expect("element is bounded to 65535 bytes while it is written");
    buf[start + 2..start + 4].copy_from_slice(&length.to_be_bytes());
}

//! A few bytes in place.

/// Bytes that have no buffer of their own: it would take more memory than they.
#[derive(Copy, Clone, Debug, Default)]
pub(super) struct Few {
    bytes: [u8; Few::MOST],
    len: u8,
}

impl Few {
    /// Most bytes.
    const MOST: usize = 15;

    #[inline]
    pub(super) fn len(&self) -> usize {
        self.len.into()
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub(super) fn as_slice(&self) -> &[u8] {
        &self.bytes[..self.len()]
    }

    /// Adds bytes if there is room for all of them; whether there was.
    #[inline]
    pub(super) fn push(&mut self, more: &[u8]) -> bool {
        let free = &mut self.bytes[self.len.into()..];
        if more.len() > free.len() {
            return false;
        }
        free[..more.len()].copy_from_slice(more);
        self.len += more.len() as u8;
        true
    }
}

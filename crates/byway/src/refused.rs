//! Datagrams that the kernel refused.

use std::io;

/// Datagrams of one batch that the kernel refused, and the first error.
#[derive(Debug)]
pub(crate) struct Refused {
    pub(crate) error: io::Error,
    pub(crate) datagrams: u64,
}
